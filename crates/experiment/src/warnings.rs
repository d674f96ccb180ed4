//! What makes a result doubtful though nothing is wrong with the scenario.

use crate::cell_warnings as cell;
use crate::closed_forms::best_packet_success;
use crate::methods::solver;
use crate::metrics::DIED;
use crate::row::Row;
use crossfade_channel::{Clock, LossConfig};
use crossfade_core::{Estimate, MethodKind, SimTime};
use crossfade_link::{QueueConfig, QueueLimit};
use crossfade_mac::{Reception, Routes};
use crossfade_scenario::{
    End, FlowSetup, Gaps, Gate, HopSetup, Method, Point, Setup, StopRule, TraceSetup, TrafficSetup,
};
use crossfade_transport::{Flavour, RtoRule, Variant};

/// Doubts that a point of a plan raises before anything runs.
pub(crate) fn of_plan(methods: &[Method], point: &Point) -> Vec<String> {
    let refusals = methods.iter().filter_map(|&method| refusal(point, method));
    of_setup(&point.setup).into_iter().chain(refusals).collect()
}

/// The result of `method` at `point` is missing.
fn refusal(point: &Point, method: Method) -> Option<String> {
    solver(method).refusal(point).map(|error| missing(method, &error.to_string()))
}

/// A method that has no result, and why.
pub(crate) fn missing(method: Method, why: &str) -> String {
    format!("no {}: {why}", method.name())
}

/// A chain stands for a channel that is none.
pub(crate) fn fitted(method: Method, good_runs: f64, bad_runs: f64) -> String {
    format!(
        "{} takes a chain fitted to the channel, whose run lengths differ: by up to {} in P[good run >= k] and {} \
         in P[bad run >= k]",
        method.name(),
        percent(good_runs),
        percent(bad_runs)
    )
}

/// A flow that the scenario's file does not name.
pub(crate) fn new_flow(name: &str, first: &Point) -> String {
    let others = first.setup.flows.iter().map(|flow| flow.name.as_str());
    let others: Vec<&str> = others.filter(|other| *other != name).collect();
    let beside = if others.is_empty() { "no other flow".to_owned() } else { others.join(", ") };
    format!("flows.{name} is a new flow: the scenario itself does not name it (beside it there is {beside})")
}

/// Doubts that the scenario raises before anything runs.
pub(crate) fn of_setup(setup: &Setup) -> Vec<String> {
    let of_flow =
        |flow| [early_timeout(setup, flow).or_else(|| slow_recovery(setup, flow)), narrow_window(flow)];
    let of_flows = setup.flows.iter().flat_map(of_flow);
    let of_way = |(link, channel, hop)| {
        [
            coarse_times(setup, link, hop),
            hasty_link(link, hop),
            short_trace(setup, hop),
            short_record(setup, channel, hop),
            open_record(channel, hop),
        ]
    };
    let ways = [("link", "channel", &setup.forward), ("reverse", "reverse.channel", &setup.reverse)];
    let of_ways = ways.into_iter().flat_map(of_way);
    let of_cell = setup.cell.iter().flat_map(|of| cell::of_setup(of, setup.end));
    let of_mesh = setup.flows.iter().map(|flow| shadowed_route(setup, flow));
    of_flows
        .chain([short_queue(setup), in_phase(setup), nothing_arrives(setup)])
        .chain(of_ways)
        .chain(of_mesh)
        .flatten()
        .chain(of_cell)
        .collect()
}

/// All doubts about the result of a point that stands on `rows` of a method that is random.
pub(crate) fn of_runs(stop: &StopRule, point: &Point, method: Method, rows: &[&Row]) -> Vec<String> {
    if method == Method::Phy {
        // Its frames know no more of the scenario than the physical layer.
        return unfinished(stop, rows).into_iter().collect();
    }
    let mut warnings = of_setup(&point.setup);
    let Setup { forward, reverse, wired, .. } = &point.setup;
    let doubts = [
        died(rows),
        unfinished_flows(rows),
        cell::starved(&point.setup, rows),
        full_queue("link", forward, "queue_drops", rows),
        full_queue("reverse", reverse, "reverse.queue_drops", rows),
        wired.as_ref().and_then(|[there, _]| full_queue("wired", there, "wired.queue_drops", rows)),
        without_effect("channel", forward.loss(), "frame_error_rate", rows),
        without_effect("reverse.channel", reverse.loss(), "reverse.frame_error_rate", rows),
        unfinished(stop, rows),
        equal_runs(&point.setup, rows),
    ];
    warnings.extend(doubts.into_iter().flatten());
    warnings
}

