"""The doctor: looks at homes, settings, hooks and the machine, and says what is wrong and what to do.

Law: changes no record; beside a store it notes how far it was checked. A finding that is wrong carries its remedy; what cannot be looked at is a finding as well.
"""

from undrift.doctor.examine import examine, failing
from undrift.doctor.finding import Finding
from undrift.doctor.report import report

__all__ = ["Finding", "examine", "failing", "report"]
