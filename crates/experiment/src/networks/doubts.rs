//! Warnings about the links of a network, for all kinds of networks.

use crate::row::Row;
use crossfade_channel::{Clock, LossConfig, TwoStateMarkov};
use crossfade_core::{SimTime, greatest_common_divisor};
use crossfade_link::QueueConfig;
use crossfade_scenario::{
    DelaySetup, End, FlowSetup, Gaps, HopSetup, Setup, TraceSetup, TrafficSetup, WirelessLink,
};

/// Warnings about the wireless links of a network before any run.
pub(super) fn of_links(setup: &Setup) -> impl Iterator<Item = String> {
    let of_link = |WirelessLink { table, channel, hop }| {
        [
            coarse_times(setup, table, hop),
            hasty_link(table, hop),
            narrow_arq(table, hop),
            short_trace(setup, hop),
            few_slots(setup, table, hop),
            out_of_sight(table, hop),
            unused_parts(hop),
            uneven_delays(setup, hop),
            short_record(setup, channel, hop),
            open_record(channel, hop),
            long_bursts(table, channel, hop),
        ]
    };
    setup.network.wireless_links().into_iter().flat_map(of_link).flatten()
}

/// Warnings about the queues and channels of a network after the runs of `rows`.
pub(crate) fn of_network_runs(setup: &Setup, rows: &[&Row]) -> Vec<String> {
    let links = setup.network.wireless_links();
    // The metrics of the forward link, which carries the data, are those of the whole network.
    let key = |table: &str, metric: &str| {
        if table == "link" { metric.to_owned() } else { format!("{table}.{metric}") }
    };
    let full = |table: &str, hop| full_queue(table, hop, &key(table, "queue_drops"), rows);
    let full_queues = links.iter().map(|link| full(link.table, link.hop));
    let wired = setup.network.around().and_then(|around| around.wired.as_ref());
    let full_wired = wired.and_then(|[there, _]| full("wired", there));
    let idle_channels = links.iter().map(|WirelessLink { table, channel, hop }| {
        without_effect(channel, hop.loss(), &key(table, "frame_error_rate"), rows)
    });
    full_queues.chain([full_wired]).chain(idle_channels).flatten().collect()
}

/// Warning that packets are so short that times in whole nanoseconds reduce the rate by more than 0.1 %.
fn coarse_times(setup: &Setup, link: &str, hop: &HopSetup) -> Option<String> {
    let (what, bytes) =
        hop.frames().map_or(("packet", setup.packet_size), |frames| ("frame", frames.frame_size));
    let is_constant = hop.trace().is_none() && hop.satellite().is_none();
    let rate_bps = is_constant.then(|| hop.rate_bps()).flatten()?;
    let (exact, taken) = (f64::from(bytes) * 8e9 / rate_bps, SimTime::to_transmit(bytes, rate_bps));
    (taken.as_nanos() as f64 > exact * 1.001).then(|| {
        format!(
            "{link}.rate: times are whole nanoseconds, and a {what} of {bytes} B takes {exact:.2}: the link carries \
             {:.4} of its rate at most",
            exact / taken.as_nanos() as f64
        )
    })
}

/// Warning that a queue dropped packets by a default limit, unless a saturated source is meant to fill it. Drops of an
/// acknowledgement filter do not count, nor do drops of an AQM discipline, whose early drops cannot be separated.
fn full_queue(link: &str, hop: &HopSetup, drops: &str, rows: &[&Row]) -> Option<String> {
    let QueueConfig::DropTail(limit) = hop.queue() else { return None };
    let limit = limit.filter(|_| hop.limit_assumed && hop.aggregation.is_none() && hop.policer.is_none())?;
    let dropped: f64 = rows.iter().filter_map(|row| row.metrics.get(drops)).sum();
    (dropped > 0.0).then(|| {
        format!(
            "{link}.queue.limit is not given, and the usual {limit} were full: {dropped} packets were dropped \
             (\"unlimited\" drops none)"
        )
    })
}

/// Warning that a link retransmits frames before their acknowledgement can arrive.
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

/// Warning that the ARQ window is too small to fill the link.
fn narrow_arq(link: &str, hop: &HopSetup) -> Option<String> {
    let frames = hop.frames()?;
    let window = frames.protocol.window()?;
    let product = frames.answer_time(hop.delay).as_nanos() as f64 / frames.frame_time.as_nanos() as f64;
    let share = f64::from(window) / product;
    (share < 1.0).then(|| {
        format!(
            "{link}.arq.window ({window} frames) is below the link's bandwidth-delay product ({product:.1} frames, from the \
             start of a frame to its acknowledgement): the link carries at most {} of its rate (\"2 bdp\" leaves room for \
             retransmissions)",
            percent(share)
        )
    })
}

