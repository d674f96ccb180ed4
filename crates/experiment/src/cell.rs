//! What can be said of a cell without a run: its slots and bins, who is there, and from where on which modulation is used.

use crossfade_cell::UserConfig;
use crossfade_scenario::{CellSetup, FlowSetup, Setup};
use serde::Serialize;

/// Sizes and levels of a cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellFacts {
    /// How long a slot is, in seconds.
    pub slot_s: f64,
    /// Symbols of a bin and slot that carry payload.
    pub symbols: u32,
    /// How many bins there are.
    pub bins: usize,
    /// How wide each is, in Hz.
    pub bin_width_hz: f64,
    /// A fifth of the inverse delay spread, in Hz; none of a single path.
    pub coherence_bandwidth_hz: Option<f64>,
    /// Who is there, in the order of the flows.
    pub users: Vec<UserFacts>,
    /// Whose these are.
    pub flows: Vec<CellFlowFacts>,
}

/// A flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellFlowFacts {
    /// Its name; empty where the scenario names no flows.
    pub name: String,
    /// How many users it has, the next ones in their order.
    pub users: usize,
    /// The round trip of a packet and its acknowledgement that wait for nothing but a slot, in seconds.
    pub round_trip_s: f64,
}

/// A user.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UserFacts {
    /// The mean signal-to-noise ratio in dB.
    pub mean_snr_db: f64,
    /// The speed in metres a second.
    pub speed_mps: f64,
    /// The maximum Doppler shift in cycles a slot.
    pub fd_t: f64,
    /// How long its channel stays like itself, in seconds: 0.423 over the Doppler shift (Rappaport); none where nothing moves.
    pub coherence_time_s: Option<f64>,
    /// Whether its ratios were recorded.
    pub is_recorded: bool,
    /// The normalised mean square error of its predictions.
    pub nmse: f64,
    /// From which predicted ratio in dB on 1 to 8 bits a symbol are used at its mean; none without a limit.
    pub levels_db: [Option<f64>; 8],
}

/// What can be said of the cell of `setup`, if it has one.
pub(crate) fn facts(setup: &Setup) -> Option<CellFacts> {
    let CellSetup { config, .. } = setup.cell.as_ref()?;
    let coherence = config.profile.coherence_bandwidth_hz();
    let user = |user: &UserConfig| {
        let UserConfig { mean_snr_db, speed_mps, fd_t, nmse, .. } = *user;
        let level = |&ratio: &f64| (ratio > 0.0).then(|| 10.0 * libm::log10(ratio));
        let levels_db = user.levels.at(mean_snr_db).each_ref().map(level);
        let coherence_time_s = (fd_t > 0.0).then(|| 0.423 * config.slot.as_secs_f64() / fd_t);
        let is_recorded = user.trace.is_some();
        UserFacts { mean_snr_db, speed_mps, fd_t, coherence_time_s, is_recorded, nmse, levels_db }
    };
    let flow = |flow: &FlowSetup| CellFlowFacts {
        name: flow.name.clone(),
        users: flow.ends.len(),
        round_trip_s: setup.round_trip(flow).as_secs_f64(),
    };
    Some(CellFacts {
        slot_s: config.slot.as_secs_f64(),
        symbols: config.symbols,
        bins: config.bins,
        bin_width_hz: config.bin_width_hz,
        coherence_bandwidth_hz: coherence.is_finite().then_some(coherence),
        users: config.users.iter().map(user).collect(),
        flows: setup.flows.iter().map(flow).collect(),
    })
}
