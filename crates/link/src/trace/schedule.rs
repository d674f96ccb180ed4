//! Capacity of a link over time, given by a trace or a table.

use super::opportunity::OpportunityTrace;
use super::rate_table::RateTable;
use crossfade_core::SimTime;

/// Capacity over time that a transmitter follows.
#[derive(Clone, Debug, PartialEq)]
pub enum Schedule {
    /// Delivery opportunities, from a trace.
    Opportunities(OpportunityTrace),
    /// Rates, delays and losses, from a table.
    Rates(RateTable),
}

impl Schedule {
    /// Mean rate in bit/s over the duration of the schedule.
    pub fn mean_rate_bps(&self) -> f64 {
        match self {
            Self::Opportunities(trace) => trace.mean_rate_bps(),
            Self::Rates(table) => table.mean_rate_bps(),
        }
    }

    /// Greatest rate in bit/s; for a trace, that of the millisecond with the most opportunities.
    pub fn peak_rate_bps(&self) -> f64 {
        match self {
            Self::Opportunities(trace) => trace.peak_rate_bps(),
            Self::Rates(table) => table.rows().iter().map(|row| row.rate_bps).fold(0.0, f64::max),
        }
    }

    /// Number of bits that can be sent from `from` until `to`.
    pub fn capacity_bits(&self, from: SimTime, to: SimTime) -> f64 {
        match self {
            Self::Opportunities(trace) => trace.capacity_bits(from, to),
            Self::Rates(table) => table.capacity_bits(from, to),
        }
    }

    /// Duration of the schedule, after which it repeats or ends, or the last row of a table holds forever.
    pub fn lasts(&self) -> SimTime {
        match self {
            Self::Opportunities(trace) => trace.period(),
            Self::Rates(table) => table.lasts(),
        }
    }

    /// True if no packet gets through any more from some time on.
    pub fn ends_dead(&self) -> bool {
        match self {
            Self::Opportunities(trace) => !trace.repeats(),
            Self::Rates(table) => table.ends_dead(),
        }
    }

    /// True if the schedule begins again after its end.
    pub fn repeats(&self) -> bool {
        match self {
            Self::Opportunities(trace) => trace.repeats(),
            Self::Rates(table) => table.period().is_some(),
        }
    }
}
