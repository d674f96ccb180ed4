"""Commands ``crossfade live`` and ``crossfade doctor``: real programs behind the links of a scenario."""
