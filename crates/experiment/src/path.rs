//! What can be said of the links between two hosts without a run: how long packets are under way, what fits into that
//! time, and how losses come.

use crate::parts::PATH;
use crossfade_channel::{LossConfig, TwoStateMarkov};
use crossfade_core::SimTime;
use crossfade_scenario::{HopSetup, Setup};
use serde::Serialize;

/// Times and products of a path of links.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathFacts {
    /// How long a data packet takes at the rate of the link, in seconds.
    pub slot_s: f64,
    /// Bytes of a data packet.
    pub packet_bytes: u32,
    /// In the order in which packets take them, there and back.
    pub links: Vec<LinkFacts>,
    /// Of each entry of the flows.
    pub flows: Vec<PathFlowFacts>,
}

/// Of one link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkFacts {
    /// What it is called.
    pub name: &'static str,
    /// Bit rate in bit/s in the long run; none takes no time to transmit.
    pub rate_bps: Option<f64>,
    /// Propagation delay in seconds.
    pub delay_s: f64,
    /// How much may wait, as a scenario says it; none is without limit.
    pub queue_limit: Option<String>,
    /// How long a frame takes, in seconds, where packets are sent as frames.
    pub frame_s: Option<f64>,
    /// The share of frames, or packets, that is lost in the long run, where that is known.
    pub loss_rate: Option<f64>,
    /// The mean number of losses in a row, where that is known; of Rayleigh fading that of the chain near it.
    pub mean_burst: Option<f64>,
    /// The normalised Doppler frequency, where the channel fades.
    pub fd_t: Option<f64>,
    /// The Doppler frequency in Hz.
    pub doppler_hz: Option<f64>,
    /// The speed in m/s and the carrier in Hz that it follows from, where these are given.
    pub speed_and_carrier: Option<(f64, f64)>,
}

/// Of flows that are alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathFlowFacts {
    /// Their name; empty where the scenario names no flows.
    pub name: String,
    /// The round trip of a packet and its acknowledgement that wait for nothing, in seconds.
    pub round_trip_s: f64,
    /// What the link carries in that time, in bytes.
    pub bdp_bytes: Option<f64>,
}

/// What can be said of the links of `setup`, if that is what it has.
pub(crate) fn facts(setup: &Setup) -> Option<PathFacts> {
    if setup.mesh.is_some() || setup.cell.is_some() {
        return None;
    }
    let [wired, forward, reverse, wired_reverse] = PATH;
    let (there, back) = setup.wired.as_ref().map(|[there, back]| (there, back)).unzip();
    let links = [
        (wired, there),
        (forward, Some(&setup.forward)),
        (reverse, Some(&setup.reverse)),
        (wired_reverse, back),
    ];
    let flows = setup.flows.iter().map(|flow| {
        let round_trip_s = setup.round_trip(flow).as_secs_f64();
        let bdp_bytes = setup.forward.rate_bps().map(|rate_bps| rate_bps * round_trip_s / 8.0);
        PathFlowFacts { name: flow.name.clone(), round_trip_s, bdp_bytes }
    });
    Some(PathFacts {
        slot_s: setup.slot.as_secs_f64(),
        packet_bytes: setup.packet_size,
        links: links.into_iter().filter_map(|(name, hop)| Some(link(name, hop?))).collect(),
        flows: flows.collect(),
    })
}

fn link(name: &'static str, hop: &HopSetup) -> LinkFacts {
    let doppler = hop.doppler;
    LinkFacts {
        name,
        rate_bps: hop.rate_bps(),
        delay_s: hop.delay.as_secs_f64(),
        queue_limit: hop.queue().limit().map(|limit| limit.to_string()),
        frame_s: hop.frames().map(|frames| frames.frame_time).map(SimTime::as_secs_f64),
        loss_rate: hop.loss().and_then(LossConfig::rate),
        mean_burst: hop.loss().and_then(mean_burst),
        fd_t: doppler.map(|doppler| doppler.fd_t),
        doppler_hz: doppler.map(|doppler| doppler.frequency_hz),
        speed_and_carrier: doppler.and_then(|doppler| doppler.speed_and_carrier),
    }
}

/// The mean number of losses in a row.
fn mean_burst(loss: &LossConfig) -> Option<f64> {
    let chain = match loss {
        LossConfig::Iid { p_e } => TwoStateMarkov::iid(*p_e).ok(),
        LossConfig::Markov { chain, .. } => Some(*chain),
        LossConfig::Rayleigh { p_e, fd_t, .. } => TwoStateMarkov::from_rayleigh(*p_e, *fd_t).ok(),
        _ => None,
    };
    chain.map(|chain| chain.mean_burst()).filter(|burst| burst.is_finite())
}
