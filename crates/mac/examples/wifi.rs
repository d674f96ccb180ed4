//! Saturated stations of 802.11ax with aggregates and MPDU errors, exchange by exchange, beside the closed form; and who gets the
//! air where one station is slow.
//!
//! `cargo run --release -p crossfade-mac --example wifi -- [p] [seconds]`

use crossfade_core::{RunSeed, SimTime, Stream};
use crossfade_link::{Departure, Fabric, Parcel, QueueConfig, QueueLimit};
use crossfade_mac::MeshError;
use crossfade_mac::wlan::{
    AccessPointQueues, AirtimeUser, Ampdu, AmpduLimits, BEST_EFFORT, Band, BlockAckFrame, Contest, Durations,
    EDCA, Form, MPDU_OVERHEAD, Mode, Originator, Overhead, RadioConfig, RateConfig, ReceptionConfig,
    Recipient, SLOT, Saturated, Settled, Sharing, Standard, StationConfig, Transmit, Wlan, WlanConfig,
    around, on_air, shares, subframe_bytes,
};
use rand::RngExt;

const PACKET: u32 = 1500;
const PAYLOAD_BITS: f64 = 1472.0 * 8.0;
/// How often a BAR is sent before what is in flight counts as lost.
const BARS: u32 = 7;

/// A station that always has a packet, and what the access point has of it.
struct Station {
    originator: Originator<u64>,
    recipient: Recipient<u64>,
    next: u64,
    bars: u32,
    released: Vec<u64>,
}

impl Station {
    fn new(window: u32) -> Self {
        let patience = Some(SimTime::from_millis(100));
        let (originator, recipient) = (Originator::new(window, Some(7)), Recipient::new(window, patience));
        Self { originator, recipient, next: 0, bars: 0, released: Vec::new() }
    }

    /// How long what it sends lasts without its answer, where `reads` says of each MPDU whether it is read.
    fn send(
        &mut self,
        now: SimTime,
        mode: Mode,
        limits: &AmpduLimits,
        mut reads: impl FnMut() -> bool,
    ) -> SimTime {
        if let Some(Transmit::Bar(start)) = self.originator.poll_transmit(true) {
            if reads() {
                self.recipient.on_bar(on_air(start), &mut self.released);
            }
            return mode.control().ppdu(24, Durations::Standard);
        }
        let (recipient, released, next) = (&mut self.recipient, &mut self.released, &mut self.next);
        let mut ampdu = Ampdu::new(mode, limits, None);
        let source = |room| {
            let bytes = PACKET + MPDU_OVERHEAD;
            (bytes.next_multiple_of(4) <= room).then(|| {
                *next += 1;
                (bytes, *next - 1)
            })
        };
        self.originator.compose(&mut ampdu, source, |number, &item, _| {
            if reads() {
                recipient.on_mpdu(now, on_air(number), item, released);
            }
        });
        ampdu.duration()
    }

    fn answered(&mut self) {
        self.bars = 0;
        self.originator.on_block_ack(|number| self.recipient.has(number), &mut Settled::default());
    }

    /// No answer came: a BAR asks for it, or what was in flight is sent again at once.
    fn unanswered(&mut self, asks: bool) {
        self.bars += 1;
        if !asks || self.bars > BARS {
            self.bars = 0;
            self.originator.on_silence(&mut Settled::default());
        } else {
            self.originator.on_timeout();
        }
    }
}

