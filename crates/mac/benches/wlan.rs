//! Speed of the simulation of Wi-Fi networks.
//!
//! `cargo bench -p crossfade-mac --bench wlan` prints nanoseconds of processor time per delivered MPDU, for one and for
//! 20 saturated stations at 80 MHz, downlink and uplink, and for one at 20 MHz: without errors, with 10 % of MPDUs
//! lost, and over fading with Minstrel. Each is the shortest of five measurements.

use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{Departure, Fabric, FqCoDelConfig, Parcel, Port, QueueConfig, QueueLimit};
use crossfade_mac::wlan::{
    AccessPointQueues, AmpduLimits, Aql, BEST_EFFORT, Backoff, Band, EDCA, Mode, RadioConfig, RateConfig,
    ReceptionConfig, Standard, StationConfig, StationRadio, Wlan, WlanConfig,
};
use std::time::Instant;

const SEED: RunSeed = RunSeed { seed: 1, run: 0 };

/// Processor time of this thread in seconds; where the system does not provide it, wall-clock time since `start`.
fn spent(start: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanos.map_or_else(|| start.elapsed().as_secs_f64(), |nanos| nanos / 1e9)
}

fn mode(mcs: u8, width_mhz: u16) -> Mode {
    Mode::new(Standard::Ax, Band::Ghz5, mcs, 1, width_mhz, 800).expect("a mode")
}

fn config(stations: usize, width_mhz: u16, reception: ReceptionConfig, queue: QueueConfig) -> WlanConfig {
    let is_radio = matches!(reception, ReceptionConfig::Radio(_));
    let modes =
        if is_radio { (0..12).map(|mcs| mode(mcs, width_mhz)).collect() } else { vec![mode(11, width_mhz)] };
    let rate = if is_radio { RateConfig::Minstrel } else { RateConfig::Constant(0) };
    let station = StationConfig { modes, limits: AmpduLimits::of(Standard::Ax), rate, reception };
    WlanConfig {
        stations: vec![station; stations],
        categories: vec![EDCA[BEST_EFFORT]],
        backoff: Backoff::Edca,
        attempts: Some(7),
        rts: false,
        asks: false,
        reorder_timeout: None,
        queue,
        access_point: AccessPointQueues::PerStation { airtime_fairness: true, aql: Some(Aql::LINUX) },
        radio: RadioConfig::default(),
        neighbours: None,
        ofdma: None,
        links: Vec::new(),
        emlsr: Vec::new(),
    }
}

/// Simulates `seconds` with 600 packets under way in one direction of each station; returns the number of delivered
/// MPDUs.
fn saturate(config: &WlanConfig, is_up: bool, seconds: u64) -> u64 {
    let mut wlan = Wlan::new(config.clone(), SEED).expect("a network");
    let mut arrived = 0;
    for port in 1..=config.stations.len() as Port {
        let (from, to) = if is_up { (port, 0) } else { (0, port) };
        for id in 0..600 {
            wlan.push(SimTime::ZERO, from, to, Parcel::new(id, port, 1500));
        }
    }
    let end = SimTime::from_millis(1000 * seconds);
    while let Some(now) = wlan.next_event().filter(|now| *now < end) {
        while let Some((_, departure)) = wlan.advance(now) {
            let parcel = departure.parcel();
            let (from, to) = if is_up { (parcel.flow(), 0) } else { (0, parcel.flow()) };
            arrived += u64::from(matches!(departure, Departure::Arrived(_)));
            wlan.push(now, from, to, parcel);
        }
    }
    arrived
}

fn main() {
    let drop_tail = QueueConfig::DropTail(Some(QueueLimit::Packets(2000)));
    let fq_codel = QueueConfig::FqCoDel(FqCoDelConfig::default());
    let radio = ReceptionConfig::Radio(StationRadio {
        mean_snr_db: 27.0,
        uplink_offset_db: 0.0,
        speed_mps: 0.0,
        fd_t: 0.0,
        trace: None,
    });
    let start = Instant::now();
    println!("network,ns_per_mpdu");
    for (name, reception, queue) in [
        ("no errors, drop-tail", ReceptionConfig::ErrorRate(0.0), drop_tail),
        ("no errors, fq-codel", ReceptionConfig::ErrorRate(0.0), fq_codel),
        ("10 % errors, fq-codel", ReceptionConfig::ErrorRate(0.1), fq_codel),
        ("minstrel, fq-codel", radio, fq_codel),
    ] {
        for (stations, width_mhz, is_up) in [(1, 80, false), (20, 80, false), (20, 80, true), (1, 20, false)]
        {
            let config = config(stations, width_mhz, reception.clone(), queue);
            let go = |_| {
                let before = spent(start);
                let mpdus = saturate(&config, is_up, 20);
                (spent(start) - before) * 1e9 / mpdus as f64
            };
            let least = (0..5).map(go).fold(f64::INFINITY, f64::min);
            let way = if is_up { "up" } else { "down" };
            println!("\"{name}, {stations} {way}, {width_mhz} MHz\",{least:.1}");
        }
    }
}
