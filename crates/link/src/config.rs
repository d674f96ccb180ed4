//! Configuration of links with constant rate and delay and any queue discipline.

use crate::hop::{Hop, HopConfig};
use crate::link::Link;
use crate::queue::{QueueConfig, with_queue};
use crate::queued_link::QueuedLink;
use crate::transmitter::{Service, Transmitter};
use crossfade_channel::LossProcess;
use crossfade_core::{OutOfRange, SimTime, Stream};

/// Configuration of a link with constant rate and delay and any queue discipline.
pub struct LinkConfig {
    /// Bit rate in bit/s; `None`: transmission takes no time.
    pub rate_bps: Option<f64>,
    /// Propagation delay.
    pub delay: SimTime,
    /// Queue discipline and its limit.
    pub queue: QueueConfig,
    /// Random stream from which the queue discipline draws.
    pub draws: Stream,
    /// Loss process of transmissions.
    pub loss: Box<dyn LossProcess>,
}

impl LinkConfig {
    /// Builds the link: a [`Hop`] for a drop-tail queue, otherwise a [`QueuedLink`].
    ///
    /// # Errors
    /// If a parameter of the queue is outside its range.
    pub fn build(self) -> Result<Box<dyn Link + Send>, OutOfRange> {
        let Self { rate_bps, delay, queue, draws, loss } = self;
        if let QueueConfig::DropTail(queue_limit) = queue {
            return Ok(Box::new(Hop::new(HopConfig { rate_bps, delay, queue_limit, loss })));
        }
        queue.before(draws, Transmitter::new(rate_bps), delay, loss)
    }
}

impl QueueConfig {
    /// Builds a link whose transmitter `service` takes packets from this queue; `draws` is the queue's random stream,
    /// `delay` is added to that of the transmitter.
    ///
    /// # Errors
    /// If a parameter of the queue is outside its range.
    pub(crate) fn before<S>(
        self,
        draws: Stream,
        service: S,
        delay: SimTime,
        loss: Box<dyn LossProcess>,
    ) -> Result<Box<dyn Link + Send>, OutOfRange>
    where
        S: Service + 'static,
    {
        // Static dispatch: a packet takes a quarter less time than behind a `dyn QueueDiscipline`.
        Ok(with_queue!(self, draws, |queue| Box::new(QueuedLink::new(queue, service, delay, loss))))
    }
}
