//! A path of links between two hosts: its construction, and its facts for `check`: delays, bandwidth-delay products,
//! and losses.

use super::doubts;
use super::hop::{link, symbols, wired};
use super::kind::NetworkKind;
use crate::closed_forms::{best_packet_success, packet_loss};
use crate::memory::{PACKET, Path, packets, radio};
use crate::parts::{LINK, PATH, Part};
use crossfade_channel::{LossConfig, LossProcess};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::satellite::{ClosedForms, DirectionName};
use crossfade_link::trace::Schedule;
use crossfade_link::{LinkConfig, QueueConfig, QueueLimit, WholePackets};
use crossfade_scenario::{
    Carrier, FlowSetup, FrameErrors, Gate, HopSetup, LinksSetup, SatelliteSetup, Scenario, ScenarioError,
    Setup,
};
use crossfade_sim::{AnyLink, Leg, Medium, Topology};
use serde::Serialize;
use serde_json::{Value, json};

impl NetworkKind for LinksSetup {
    fn topology(&self, setup: &Setup, seed: RunSeed) -> Topology {
        let [_, forward, reverse, _] = PATH;
        let wireless =
            slotted(self, setup.packet_size, seed).unwrap_or_else(|| link(&self.forward, seed, "dl"));
        let mut data = vec![Medium::from(wireless).named(forward)];
        let mut acks = vec![Medium::from(link(&self.around.reverse, seed, "ul")).named(reverse)];
        if let Some(both) = &self.around.wired {
            let [there, back] = wired(both, seed);
            data.insert(0, there);
            acks.push(back);
        }
        let [there, back] = [0..data.len(), data.len()..data.len() + acks.len()];
        data.append(&mut acks);
        Topology { media: data, routes: [there, back].map(|media| media.map(Leg::link).collect()).into() }
    }

    fn parts(&self) -> Vec<Part> {
        PATH.iter().map(|name| Part::new(LINK, *name)).collect()
    }

    fn facts(&self, setup: &Setup) -> (&'static str, Value) {
        ("path", json!(facts(self, setup)))
    }

    fn memory(&self, setup: &Setup) -> f64 {
        let path = Path::of_links(self);
        packets(setup, &path) * PACKET + radio(&self.forward) + radio(&self.around.reverse)
    }

    fn warnings(&self, setup: &Setup) -> Vec<String> {
        let there = self.around.wired.as_ref().map(|[there, _]| there);
        let on_the_way = [&self.forward].into_iter().chain(there);
        let of_path = [
            short_queue(self, setup),
            doubts::in_phase(setup, on_the_way),
            nothing_arrives(self, setup.packet_size),
        ];
        of_path.into_iter().flatten().chain(doubts::of_links(setup)).collect()
    }

    fn unmet_assumption(&self, scenario: &Scenario, who: &str) -> Option<ScenarioError> {
        let links = [
            ("link", &self.forward, scenario.link.frame_size),
            ("reverse", &self.around.reverse, scenario.reverse.frame_size),
        ];
        links.into_iter().find_map(|(table, hop, given)| {
            if hop.frames().is_some() {
                let problem = format!("{who} assumes a link that loses whole packets; use method simulation");
                let key = format!("{table}.frame_size");
                return Some(ScenarioError::value(key, &json!(given), problem));
            }
            let problem = format!("{who} assumes a constant rate; use method simulation");
            hop.varies_by(table).map(|key| ScenarioError::key(key, problem))
        })
    }
}

/// The forward link for a sender with a slot gate whose packets are frames of a physical layer: they are lost as whole
/// packets, and the sender can tell when the link is idle. `None` for other gates and links.
fn slotted(path: &LinksSetup, packet_size: u32, seed: RunSeed) -> Option<AnyLink> {
    let Carrier::Frames { queue, frames, errors: FrameErrors::Radio(radio), .. } = &path.forward.carrier
    else {
        return None;
    };
    if path.gate != Gate::Slot {
        return None;
    }
    let loss: Box<dyn LossProcess> = if radio.table.is_none() {
        Box::new(WholePackets {
            frames: symbols(radio, |of| seed.stream(&format!("{of}.dl"))),
            per_packet: frames.segmentation.frames(packet_size),
            frame_time: frames.frame_time,
        })
    } else {
        let p_e = packet_loss(&path.forward, packet_size, radio, "the simulation")
            .expect("checked as the scenario was resolved");
        LossConfig::Iid { p_e }.build(seed.stream("phy.dl")).expect("checked as the scenario was resolved")
    };
    let (rate_bps, delay) = (path.forward.rate_bps(), path.forward.delay);
    let config = LinkConfig { rate_bps, delay, queue: *queue, draws: seed.stream("queue.dl"), loss };
    Some(AnyLink::try_from(config).expect("checked as the scenario was resolved"))
}

