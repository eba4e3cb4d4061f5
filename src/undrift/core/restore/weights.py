"""The weights of `worth`: two logistic regressions over binned features. Pure data, written by bench/fit_restore.py.

A row per feature, in the order of `worth.name_features` and `worth.line_features`; a number per bin; a score is the
bias plus one number of each row, and 1 / (1 + e^-score) the chance of a use within 30 calls.

Fitted on 1,216 cuts (71 compactions, 1,145 made every 10 calls) of 18 repositories and 2 clients, ridge 150. These
tables saw all of them; what follows is of tables fitted without the repository that they are judged on, means over 34
compactions of claude-code and 32 of codex. Identifiers / lines held: 0.76 / 0.65 at 5,000 tokens and 0.85 / 0.78 at
10,000 for claude-code, 0.45 / 0.44 and 0.59 / 0.56 for codex.
"""

__all__ = ["LINES", "Model", "NAMES"]

Model = tuple[float, tuple[tuple[float, ...], ...]]
"""Bias, and for each feature the weight of each of its bins."""

# fmt: off
LINES: Model = (
    -4.10,
    (
        # places
        (-0.68, -0.13, 0.02, 0.23, 0.35, 0.22),
        # uses by the agent
        (-0.67, -0.07, 0.42, 0.31),
        # calls since its last use (0: never)
        (-0.67, 0.00, 0.02, 0.17, 0.20, -0.01, 0.21, 0.32, 0.21, -0.22, -0.21, -0.03),
        # taken out by an edit
        (0.40, -0.40),
        # characters
        (0.24, 0.27, 0.18, 0.02, -0.19, -0.53),
        # lines to the nearest edited line x calls since the file's last edit
        (
            -0.06, 0.03, 0.10, 0.06, -0.10, -0.04, -0.02, 0.05, -0.18, 0.02, 0.01, 0.13,
            -0.08, -0.15, 0.13, -0.05, 0.59, -0.21, -0.28, 0.09, -0.18, 0.04, -0.02, 0.12,
        ),
        # lines to the nearest hot name x calls since it was shown
        (
            0.29, 0.28, 0.41, 0.20, 0.03, 0.39, 0.26, 0.45, 0.15, 0.00, 0.18, 0.06,
            0.28, 0.06, -0.03, 0.13, -0.06, -0.14, -0.16, -0.08, 0.24, -0.14, -0.67, -0.79,
            -1.34,
        ),
        # heat of its file (0: no file)
        (-0.19, -1.07, -0.12, 0.34, 0.05, 0.28, 0.32, 0.40, 0.00),
        # lines of what showed it
        (-0.16, -0.07, 0.18, 0.17, 0.11, -0.22, -0.01),
        # reads and edits of its file
        (-0.52, 0.47, -0.00, 0.23, -0.13, -0.04),
        # what showed it (trace.KINDS) x calls since it was shown
        (
            1.18, 0.61, 0.54, 0.19, -0.33, -0.07, -0.24, -0.56, -0.79, -0.49, 0.09, -0.12,
            -0.45, -0.78, -0.40, 0.07, 0.09, 0.28, 0.09, -0.01, -0.03, 0.06, 0.33, -0.12,
            -0.11, -0.00, -0.01, -0.01, 0.83, -0.05, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00,
            0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.20, 0.04, -0.02,
        ),
    ),
)

NAMES: Model = (
    -1.79,
    (
        # calls since it was last shown
        (0.00, 1.16, 0.66, 0.42, 0.20, -0.04, -0.16, -0.40, -0.69, -0.81, -0.34),
        # places
        (-1.05, -0.21, 0.17, 0.31, 0.39, 0.39),
        # uses by the agent
        (-0.63, -0.11, 0.21, 0.53),
        # calls since its last use (0: never)
        (-0.63, 0.00, 0.04, 0.62, 0.45, 0.24, 0.28, 0.06, -0.11, -0.32, -0.39, -0.25),
        # what showed it (trace.KINDS)
        (0.08, -0.38, -0.64, -0.11, -0.03, 0.65, 0.00, 0.00, 0.44),
        # looks, sorted by form
        (0.05, 0.35, 0.31, 0.18, -0.54, -0.08, 0.55, 0.37, -0.01, -0.29, -0.22, -0.16, 0.03, -0.54),
        # calls since it was learned
        (0.00, 0.31, 0.63, 0.45, 0.28, 0.17, 0.17, -0.04, -0.37, -0.92, -0.68),
        # heat of the file that showed it (0: no file)
        (0.08, -0.30, 0.00, 0.26, 0.21, 0.04, -0.11, -0.18, 0.00),
        # heat of the file that it names (0: names none)
        (-0.33, -0.73, -0.19, -0.08, 0.07, 0.34, 0.45, 0.47, 0.00),
        # lines of what showed it
        (-0.05, -0.11, 0.18, 0.10, 0.11, -0.11, -0.13),
        # characters
        (-0.09, 0.26, 0.18, 0.19, 0.11, -0.12, -0.53),
        # in the newest texts
        (-0.15, 0.15),
    ),
)
