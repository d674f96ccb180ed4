//! Exact analysis with delayed acknowledgements, for small windows: the whole protocol as one finite Markov chain.
//!
//! The embedded chain of [`exact`](fn@crate::exact) needs every packet to be acknowledged in its slot. Here, a state
//! consists of the sender, the receiver, and all packets and acknowledgements in flight. All reachable states are
//! enumerated, and their stationary distribution is computed. A state keeps only what the future depends on:
//!
//! - the timer of a packet only while the packet is missing at the receiver: if it has arrived, an
//!   acknowledgement that covers it is on its way or will jump over it;
//! - no slow-start threshold that the window has passed;
//! - no duplicates counted where they do nothing.
//!
//! If nothing is in flight and nothing may be sent, time jumps to the timeout.

mod protocol;
mod stationary;

use crate::model::{AnalysisError, Model};
use crossfade_core::OutOfRange;
use crossfade_transport::Variant;
use protocol::enumerate;
use stationary::solve;

pub use stationary::Delayed;

/// Greatest window in segments; larger ones have too many states.
const W_MAX: u32 = 32;
/// Greatest ACK delay in slots.
const ACK_DELAY_MAX: u32 = 64;
/// Least probability of a change of the channel state: the iteration does not resolve rarer changes.
const RAREST: f64 = 1e-9;

/// Exact steady-state throughput of TCP flavour `paper` with delayed acknowledgements, which reach the sender
/// `ack_delay_slots` slots after the end of their packet's slot.
///
/// The error is below 1e-9. A packet's timer runs `timeout_slots` from the start of the packet's slot, whatever the
/// delay. The number of states grows by a factor of two to three with each packet of the window, and by a half with
/// each slot of delay up to the window; `max_states` limits it. A state takes some 300 bytes.
///
/// Source: the senders of Zorzi, Chockalingam, Rao, IEEE JSAC 18(7), 2000, section II, with duplicates in
/// recovery inflating the window.
///
/// # Errors
/// If [`Model::check`] refuses the model; for SACK; a window above 32; a delay above 64 slots; a channel that leaves a
/// state with a probability below 1e-9; more than `max_states` states.
pub fn exact_delayed(
    model: &Model,
    ack_delay_slots: u32,
    max_states: usize,
) -> Result<Delayed, AnalysisError> {
    model.check()?;
    check(model, ack_delay_slots)?;
    let rows = enumerate(model, ack_delay_slots, max_states)?;
    solve(model, &rows)
}

fn check(model: &Model, ack_delay_slots: u32) -> Result<(), AnalysisError> {
    if model.variant == Variant::Sack && ack_delay_slots > 0 {
        return Err(AnalysisError::DelayedSack { ack_delay_slots });
    }
    for (parameter, value, most) in
        [("w_max", model.w_max, W_MAX), ("ack_delay_slots", ack_delay_slots, ACK_DELAY_MAX)]
    {
        if value > most {
            let allowed = format!("at most {most} with delayed acknowledgements; a simulation takes more");
            return Err(OutOfRange::new(parameter, value, allowed).into());
        }
    }
    for (parameter, value) in [("p_gb", model.channel.p_gb()), ("p_bg", model.channel.p_bg())] {
        if value < RAREST {
            let allowed = format!("at least {RAREST:e} with delayed acknowledgements");
            return Err(OutOfRange::new(parameter, value, allowed).into());
        }
    }
    Ok(())
}
