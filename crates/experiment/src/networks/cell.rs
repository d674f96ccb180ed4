//! A cell of an adaptive OFDM system: its construction, its metrics, and its facts for `check`: slots, bins, users, and
//! the SNR from which each modulation is used.

use super::doubts;
use super::hop::{link, wired};
use super::kind::NetworkKind;
use crate::memory::{PACKET, Path, packets, radio};
use crate::metric::{MetricOf, count};
use crate::parts::{LINK, PATH, Part, USER};
use crate::row::Row;
use crossfade_cell::{Allocation, Cell, UserConfig};
use crossfade_channel::wiener_nmse;
use crossfade_core::{RunSeed, SimTime, from_db, to_db};
use crossfade_link::{QueueLimit, SideBySide, UserStatistics};
use crossfade_scenario::{
    Around, CellModel, CellSetup, End, FlowSetup, Recorded, Scenario, ScenarioError, Setup, TrafficSetup,
};
use crossfade_sim::{Leg, Medium, NamedMedium, NetworkStatistics, Topology};
use serde::Serialize;
use serde_json::{Value, json};

impl NetworkKind for CellSetup {
    /// Builds the cell, the wired segment that its users share, and, if the cell has no uplink, a link on the reverse
    /// path for each user.
    fn topology(&self, _: &Setup, seed: RunSeed) -> Topology {
        let [_, forward, reverse, _] = PATH;
        let cell = Cell::new(self.model.config.clone(), seed).expect("checked as the scenario was resolved");
        let users = self.model.config.users.len() as u32;
        let cell = Medium::Fabric(Box::new(cell)).named(forward);
        let has_links = self.reverse().is_some();
        let cell = if has_links { cell } else { cell.and_back(reverse) };
        cell_with_links_back(cell, users, &self.around, has_links, seed)
    }

    fn parts(&self) -> Vec<Part> {
        let links = PATH.iter().map(|name| Part::new(LINK, *name));
        links.chain(Part::numbered(USER, self.model.config.users.len())).collect()
    }

    fn facts(&self, setup: &Setup) -> (&'static str, Value) {
        ("cell", json!(facts(self, setup)))
    }

    /// Bytes that the packets and users take: a queue and some 2 MB of fading processes for each user, twice with an
    /// uplink.
    fn memory(&self, setup: &Setup) -> f64 {
        let config = &self.model.config;
        let path = Path::around(&self.around, self.way_of_data() + self.way_of_acks());
        let under_way = packets(setup, &path) * PACKET + radio(&self.around.reverse);
        let uplink = config.uplink.as_ref().map_or(0.0, |uplink| 2e6 + queue_bytes(uplink.queue));
        under_way + config.users.len() as f64 * (2e6 + queue_bytes(config.queue) + uplink)
    }

    fn warnings(&self, setup: &Setup) -> Vec<String> {
        let model = &self.model;
        let there = self.around.wired.as_ref().map(|[there, _]| there);
        let of_channels =
            [fast_users(model), selective_bins(model), bold_prediction(model), known_traces(model)];
        let of_cell = of_channels.into_iter().chain([weak_uplink(model), narrow_uplink(model, setup)]);
        let of_path = [doubts::in_phase(setup, there.into_iter())].into_iter().flatten();
        let of_links = doubts::of_links(setup);
        of_path.chain(of_links).chain(of_cell.flatten()).chain(short_traces(model, setup.end)).collect()
    }

    fn warnings_of_runs(&self, setup: &Setup, rows: &[&Row]) -> Vec<String> {
        starved(setup, rows).into_iter().collect()
    }

    fn metrics_of_run(&self, setup: &Setup, run: &NetworkStatistics) -> Vec<(String, f64)> {
        let [_, forward, reverse, _] = PATH;
        let mut values = cell_metrics(setup, run, forward, &[]);
        // Reverse-path links of a cell without uplink have no counts of users.
        values.extend(of_users(setup, run, reverse, &[UPLINK_METRICS, UPLINK_KEPT], &[]));
        values
    }

    fn unmet_assumption(&self, _: &Scenario, who: &str) -> Option<ScenarioError> {
        let problem = format!("{who} assumes a link of constant rate; use method simulation");
        Some(ScenarioError::key("cell", problem))
    }
}

