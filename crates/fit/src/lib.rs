//! Fit of a link model to a record of packets: rate, base delay, queue limit and losses, each with an interval and a
//! verdict on whether the record identifies it.
//!
//! A [`Record`] holds, for each packet, the sending time and the time at which its arrival was observed. The fit is
//! open loop: it replays the packets at their recorded sending times into a queue in front of a link of a candidate
//! rate ([`delays`]), and selects the rate with the delays nearest to the recorded ones ([`RateFit`]). A flow that
//! used a fifth of the link therefore shows the link's rate if some of its packets left back to back. If no packet
//! waited for another, the record gives only a lower bound of the rate ([`Verdict::Bounded`]).
//!
//! ```
//! use crossfade_fit::{Fate, Fit, Model, Packet, Record, Verdict, delays};
//!
//! // Pairs of packets of 1500 B, 10 ms apart, over a link of 12 Mbit/s with a base delay of 20 ms.
//! let sent: Vec<(f64, f64)> = (0..2000).map(|i| (f64::from(i / 2) * 10e-3, 1500.0)).collect();
//! let waits = delays(&sent, 12e6, |_| false);
//! let packet = |(&(sent_s, bytes), wait)| Packet { sent_s, bytes, seen_s: Some(sent_s + 20e-3 + wait), fate: Fate::Arrived };
//! let record = Record::new(sent.iter().zip(waits).map(packet).collect(), true)?;
//! let fit = Fit::new(&record, 1);
//! assert_eq!((fit.model, fit.rate.verdict), (Model::M0, Verdict::Identified));
//! assert!((fit.rate.value - 12e6).abs() < 12e3 && (fit.delay.value - 20e-3).abs() < 1e-6);
//! // No packet was dropped, so the queue limit has only a lower bound.
//! assert_eq!(fit.queue.verdict, Verdict::Bounded);
//! # Ok::<(), crossfade_fit::FitError>(())
//! ```

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod base_delay;
mod bootstrap;
mod bursts;
mod clock;
mod coarse;
mod departures;
mod draws;
mod even;
mod evidence;
mod hidden;
mod levels;
mod losses;
mod model;
mod over_time;
mod path;
mod period;
mod policed;
mod queue;
mod queue_limit;
mod rate;
mod record;
mod seen;
mod served;
mod settled;
mod silent;
mod standing;

pub use base_delay::{DelayLevel, base_delays};
pub use bursts::Bursts;
pub use clock::{Clock, skew};
pub use coarse::{CoarseError, CoarseFit, Stretches};
pub use draws::Draw;
pub use hidden::Hidden;
pub use levels::{Level, segments};
pub use losses::Losses;
pub use model::{Fit, Model, Parameter, RateLevel, Verdict};
pub use over_time::Window;
pub use period::{Period, period};
pub use policed::Policer;
pub use queue::delays;
pub use queue_limit::QueueLimit;
pub use rate::RateFit;
pub use record::{Fate, FitError, Packet, Record};
