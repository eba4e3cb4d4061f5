"""The weights of `worth`: two logistic regressions over binned features. Pure data, written by bench/fit_restore.py.

A row per feature, in the order of `worth.name_features` and `worth.line_features`; a number per bin; a score is the
bias plus one number of each row, and 1 / (1 + e^-score) the chance of a use within 30 calls.

Fitted on 1,216 cuts (71 compactions, 1,145 made every 10 calls) of 18 repositories and 2 clients, ridge 60. These
tables saw all of them; what follows is of tables fitted without the repository that they are judged on, means over 34
compactions of claude-code and 32 of codex. Identifiers / lines held: 0.73 / 0.65 at 5,000 tokens and 0.84 / 0.73 at
10,000 for claude-code, 0.37 / 0.47 and 0.51 / 0.55 for codex.
"""

__all__ = ["LINES", "Model", "NAMES"]

Model = tuple[float, tuple[tuple[float, ...], ...]]
"""Bias, and for each feature the weight of each of its bins."""

# fmt: off
LINES: Model = (
    -4.21,
    (
        # places
        (-0.84, -0.15, 0.04, 0.29, 0.42, 0.24),
        # uses by the agent
        (-0.63, -0.16, 0.38, 0.42),
        # calls since its last use (0: never)
        (-0.63, 0.00, 0.06, 0.20, 0.23, -0.03, 0.26, 0.35, 0.23, -0.40, -0.26),
        # taken out by an edit
        (0.51, -0.51),
        # characters
        (0.26, 0.28, 0.18, 0.04, -0.15, -0.61),
        # lines to the nearest edited line x calls since the file's last edit
        (
            -0.16, 0.02, 0.19, 0.07, -0.23, -0.09, -0.12, 0.07, -0.31, -0.01, -0.01, 0.14,
            -0.12, -0.11, 0.19, -0.01, 0.79, -0.27, -0.41, 0.12, -0.27, 0.19, 0.07, 0.27,
        ),
        # lines to the nearest hot name x calls since it was shown
        (
            0.33, 0.30, 0.45, 0.33, 0.47, 0.29, 0.43, 0.16, 0.14, 0.01, 0.21, -0.12,
            0.04, -0.21, -0.34, -0.41, 0.05, -0.33, -0.80, -1.00,
        ),
        # heat of its file (0: no file)
        (0.07, -1.22, -0.09, 0.39, 0.03, 0.23, 0.27, 0.30, 0.00),
        # lines of what showed it
        (-0.39, -0.12, 0.28, 0.19, 0.14, -0.17, 0.06),
        # reads and edits of its file
        (-0.40, 0.31, -0.08, 0.18, -0.07, 0.05),
        # what showed it (trace.KINDS) x calls since it was shown
        (
            1.36, 0.79, 0.64, 0.40, -0.20, -0.45, -0.90, -1.13, -0.17, -0.46, -0.91, -1.19,
            0.16, 0.16, 0.42, 0.21, -0.11, 0.07, 0.40, -0.55, -0.01, -0.04, -0.09, 1.23,
            0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.38, -0.00,
        ),
    ),
)

NAMES: Model = (
    -1.74,
    (
        # calls since it was last shown
        (0.00, 1.07, 0.53, 0.27, 0.12, -0.15, -0.24, -0.49, -0.66, -0.45),
        # places
        (-1.03, -0.12, 0.24, 0.33, 0.32, 0.26),
        # uses by the agent
        (-0.56, -0.13, 0.17, 0.53),
        # calls since its last use (0: never)
        (-0.56, 0.00, 0.11, 0.82, 0.62, 0.30, 0.36, 0.10, -0.19, -0.70, -0.86),
        # what showed it (trace.KINDS)
        (0.03, -0.42, -0.73, -0.03, -0.11, 0.72, 0.00, 0.00, 0.54),
        # looks, sorted by form
        (0.16, 0.59, 0.35, 0.27, -0.51, -0.11, 0.73, 0.46, -0.04, -0.43, -0.34, -0.29, -0.06, -0.79),
        # calls since it was learned
        (0.00, 0.21, 0.65, 0.42, 0.11, 0.03, -0.02, -0.19, -0.37, -0.85),
        # heat of the file that showed it (0: no file)
        (0.12, -0.28, 0.05, 0.30, 0.23, -0.06, -0.14, -0.22, 0.00),
        # heat of the file that it names (0: names none)
        (-0.27, -0.88, -0.26, -0.22, -0.05, 0.38, 0.57, 0.72, 0.00),
        # lines of what showed it
        (-0.03, -0.13, 0.22, 0.12, 0.10, -0.15, -0.13),
        # characters
        (-0.11, 0.28, 0.22, 0.23, 0.16, -0.10, -0.68),
        # in the newest texts
        (-0.08, 0.08),
    ),
)
