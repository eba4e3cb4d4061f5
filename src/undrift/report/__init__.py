"""One self-contained page about what compactions removed, and a picture of its headline: no script, every text escaped."""

from undrift.report.cover import Cover
from undrift.report.page import page
from undrift.report.picture import picture
from undrift.report.target import check_picture, check_target, write_page, write_picture

__all__ = ["Cover", "check_picture", "check_target", "page", "picture", "write_page", "write_picture"]