/// Warning that ARQ gives up a frame before a mean burst of losses ends.
fn long_bursts(link: &str, channel: &str, hop: &HopSetup) -> Option<String> {
    let frames = hop.frames()?;
    let tries = frames.protocol.most_repetitions().filter(|tries| *tries > 0)?;
    let loss = hop.loss()?;
    let step = match loss {
        LossConfig::Markov { clock, .. } | LossConfig::Rayleigh { clock, .. } => match clock {
            Clock::Slot(step) => *step,
            // With the clock of transmissions, a step is the transmission of a frame.
            Clock::Transmission => frames.frame_time,
        },
        _ => return None,
    };
    let burst = step.as_secs_f64() * mean_burst(loss)?;
    let persistence = hop.longest_recovery();
    // The text has no number that differs between points of a sweep, so that all points give one warning.
    (burst > persistence.as_secs_f64()).then(|| {
        let times = if tries == 1 { "retransmission" } else { "retransmissions" };
        format!(
            "{channel}: bursts of losses last longer, on average, than {link}.arq repeats a frame ({tries} {times}, \
             {persistence}): they reach the transport"
        )
    })
}

/// Mean number of consecutive losses, `None` if unknown; for Rayleigh fading that of a Markov chain near it.
pub(super) fn mean_burst(loss: &LossConfig) -> Option<f64> {
    let chain = match loss {
        LossConfig::Iid { p_e } => TwoStateMarkov::iid(*p_e).ok(),
        LossConfig::Markov { chain, .. } => Some(*chain),
        LossConfig::Rayleigh { p_e, fd_t, .. } => TwoStateMarkov::from_rayleigh(*p_e, *fd_t).ok(),
        _ => None,
    };
    chain.map(|chain| chain.mean_burst()).filter(|burst| burst.is_finite())
}

/// Warning that a run outlasts the trace of a link.
fn short_trace(setup: &Setup, hop: &HopSetup) -> Option<String> {
    let (TraceSetup { schedule, key, .. }, End::At(end)) = (hop.trace()?, setup.end) else {
        return None;
    };
    let lasts = schedule.lasts();
    let consequence = match schedule {
        _ if schedule.repeats() => "it begins again",
        _ if schedule.ends_dead() => "nothing is sent from then on",
        _ => "what holds then holds for the rest",
    };
    (lasts > SimTime::ZERO && lasts < end)
        .then(|| format!("{key} lasts {lasts} and a run {end}: {consequence}"))
}

/// Number of satellite slots below which a run says little about their spread.
const FEW_SLOTS: u64 = 10;

/// Warning that a run has fewer than ten slots of a satellite link.
fn few_slots(setup: &Setup, table: &str, hop: &HopSetup) -> Option<String> {
    let (slot, End::At(end)) = (hop.satellite()?.shared.slot, setup.end) else { return None };
    (table == "link" && end < slot * FEW_SLOTS).then(|| {
        format!(
            "a run lasts {end} and has fewer than {FEW_SLOTS} slots of {slot} of the satellite link: rates change from slot to \
             slot, and intervals are as wide as these are few"
        )
    })
}

/// Warning that no satellite of the orbit is in sight for a part of the time.
fn out_of_sight(table: &str, hop: &HopSetup) -> Option<String> {
    let coverage = hop.satellite()?.coverage;
    (table == "link" && coverage < 1.0).then(|| {
        let share = percent(1.0 - coverage);
        format!(
            "link.satellite.orbit: no satellite is in sight of terminal and gateway for {share} of the time"
        )
    })
}

/// Warning that the trace of a link has parts that the link does not follow.
fn unused_parts(hop: &HopSetup) -> Option<String> {
    let TraceSetup { key, unused, .. } = hop.trace()?;
    let parts: Vec<&str> = unused
        .iter()
        .enumerate()
        .filter(|(at, part)| !unused[..*at].contains(part))
        .map(|(_, part)| *part)
        .collect();
    (!parts.is_empty())
        .then(|| format!("{key} says also what the link does not follow: {}", parts.join(", ")))
}

/// Warning that the record of a link's delay ends at another time than that of its capacity, or before the run.
fn uneven_delays(setup: &Setup, hop: &HopSetup) -> Option<String> {
    let DelaySetup { series, file_ends, key } = hop.recorded_delays()?;
    let Some(period) = series.period() else {
        let End::At(end) = setup.end else { return None };
        let is_short = *file_ends > SimTime::ZERO && *file_ends < end;
        return is_short
            .then(|| format!("{key} ends at {file_ends} and a run lasts {end}: its last delay holds"));
    };
    if *file_ends >= period {
        return Some(format!(
            "{key} goes on to {file_ends}, beyond the capacity, which begins again after {period}: rows from then on are left out"
        ));
    }
    // Delays that are recorded only now and then are not missing so soon.
    let held = period - *file_ends;
    (series.longest_gap() > SimTime::ZERO && held > series.longest_gap() * 2)
        .then(|| format!("{key} ends at {file_ends} and the capacity begins again after {period}: its last delay holds for {held}"))
}

