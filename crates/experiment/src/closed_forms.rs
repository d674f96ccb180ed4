//! Closed forms of a physical layer: frame error rates, and the packet losses that follow from them.

use crossfade_channel::AntennaCorrelation;
use crossfade_core::from_db;
use crossfade_link::RadioConfig;
use crossfade_link::arq::ArqProtocol;
use crossfade_phy::Scheme;
use crossfade_phy::closed_form::Diversity;
use crossfade_scenario::{HopSetup, ScenarioError, Setup};
use serde_json::json;

/// Forward link of the data and its physical layer; `None` if the network is no path of links or the link has no
/// physical layer.
pub(crate) fn radio(setup: &Setup) -> Option<(&HopSetup, &RadioConfig)> {
    let hop = &setup.links()?.forward;
    Some((hop, hop.radio()?))
}

/// Checks that scheme and mean signal-to-noise ratio are constant; `who` names the method in the error.
///
/// # Errors
/// If a policy or shadowing changes one of them from frame to frame.
pub(crate) fn refuse_changing(radio: &RadioConfig, who: &str) -> Result<(), ScenarioError> {
    for (key, changes, assumed) in [
        ("phy.policy", radio.policy.is_some(), "one scheme"),
        ("channel.shadowing_db", radio.shadowing.is_some(), "one signal-to-noise ratio"),
    ] {
        if changes {
            return Err(ScenarioError::key(key, format!("{who} assumes {assumed}; use method simulation")));
        }
    }
    Ok(())
}

/// Distribution of the signal-to-noise ratio at the decision, after detection and combining.
///
/// # Errors
/// If the scheme's symbols interfere, antennas are correlated, or the channel is estimated: no closed form exists.
pub(crate) fn diversity(radio: &RadioConfig) -> Result<Diversity, ScenarioError> {
    refuse_changing(radio, "a closed form")?;
    let refuse = |key: &str, value: serde_json::Value, assumed: &str| {
        let problem = format!("the closed forms assume {assumed}; use method phy");
        Err(ScenarioError::value(key, &value, problem))
    };
    if radio.correlation != AntennaCorrelation::None {
        let word = match radio.correlation {
            AntennaCorrelation::Urban => "urban",
            AntennaCorrelation::Rural => "rural",
            _ => "custom",
        };
        return refuse("channel.antennas.correlation", json!(word), "antennas that are not correlated");
    }
    if radio.phy.nmse > 0.0 {
        return refuse("phy.estimation.nmse", json!(radio.phy.nmse), "a channel that is known");
    }
    match Diversity::of(&radio.phy, from_db(radio.snr_db)) {
        Ok(diversity) => Ok(diversity),
        Err(_) => refuse("phy.scheme", json!(radio.phy.scheme.name()), "symbols that do not interfere"),
    }
}

/// Frame error rate of a first transmission by closed form.
fn frame_error(radio: &RadioConfig) -> Result<f64, ScenarioError> {
    Ok(diversity(radio)?.frame_error(radio.phy.modulation, radio.phy.frame_bits))
}

/// Number of transmissions of a frame that closed forms consider for an ARQ without a limit.
const MOST_ATTEMPTS: u32 = 8;

/// Greatest number of transmissions of a frame by the ARQ of `hop`; 8 for an ARQ without a limit, at most 1000.
pub(crate) fn attempts(hop: &HopSetup) -> u32 {
    let repetitions = hop.frames().and_then(|frames| frames.protocol.most_repetitions());
    repetitions.map_or(MOST_ATTEMPTS, |repetitions| repetitions.saturating_add(1)).min(1000)
}

/// Probability that a packet is lost: 1 - (1 - FER)^n if each of its n frames is sent once and frames fade
/// independently. The frame error rate FER comes from the error-rate table of the physical layer, or without a table
/// from a closed form.
///
/// # Errors
/// If frames are retransmitted or fade together, or if neither a table nor a closed form gives the frame error rate.
pub(crate) fn packet_loss(
    hop: &HopSetup,
    packet_size: u32,
    radio: &RadioConfig,
    who: &str,
) -> Result<f64, ScenarioError> {
    let Some(frames) = hop.frames().filter(|frames| frames.protocol == ArqProtocol::None) else {
        let problem = format!("{who} assumes frames that are sent once; use method simulation");
        return Err(ScenarioError::key("link.arq.protocol", problem));
    };
    refuse_changing(radio, who)?;
    if !radio.is_independent() {
        let problem = format!("{who} assumes frames that fade independently; use method simulation");
        return Err(ScenarioError::key("channel.fd_t", problem));
    }
    let of_table = radio.table.as_ref().map(|table| {
        table.residual(radio.snr_db, 1).map_err(|error| ScenarioError::key("phy.table", error.to_string()))
    });
    let fer = of_table.unwrap_or_else(|| frame_error(radio))?;
    let n = frames.segmentation.frames(packet_size);
    Ok(-libm::expm1(f64::from(n) * libm::log1p(-fer)))
}

/// Upper bound of the share of packets whose frames all arrive. It assumes that symbols do not interfere and that all
/// copies of a frame are combined, over uncorrelated or fully correlated antennas, whichever is better. With a table of
/// error rates the bound is the share by the table.
pub(crate) fn best_packet_success(hop: &HopSetup, packet_size: u32, radio: &RadioConfig) -> f64 {
    let phy = radio.phy;
    let frames = hop.frames().map_or(1, |frames| frames.segmentation.frames(packet_size));
    let copies = if phy.combining.is_some() { attempts(hop) } else { 1 };
    let tries = if phy.combining.is_some() { 1 } else { attempts(hop) };
    let share = |fer: f64| libm::pow(1.0 - libm::pow(fer, f64::from(tries)), f64::from(frames));
    if let Some(table) = &radio.table {
        return share(table.error_rate(radio.snr_db, copies));
    }
    let power = from_db(radio.snr_db) * phy.scheme.power(phy.stbc_power) / phy.scheme.rate(phy.n_t);
    // A symbol's energy at all receive antennas, over all its paths.
    let paths = (phy.n_r * if phy.scheme == Scheme::Blast { 1 } else { phy.n_t }) as u32 * copies;
    let energy = power * phy.n_r as f64 * f64::from(copies);
    let fails = |diversity: u32| {
        let scale = energy / f64::from(diversity);
        Diversity { diversity, scale }.frame_error(phy.modulation, phy.frame_bits)
    };
    share(fails(paths).min(fails(1)))
}
