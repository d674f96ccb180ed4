//! What makes results of a cell doubtful.

use crate::row::Row;
use crossfade_channel::wiener_nmse;
use crossfade_core::SimTime;
use crossfade_scenario::{CellSetup, End, Recorded, Setup, TrafficSetup};

/// From here on a slot is a large part of a Doppler period.
const FAST: f64 = 0.25;
/// Slots from which a predictor is taken to know the channel.
const OBSERVATIONS: usize = 32;

/// Doubts that a cell raises before anything runs until `end`.
pub(crate) fn of_setup(cell: &CellSetup, end: End) -> Vec<String> {
    let doubts = [fast_users(cell), selective_bins(cell), bold_prediction(cell), known_traces(cell)];
    doubts.into_iter().flatten().chain(short_traces(cell, end)).collect()
}

/// Predictions are asked for of channels that are recorded.
fn known_traces(cell: &CellSetup) -> Option<String> {
    let [recorded, ..] = &cell.recorded[..] else { return None };
    (cell.is_prediction_given).then(|| {
        format!(
            "cell.prediction says nothing of {}: recorded ratios are known as they are, or as cell.feedback reports them",
            recorded.key
        )
    })
}

/// A run outlasts recorded channels.
fn short_traces(cell: &CellSetup, end: End) -> impl Iterator<Item = String> {
    cell.recorded.iter().filter_map(move |Recorded { key, lasts, repeats }| {
        let End::At(end) = end else { return None };
        let consequence = if *repeats { "it begins again" } else { "its last line holds for the rest" };
        (*lasts > SimTime::ZERO && *lasts < end)
            .then(|| format!("{key} lasts {lasts} and a run {end}: {consequence}"))
    })
}

fn fast_users(cell: &CellSetup) -> Option<String> {
    let fastest = cell.config.users.iter().map(|user| user.fd_t).fold(0.0, f64::max);
    (fastest >= FAST).then(|| {
        format!(
            "f_d T = {fastest:.2} for the fastest user: channels change within a slot, in which they are taken to be \
             constant"
        )
    })
}

fn selective_bins(cell: &CellSetup) -> Option<String> {
    let (coherence, width) = (cell.config.profile.coherence_bandwidth_hz(), cell.config.bin_width_hz);
    (coherence < width).then(|| {
        format!(
            "the coherence bandwidth ({:.0} kHz, a fifth of the inverse delay spread) is below cell.bin_width ({:.0} \
             kHz), in which channels are taken to be constant",
            coherence / 1e3,
            width / 1e3
        )
    })
}

/// Some user is predicted better than Wiener's filter can.
fn bold_prediction(cell: &CellSetup) -> Option<String> {
    let horizon = cell.horizon_slots?;
    let limit = |user: &crossfade_cell::UserConfig| {
        let snr = libm::pow(10.0, user.mean_snr_db / 10.0);
        (user.nmse, wiener_nmse(user.fd_t, horizon, snr, OBSERVATIONS))
    };
    let modelled = cell.config.users.iter().filter(|user| user.trace.is_none());
    let bold = modelled.map(limit).filter(|(asked, limit)| *asked < limit * (1.0 - 1e-9));
    let (asked, limit) = bold.max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(format!(
        "cell.prediction.nmse = {asked} is better than a linear predictor can be for some user: {limit:.3} over \
         {horizon} slots"
    ))
}

/// Some user with something to send never had a bin.
pub(crate) fn starved(setup: &Setup, rows: &[&Row]) -> Option<String> {
    setup.cell.as_ref()?;
    let is_simulated =
        |traffic: &TrafficSetup| !matches!(traffic, TrafficSetup::Outside | TrafficSetup::Arrivals { .. });
    let flows = setup.flows.iter().filter(|flow| is_simulated(&flow.traffic));
    let users = flows.flat_map(|flow| flow.ends.iter().map(move |&[_, port]| (&flow.name, port - 1)));
    let had_none = |user: u32| {
        let key = format!("user:{user}.bins_per_slot");
        rows.iter().filter(|row| row.metrics.get(&key) == Some(0.0)).count()
    };
    let (name, user, runs) = users
        .map(|(name, user)| (name, user, had_none(user)))
        .filter(|(_, _, runs)| *runs > 0)
        .max_by_key(|(_, _, runs)| *runs)?;
    let of_flow = if name.is_empty() { String::new() } else { format!(" of flow {name}") };
    Some(format!("user {user}{of_flow} was never scheduled in {runs} of {} runs", rows.len()))
}
