//! Links of constant rate, and their queues, as a scenario chooses them.

use crate::hop::{Hop, HopConfig};
use crate::limit::{QueueLimit, UNLIMITED};
use crate::link::Link;
use crate::queue::{
    CoDel, CoDelConfig, DropTail, DualPi2, DualPi2Config, FqCoDel, FqCoDelConfig, Pie, PieConfig,
    QueueDiscipline, Red, RedConfig,
};
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
    /// Proportional integral controller enhanced, and where its random numbers come from.
    Pie(PieConfig, Stream),
    /// Coupled queues for scalable and classic traffic, and where their random numbers come from.
    DualPi2(DualPi2Config, Stream),
}

/// Which queue a link has, as data.
#[derive(Clone, Debug, PartialEq)]
pub enum QueueConfig {
    /// First in, first out; `None` is without limit.
    DropTail(Option<QueueLimit>),
    /// Random early detection.
    Red(RedConfig),
    /// Controlled delay, in a queue of this size.
    CoDel(CoDelConfig, QueueLimit),
    /// Fair queueing with controlled delay.
    FqCoDel(FqCoDelConfig),
    /// Proportional integral controller enhanced.
    Pie(PieConfig),
    /// Coupled queues for scalable and classic traffic.
    DualPi2(DualPi2Config),
}

impl QueueConfig {
    /// The queue, which draws from `stream` if it draws at all.
    pub fn build(&self, stream: Stream) -> Queue {
        match *self {
            Self::DropTail(limit) => Queue::DropTail(limit),
            Self::Red(config) => Queue::Red(config, stream),
            Self::CoDel(config, limit) => Queue::CoDel(config, limit),
            Self::FqCoDel(config) => Queue::FqCoDel(config),
            Self::Pie(config) => Queue::Pie(config, stream),
            Self::DualPi2(config) => Queue::DualPi2(config, stream),
        }
    }

    /// How much may wait; `None` is without limit.
    pub fn limit(&self) -> Option<QueueLimit> {
        match self {
            Self::DropTail(limit) => *limit,
            Self::Red(RedConfig { limit, .. })
            | Self::CoDel(_, limit)
            | Self::FqCoDel(FqCoDelConfig { limit, .. })
            | Self::Pie(PieConfig { limit, .. })
            | Self::DualPi2(DualPi2Config { limit, .. }) => Some(*limit),
        }
    }
}

impl LinkConfig {
    /// The link.
    ///
    /// # Errors
    /// A parameter of the queue outside its range.
    pub fn build(self) -> Result<Box<dyn Link + Send>, OutOfRange> {
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
    /// The queue alone, empty.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn discipline(self) -> Result<Box<dyn QueueDiscipline + Send>, OutOfRange> {
        Ok(match self {
            Self::DropTail(limit) => Box::new(DropTail::new(limit.unwrap_or(UNLIMITED))?),
            Self::Red(config, stream) => Box::new(Red::new(config, stream)?),
            Self::CoDel(config, limit) => Box::new(CoDel::new(config, limit)?),
            Self::FqCoDel(config) => Box::new(FqCoDel::new(config)?),
            Self::Pie(config, stream) => Box::new(Pie::new(config, stream)?),
            Self::DualPi2(config, stream) => Box::new(DualPi2::new(config, stream)?),
        })
    }

    /// The link of a transmitter behind this queue.
    ///
    /// # Errors
    /// A parameter of the queue outside its range.
    pub fn before<S>(
        self,
        service: S,
        delay: SimTime,
        loss: Box<dyn LossProcess>,
    ) -> Result<Box<dyn Link + Send>, OutOfRange>
    where
        S: Service + 'static,
    {
        Ok(match self {
            Self::DropTail(limit) => {
                let queue = DropTail::new(limit.unwrap_or(UNLIMITED))?;
                Box::new(QueuedLink::new(queue, service, delay, loss))
            }
            Self::Red(config, stream) => {
                Box::new(QueuedLink::new(Red::new(config, stream)?, service, delay, loss))
            }
            Self::CoDel(config, limit) => {
                Box::new(QueuedLink::new(CoDel::new(config, limit)?, service, delay, loss))
            }
            Self::FqCoDel(config) => Box::new(QueuedLink::new(FqCoDel::new(config)?, service, delay, loss)),
            Self::Pie(config, stream) => {
                Box::new(QueuedLink::new(Pie::new(config, stream)?, service, delay, loss))
            }
            Self::DualPi2(config, stream) => {
                Box::new(QueuedLink::new(DualPi2::new(config, stream)?, service, delay, loss))
            }
        })
    }
}
