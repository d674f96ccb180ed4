//! The profile `starlink-leocc-2025` agrees with the record to which it was fitted: rates and delays to its first half,
//! slot boundaries to all eight.

use std::sync::LazyLock;

use crossfade_core::{RunSeed, SimTime};
use crossfade_link::satellite::{DirectionName, Profile, Satellite, SatelliteConfig};
use crossfade_link::{Departure, Link, Parcel, Push, QueueConfig};

const MS: SimTime = SimTime::from_millis(1);
/// Times of the slot boundaries in the record, in ms.
static BOUNDARIES: [usize; 8] = [8770, 23_770, 38_770, 53_770, 68_770, 83_770, 98_770, 113_770];
const SEEDS: u64 = 100;

/// Records simulated from the profile with 100 seeds, computed once.
fn models() -> &'static [Record] {
    static MODELS: LazyLock<Vec<Record>> = LazyLock::new(|| (0..SEEDS).map(Record::of_model).collect());
    &MODELS
}

/// Capacity of each ms in bits, and half of the RTT of pings in ms, one every 10 ms.
struct Record {
    bits: Vec<f64>,
    delays: Vec<f64>,
}

impl Record {
    fn of_leo_replayer() -> Self {
        let text = include_str!("../../../tests/data/leo-replayer-example.txt");
        let (_, data) = text.split_once("\ncapacity\n").unwrap();
        let (capacity, delays) = data.split_once("\ndelay\n").unwrap();
        let numbers = |text: &str| -> Vec<f64> {
            text.bytes().filter(|byte| *byte != b'\n').map(|byte| f64::from(byte - b'!')).collect()
        };
        Self {
            bits: numbers(capacity).into_iter().map(|packets| packets * 12_000.0).collect(),
            delays: numbers(delays),
        }
    }

    /// Record simulated from the profile with `seed`.
    fn of_model(seed: u64) -> Self {
        let [down, up] = satellites(seed);
        Self { bits: granted(&down), delays: pings(down, up) }
    }

    /// Sorted rates in Mbit/s of windows of 100 ms, between two times in ms.
    fn windows(&self, from: usize, to: usize) -> Vec<f64> {
        let mut rates: Vec<f64> =
            self.bits[from..to].chunks_exact(100).map(|window| window.iter().sum::<f64>() / 1e5).collect();
        rates.sort_by(f64::total_cmp);
        rates
    }

    /// Sorted delays in ms, between two times in ms.
    fn sorted_delays(&self, from: usize, to: usize) -> Vec<f64> {
        let mut delays = self.delays[from / 10..(to / 10).min(11_999)].to_vec();
        delays.sort_by(f64::total_cmp);
        delays
    }

    /// Rates in Mbit/s in windows of 50 ms, from 100 ms before a boundary on, averaged over `boundaries`.
    fn gate(&self, boundaries: &[usize]) -> Vec<f64> {
        let piece = |from: usize| self.bits[from..from + 50].iter().sum::<f64>() / 5e4;
        let mean = |at: usize| {
            boundaries.iter().map(|boundary| piece(boundary - 100 + 50 * at)).sum::<f64>()
                / boundaries.len() as f64
        };
        (0..14).map(mean).collect()
    }

    /// Covariance of the logarithms of the rates of windows of 100 ms in a slot, `lag` windows apart, from 700 ms after
    /// a boundary to 200 ms before the next.
    fn within(&self, lag: usize) -> f64 {
        let of_slot = |boundary: &usize| {
            let windows = self.bits[boundary + 700..boundary + 14_800].chunks_exact(100);
            let logs: Vec<f64> = windows.map(|window| window.iter().sum::<f64>().ln()).collect();
            let mean = logs.iter().sum::<f64>() / logs.len() as f64;
            let products = logs.iter().zip(&logs[lag..]).map(|(a, b)| (a - mean) * (b - mean));
            products.sum::<f64>() / (logs.len() - lag) as f64
        };
        BOUNDARIES[..7].iter().map(of_slot).sum::<f64>() / 7.0
    }

    /// Autocorrelation of the capacity per millisecond, at a lag of `lag` ms.
    fn autocorrelation(&self, lag: usize) -> f64 {
        let n = self.bits.len();
        let mean = self.bits.iter().sum::<f64>() / n as f64;
        let product = |lag: usize| -> f64 {
            let pairs = self.bits.iter().zip(&self.bits[lag..]);
            pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / (n - lag) as f64
        };
        product(lag) / product(0)
    }
}

/// Capacity of a direction in each ms, in bits.
fn granted(direction: &Satellite) -> Vec<f64> {
    let mut bits = vec![0.0; 120_053];
    for (at, bytes) in direction.capacities().grants(SimTime::ZERO, MS * 120_053) {
        if let Some(sum) = bits.get_mut((at.as_nanos() / 1_000_000) as usize) {
            *sum += bytes as f64 * 8.0;
        }
    }
    bits
}