/// Topology of a cell, with the wired segment that its users share. On the reverse path each user has a link of its own
/// (`has_links`) or sends through the cell.
pub(super) fn cell_with_links_back(
    cell: NamedMedium,
    users: u32,
    around: &Around,
    has_links: bool,
    seed: RunSeed,
) -> Topology {
    let [_, _, reverse, _] = PATH;
    let mut media = vec![cell];
    if has_links {
        let back = |user: u32| link(&around.reverse, seed, &format!("ul.{user}"));
        let uplinks = SideBySide::new((0..users).map(back).collect());
        media.push(Medium::Fabric(Box::new(uplinks)).named(reverse));
    }
    let is_wired = around.wired.is_some();
    if let Some(both) = &around.wired {
        let [there, back] = wired(both, seed);
        media.insert(0, there);
        media.push(back);
    }
    let (first, last) = (usize::from(is_wired), media.len() - 1);
    let both_ways = |user: u32| {
        let mut data = vec![Leg { medium: first, from: 0, to: user + 1 }];
        let mut acks = vec![if has_links {
            Leg { medium: first + 1, from: user, to: users + user }
        } else {
            Leg { medium: first, from: user + 1, to: 0 }
        }];
        if is_wired {
            data.insert(0, Leg::link(0));
            acks.push(Leg::link(last));
        }
        [data, acks]
    };
    Topology { media, routes: (0..users).flat_map(both_ways).collect() }
}

/// Bytes of memory that a full queue takes; 0 for a queue without limit.
pub(super) fn queue_bytes(limit: Option<QueueLimit>) -> f64 {
    match limit {
        None => 0.0,
        Some(QueueLimit::Packets(packets)) => packets as f64 * PACKET,
        Some(QueueLimit::Bytes(bytes)) => bytes as f64 / 40.0 * PACKET,
    }
}

/// Metrics of the users of link `link`, without the metrics named in `without`.
pub(super) fn of_users(
    setup: &Setup,
    run: &NetworkStatistics,
    link: &str,
    metrics: &[&[MetricOf<UsersMeasured>]],
    without: &[&str],
) -> Vec<(String, f64)> {
    let Some((users, whole)) = users(setup, run, link) else { return Vec::new() };
    let wanted = metrics.iter().copied().flatten().filter(|metric| !without.contains(&metric.info.name));
    wanted.flat_map(|metric| metric.values(USER, &whole, &users)).collect()
}

/// Published metrics of the users of a downlink, without those named in `without`, and the counts that rows keep.
pub(super) fn cell_metrics(
    setup: &Setup,
    run: &NetworkStatistics,
    link: &str,
    without: &[&str],
) -> Vec<(String, f64)> {
    of_users(setup, run, link, &[METRICS, KEPT], without)
}

/// Sizes of a cell and facts about its users, for `check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct CellFacts {
    /// Length of a slot in seconds.
    slot_s: f64,
    /// Number of symbols with payload in a bin of a slot.
    symbols: u32,
    /// Number of bins of the downlink.
    bins: usize,
    /// Width of a bin in Hz.
    bin_width_hz: f64,
    /// Coherence bandwidth in Hz, taken as a fifth of the inverse delay spread; `None` for a channel of a single path.
    coherence_bandwidth_hz: Option<f64>,
    /// Users of the cell, in the order of the flows.
    users: Vec<UserFacts>,
    /// Entries of the flows; each has the next of [`Self::users`].
    flows: Vec<CellFlowFacts>,
    /// Facts about the uplink; `None` if users have links on the reverse path.
    #[serde(skip_serializing_if = "Option::is_none")]
    uplink: Option<UplinkFacts>,
}

/// Facts about the uplink of a cell, for `check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct UplinkFacts {
    /// Pattern of downlink and uplink slots.
    pattern: String,
    /// Time in seconds from a packet's arrival at an idle user to the first slot that may carry it.
    grant_delay_s: f64,
    /// Mean signal-to-noise ratio in dB of each user's uplink.
    mean_snr_db: Vec<f64>,
}

/// Facts about an entry of the flows, for `check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct CellFlowFacts {
    /// Name of the flow; empty if the scenario names no flows.
    name: String,
    /// Number of users of the entry.
    users: usize,
    /// Round trip in seconds of a packet and its acknowledgement that wait only for slots.
    round_trip_s: f64,
}

