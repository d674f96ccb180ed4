//! List of all queue disciplines.

use super::{CoDelConfig, DualPi2Config, FqCoDelConfig, PieConfig, QueueDiscipline, RedConfig};
use crate::limit::QueueLimit;
use crossfade_core::{OutOfRange, Stream};

/// Queue discipline of a link, with its parameters. A new discipline is added to this enum and to the macro
/// `with_queue`, which creates it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueConfig {
    /// Drop-tail: first in, first out; a packet that finds the queue full is dropped. `None`: no limit.
    DropTail(Option<QueueLimit>),
    /// Random early detection (RED).
    Red(RedConfig),
    /// Controlled delay (`CoDel`), in a queue of the given limit.
    CoDel(CoDelConfig, QueueLimit),
    /// Fair queueing with controlled delay (`FQ-CoDel`).
    FqCoDel(FqCoDelConfig),
    /// Proportional integral controller enhanced (PIE).
    Pie(PieConfig),
    /// `DualPI2`: coupled queues for scalable and classic traffic.
    DualPi2(DualPi2Config),
}

/// Creates the queue of a configuration and evaluates an expression with it, statically dispatched; returns the error
/// of a parameter outside its range.
macro_rules! with_queue {
    ($config:expr, $draws:expr, |$queue:ident| $does:expr) => {
        match $config {
            $crate::queue::QueueConfig::DropTail(limit) => {
                let $queue = $crate::queue::DropTail::new(limit.unwrap_or($crate::limit::UNLIMITED))?;
                $does
            }
            $crate::queue::QueueConfig::Red(config) => {
                let $queue = $crate::queue::Red::new(config, $draws)?;
                $does
            }
            $crate::queue::QueueConfig::CoDel(config, limit) => {
                let $queue = $crate::queue::CoDel::new(config, limit)?;
                $does
            }
            $crate::queue::QueueConfig::FqCoDel(config) => {
                let $queue = $crate::queue::FqCoDel::new(config)?;
                $does
            }
            $crate::queue::QueueConfig::Pie(config) => {
                let $queue = $crate::queue::Pie::new(config, $draws)?;
                $does
            }
            $crate::queue::QueueConfig::DualPi2(config) => {
                let $queue = $crate::queue::DualPi2::new(config, $draws)?;
                $does
            }
        }
    };
}
pub(crate) use with_queue;

impl QueueConfig {
    /// Builds an empty queue; `draws` is its random stream.
    ///
    /// # Errors
    /// If a parameter is outside its range.
    pub fn build(self, draws: Stream) -> Result<Box<dyn QueueDiscipline + Send>, OutOfRange> {
        Ok(with_queue!(self, draws, |queue| Box::new(queue)))
    }

    /// Limit of the queue, in packets or bytes; `None`: no limit.
    pub fn limit(self) -> Option<QueueLimit> {
        match self {
            Self::DropTail(limit) => limit,
            Self::Red(RedConfig { limit, .. })
            | Self::CoDel(_, limit)
            | Self::FqCoDel(FqCoDelConfig { limit, .. })
            | Self::Pie(PieConfig { limit, .. })
            | Self::DualPi2(DualPi2Config { limit, .. }) => Some(limit),
        }
    }
}
