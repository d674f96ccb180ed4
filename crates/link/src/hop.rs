//! One hop: a queue, a rate, a delay and a channel that loses.

use crossfade_channel::LossProcess;
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// A one-way link as the protocols above see it.
///
/// An engine pushes packets, asks when something will next come out, and takes out what has arrived. A simulation drives it
/// from its event queue; a live emulator from a timer.
pub trait Link<P> {
    /// Takes a packet of `bytes` at time `now`.
    fn push(&mut self, now: SimTime, bytes: u32, packet: P) -> Push;

    /// When the next packet comes out, if one is under way.
    fn next_event(&self) -> Option<SimTime>;

    /// The next packet that has come out by `now`.
    fn advance(&mut self, now: SimTime) -> Option<P>;

    /// When the transmitter has sent everything it holds: `now` or earlier if it is idle.
    fn idle_at(&self) -> SimTime;
}

/// What became of a packet that was pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Push {
    /// It will arrive.
    Accepted,
    /// It takes its turn on the link, and the channel loses it.
    Lost,
    /// The queue was full.
    QueueDrop,
}

/// What a [`Hop`] is made of.
pub struct HopConfig {
    /// Bit rate in bit/s; `None` takes no time to transmit.
    pub rate_bps: Option<f64>,
    /// Propagation delay.
    pub delay: SimTime,
    /// How many packets the drop-tail queue holds beside the one being sent; `None` is without limit.
    pub queue_limit: Option<usize>,
    /// Which transmissions are lost.
    pub loss: Box<dyn LossProcess>,
}

/// A first-in first-out hop: drop-tail queue, constant rate, constant delay, losses.
///
/// A packet's whole fate is known when it is pushed, so nothing needs to happen until it comes out.
pub struct Hop<P> {
    rate_bps: Option<f64>,
    delay: SimTime,
    queue_limit: Option<usize>,
    loss: Box<dyn LossProcess>,
    under_way: VecDeque<(SimTime, P)>,
    idle_at: SimTime,
}
