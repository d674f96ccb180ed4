//! Links as a scenario chooses them.

use crate::arq::{ArqError, ArqLinkConfig};
use crate::hop::{Hop, HopConfig};
use crate::limit::QueueLimit;
use crate::link::{Link, Packet};
use crate::queue::{CoDel, CoDelConfig, DropTail, FqCoDel, FqCoDelConfig, QueueError, Red, RedConfig};
use crate::queued_link::QueuedLink;
use crate::trace::TraceLinkConfig;
use crate::transmitter::{Service, Transmitter};
use crossfade_channel::LossProcess;
use crossfade_core::{SimTime, Stream};
use thiserror::Error;

/// A link of any kind.
pub enum AnyLinkConfig {
    /// Of constant rate.
    Constant(LinkConfig),
    /// Packets travel as frames, and lost ones are sent again.
    Arq(ArqLinkConfig),
    /// Its capacity follows a record or a table.
    Trace(TraceLinkConfig),
}

/// A link that cannot be. One line: the parameter, its value, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LinkError {
    /// Its queue.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// Its frames, or who repeats them.
    #[error(transparent)]
    Arq(#[from] ArqError),
}

impl AnyLinkConfig {
    /// The link.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn build<P: Packet + Send + 'static>(self) -> Result<Box<dyn Link<P> + Send>, LinkError> {
        Ok(match self {
            Self::Constant(config) => config.build()?,
            Self::Arq(config) => config.build()?,
            Self::Trace(config) => config.build()?,
        })
    }
}

impl From<LinkConfig> for AnyLinkConfig {
    fn from(config: LinkConfig) -> Self {
        Self::Constant(config)
    }
}

impl From<ArqLinkConfig> for AnyLinkConfig {
    fn from(config: ArqLinkConfig) -> Self {
        Self::Arq(config)
    }
}

impl From<TraceLinkConfig> for AnyLinkConfig {
    fn from(config: TraceLinkConfig) -> Self {
        Self::Trace(config)
    }
}

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
        match queue {
            Queue::DropTail(queue_limit) => {
                Ok(Box::new(Hop::new(HopConfig { rate_bps, delay, queue_limit, loss })))
            }
            queue => queue.before(Transmitter::new(rate_bps), delay, loss),
        }
    }
}

impl Queue {
    /// The link of a transmitter behind this queue.
    pub(crate) fn before<P, S>(
        self,
        service: S,
        delay: SimTime,
        loss: Box<dyn LossProcess>,
    ) -> Result<Box<dyn Link<P> + Send>, QueueError>
    where
        P: Packet + Send + 'static,
        S: Service + 'static,
    {
        Ok(match self {
            Self::DropTail(limit) => {
                let queue = DropTail::new(limit.unwrap_or(QueueLimit::Packets(usize::MAX)))?;
                Box::new(QueuedLink::new(queue, service, delay, loss))
            }
            Self::Red(config, stream) => {
                Box::new(QueuedLink::new(Red::new(config, stream)?, service, delay, loss))
            }
            Self::CoDel(config, limit) => {
                Box::new(QueuedLink::new(CoDel::new(config, limit)?, service, delay, loss))
            }
            Self::FqCoDel(config) => Box::new(QueuedLink::new(FqCoDel::new(config)?, service, delay, loss)),
        })
    }
}