/// The key of a flow's TCP.
fn tcp_key(flow: &FlowSetup, key: &str) -> String {
    if flow.name.is_empty() { format!("tcp.{key}") } else { format!("flows.{}.tcp.{key}", flow.name) }
}

/// The shortest timeout that a flow's TCP may use, and its key.
fn shortest_timeout(flow: &FlowSetup) -> Option<(String, SimTime)> {
    let (key, shortest) = match flow.tcp()?.config.rto.rule {
        RtoRule::Fixed(timeout) => ("fixed", timeout),
        RtoRule::Estimated { min, initial, .. } if initial < min => ("initial", initial),
        RtoRule::Estimated { min, .. } => ("min", min),
    };
    Some((tcp_key(flow, &format!("rto.{key}")), shortest))
}

fn early_timeout(setup: &Setup, flow: &FlowSetup) -> Option<String> {
    let (key, shortest) = shortest_timeout(flow)?;
    let delay = setup.round_trip(flow);
    (shortest <= delay).then(|| {
        format!(
            "{key} ({shortest}) is at or below the ACK delay ({delay}, the round trip without \
             queueing): segments may time out that were not lost"
        )
    })
}

/// The link may take so long to repeat a lost frame that TCP repeats its segment too (RFC 3366 section 2).
fn slow_recovery(setup: &Setup, flow: &FlowSetup) -> Option<String> {
    let (key, shortest) = shortest_timeout(flow)?;
    let (link, recovery) = [("link", &setup.forward), ("reverse", &setup.reverse)]
        .map(|(link, hop)| (link, hop.longest_recovery()))
        .into_iter()
        .max_by_key(|(_, recovery)| *recovery)?;
    let longest = setup.round_trip(flow).saturating_add(recovery);
    (recovery > SimTime::ZERO && shortest <= longest).then(|| {
        format!(
            "{key} ({shortest}) is at or below the time in which {link}.arq may still repeat a lost frame \
             ({longest} with the round trip): segments may time out that were not lost"
        )
    })
}

/// Packets are so short that whole nanoseconds do not measure them.
fn coarse_times(setup: &Setup, link: &str, hop: &HopSetup) -> Option<String> {
    let (what, bytes) =
        hop.frames().map_or(("packet", setup.packet_size), |frames| ("frame", frames.frame_size));
    let rate_bps = hop.trace().is_none().then(|| hop.rate_bps()).flatten()?;
    let (exact, taken) = (f64::from(bytes) * 8e9 / rate_bps, SimTime::to_transmit(bytes, rate_bps));
    (taken.as_nanos() as f64 > exact * 1.001).then(|| {
        format!(
            "{link}.rate: times are whole nanoseconds, and a {what} of {bytes} B takes {exact:.2}: the link carries \
             {:.4} of its rate at most",
            exact / taken.as_nanos() as f64
        )
    })
}

/// A queue dropped packets for a limit that nobody asked for; a saturated source is there to fill it. What a filter of
/// acknowledgements drops has nothing to do with it.
fn full_queue(link: &str, hop: &HopSetup, drops: &str, rows: &[&Row]) -> Option<String> {
    let limit = hop
        .queue()
        .limit()
        .filter(|_| hop.limit_assumed && hop.aggregation.is_none() && hop.policer.is_none())?;
    let dropped: f64 = rows.iter().filter_map(|row| row.metrics.get(drops)).sum();
    (dropped > 0.0).then(|| {
        format!(
            "{link}.queue.limit is not given, and the usual {limit} were full: {dropped} packets were dropped \
             (\"unlimited\" drops none)"
        )
    })
}

