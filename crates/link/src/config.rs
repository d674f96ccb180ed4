//! Links as a scenario chooses them.

use crate::hop::{Hop, HopConfig};
use crate::limit::QueueLimit;
use crate::link::{Link, Packet};
use crate::queue::{CoDel, CoDelConfig, FqCoDel, FqCoDelConfig, QueueError, Red, RedConfig};
use crate::queued_link::{QueuedLink, QueuedLinkConfig};
use crossfade_channel::LossProcess;
use crossfade_core::{SimTime, Stream};

/// A link of constant rate and delay, with any queue.
pub struct LinkConfig {
    /// Bit rate in bit/s; `None` takes no time to transmit.
    pub rate_bps: Option<f64>,
    /// Propagation delay.
    pub delay: SimTime,
    /// What waits, and what is dropped.
    pub queue: Queue,
    /// Which transmissions are lost.
    pub loss: Box<dyn LossProcess>,
}

/// Which queue a link has.
#[derive(Clone, Debug)]
pub enum Queue {
    /// First in, first out; what finds the queue full is dropped. `None` is without limit.
    DropTail(Option<QueueLimit>),
    /// Random early detection, and where its random numbers come from.
    Red(RedConfig, Stream),
    /// Controlled delay, in a queue of this size.
    CoDel(CoDelConfig, QueueLimit),
    /// Fair queueing with controlled delay.
    FqCoDel(FqCoDelConfig),
}

impl LinkConfig {
    /// The link.
    ///
    /// # Errors
    /// A parameter of the queue outside its range.
    pub fn build<P: Packet + Send + 'static>(self) -> Result<Box<dyn Link<P> + Send>, QueueError> {
        let Self { rate_bps, delay, queue, loss } = self;
        let queued = |loss| QueuedLinkConfig { rate_bps, delay, loss };
        Ok(match queue {
            Queue::DropTail(queue_limit) => {
                Box::new(Hop::new(HopConfig { rate_bps, delay, queue_limit, loss }))
            }
            Queue::Red(config, stream) => Box::new(QueuedLink::new(queued(loss), Red::new(config, stream)?)),
            Queue::CoDel(config, limit) => {
                Box::new(QueuedLink::new(queued(loss), CoDel::new(config, limit)?))
            }
            Queue::FqCoDel(config) => Box::new(QueuedLink::new(queued(loss), FqCoDel::new(config)?)),
        })
    }
}
