"""The weights of `worth`: two logistic regressions over binned features, fitted offline on recorded sessions. Pure data.

A row per feature, in the order of `worth.name_features` and `worth.line_features`; a number per bin; a score is the
bias plus one number of each row, and 1 / (1 + e^-score) the chance of a use within 30 calls.

Fitted on 213 cuts (29 real compactions, 184 made every 30 calls) of five repositories and two clients, ridge 6. A
repository left out of the fit was ranked with an AUC of 0.70 to 0.85 for names and 0.76 to 0.89 for lines. Names /
lines held at 5,000 tokens on 22 real compactions, left out: 0.75 / 0.68; without age 0.73 / 0.61, without own uses
0.68 / 0.54, without heat 0.80 / 0.53, without nearness to edits 0.76 / 0.64, without hot names 0.66 / 0.65, without
kind and looks 0.77 / 0.57, without the number of places 0.69 / 0.54.
"""

__all__ = ["LINES", "Model", "NAMES"]

Model = tuple[float, tuple[tuple[float, ...], ...]]
"""Bias, and for each feature the weight of each of its bins."""

# fmt: off
LINES: Model = (
    -4.75,
    (
        # places
        (-1.02, -0.24, 0.01, 0.50, 0.45, 0.30),
        # uses by the agent
        (-0.70, -0.06, 0.37, 0.39),
        # calls since its last use (0: never)
        (-0.70, 0.00, 0.11, 0.21, -0.21, -0.27, 0.85, 0.59, 0.25, -0.42, -0.41),
        # taken out by an edit
        (0.69, -0.69),
        # characters
        (0.39, 0.41, 0.29, 0.02, -0.32, -0.80),
        # lines to the nearest edited line x calls since the file's last edit
        (
            -0.67, -0.85, -0.52, 0.06, -0.31, -0.19, -0.03, 0.08, -0.39, -0.14, 0.30, 0.61,
            -0.42, -0.24, -0.09, 0.16, 1.48, -0.95, -0.33, 0.75, -0.30, 0.21, 0.86, 0.88,
        ),
        # lines to the nearest hot name x calls since it was shown
        (
            0.63, 0.28, 0.63, 0.27, 0.49, 0.23, 0.36, -0.08, 0.47, -0.10, -0.19, 0.12,
            0.06, -0.30, -0.48, -0.32, 0.00, -0.11, -0.88, -1.09,
        ),
        # heat of its file (0: no file)
        (0.39, -1.70, -0.49, 0.53, -0.22, 0.53, 0.38, 0.59, 0.00),
        # lines of what showed it
        (-0.77, -0.11, 0.61, 0.18, 0.36, -0.34, 0.07),
        # reads and edits of its file
        (-0.34, 0.16, -0.14, 0.22, 0.03, 0.06),
        # what showed it (trace.KINDS) x calls since it was shown
        (
            1.92, 1.03, 1.01, 0.75, 0.08, 0.40, -0.84, -1.08, -0.72, -1.82, -1.88, -1.85,
            0.63, -0.42, -0.21, 0.00, -0.14, 1.17, 0.99, -0.69, -0.14, -0.36, -0.50, 1.95,
            0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.88, -0.17,
        ),
    ),
)

NAMES: Model = (
    -1.66,
    (
        # calls since it was last shown
        (0.00, 1.43, 0.50, 0.33, 0.09, -0.40, -0.33, -0.65, -0.47, -0.51),
        # places
        (-1.07, -0.11, 0.23, 0.34, 0.26, 0.35),
        # uses by the agent
        (-0.56, -0.06, 0.24, 0.38),
        # calls since its last use (0: never)
        (-0.56, 0.00, 0.68, 1.28, 0.70, 0.08, 0.47, -0.04, -0.29, -0.88, -1.45),
        # what showed it (trace.KINDS)
        (-0.16, -0.11, -0.74, -0.46, -0.07, 0.92, 0.00, 0.00, 0.61),
        # looks, sorted by form
        (0.12, 1.09, 0.15, 0.27, -0.28, 0.02, 0.64, 0.56, -0.14, -0.55, -0.48, -0.47, -0.37, -0.57),
        # calls since it was learned
        (0.00, 0.05, 0.55, -0.24, -0.00, 0.20, 0.18, -0.11, -0.32, -0.31),
        # heat of the file that showed it (0: no file)
        (-0.07, -0.60, -0.26, 0.57, 0.29, 0.30, -0.21, -0.03, 0.00),
        # heat of the file that it names (0: names none)
        (-0.39, -1.23, -0.41, -0.12, -0.01, 0.20, 0.93, 1.03, 0.00),
        # lines of what showed it
        (0.08, -0.33, 0.16, 0.07, 0.21, -0.15, -0.04),
        # characters
        (-0.06, 0.46, 0.37, 0.38, 0.19, -0.32, -1.02),
        # in the newest texts
        (0.23, -0.23),
    ),
)