/// Facts about a path of links, for `check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct PathFacts {
    /// Time in seconds that a data packet takes at the rate of the link.
    slot_s: f64,
    /// Bytes of a data packet.
    packet_bytes: u32,
    /// Links in the order in which data and then acknowledgements take them.
    links: Vec<LinkFacts>,
    /// Facts about each entry of the flows.
    flows: Vec<PathFlowFacts>,
}

/// Facts about one link of a path, for `check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct LinkFacts {
    /// Name of the link in results.
    name: &'static str,
    /// Mean bit rate in bit/s in the long run; `None`: packets take no time to transmit.
    rate_bps: Option<f64>,
    /// Constant propagation delay in seconds.
    delay_s: f64,
    /// Least, mean and largest recorded delay in seconds, in addition to [`Self::delay_s`]; `None` without recorded
    /// delays.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded_delay_s: Option<[f64; 3]>,
    /// Rate and delay after the end of a table of rates that does not repeat, up to which `rate_bps` is the mean;
    /// `None` otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<HeldFacts>,
    /// Facts about one direction of a satellite link; `None` for other links.
    #[serde(skip_serializing_if = "Option::is_none")]
    satellite: Option<SatelliteFacts>,
    /// Queue limit as the scenario writes it; `None`: no limit.
    queue_limit: Option<String>,
    /// Time in seconds that a frame takes; `None` for a link of whole packets.
    frame_s: Option<f64>,
    /// Share of frames or packets lost in the long run; `None` if unknown.
    loss_rate: Option<f64>,
    /// Mean number of consecutive losses, `None` if unknown; for Rayleigh fading that of a Markov chain near it.
    mean_burst: Option<f64>,
    /// Normalised Doppler frequency `f_d` T; `None` for a channel that does not fade.
    fd_t: Option<f64>,
    /// Doppler frequency in Hz; `None` for a channel that does not fade.
    doppler_hz: Option<f64>,
    /// Speed in m/s and carrier in Hz from which the Doppler frequency follows; `None` if the scenario does not give
    /// them.
    speed_and_carrier: Option<(f64, f64)>,
}

/// Last row of a table of rates, which holds to the end of the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct HeldFacts {
    /// Time in seconds from which the row holds.
    from_s: f64,
    /// Bit rate in bit/s.
    rate_bps: f64,
    /// Propagation delay in seconds, in addition to that of the link.
    delay_s: f64,
}

/// Facts about one direction of a satellite link in the long run, for `check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct SatelliteFacts {
    /// Direction of the satellite link: `down` or `up`.
    direction: &'static str,
    /// Time in seconds for which a satellite stays assigned.
    slot_s: f64,
    /// Share of time without capacity.
    outage_share: f64,
    /// Mean time in seconds for which a byte waits for a grant on an idle link.
    idle_wait_s: f64,
    /// Longest time in seconds without a grant around a slot boundary, if the outage there is not longer than usual.
    longest_gap_s: f64,
    /// Mean propagation delay in seconds, in addition to that of the link.
    mean_delay_s: f64,
}

/// Facts about an entry of the flows, for `check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct PathFlowFacts {
    /// Name of the flows; empty if the scenario names no flow.
    name: String,
    /// Mean round trip in seconds of a packet and its acknowledgement that wait in no queue, recorded delays included.
    round_trip_s: f64,
    /// Bandwidth-delay product in bytes: link rate times the round trip; `None` without a rate.
    bdp_bytes: Option<f64>,
}

fn facts(path: &LinksSetup, setup: &Setup) -> PathFacts {
    let [wired, forward, reverse, wired_reverse] = PATH;
    let (there, back) = path.around.wired.as_ref().map(|[there, back]| (there, back)).unzip();
    let links = [
        (wired, there),
        (forward, Some(&path.forward)),
        (reverse, Some(&path.around.reverse)),
        (wired_reverse, back),
    ];
    let flows = setup.flows.iter().map(|flow| {
        let round_trip_s = round_trip(path, setup, flow).as_secs_f64();
        let bdp_bytes = path.forward.rate_bps().map(|rate_bps| rate_bps * round_trip_s / 8.0);
        PathFlowFacts { name: flow.name.clone(), round_trip_s, bdp_bytes }
    });
    PathFacts {
        slot_s: setup.slot.as_secs_f64(),
        packet_bytes: setup.packet_size,
        links: links.into_iter().filter_map(|(name, hop)| Some(facts_of(name, hop?))).collect(),
        flows: flows.collect(),
    }
}

