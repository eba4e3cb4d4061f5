"""The weights of `worth`: two logistic regressions over binned features. Pure data, written by bench/fit_restore.py.

A row per feature, in the order of `worth.name_features` and `worth.line_features`; a number per bin; a score is the
bias plus one number of each row, and 1 / (1 + e^-score) the chance of a use within 30 calls.

Fitted on 509 cuts (29 compactions, 480 made every 10 calls) of 5 repositories and 2 clients, ridge 6. These tables
saw all of them; what follows is of tables fitted without the repository that they are judged on. AUC 0.69 to 0.84 for
names, 0.74 to 0.94 for lines. Identifiers / lines held, sessions left out of the fit: 0.740 / 0.707 (raw tail 0.428 /
0.417) at 5,000 tokens on 22 compactions of claude-code; 0.578 / 0.588 (raw tail 0.260 / 0.251) at 2,500 tokens on 22
compactions of claude-code; 0.237 / 0.042 (raw tail 0.070 / 0.000) at 5,000 tokens on 7 compactions of codex; 0.114 /
0.000 (raw tail 0.070 / 0.000) at 2,500 tokens on 7 compactions of codex.
"""

__all__ = ["LINES", "Model", "NAMES"]

Model = tuple[float, tuple[tuple[float, ...], ...]]
"""Bias, and for each feature the weight of each of its bins."""

# fmt: off
LINES: Model = (
    -4.76,
    (
        # places
        (-1.08, -0.25, 0.11, 0.51, 0.53, 0.18),
        # uses by the agent
        (-0.72, -0.38, 0.21, 0.89),
        # calls since its last use (0: never)
        (-0.72, 0.00, 0.00, 0.09, 0.18, -0.07, 0.46, 0.45, 0.37, -0.03, -0.74),
        # taken out by an edit
        (0.46, -0.46),
        # characters
        (0.42, 0.42, 0.29, 0.04, -0.28, -0.88),
        # lines to the nearest edited line x calls since the file's last edit
        (
            -0.77, -0.46, -0.36, -0.36, -0.25, -0.25, -0.09, -0.04, -0.47, -0.01, 0.12, 0.60,
            -0.21, -0.24, 0.18, 0.00, 1.15, -0.29, -0.14, 0.74, -0.52, 0.40, 0.37, 0.90,
        ),
        # lines to the nearest hot name x calls since it was shown
        (
            0.39, 0.48, 0.59, 0.22, 0.62, 0.38, 0.45, 0.17, 0.22, 0.00, 0.09, -0.12,
            -0.02, -0.38, -0.38, -0.43, -0.30, -0.33, -0.67, -0.99,
        ),
        # heat of its file (0: no file)
        (0.74, -1.61, -0.31, 0.29, 0.19, 0.15, 0.16, 0.39, 0.00),
        # lines of what showed it
        (-1.20, -0.21, 0.69, 0.34, 0.39, -0.23, 0.22),
        # reads and edits of its file
        (-0.40, 0.02, -0.23, 0.41, -0.02, 0.21),
        # what showed it (trace.KINDS) x calls since it was shown
        (
            2.15, 1.40, 1.17, 1.01, -0.20, -0.06, -0.89, -1.29, -1.28, -1.98, -2.28, -2.08,
            0.63, 0.36, 0.53, 0.57, -0.24, 0.82, 1.42, -0.85, -0.15, -0.39, -0.83, 1.86,
            0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.95, -0.36,
        ),
    ),
)

NAMES: Model = (
    -1.53,
    (
        # calls since it was last shown
        (0.00, 1.10, 0.42, 0.28, 0.24, -0.10, -0.26, -0.62, -0.65, -0.40),
        # places
        (-1.05, -0.08, 0.28, 0.31, 0.25, 0.28),
        # uses by the agent
        (-0.50, -0.11, 0.19, 0.42),
        # calls since its last use (0: never)
        (-0.50, 0.00, 0.36, 1.09, 0.90, 0.26, 0.39, 0.19, -0.14, -0.75, -1.80),
        # what showed it (trace.KINDS)
        (-0.09, -0.41, -0.85, -0.17, -0.16, 0.94, 0.00, 0.00, 0.75),
        # looks, sorted by form
        (0.08, 1.18, 0.25, 0.29, -0.23, -0.01, 0.65, 0.60, -0.18, -0.69, -0.32, -0.55, -0.44, -0.62),
        # calls since it was learned
        (0.00, -0.12, 0.88, 0.25, -0.09, -0.13, -0.05, -0.19, -0.24, -0.32),
        # heat of the file that showed it (0: no file)
        (0.18, -0.64, -0.02, 0.35, 0.37, 0.04, -0.17, -0.11, 0.00),
        # heat of the file that it names (0: names none)
        (-0.37, -1.33, -0.58, -0.29, -0.02, 0.40, 0.97, 1.21, 0.00),
        # lines of what showed it
        (0.04, -0.22, 0.16, 0.01, 0.18, -0.18, 0.01),
        # characters
        (-0.13, 0.42, 0.33, 0.34, 0.15, -0.20, -0.92),
        # in the newest texts
        (0.06, -0.06),
    ),
)