/// A link repeats what has not had the time to be acknowledged.
fn hasty_link(link: &str, hop: &HopSetup) -> Option<String> {
    let frames = hop.frames()?;
    let (key, patience) = frames.patience()?;
    let answer = frames.answer_time(hop.delay);
    (patience < answer).then(|| {
        format!(
            "{link}.arq.{key} ({patience}) is below the time in which an answer can come ({answer}): frames may \
             be repeated that were not lost"
        )
    })
}

/// A run outlasts the trace of a link.
fn short_trace(setup: &Setup, hop: &HopSetup) -> Option<String> {
    let (TraceSetup { schedule, key, .. }, End::At(end)) = (hop.trace()?, setup.end) else {
        return None;
    };
    let lasts = schedule.lasts();
    let consequence =
        if schedule.repeats() { "it begins again" } else { "what holds then holds for the rest" };
    (lasts > SimTime::ZERO && lasts < end)
        .then(|| format!("{key} lasts {lasts} and a run {end}: {consequence}"))
}

/// A run outlasts the recorded losses of a channel.
fn short_record(setup: &Setup, key: &str, hop: &HopSetup) -> Option<String> {
    let (Some(LossConfig::Trace { losses, clock }), End::At(end)) = (hop.loss(), setup.end) else {
        return None;
    };
    let step = match clock {
        Clock::Slot(step) => *step,
        // The most that there can be.
        Clock::Transmission => hop.frames().map_or(setup.slot, |frames| frames.frame_time),
    };
    let (packets, steps) = (losses.trace.packets(), end / step);
    (packets < steps).then(|| {
        format!("{key}.file holds {packets} packets and a run has up to {steps}: the record begins again")
    })
}

/// How long a record is, it does not say.
fn open_record(key: &str, hop: &HopSetup) -> Option<String> {
    let Some(LossConfig::Trace { losses, .. }) = hop.loss() else { return None };
    losses.packets_assumed.then(|| {
        format!(
            "{key}.file does not say how many packets there were: it is taken to end with its last loss (add a \
             line \"# packets N\")"
        )
    })
}

/// A route discovery takes a link for usable that passes one frame in ten.
const PASSES: f64 = 0.1;

/// Shadowing lets frames through beyond the range: a route discovery would find other routes.
fn shadowed_route(setup: &Setup, flow: &FlowSetup) -> Option<String> {
    let mesh = setup.mesh.as_ref()?;
    if matches!(mesh.config.reception, Reception::Range) {
        return None;
    }
    let discovered = mesh.config.discovered_routes(PASSES);
    flow.ends.iter().find_map(|&[from, to]| {
        let hops = |routes: &Routes| routes.hops(from as usize, to as usize).ok();
        let (taken, found) = (hops(&mesh.routes)?, hops(&discovered)?);
        (found != taken).then(|| format!(
            "from node {from} to node {to} packets take {taken} hops, but mesh.shadowing_db lets frames through \
             beyond mesh.range: a route discovery that takes a link for usable which passes {} of the frames would \
             find {found} hops",
            percent(PASSES)
        ))
    })
}

fn short_queue(setup: &Setup) -> Option<String> {
    if setup.cell.is_some() {
        // Its slots are no packet times: how fast it is for a user, the run says.
        return None;
    }
    let queue = setup.forward.queue();
    let drop_tail = matches!(queue, QueueConfig::DropTail(_));
    let limit = queue.limit().filter(|_| !drop_tail || setup.gate == Gate::Queue)?;
    let packets = match limit {
        QueueLimit::Packets(packets) => packets as f64,
        QueueLimit::Bytes(bytes) => bytes as f64 / f64::from(setup.packet_size),
    };
    let longest = setup.flows.iter().map(|flow| setup.round_trip(flow)).max()?;
    let product = longest.as_nanos() as f64 / setup.slot.as_nanos() as f64;
    (packets < product / 2.0).then(|| {
        format!(
            "link.queue.limit ({limit}) is below half the bandwidth-delay product \
             ({product:.1} packets)"
        )
    })
}

/// An SNR at which no packet comes through, by a receiver better than there can be.
fn nothing_arrives(setup: &Setup) -> Option<String> {
    const FEW: f64 = 1e-4;
    let radio = setup.forward.radio().filter(|radio| radio.shadowing.is_none() && radio.policy.is_none())?;
    (best_packet_success(setup, radio) < FEW).then(|| {
        "channel.snr_db: nothing can arrive: less than one packet in 10000 would, even if its symbols did not interfere"
            .to_owned()
    })
}