/// Both directions, with the slot boundaries of the record and the parameters of its direction.
fn satellites(run: u64) -> [Satellite; 2] {
    let Profile { shared, down, .. } = Profile::starlink_leocc_2025();
    let shared = SatelliteConfig { offset: Some(MS * BOUNDARIES[0] as u64), ..shared };
    [DirectionName::Down, DirectionName::Up]
        .map(|name| Satellite::new(shared.clone(), name, down.clone(), RunSeed { seed: 1, run }).unwrap())
}

/// Half of the RTT in ms of pings on an idle link, one every 10 ms.
fn pings(down: Satellite, up: Satellite) -> Vec<f64> {
    let link = |satellite: Satellite| {
        let [draws, losses] = ["queue", "channel"].map(|of| RunSeed { seed: 1, run: 0 }.stream(of));
        satellite.link(QueueConfig::DropTail(None), draws, SimTime::ZERO, losses).unwrap()
    };
    let (mut there, mut back) = (link(up), link(down));
    let mut delays = vec![f64::NAN; 11_999];
    // Somewhere in each 10 ms, so that all phases of the grants are met: multiples of the golden section are spread
    // evenly.
    let sent = |id: u32| MS * (10 * u64::from(id)) + SimTime::from_micros(u64::from(id) * 6180 % 10_000);
    let mut next = 0;
    loop {
        let times = [there.next_event(), back.next_event()].map(|at| at.unwrap_or(SimTime::MAX));
        let push = if next < delays.len() as u32 { sent(next) } else { SimTime::MAX };
        let now = times[0].min(times[1]).min(push);
        if now == SimTime::MAX {
            return delays;
        }
        while let Some(departure) = there.advance(now) {
            if let Departure::Arrived(ping) = departure {
                assert_eq!(back.push(now, ping), Push::Accepted);
            }
        }
        while let Some(departure) = back.advance(now) {
            if let Departure::Arrived(ping) = departure {
                delays[ping.id() as usize] = (now - sent(ping.id())).as_secs_f64() * 1e3 / 2.0;
            }
        }
        if now == push {
            assert_eq!(there.push(now, Parcel::new(next, 0, 84)), Push::Accepted);
            next += 1;
        }
    }
}

