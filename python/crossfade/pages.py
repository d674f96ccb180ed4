"""Pages for a browser: the report of results, and the explorer."""

from crossfade.explorer.server import explore
from crossfade.reports.page import report

__all__ = ["explore", "report"]