/// Sources that are exactly periodic and begin in phase keep it: at a full drop-tail queue it is always the same ones
/// that lose (Floyd and Jacobson, "On traffic phase effects in packet-switched gateways", 1992).
fn in_phase(setup: &Setup) -> Option<String> {
    let wired = setup.wired.as_ref().map(|[there, _]| there);
    let is_full = |hop: &&HopSetup| {
        // TCP fills any queue; datagrams alone must offer more than the link carries.
        let offered: f64 = setup.flows.iter().map(offered_bps).sum();
        matches!(hop.queue(), QueueConfig::DropTail(Some(_)))
            && hop.rate_bps().is_some_and(|rate_bps| offered >= rate_bps)
    };
    [Some(&setup.forward), wired].into_iter().flatten().find(is_full)?;
    let periodic: Vec<(&FlowSetup, u64)> =
        setup.flows.iter().filter_map(|flow| Some((flow, period(flow)?))).collect();
    let pairs = periodic.iter().enumerate().flat_map(|(i, first)| {
        periodic[i..].iter().filter_map(move |second| {
            let is_same = std::ptr::eq(first.0, second.0);
            (!is_same || first.0.count > 1).then_some((*first, *second))
        })
    });
    let meets = |(first, second): &((&FlowSetup, u64), (&FlowSetup, u64))| {
        let common = gcd(first.1, second.1);
        let apart = if std::ptr::eq(first.0, second.0) {
            first.0.stagger.as_nanos()
        } else {
            (first.0.start.as_nanos() + first.0.access_delay.as_nanos())
                .abs_diff(second.0.start.as_nanos() + second.0.access_delay.as_nanos())
        };
        // Periods in the ratio of small numbers meet again and again, if they ever meet.
        first.1.min(second.1) / common <= 100 && apart.is_multiple_of(common)
    };
    let ((first, _), (second, _)) = pairs.into_iter().find(meets)?;
    let who = if std::ptr::eq(first, second) {
        format!("the sources of flows.{} are", first.name)
    } else {
        format!("flows.{} and flows.{} are", first.name, second.name)
    };
    Some(format!(
        "{who} exactly periodic and in phase at a drop-tail queue: which of them loses packets is no matter of \
         chance; traffic = \"poisson\", jitter, start_within or stagger mends that"
    ))
}

/// The time between two packets of a source that is exactly periodic for good, in nanoseconds.
fn period(flow: &FlowSetup) -> Option<u64> {
    match &flow.traffic {
        TrafficSetup::Udp { rate_bps, gaps: Gaps::Periodic, on_off: None }
            if flow.start_within == SimTime::ZERO =>
        {
            Some(SimTime::to_transmit(flow.packet_size, *rate_bps).as_nanos()).filter(|gap| *gap > 0)
        }
        _ => None,
    }
}

