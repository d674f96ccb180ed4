//! Configuration of trace-driven links.

use super::delays::{DelaySeries, DelayedService};
use super::opportunity::OpportunityService;
use super::rate_table::RateService;
use super::schedule::Schedule;
use crate::link::Link;
use crate::queue::QueueConfig;
use crate::transmitter::Service;
use crossfade_channel::LossProcess;
use crossfade_core::{OutOfRange, SimTime, Stream};

/// Configuration of a link whose capacity follows a trace or table, with any queue discipline.
pub struct TraceLinkConfig {
    /// Capacity of the link over time.
    pub schedule: Schedule,
    /// Constant propagation delay, added to the delays of the schedule.
    pub delay: SimTime,
    /// Propagation delay over time, added to the other delays; `None`: no such delay.
    pub delays: Option<DelaySeries>,
    /// Queue discipline. (Random early detection has a rate parameter of its own.)
    pub queue: QueueConfig,
    /// Random stream from which the queue discipline draws.
    pub draws: Stream,
    /// Loss process of packets; [`TableLoss`](super::TableLoss) applies the loss rates of a rate table.
    pub loss: Box<dyn LossProcess>,
}

impl TraceLinkConfig {
    /// Builds the link.
    ///
    /// # Errors
    /// If a parameter of the queue is outside its range.
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
