"""Congestion control before the change: Reno, which halves its window at a loss."""

from crossfade.teaching import Reno


class Control(Reno):
    """Reno, which keeps half of its window at a loss."""

    def on_loss(self, now: float, window: float) -> None:
        """Reduce the window to a share of its size."""
        super().on_loss(now, window)
        self.cwnd = self.ssthresh = max(0.5 * window, 2.0)