fn percentile(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

/// Mean of `number` over the simulated records, divided by its value for the measured record.
fn ratio(record: &Record, models: &[Record], number: impl Fn(&Record) -> f64) -> f64 {
    models.iter().map(&number).sum::<f64>() / models.len() as f64 / number(record)
}

/// Time spans in ms: the whole record, and the half kept for validation.
const PARTS: [(usize, usize); 2] = [(0, 120_000), (60_000, 120_000)];

#[test]
fn the_record_is_whole() {
    let record = Record::of_leo_replayer();
    let packets = record.bits.iter().sum::<f64>() / 12_000.0;
    assert_eq!((packets, record.bits.len(), record.delays.len()), (487_652.0, 120_053, 11_999));
    assert_eq!(record.delays.iter().copied().fold(0.0, f64::max), 68.0);
}

#[test]
fn rates_are_distributed_as_the_records() {
    let (record, models) = (Record::of_leo_replayer(), models());
    for (from, to) in PARTS {
        for share in [0.05, 0.25, 0.5, 0.75, 0.95] {
            let ratio = ratio(&record, models, |record| percentile(&record.windows(from, to), share));
            assert!((ratio - 1.0).abs() < 0.1, "from {from} ms, {share}: {ratio}");
        }
    }
}

#[test]
fn the_rate_goes_and_comes_back_as_the_records() {
    let (record, models) = (Record::of_leo_replayer(), models());
    for at in (0..14).filter(|at| *at != 1) {
        let ratio = ratio(&record, models, |record| record.gate(&BOUNDARIES)[at]);
        assert!((ratio - 1.0).abs() < 0.15, "{} ms: {ratio}", 50.0 * at as f64 - 100.0);
    }
    // Nothing comes through in the outage: 1.4 % of the rate in the record, of the four boundaries whose outage ends
    // early.
    let out = |record: &Record| record.gate(&BOUNDARIES)[1];
    assert!(out(&record) < 0.7 && models.iter().all(|model| out(model) == 0.0));
}

/// Single boundaries lie on both sides of the model: in the first 150 ms the first four have more capacity than the
/// model, the last four less.
#[test]
fn the_halves_of_the_record_lie_on_both_sides_of_the_model() {
    let (record, models) = (Record::of_leo_replayer(), models());
    for at in 2..5 {
        let [first, last] = [&BOUNDARIES[..4], &BOUNDARIES[4..]]
            .map(|boundaries| ratio(&record, models, |record| record.gate(boundaries)[at]));
        assert!(first < 0.9 && last > 1.15, "{} ms: {first}, {last}", 50.0 * at as f64 - 100.0);
    }
}

/// The first half cannot predict the boundaries of the second: the rate returns to half of that of its slot in the
/// third or fourth window of 24 ms (three grants) after the end of the outage for the first four boundaries, and in the
/// sixth to eighth for the last four.
#[test]
fn the_last_boundaries_recover_more_slowly_than_the_first() {
    let record = Record::of_leo_replayer();
    let mean = |from: usize, to: usize| record.bits[from..to].iter().sum::<f64>() / (to - from) as f64;
    let first_half = BOUNDARIES.map(|boundary| {
        let granted: Vec<usize> =
            (boundary - 120..boundary + 200).filter(|&ms| record.bits[ms] > 0.0).collect();
        let end = granted.windows(2).max_by_key(|pair| pair[1] - pair[0]).unwrap()[1];
        let slot = mean(boundary + 600, (boundary + 14_900).min(record.bits.len()));
        (1..20).find(|window| mean(end + 24 * (window - 1), end + 24 * window) >= slot / 2.0).unwrap()
    });
    assert_eq!(first_half, [3, 4, 4, 4, 6, 6, 6, 8]);
}

#[test]
fn capacity_comes_in_the_rhythm_of_the_records() {
    let (record, models) = (Record::of_leo_replayer(), models());
    let of_models =
        |lag: usize| models.iter().map(|model| model.autocorrelation(lag)).sum::<f64>() / models.len() as f64;
    let of_record = |lag| record.autocorrelation(lag);
    for autocorrelation in [&of_record as &dyn Fn(usize) -> f64, &of_models] {
        for cycle in [8, 16, 24] {
            let peak = autocorrelation(cycle);
            // A peak each cycle, a lesser one in the middle between two, and less than nothing beside them.
            assert!(peak > 0.3 && peak > 2.0 * autocorrelation(cycle - 4), "{cycle}: {peak}");
            assert!(autocorrelation(cycle - 4) > 0.05, "{cycle}");
            assert!([1, 3, 5, 7].iter().all(|off| autocorrelation(cycle - off) < 0.0), "{cycle}");
        }
    }
    for cycle in [8, 16, 24, 32, 40, 48] {
        let [found, expected] = [of_models(cycle), of_record(cycle)];
        assert!((found - expected).abs() < 0.08, "{cycle} ms: {found} for {expected}");
    }
}

/// Rates of windows of 100 ms within a slot have the standard deviation and correlations of the record, away from
/// boundaries.
#[test]
fn rates_within_slots_vary_as_long_as_the_records() {
    let (record, models) = (Record::of_leo_replayer(), models());
    let of_models =
        |lag: usize| models.iter().map(|model| model.within(lag)).sum::<f64>() / models.len() as f64;
    assert!((of_models(0).sqrt() / record.within(0).sqrt() - 1.0).abs() < 0.1, "{}", of_models(0).sqrt());
    for lag in [1, 2, 5] {
        let [found, expected] = [of_models(lag) / of_models(0), record.within(lag) / record.within(0)];
        assert!((found - expected).abs() < 0.1, "{lag}: {found} for {expected}");
    }
}

/// Quantiles of half of the RTT of pings agree with those of the record, which has whole ms.
#[test]
fn delays_are_distributed_as_the_records() {
    let (record, models) = (Record::of_leo_replayer(), models());
    for (from, to) in PARTS {
        let at = |record: &Record, share: f64| percentile(&record.sorted_delays(from, to), share);
        for (share, within) in [(0.5, 1.0), (0.99, 3.0)] {
            let model = models.iter().map(|model| at(model, share)).sum::<f64>() / models.len() as f64;
            let found = model - at(&record, share);
            assert!(found.abs() < within, "from {from} ms, {share}: {found} ms off");
        }
    }
}

/// Prints the numbers of docs/low-orbit.md about the record and the model; run by hand with `--ignored --nocapture`.
#[test]
#[ignore = "prints the figures of docs/low-orbit.md"]
fn figures_of_the_page() {
    let (record, models) = (Record::of_leo_replayer(), models());
    let mean = |number: &dyn Fn(&Record) -> f64| {
        (number(&record), models.iter().map(number).sum::<f64>() / models.len() as f64)
    };
    for (from, to) in PARTS {
        for share in [0.05, 0.25, 0.5, 0.75, 0.95] {
            println!(
                "{from} rate {share}: {:.1?}",
                mean(&|record| percentile(&record.windows(from, to), share))
            );
        }
        for share in [0.5, 0.99] {
            println!(
                "{from} delay {share}: {:.1?}",
                mean(&|record| percentile(&record.sorted_delays(from, to), share))
            );
        }
    }
    for at in 0..14 {
        let of = |boundaries: &'static [usize]| mean(&move |record: &Record| record.gate(boundaries)[at]);
        println!(
            "gate {at}: all {:.1?}, first {:.1?}, last {:.1?}",
            of(&BOUNDARIES),
            of(&BOUNDARIES[..4]),
            of(&BOUNDARIES[4..])
        );
    }
    for lag in [4, 8, 12, 16, 20, 24, 32, 40, 48] {
        println!("autocorrelation {lag}: {:.2?}", mean(&|record| record.autocorrelation(lag)));
    }
    for lag in [0, 1, 2, 5] {
        println!("within {lag}: {:.5?}", mean(&|record| record.within(lag)));
    }
}
