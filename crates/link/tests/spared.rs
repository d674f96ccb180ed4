//! Packets spared from losses take no step of the loss process, so other packets have the losses that they would have
//! alone.

use crossfade_channel::LossProcess;
use crossfade_core::SimTime;
use crossfade_link::{
    CoDel, CoDelConfig, Departure, Hop, HopConfig, Link, Parcel, Push, QueueLimit, QueuedLink, Transmitter,
};

/// Loss process that loses every third transmission, and checks that transmission numbers are consecutive.
struct EveryThird(u64);

impl LossProcess for EveryThird {
    fn lost(&mut self, _now: SimTime, transmission: u64) -> bool {
        assert_eq!(transmission, self.0, "the number of a transmission that may be lost");
        self.0 += 1;
        self.0.is_multiple_of(3)
    }
}

/// Arrived packets of 24, pushed a millisecond apart, of which those in `spared` are spared from losses.
fn arrived(link: &mut dyn Link, spared: impl Fn(u32) -> bool) -> Vec<u32> {
    let mut arrived = Vec::new();
    let mut take = |departure: Option<Departure>| {
        if let Some(Departure::Arrived(parcel)) = departure {
            arrived.push(parcel.id());
        }
    };
    for id in 0..24 {
        let now = SimTime::from_millis(u64::from(id));
        while link.next_event().is_some_and(|at| at <= now) {
            take(link.advance(now));
        }
        let parcel = Parcel::new(id, 0, 100);
        let push = link.push(now, if spared(id) { parcel.spared() } else { parcel });
        assert!(matches!(push, Push::Accepted | Push::Lost), "{push:?}");
    }
    while let Some(at) = link.next_event() {
        take(link.advance(at));
    }
    arrived
}

#[test]
fn spared_packets_take_no_number() {
    let hop = || {
        let loss = Box::new(EveryThird(0));
        Hop::new(HopConfig { rate_bps: Some(10e6), delay: SimTime::ZERO, queue_limit: None, loss })
    };
    let queued = || {
        let codel = CoDel::new(CoDelConfig::default(), QueueLimit::Packets(100)).unwrap();
        QueuedLink::new(codel, Transmitter::new(Some(10e6)), SimTime::ZERO, Box::new(EveryThird(0)))
    };
    // All count: 2, 5, 8, ... are lost. Of the even ones alone: 4, 10, 16, 22.
    let all: Vec<u32> = (0..24).filter(|id| id % 3 != 2).collect();
    assert_eq!(arrived(&mut hop(), |_| false), all);
    assert_eq!(arrived(&mut queued(), |_| false), all);
    let even: Vec<u32> = (0..24).filter(|id| id % 6 != 4).collect();
    assert_eq!(arrived(&mut hop(), |id| id % 2 == 1), even);
    assert_eq!(arrived(&mut queued(), |id| id % 2 == 1), even);
}
