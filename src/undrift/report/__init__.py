"""One self-contained page about what compactions removed: no script, no remote asset, every text escaped."""

from undrift.report.page import page
from undrift.report.target import check_target, write_page

__all__ = ["check_target", "page", "write_page"]
