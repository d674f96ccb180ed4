//! Trace-driven links as a scenario chooses them.

use super::delays::{DelaySeries, DelayedService};
use super::opportunity::OpportunityService;
use super::rate_table::RateService;
use super::schedule::Schedule;
use crate::link::Link;
use crate::queue::QueueConfig;
use crate::transmitter::Service;
use crossfade_channel::LossProcess;
use crossfade_core::{OutOfRange, SimTime, Stream};

/// A link that follows a trace, with any queue.
pub struct TraceLinkConfig {
    /// The trace.
    pub schedule: Schedule,
    /// Propagation delay, added to that of a table.
    pub delay: SimTime,
    /// Propagation delay over time, added to both.
    pub delays: Option<DelaySeries>,
    /// Queue discipline. (Random early detection takes a rate of its own.)
    pub queue: QueueConfig,
    /// Random stream of the queue, if it draws.
    pub draws: Stream,
    /// Loss process; [`TableLoss`](super::TableLoss) has the loss rates of a table.
    pub loss: Box<dyn LossProcess>,
}

impl TraceLinkConfig {
    /// The link.
    ///
    /// # Errors
    /// A parameter of the queue outside its range.
    pub fn build(self) -> Result<Box<dyn Link + Send>, OutOfRange> {
        let Self { schedule, delay, delays, queue, draws, loss } = self;
        let Some(delays) = delays else {
            return match schedule {
                Schedule::Opportunities(trace) => {
                    queue.before(draws, OpportunityService::new(trace), delay, loss)
                }
                Schedule::Rates(table) => queue.before(draws, RateService::new(table), delay, loss),
            };
        };
        let service: Box<dyn Service> = match schedule {
            Schedule::Opportunities(trace) => Box::new(OpportunityService::new(trace)),
            Schedule::Rates(table) => Box::new(RateService::new(table)),
        };
        queue.before(draws, DelayedService::new(service, delays), delay, loss)
    }
}
