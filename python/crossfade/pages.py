"""Pages for a browser, report and explorer: a file of its own, as each public module is one."""

from crossfade.explorer.server import explore
from crossfade.reports.page import report

__all__ = ["explore", "report"]