/// Mean round trip of a flow, including the mean delays of tables of rates, which the scenario's own round trip leaves
/// out.
fn round_trip(path: &LinksSetup, setup: &Setup, flow: &FlowSetup) -> SimTime {
    let wired = path.around.wired.iter().flatten();
    let hops = wired.chain([&path.forward, &path.around.reverse]);
    let of_tables = hops.filter_map(|hop| table_delays(hop).map(|[_, mean, _]| mean));
    of_tables.fold(setup.round_trip(flow), SimTime::saturating_add)
}

/// Least, mean and largest delay of a table of rates; `None` without a table or delays in it.
fn table_delays(hop: &HopSetup) -> Option<[SimTime; 3]> {
    let Schedule::Rates(table) = &hop.trace()?.schedule else { return None };
    Some(table.delays()).filter(|[.., largest]| *largest > SimTime::ZERO)
}

fn facts_of(name: &'static str, hop: &HopSetup) -> LinkFacts {
    let doppler = hop.doppler;
    LinkFacts {
        name,
        rate_bps: hop.rate_bps(),
        delay_s: hop.delay.as_secs_f64(),
        recorded_delay_s: hop
            .recorded_delays()
            .map(|delays| {
                let [least, largest] = delays.series.range();
                [least, delays.series.mean(), largest]
            })
            .or_else(|| table_delays(hop))
            .map(|delays| delays.map(SimTime::as_secs_f64)),
        held: hop.trace().and_then(|trace| held_facts(&trace.schedule)),
        satellite: hop.satellite().map(satellite_facts),
        queue_limit: hop.queue().limit().map(|limit| limit.to_string()),
        frame_s: hop.frames().map(|frames| frames.frame_time).map(SimTime::as_secs_f64),
        loss_rate: hop
            .loss()
            .and_then(LossConfig::rate)
            .or_else(|| hop.satellite().map(|satellite| satellite.direction.loss)),
        mean_burst: hop.loss().and_then(doubts::mean_burst),
        fd_t: doppler.map(|doppler| doppler.fd_t),
        doppler_hz: doppler.map(|doppler| doppler.frequency_hz),
        speed_and_carrier: doppler.and_then(|doppler| doppler.speed_and_carrier),
    }
}

fn held_facts(schedule: &Schedule) -> Option<HeldFacts> {
    let Schedule::Rates(table) = schedule else { return None };
    let [_, .., last] = table.rows() else { return None };
    table.period().is_none().then(|| HeldFacts {
        from_s: table.lasts().as_secs_f64(),
        rate_bps: last.rate_bps,
        delay_s: last.delay.as_secs_f64(),
    })
}

fn satellite_facts(satellite: &SatelliteSetup) -> SatelliteFacts {
    let ClosedForms { outage_share, idle_wait_s, longest_gap_s, .. } = satellite.closed_forms;
    SatelliteFacts {
        direction: match satellite.name {
            DirectionName::Down => "down",
            DirectionName::Up => "up",
        },
        slot_s: satellite.shared.slot.as_secs_f64(),
        outage_share,
        idle_wait_s,
        longest_gap_s,
        mean_delay_s: satellite.mean_delay.as_secs_f64(),
    }
}

fn short_queue(path: &LinksSetup, setup: &Setup) -> Option<String> {
    let queue = path.forward.queue();
    let drop_tail = matches!(queue, QueueConfig::DropTail(_));
    let limit = queue.limit().filter(|_| !drop_tail || path.gate == Gate::Queue)?;
    let packets = match limit {
        QueueLimit::Packets(packets) => packets as f64,
        QueueLimit::Bytes(bytes) => bytes as f64 / f64::from(setup.packet_size),
    };
    let longest = setup.flows.iter().map(|flow| round_trip(path, setup, flow)).max()?;
    let product = longest.as_nanos() as f64 / setup.slot.as_nanos() as f64;
    (packets < product / 2.0).then(|| {
        format!(
            "link.queue.limit ({limit}) is below half the bandwidth-delay product \
             ({product:.1} packets)"
        )
    })
}

/// Warning of an SNR at which fewer than one packet in 10000 can arrive, by the table of error rates or by an ideal
/// receiver.
fn nothing_arrives(path: &LinksSetup, packet_size: u32) -> Option<String> {
    const FEW: f64 = 1e-4;
    let radio = path.forward.radio().filter(|radio| radio.shadowing.is_none() && radio.policy.is_none())?;
    let even = if radio.table.is_some() { "says phy.table" } else { "even if its symbols did not interfere" };
    (best_packet_success(&path.forward, packet_size, radio) < FEW)
        .then(|| format!("channel.snr_db: nothing can arrive: less than one packet in 10000 would, {even}"))
}