/// Facts about a user, for `check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct UserFacts {
    /// Mean signal-to-noise ratio in dB.
    mean_snr_db: f64,
    /// Speed in m/s.
    speed_mps: f64,
    /// Normalised Doppler frequency `f_d` T: maximum Doppler shift in cycles per slot.
    fd_t: f64,
    /// Coherence time of the channel in seconds, 0.423 divided by the maximum Doppler shift (Rappaport); `None` for a
    /// constant channel.
    coherence_time_s: Option<f64>,
    /// True if the signal-to-noise ratios of the user are recorded.
    is_recorded: bool,
    /// Normalised mean square error of the user's channel predictions.
    nmse: f64,
    /// Predicted SNR in dB from which 1, 2, ..., 8 bits a symbol are used; `None` without a limit.
    levels_db: [Option<f64>; 8],
}

fn facts(cell: &CellSetup, setup: &Setup) -> CellFacts {
    let config = &cell.model.config;
    let coherence = config.profile.coherence_bandwidth_hz();
    let user = |user: &UserConfig| {
        let UserConfig { mean_snr_db, speed_mps, fd_t, nmse, .. } = *user;
        let level = |&ratio: &f64| (ratio > 0.0).then(|| to_db(ratio));
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
    let uplink = config.uplink.as_ref().map(|uplink| UplinkFacts {
        pattern: uplink.pattern.to_string(),
        grant_delay_s: uplink.grant_delay.as_secs_f64(),
        mean_snr_db: config.users.iter().map(|user| user.mean_snr_db + uplink.snr_offset_db).collect(),
    });
    CellFacts {
        slot_s: config.slot.as_secs_f64(),
        symbols: config.symbols,
        bins: config.bins,
        bin_width_hz: config.bin_width_hz,
        coherence_bandwidth_hz: coherence.is_finite().then_some(coherence),
        users: config.users.iter().map(user).collect(),
        flows: setup.flows.iter().map(flow).collect(),
        uplink,
    }
}

/// Distance in dB below the level of 2 bits a symbol at which most frames of 1 bit a symbol fail too.
const MARGIN_DB: f64 = 10.0;
/// Normalised Doppler frequency above which the channel changes within a slot.
const FAST: f64 = 0.25;
/// Number of slots from which a predictor is assumed to estimate the channel.
const OBSERVATIONS: usize = 32;

/// Warning that `cell.prediction` does not apply to recorded channels.
fn known_traces(cell: &CellModel) -> Option<String> {
    let [recorded, ..] = &cell.recorded[..] else { return None };
    (cell.is_prediction_given).then(|| {
        format!(
            "cell.prediction says nothing of {}: recorded ratios are known as they are, or as cell.feedback reports them",
            recorded.key
        )
    })
}

/// Warnings of recorded channels that end before the run does.
fn short_traces(cell: &CellModel, end: End) -> impl Iterator<Item = String> {
    cell.recorded.iter().filter_map(move |Recorded { key, lasts, repeats }| {
        let End::At(end) = end else { return None };
        let consequence = if *repeats { "it begins again" } else { "its last line holds for the rest" };
        (*lasts > SimTime::ZERO && *lasts < end)
            .then(|| format!("{key} lasts {lasts} and a run {end}: {consequence}"))
    })
}

fn fast_users(cell: &CellModel) -> Option<String> {
    let fastest = cell.config.users.iter().map(|user| user.fd_t).fold(0.0, f64::max);
    (fastest >= FAST).then(|| {
        format!(
            "f_d T = {fastest:.2} for the fastest user: channels change within a slot, in which they are taken to be \
             constant"
        )
    })
}

fn selective_bins(cell: &CellModel) -> Option<String> {
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

/// Warning that some user's prediction is better than a Wiener filter can be.
fn bold_prediction(cell: &CellModel) -> Option<String> {
    let horizon = cell.horizon_slots?;
    let limit = |user: &crossfade_cell::UserConfig| {
        let snr = from_db(user.mean_snr_db);
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

/// Warning of a user whom the downlink serves but whose uplink SNR is too low to be decoded.
fn weak_uplink(cell: &CellModel) -> Option<String> {
    let uplink = cell.config.uplink.as_ref()?;
    let (number, mean_db, level_db) = (0..).zip(&cell.config.users).find_map(|(number, user)| {
        let mean_db = user.mean_snr_db + uplink.snr_offset_db;
        let level_db = to_db(user.levels.at(mean_db)[1]);
        (mean_db < level_db - MARGIN_DB && user.mean_snr_db >= level_db)
            .then_some((number, mean_db, level_db))
    })?;
    Some(format!(
        "cell.uplink.snr_offset_db = {}: user {number} is received at {mean_db:.1} dB, far below the {level_db:.1} dB from \
         which 2 bits a symbol are used: most of its acknowledgements are sent again and again",
        uplink.snr_offset_db
    ))
}

/// Warning that the uplink carries less than the acknowledgements of a full downlink, at equal modulations.
fn narrow_uplink(cell: &CellModel, setup: &Setup) -> Option<String> {
    let config = &cell.config;
    let uplink = config.uplink.as_ref()?;
    let [down, up] = uplink.pattern.slots();
    let usable = |allocation: Allocation| allocation.usable(config.bins, config.users.len()) as f64;
    let (down, up) = (down as f64 * usable(config.allocation), up as f64 * usable(uplink.allocation));
    let of_data = |flow: &FlowSetup| {
        let tcp = flow.tcp()?;
        let every = f64::from(tcp.config.segments_per_ack());
        Some(f64::from(tcp.ack_size) / f64::from(flow.packet_size) / every)
    };
    let needed = setup.flows.iter().filter_map(of_data).reduce(f64::max)? * down;
    (needed > up).then(|| {
        format!(
            "cell.uplink.pattern = {:?}: acknowledgements of a full downlink take {:.2} times the bins that the uplink has, at \
             equal modulations: they limit the goodput",
            uplink.pattern.to_string(),
            needed / up
        )
    })
}

/// Warning of a user that had data to send but was never scheduled.
fn starved(setup: &Setup, rows: &[&Row]) -> Option<String> {
    let is_simulated =
        |traffic: &TrafficSetup| !matches!(traffic, TrafficSetup::Outside | TrafficSetup::Arrivals { .. });
    let flows = setup.flows.iter().filter(|flow| is_simulated(&flow.traffic));
    let users = flows.flat_map(|flow| flow.ends.iter().map(move |&[_, port]| (&flow.name, port - 1)));
    let had_none = |user: u32| {
        let key = Part::new(USER, user.to_string()).key("bins_per_slot");
        rows.iter().filter(|row| row.metrics.get(&key) == Some(0.0)).count()
    };
    let (name, user, runs) = users
        .map(|(name, user)| (name, user, had_none(user)))
        .filter(|(_, _, runs)| *runs > 0)
        .max_by_key(|(_, _, runs)| *runs)?;
    let of_flow = if name.is_empty() { String::new() } else { format!(" of flow {name}") };
    Some(format!("user {user}{of_flow} was never scheduled in {runs} of {} runs", rows.len()))
}

/// Counts of one user of a cell, or of all users together.
pub(crate) struct UsersMeasured {
    pub(super) counts: UserStatistics,
    /// Goodput of each user in bit/s: packets that came through the cell.
    goodputs_bps: Vec<f64>,
    /// Measured time in slots.
    slots: f64,
}

impl UsersMeasured {
    /// Sum of the counts of several bearers, for metrics that need no rates.
    pub(super) fn of<'a>(all: impl IntoIterator<Item = &'a UserStatistics>) -> Self {
        let mut counts = UserStatistics::default();
        all.into_iter().for_each(|one| counts.add(one));
        Self { counts, goodputs_bps: Vec::new(), slots: 0.0 }
    }

    /// Mean goodput of a user in bit/s.
    fn goodput_bps(&self) -> f64 {
        self.goodputs_bps.iter().sum::<f64>() / self.goodputs_bps.len() as f64
    }

    /// Quantile `p` of the users' goodputs in bit/s: the smallest goodput that at least a share `p` of the users does
    /// not exceed.
    fn goodput_quantile_bps(&self, p: f64) -> f64 {
        let mut sorted = self.goodputs_bps.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = ((p * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len());
        sorted[rank - 1]
    }

    /// Mean time in seconds for which packets waited for their first frame; NaN without packets.
    fn queueing_delay_mean_s(&self) -> f64 {
        let packets = &self.counts.packets;
        if packets.transmissions == 0 {
            f64::NAN
        } else {
            packets.queueing_delay_s / packets.transmissions as f64
        }
    }

    /// Number of failed frames per frame of new bits.
    fn retransmissions_per_frame(&self) -> f64 {
        of_some(self.counts.arq.frame_errors, self.counts.arq.frames)
    }

    /// Share of the frames of new bits that failed.
    fn initial_frame_error_rate(&self) -> f64 {
        of_some(self.counts.first_errors, self.counts.arq.frames)
    }

    /// Mean number of earlier failures of the bits of a delivered frame, or of a part of a split frame.
    fn retransmissions_per_piece(&self) -> f64 {
        of_some(self.counts.failures_before, self.counts.arq.frames_delivered)
    }

    /// Share of the sent frames that had `bits` bits a symbol.
    fn modulation_share(&self, bits: usize) -> f64 {
        self.counts.frames_by_bits[bits - 1] as f64 / self.counts.sent() as f64
    }

    /// Share of the sent frames whose predicted SNR was below the lowest switch level.
    fn below_levels_share(&self) -> f64 {
        self.counts.below_levels as f64 / self.counts.sent() as f64
    }

    /// Mean number of bins that a user had in a slot.
    fn bins_per_slot(&self) -> f64 {
        self.counts.sent() as f64 / self.slots / self.goodputs_bps.len() as f64
    }
}

/// Quotient of two counts; NaN if the denominator is 0.
pub(super) fn of_some(count: u64, of: u64) -> f64 {
    if of == 0 { f64::NAN } else { count as f64 / of as f64 }
}

/// Counts of each user of link `link`, and of all users together; `None` if the link has no users.
fn users(setup: &Setup, run: &NetworkStatistics, link: &str) -> Option<(Vec<UsersMeasured>, UsersMeasured)> {
    let users = &run.link(link)?.users;
    let is_forward = link == PATH[1];
    if users.is_empty() && !is_forward {
        return None;
    }
    let slots = run.duration.as_nanos() as f64 / setup.slot.as_nanos() as f64;
    let goodput =
        |user: &UserStatistics| user.packets.arrived_bytes as f64 * 8.0 / run.duration.as_secs_f64();
    let mut counts = UserStatistics::default();
    for user in users {
        counts.add(user);
    }
    let one = |user: &UserStatistics| UsersMeasured {
        counts: user.clone(),
        goodputs_bps: vec![goodput(user)],
        slots,
    };
    let whole = UsersMeasured { counts, goodputs_bps: users.iter().map(goodput).collect(), slots };
    Some((users.iter().map(one).collect(), whole))
}

/// Published metrics of the users of a cell's downlink, in the order of tables.
#[rustfmt::skip]
#[expect(clippy::redundant_closure_for_method_calls, reason = "the rows of a table look alike")]
pub(super) static METRICS: &[MetricOf<UsersMeasured>] = &[
    MetricOf::each(USER, "user_goodput_bps", "bit/s", "Goodput of a user", "Whole packets, headers included, that the cell delivered to a user, per second; for all users together, their mean.", |users| users.goodput_bps()),
    MetricOf::whole("user_goodput_p05_bps", "bit/s", "Goodput, 5th percentile of users", "The goodput of a user that 5 % of the users do not exceed.", |users| users.goodput_quantile_bps(0.05)),
    MetricOf::each(USER, "bins_per_slot", "1", "Bins per slot", "Mean number of bins that a user of a cell had in a slot.", |users| users.bins_per_slot()),
    MetricOf::each(USER, "retransmissions_per_frame", "1", "Retransmissions per frame", "Failed frames of a cell, divided by the frames of new bits.", |users| users.retransmissions_per_frame()),
    MetricOf::each(USER, "retransmissions_per_piece", "1", "Retransmissions per piece", "Mean number of failures of the bits of a frame before it arrives; the parts of a split frame count each.", |users| users.retransmissions_per_piece()),
    MetricOf::each(USER, "initial_frame_error_rate", "1", "Initial frame error rate", "Share of failed frames among those of new bits, in a cell: the target of the outer loop.", |users| users.initial_frame_error_rate()),
    MetricOf::each(USER, "below_levels_share", "1", "Frames below the lowest level", "Share of the frames of a cell whose predicted channel was below the lowest switch level.", |users| users.below_levels_share()),
    MetricOf::each(USER, "modulation_share_1", "1", "Frames of 1 bit a symbol", "Share of the frames of a cell that were sent with 1 bit a symbol.", |users| users.modulation_share(1)),
    MetricOf::each(USER, "modulation_share_2", "1", "Frames of 2 bits a symbol", "Share of the frames of a cell that were sent with 2 bits a symbol.", |users| users.modulation_share(2)),
    MetricOf::each(USER, "modulation_share_3", "1", "Frames of 3 bits a symbol", "Share of the frames of a cell that were sent with 3 bits a symbol.", |users| users.modulation_share(3)),
    MetricOf::each(USER, "modulation_share_4", "1", "Frames of 4 bits a symbol", "Share of the frames of a cell that were sent with 4 bits a symbol.", |users| users.modulation_share(4)),
    MetricOf::each(USER, "modulation_share_5", "1", "Frames of 5 bits a symbol", "Share of the frames of a cell that were sent with 5 bits a symbol.", |users| users.modulation_share(5)),
    MetricOf::each(USER, "modulation_share_6", "1", "Frames of 6 bits a symbol", "Share of the frames of a cell that were sent with 6 bits a symbol.", |users| users.modulation_share(6)),
    MetricOf::each(USER, "modulation_share_7", "1", "Frames of 7 bits a symbol", "Share of the frames of a cell that were sent with 7 bits a symbol.", |users| users.modulation_share(7)),
    MetricOf::each(USER, "modulation_share_8", "1", "Frames of 8 bits a symbol", "Share of the frames of a cell that were sent with 8 bits a symbol.", |users| users.modulation_share(8)),
];

/// Counts of the downlink that rows keep for quotients over all runs together.
#[rustfmt::skip]
pub(super) static KEPT: &[MetricOf<UsersMeasured>] = &[
    MetricOf::each(USER, "cell_frames", "1", "", "", |users| count(users.counts.arq.frames)),
    MetricOf::each(USER, "cell_frames_delivered", "1", "", "", |users| count(users.counts.arq.frames_delivered)),
    MetricOf::each(USER, "cell_frames_sent", "1", "", "", |users| count(users.counts.sent())),
];

/// Published metrics of the users of a cell's uplink, in the order of tables.
#[rustfmt::skip]
#[expect(clippy::redundant_closure_for_method_calls, reason = "the rows of a table look alike")]
pub(super) static UPLINK_METRICS: &[MetricOf<UsersMeasured>] = &[
    MetricOf::each(USER, "uplink_goodput_bps", "bit/s", "Goodput of a user's uplink", "Whole packets, headers included, that the uplink of a cell delivered from a user, per second; for all users together, their mean.", |users| users.goodput_bps()),
    MetricOf::each(USER, "uplink_bins_per_slot", "1", "Uplink bins per slot", "Mean number of uplink bins that a user of a cell had in a slot, over all slots.", |users| users.bins_per_slot()),
    MetricOf::each(USER, "uplink_initial_frame_error_rate", "1", "Initial frame error rate of the uplink", "Share of failed frames among those of new bits, in the uplink of a cell.", |users| users.initial_frame_error_rate()),
    MetricOf::each(USER, "uplink_queueing_delay_mean_s", "s", "Mean queueing delay of the uplink", "How long packets waited at their user from their arrival to their first frame: for a scheduling request and its grant, for a slot of the uplink, and for bins. Those that still wait at the end are left out.", |users| users.queueing_delay_mean_s()),
];

/// Counts of the uplink that rows keep for quotients over all runs together.
#[rustfmt::skip]
pub(super) static UPLINK_KEPT: &[MetricOf<UsersMeasured>] = &[
    MetricOf::each(USER, "uplink_frames", "1", "", "", |users| count(users.counts.arq.frames)),
    MetricOf::each(USER, "uplink_packets_sent", "1", "", "", |users| count(users.counts.packets.transmissions)),
];
