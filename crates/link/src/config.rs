//! Configuration of links: constant rate and delay, with any queue.

use crate::hop::{Hop, HopConfig};
use crate::link::Link;
use crate::queue::{QueueConfig, with_queue};
use crate::queued_link::QueuedLink;
use crate::transmitter::{Service, Transmitter};
use crossfade_channel::LossProcess;
use crossfade_core::{OutOfRange, SimTime, Stream};

/// A link of constant rate and delay, with any queue.
pub struct LinkConfig {
    /// Bit rate in bit/s; `None` takes no time to transmit.
    pub rate_bps: Option<f64>,
    /// Propagation delay.
    pub delay: SimTime,
    /// The queue discipline and its limit.
    pub queue: QueueConfig,
    /// Random stream of the queue discipline.
    pub draws: Stream,
    /// Loss process of transmissions.
    pub loss: Box<dyn LossProcess>,
}

impl LinkConfig {
    /// Builds the link.
    ///
    /// # Errors
    /// A parameter of the queue outside its range.
    pub fn build(self) -> Result<Box<dyn Link + Send>, OutOfRange> {
        let Self { rate_bps, delay, queue, draws, loss } = self;
        if let QueueConfig::DropTail(queue_limit) = queue {
            return Ok(Box::new(Hop::new(HopConfig { rate_bps, delay, queue_limit, loss })));
        }
        queue.before(draws, Transmitter::new(rate_bps), delay, loss)
    }
}

impl QueueConfig {
    /// Builds the link of a transmitter that takes packets from this queue; `draws` is the queue's random stream.
    ///
    /// # Errors
    /// A parameter of the queue outside its range.
    pub fn before<S>(
        self,
        draws: Stream,
        service: S,
        delay: SimTime,
        loss: Box<dyn LossProcess>,
    ) -> Result<Box<dyn Link + Send>, OutOfRange>
    where
        S: Service + 'static,
    {
        // The compiler knows the queue of the link: a packet costs a quarter less than behind a `dyn QueueDiscipline`.
        Ok(with_queue!(self, draws, |queue| Box::new(QueuedLink::new(queue, service, delay, loss))))
    }
}