/// The mean rate at which a flow would send; TCP takes what it gets.
fn offered_bps(flow: &FlowSetup) -> f64 {
    match &flow.traffic {
        TrafficSetup::Udp { rate_bps, on_off, .. } => {
            let share = on_off.map_or(1.0, |[on, off]| on.mean / (on.mean + off.mean));
            f64::from(flow.count) * rate_bps * share
        }
        TrafficSetup::PacedTcp(_, rate_bps) => f64::from(flow.count) * rate_bps,
        TrafficSetup::Tcp(..) | TrafficSetup::Arrivals { .. } | TrafficSetup::Saturated => f64::INFINITY,
        TrafficSetup::Outside => 0.0,
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn narrow_window(flow: &FlowSetup) -> Option<String> {
    let config = &flow.tcp()?.config;
    let (threshold, dupthresh) = match config.flavour {
        Flavour::Quic => ("quic.packet_threshold", config.rfc.quic.packet_threshold),
        _ => ("dupthresh", config.dupthresh.into()),
    };
    let w_max = u64::from(config.w_max);
    let [w_max_key, dupthresh_key] = ["w_max", threshold].map(|key| tcp_key(flow, key));
    (w_max <= dupthresh && config.variant != Variant::OldTahoe).then(|| {
        format!(
            "{w_max_key} ({w_max}) is not above {dupthresh_key} ({dupthresh}): \
             the window cannot trigger a fast retransmit"
        )
    })
}

fn died(rows: &[&Row]) -> Option<String> {
    let dead = rows.iter().filter(|row| row.metrics.get(DIED).is_some_and(|died| died > 0.0)).count();
    (dead > 0).then(|| {
        format!(
            "a flow died in {dead} of {} runs: nothing was delivered in the last half of the run",
            rows.len()
        )
    })
}

/// Flows had not come to their end when the run did.
fn unfinished_flows(rows: &[&Row]) -> Option<String> {
    let of = |name: &str| rows.iter().filter_map(|row| row.metrics.get(name)).collect::<Vec<f64>>();
    let unfinished = of("flows_unfinished");
    let [left, done]: [f64; 2] = [unfinished.iter().sum(), of("flows_completed").iter().sum()];
    let runs = unfinished.iter().filter(|left| **left > 0.0).count();
    (left > 0.0).then(|| {
        format!(
            "{left} of {} flows were unfinished when the run ended, in {runs} of {} runs: completion times are at least as \
             long as is said (a longer run.duration would tell)",
            left + done,
            rows.len()
        )
    })
}

/// A record is the same in every run: where nothing else is drawn, the runs say nothing of the spread.
fn equal_runs(setup: &Setup, rows: &[&Row]) -> Option<String> {
    let is_record =
        matches!(setup.forward.loss(), Some(LossConfig::Trace { .. })) || setup.forward.trace().is_some();
    let [first, others @ ..] = rows else { return None };
    let are_equal = !others.is_empty() && others.iter().all(|row| row.metrics == first.metrics);
    (is_record && are_equal).then(|| {
        format!("all {} runs are equal, nothing in them is random: intervals of 0 mean nothing", rows.len())
    })
}

/// `rate` names the metric that counts the losses of the channel `key`.
fn without_effect(key: &str, loss: Option<&LossConfig>, rate: &str, rows: &[&Row]) -> Option<String> {
    let lossless = |row: &&Row| row.metrics.get(rate).is_some_and(|rate| rate == 0.0);
    // Losses of a table come with its rates, which have an effect.
    let may_lose = loss.is_some_and(LossConfig::may_lose);
    (may_lose && !rows.is_empty() && rows.iter().all(lossless)).then(|| {
        let runs = if rows.len() == 1 { "the run".to_owned() } else { format!("any of {} runs", rows.len()) };
        format!("{key} had no effect on the outcome: nothing was lost in {runs}")
    })
}

fn unfinished(stop: &StopRule, rows: &[&Row]) -> Option<String> {
    let done = rows.len() as u64;
    let values: Vec<f64> = rows.iter().map(|row| row.of_stop(stop)).collect();
    if stop.is_met(&values) {
        return None;
    }
    match stop {
        StopRule::Runs(runs) => Some(format!("interrupted after {done} of {runs} runs")),
        StopRule::Precision { metric, relative, max_runs } => {
            let precision = percent(*relative);
            if done < *max_runs {
                return Some(format!(
                    "interrupted after {done} runs, before the precision of {precision} was reached"
                ));
            }
            let estimate = Estimate::from_runs(&values, MethodKind::Simulation)?;
            let reached = percent(estimate.ci95? / estimate.value.abs());
            Some(format!(
                "{metric} has not reached the precision of {precision} within {max_runs} runs: it is {reached}"
            ))
        }
        StopRule::Count { metric, count, max_runs } if done < *max_runs => {
            Some(format!("interrupted after {done} runs, before {metric} came to {count}"))
        }
        StopRule::Count { metric, count, max_runs } => {
            let sum: f64 = values.iter().filter(|value| value.is_finite()).sum();
            Some(format!("{metric} has not come to {count} within {max_runs} runs: it is {sum}"))
        }
    }
}

/// A share for people: four significant digits.
fn percent(share: f64) -> String {
    let rounded: f64 = format!("{:.3e}", 100.0 * share).parse().unwrap_or(f64::NAN);
    format!("{rounded} %")
}
