"""Pages for a browser, report and explorer: a file of its own, as public modules are."""

from crossfade.explorer.server import explore
from crossfade.reports.page import report

__all__ = ["explore", "report"]