/// Bits of payload that were released in a second, where MPDUs fail with probability `p` and a station `asks` for a missed answer with
/// a BAR, or sends again.
fn simulate(
    stations: usize,
    mode: Mode,
    limits: &AmpduLimits,
    (p, asks): (f64, bool),
    seconds: u64,
    draws: &mut Stream,
) -> f64 {
    let seed = RunSeed { seed: 1, run: 0 };
    let best_effort = EDCA[BEST_EFFORT];
    let mut air = Contest::new(mode.band(), vec![best_effort; stations], seed.stream("contention"));
    (0..stations).for_each(|station| air.draw(station));
    let mut all: Vec<Station> = (0..stations).map(|_| Station::new(limits.window)).collect();
    let answer = mode.band().sifs() + BlockAckFrame::of_window(limits.window).duration(mode);
    let extended = mode.band().sifs() + mode.slowest_control().ppdu(14, Durations::Standard);
    let (mut now, end) = (SimTime::ZERO, SimTime::from_millis(1000 * seconds));
    while now < end {
        let at = |station| air.access(station, SimTime::ZERO);
        let first = (0..stations).map(at).min().unwrap_or(end);
        let senders: Vec<usize> = (0..stations).filter(|&station| at(station) == first).collect();
        air.begin(first, &senders);
        if let [sender] = senders[..] {
            let station = &mut all[sender];
            now = first + station.send(first, mode, limits, || draws.random::<f64>() >= p) + answer;
            station.answered();
            air.succeed(sender);
        } else {
            let mut longest = SimTime::ZERO;
            for &sender in &senders {
                longest = longest.max(all[sender].send(first, mode, limits, || false));
                all[sender].unanswered(asks);
                air.fail(sender);
            }
            now = first + longest + extended;
        }
        air.end(now);
        for station in &mut all {
            if station.recipient.next_timeout().is_some_and(|at| at <= now) {
                station.recipient.on_timeout(now, &mut station.released);
            }
        }
    }
    all.iter().map(|station| station.released.len()).sum::<usize>() as f64 * PAYLOAD_BITS / now.as_secs_f64()
}

fn closed_form(stations: usize, mode: Mode, limits: &AmpduLimits) -> f64 {
    let mut ampdu = Ampdu::new(mode, limits, None);
    while ampdu.push(PACKET + MPDU_OVERHEAD) {}
    let aifs = EDCA[BEST_EFFORT].aifs(mode.band());
    let answer = BlockAckFrame::of_window(limits.window).duration(mode);
    let extended = mode.slowest_control().ppdu(14, Durations::Standard);
    let around = ampdu.duration() + mode.band().sifs() + aifs;
    let saturated = Saturated {
        stations,
        windows: EDCA[BEST_EFFORT].windows,
        slot_s: SLOT.as_secs_f64(),
        success_s: (around + answer).as_secs_f64(),
        collision_s: (around + extended).as_secs_f64(),
        packets: ampdu.mpdus(),
        bits: f64::from(ampdu.mpdus()) * PAYLOAD_BITS,
    };
    saturated.throughput(Form::Plain).map_or(f64::NAN, |found| found.throughput_bps)
}

/// The access point always has 300 packets for each station, `seconds` long: bits of payload a second and share of
/// the airtime of each station, and how many packets there were.
fn download(config: WlanConfig, seconds: u64) -> Result<(Vec<(f64, f64)>, u64), MeshError> {
    let stations = config.stations.len();
    let mut wlan = Wlan::new(config, RunSeed { seed: 1, run: 0 })?;
    let mut arrived = vec![0_u64; stations];
    for (id, station) in (0..300).flat_map(|id| (1..=stations as u32).map(move |station| (id, station))) {
        wlan.push(SimTime::ZERO, 0, station, Parcel::new(id, station, PACKET));
    }
    let end = SimTime::from_millis(1000 * seconds);
    while let Some(now) = wlan.next_event().filter(|now| *now < end) {
        while let Some((port, departure)) = wlan.advance(now) {
            arrived[port as usize - 1] += u64::from(matches!(departure, Departure::Arrived(_)));
            wlan.push(now, 0, port, departure.parcel());
        }
    }
    let of = wlan.report(end).stations;
    let total: SimTime = of.iter().map(|station| station.airtime).sum();
    let share = |station: usize| of[station].airtime.as_secs_f64() / total.as_secs_f64();
    let rate = |station: usize| arrived[station] as f64 * PAYLOAD_BITS / seconds as f64;
    Ok(((0..stations).map(|station| (rate(station), share(station))).collect(), arrived.iter().sum()))
}

