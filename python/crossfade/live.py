"""Journals of ``crossfade live --record``: a file of its own, as each public module is one."""

from crossfade.api import Replayed, replay
from crossfade.api import journal_events as events
from crossfade.api import journal_link_events as link_events
from crossfade.api import journal_opportunities as opportunities

__all__ = ["Replayed", "events", "link_events", "opportunities", "replay"]