/// Warning that a run outlasts the recorded losses of a channel.
fn short_record(setup: &Setup, key: &str, hop: &HopSetup) -> Option<String> {
    let (Some(LossConfig::Trace { losses, clock }), End::At(end)) = (hop.loss(), setup.end) else {
        return None;
    };
    let step = match clock {
        Clock::Slot(step) => *step,
        // Frames or packets can be no more frequent.
        Clock::Transmission => hop.frames().map_or(setup.slot, |frames| frames.frame_time),
    };
    let (packets, steps) = (losses.trace.packets(), end / step);
    (packets < steps).then(|| {
        format!("{key}.file holds {packets} packets and a run has up to {steps}: the record begins again")
    })
}

/// Warning that a record of losses does not say how many packets there were.
fn open_record(key: &str, hop: &HopSetup) -> Option<String> {
    let Some(LossConfig::Trace { losses, .. }) = hop.loss() else { return None };
    losses.packets_assumed.then(|| {
        format!(
            "{key}.file does not say how many packets there were: it is taken to end with its last loss (add a \
             line \"# packets N\")"
        )
    })
}

/// Warning of exactly periodic sources that are in phase at a full drop-tail queue: always the same ones lose packets
/// (Floyd and Jacobson, "On traffic phase effects in packet-switched gateways", 1992).
pub(super) fn in_phase<'a>(
    setup: &Setup,
    mut on_the_way: impl Iterator<Item = &'a HopSetup>,
) -> Option<String> {
    let is_full = |hop: &&HopSetup| {
        // TCP fills any queue; datagrams alone must offer more than the link carries.
        let offered: f64 = setup.flows.iter().map(offered_bps).sum();
        matches!(hop.queue(), QueueConfig::DropTail(Some(_)))
            && hop.rate_bps().is_some_and(|rate_bps| offered >= rate_bps)
    };
    on_the_way.find(is_full)?;
    let periodic: Vec<(&FlowSetup, u64)> =
        setup.flows.iter().filter_map(|flow| Some((flow, period(flow)?))).collect();
    let pairs = periodic.iter().enumerate().flat_map(|(i, first)| {
        periodic[i..].iter().filter_map(move |second| {
            let is_same = std::ptr::eq(first.0, second.0);
            (!is_same || first.0.count > 1).then_some((*first, *second))
        })
    });
    let meets = |(first, second): &((&FlowSetup, u64), (&FlowSetup, u64))| {
        let common = greatest_common_divisor(first.1, second.1);
        let apart = if std::ptr::eq(first.0, second.0) {
            first.0.stagger.as_nanos()
        } else {
            (first.0.start.as_nanos() + first.0.access_delay.as_nanos())
                .abs_diff(second.0.start.as_nanos() + second.0.access_delay.as_nanos())
        };
        // Only periods in the ratio of small numbers meet again and again.
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

/// Time in nanoseconds between two packets of a source that is exactly periodic and never stops; `None` for other
/// sources.
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

/// Mean rate in bit/s that the flows of an entry offer; infinite for TCP.
fn offered_bps(flow: &FlowSetup) -> f64 {
    match &flow.traffic {
        TrafficSetup::Udp { rate_bps, on_off, .. } => {
            let share = on_off.map_or(1.0, |[on, off]| on.mean / (on.mean + off.mean));
            f64::from(flow.count) * rate_bps * share
        }
        // Mean rate over the length of the record.
        TrafficSetup::Recorded(record) => {
            let lasts_s = record.period().unwrap_or(record.last_time()).as_secs_f64();
            let (_, bytes) = record.totals(lasts_s);
            if lasts_s > 0.0 { f64::from(flow.count) * bytes * 8.0 / lasts_s } else { 0.0 }
        }
        TrafficSetup::PacedTcp(_, rate_bps) => f64::from(flow.count) * rate_bps,
        TrafficSetup::Tcp(..) | TrafficSetup::Arrivals { .. } | TrafficSetup::Saturated => f64::INFINITY,
        TrafficSetup::Outside => 0.0,
    }
}

/// Warning that the channel `key` lost nothing in any run although it may; `rate` names the metric that counts its
/// losses.
fn without_effect(key: &str, loss: Option<&LossConfig>, rate: &str, rows: &[&Row]) -> Option<String> {
    let lossless = |row: &&Row| row.metrics.get(rate).is_some_and(|rate| rate == 0.0);
    // Losses of a table of rates come with its rates, which have an effect.
    let may_lose = loss.is_some_and(LossConfig::may_lose);
    (may_lose && !rows.is_empty() && rows.iter().all(lossless)).then(|| {
        let runs = if rows.len() == 1 { "the run".to_owned() } else { format!("any of {} runs", rows.len()) };
        format!("{key} had no effect on the outcome: nothing was lost in {runs}")
    })
}

/// Text of a share in per cent, with four significant digits.
pub(crate) fn percent(share: f64) -> String {
    let rounded: f64 = format!("{:.3e}", 100.0 * share).parse().unwrap_or(f64::NAN);
    format!("{rounded} %")
}