fn network(modes: &[Mode], access_point: AccessPointQueues) -> WlanConfig {
    let station = |&mode: &Mode| StationConfig {
        modes: vec![mode],
        limits: AmpduLimits::of(mode.standard()),
        rate: RateConfig::Constant(0),
        reception: ReceptionConfig::ErrorRate(0.0),
    };
    WlanConfig {
        stations: modes.iter().map(station).collect(),
        categories: vec![EDCA[BEST_EFFORT]],
        attempts: Some(7),
        rts: false,
        asks: false,
        queue: QueueConfig::DropTail(Some(QueueLimit::Packets(1000))),
        access_point,
        radio: RadioConfig::default(),
        neighbours: None,
    }
}

fn main() -> Result<(), MeshError> {
    let arguments: Vec<f64> = std::env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let p = arguments.first().copied().unwrap_or(0.0);
    let seconds = arguments.get(1).map_or(10, |seconds| *seconds as u64);
    let mut draws = RunSeed { seed: 1, run: 0 }.stream("mpdu");
    println!("width_mhz,mcs,window,stations,closed_form_mbps,sent_again_mbps,asked_with_a_bar_mbps");
    for (width, mcs, window) in [(20, 7, 64), (80, 4, 64), (80, 11, 64), (80, 11, 256), (160, 11, 256)] {
        let mode = Mode::new(Standard::Ax, Band::Ghz5, mcs, 1, width, 800)?;
        let limits = AmpduLimits { window, ..AmpduLimits::of(Standard::Ax) };
        limits.check(Standard::Ax)?;
        for stations in [1, 2, 5, 10, 20] {
            let form = closed_form(stations, mode, &limits) / 1e6;
            let mut found = |asks| simulate(stations, mode, &limits, (p, asks), seconds, &mut draws) / 1e6;
            let (again, asked) = (found(false), found(true));
            println!("{width},{mcs},{window},{stations},{form:.1},{again:.1},{asked:.1}");
        }
    }
    println!("sharing,station,air_share,mbps");
    let mode = Mode::new(Standard::N, Band::Ghz5, 7, 2, 20, 400)?;
    let overhead = Overhead {
        preamble: mode.preamble(Durations::Standard),
        around: around(mode, EDCA[BEST_EFFORT], BlockAckFrame::of_window(64)),
    };
    let bytes = f64::from(subframe_bytes(PACKET + MPDU_OVERHEAD));
    let user = |packets, rate_bps| AirtimeUser { packets, bytes, bits: PAYLOAD_BITS, rate_bps };
    let users = [user(20.0, mode.rate_bps()), user(20.0, mode.rate_bps()), user(2.0, 7.2e6)];
    for sharing in [Sharing::Turns, Sharing::Airtime] {
        for (station, (share, rate)) in shares(&users, overhead, sharing).into_iter().enumerate() {
            println!("{sharing:?},{station},{share:.3},{:.1}", rate / 1e6);
        }
    }
    println!("access_point,station,air_share,mbps");
    let slow = Mode::new(Standard::N, Band::Ghz5, 0, 1, 20, 400)?;
    let fair = AccessPointQueues::PerStation { airtime_fairness: true, aql: None };
    for access_point in [AccessPointQueues::OneFifo(QueueLimit::Packets(1000)), fair] {
        let (found, _) = download(network(&[mode, mode, slow], access_point), seconds)?;
        for (station, (rate, share)) in found.into_iter().enumerate() {
            println!("{access_point:?},{station},{share:.3},{:.1}", rate / 1e6);
        }
    }
    println!("stations,ns_a_packet");
    let fast = Mode::new(Standard::Ax, Band::Ghz5, 11, 1, 80, 800)?;
    for stations in [1, 20] {
        let start = std::time::Instant::now();
        let (_, packets) = download(network(&vec![fast; stations], fair), seconds)?;
        println!("{stations},{:.0}", start.elapsed().as_nanos() as f64 / packets as f64);
    }
    Ok(())
}
