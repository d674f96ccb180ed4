//! Capacity of a link over time, by a trace or a table.

use super::opportunity::OpportunityTrace;
use super::rate_table::RateTable;
use crossfade_core::SimTime;

/// Schedule of a transmitter.
#[derive(Clone, Debug, PartialEq)]
pub enum Schedule {
    /// Delivery opportunities.
    Opportunities(OpportunityTrace),
    /// A table of rates and delays.
    Rates(RateTable),
}

impl Schedule {
    /// Mean rate of the schedule in bit/s.
    pub fn mean_rate_bps(&self) -> f64 {
        match self {
            Self::Opportunities(trace) => trace.mean_rate_bps(),
            Self::Rates(table) => table.mean_rate_bps(),
        }
    }

    /// The highest rate in bit/s: of a trace, that of the fullest millisecond.
    pub fn peak_rate_bps(&self) -> f64 {
        match self {
            Self::Opportunities(trace) => trace.peak_rate_bps(),
            Self::Rates(table) => table.rows().iter().map(|row| row.rate_bps).fold(0.0, f64::max),
        }
    }

    /// The bits that can be sent from `from` until `to`.
    pub fn capacity_bits(&self, from: SimTime, to: SimTime) -> f64 {
        match self {
            Self::Opportunities(trace) => trace.capacity_bits(from, to),
            Self::Rates(table) => table.capacity_bits(from, to),
        }
    }

    /// Duration, after which it repeats or ends, or the last row of a table holds forever.
    pub fn lasts(&self) -> SimTime {
        match self {
            Self::Opportunities(trace) => trace.period(),
            Self::Rates(table) => table.lasts(),
        }
    }

    /// Whether, from some time on, nothing comes through any more.
    pub fn ends_dead(&self) -> bool {
        match self {
            Self::Opportunities(trace) => !trace.repeats(),
            Self::Rates(table) => table.ends_dead(),
        }
    }

    /// Whether it begins again.
    pub fn repeats(&self) -> bool {
        match self {
            Self::Opportunities(trace) => trace.repeats(),
            Self::Rates(table) => table.period().is_some(),
        }
    }
}
