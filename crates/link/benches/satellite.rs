//! CPU time of a satellite link: of its slots alone, and of the packets of ten minutes beside those of a constant link.
//!
//! `cargo bench -p crossfade-link --bench satellite`. Packets of 1500 bytes come at 49 Mbit/s; every event of the link is taken at
//! its time.

use crossfade_channel::Lossless;
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::satellite::{
    BaseDelay, DirectionName, Orbit, Place, Profile, Satellite, SatelliteConfig, Shell,
};
use crossfade_link::{DropTail, Link, Parcel, QueueConfig, QueueLimit, QueuedLink, Transmitter};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;

const RATE_BPS: f64 = 48.9e6;
const BYTES: u32 = 1500;
const TEN_MINUTES: SimTime = SimTime::from_millis(600_000);
const SEED: RunSeed = RunSeed { seed: 1, run: 0 };

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn down(shared: SatelliteConfig) -> Satellite {
    Satellite::new(shared, DirectionName::Down, Profile::starlink_leocc_2025().down, SEED).expect("a profile")
}

/// A satellite of the first shell of Starlink between two places in Germany.
fn in_orbit() -> SatelliteConfig {
    let shell = Shell { altitude_km: 550.0, inclination_deg: 53.0, planes: 72, per_plane: 22, phasing: 17 };
    let place = |latitude_deg, longitude_deg| Place { latitude_deg, longitude_deg };
    let orbit =
        Orbit { shell, terminal: place(52.3, 8.0), gateway: place(50.3, 8.5), min_elevation_deg: 25.0 };
    let Profile { shared, .. } = Profile::starlink_leocc_2025();
    SatelliteConfig { base_delay: BaseDelay::Orbit(Box::new(orbit)), ..shared }
}

/// The CPU time of a link without packets: a packet a slot has each slot made.
fn slots(shared: SatelliteConfig) -> f64 {
    let losses = SEED.stream("channel.dl");
    let before = cpu_seconds();
    let mut link = down(shared)
        .link(QueueConfig::DropTail(None), SEED.stream("queue.dl"), SimTime::ZERO, losses)
        .expect("no limit");
    for id in 0..40 {
        let now = SimTime::from_millis(u64::from(id) * 15_000);
        while link.advance(now).is_some() {}
        link.push(now, Parcel::new(id, 0, BYTES));
    }
    while let Some(at) = link.next_event() {
        black_box(link.advance(at));
    }
    cpu_seconds() - before
}

/// The CPU time of the packets of ten minutes.
fn packets(mut link: Box<dyn Link>) -> f64 {
    let gap = SimTime::to_transmit(BYTES, RATE_BPS);
    let before = cpu_seconds();
    let (mut now, mut id) = (SimTime::ZERO, 0);
    while now < TEN_MINUTES {
        while let Some(at) = link.next_event().filter(|&at| at <= now) {
            while let Some(departure) = link.advance(at) {
                black_box(&departure);
            }
        }
        black_box(link.push(now, Parcel::new(id, 0, BYTES)));
        now += gap;
        id += 1;
    }
    cpu_seconds() - before
}

fn main() {
    let Profile { shared, .. } = Profile::starlink_leocc_2025();
    for (what, shared) in [("slots", shared.clone()), ("slots, in orbit", in_orbit())] {
        println!("{what:18} {:7.1} ms of CPU in 10 minutes", slots(shared) * 1e3);
    }
    let limit = QueueLimit::Packets(1000);
    let queue = DropTail::new(limit).expect("a limit");
    let transmitter = Transmitter::new(Some(RATE_BPS));
    let constant = QueuedLink::new(queue, transmitter, SimTime::from_millis(9), Box::new(Lossless));
    let satellite = down(shared).link(
        QueueConfig::DropTail(Some(limit)),
        SEED.stream("queue.dl"),
        SimTime::ZERO,
        SEED.stream("channel.dl"),
    );
    for (what, link) in [
        ("constant link", Box::new(constant) as Box<dyn Link>),
        ("satellite link", satellite.expect("a limit")),
    ] {
        println!("{what:18} {:7.1} ms of CPU for the packets of 10 minutes", packets(link) * 1e3);
    }
}
