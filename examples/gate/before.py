"""The congestion control as it was: Reno, whose window falls to half at a loss."""

from crossfade.teaching import Reno


class Control(Reno):
    """Half of the window is left."""

    def on_loss(self, now: float, window: float) -> None:
        """Leave a share of the window."""
        super().on_loss(now, window)
        self.cwnd = self.ssthresh = max(0.5 * window, 2.0)
