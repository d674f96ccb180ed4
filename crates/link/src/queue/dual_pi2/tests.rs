//! `DualPI2` behaves as RFC 9332 says and as hand-computed numbers show.

use super::*;
use crate::testing::plain;
use crossfade_core::RunSeed;

const MS: SimTime = SimTime::from_millis(1);
const LIMIT: QueueLimit = QueueLimit::Packets(100_000);

fn queue(config: DualPi2Config) -> DualPi2 {
    DualPi2::new(config, RunSeed { seed: 1, run: 0 }.stream("queue.dl")).unwrap()
}

fn both() -> [DualPi2Config; 2] {
    [DualPi2Config::rfc(LIMIT, 1000), DualPi2Config::linux(LIMIT, 1000)]
}

/// A queue whose base probability stays at `probability`.
fn held(config: DualPi2Config, probability: f64) -> DualPi2 {
    let config = DualPi2Config { alpha: 0.0, beta: 0.0, ..config };
    DualPi2 { control: Control { probability, delay: SimTime::ZERO }, ..queue(config) }
}

/// Number of waiting packets, more than can be dropped in one call.
const WAITING: usize = 12;

/// Marked and dropped packets, as shares of `n` packets sent, if packets with codepoint `ecn` wait for `delay`.
fn shares(mut queue: DualPi2, ecn: Ecn, delay: SimTime, n: u32) -> [f64; 2] {
    let (mut marks, mut drops) = (0, 0);
    (0..WAITING).for_each(|_| {
        queue.enqueue(SimTime::ZERO, plain(0, 1000).with_ecn(ecn), &mut Vec::new()).unwrap();
    });
    for id in 0..n {
        let at = delay * u64::from(id + 1);
        let mut dropped = Vec::new();
        // Waiting packets came at the time of the last one.
        queue.queues.iter_mut().flat_map(|queue| &mut queue.waiting).for_each(|held| held.since = at - delay);
        let sent = queue.dequeue(at, &mut dropped);
        marks += u32::from(sent.is_some_and(|sent| sent.packet.is_ce() && ecn != Ecn::Ce));
        drops += dropped.len() as u32;
        while queue.packets() < WAITING {
            queue.enqueue(at, plain(id, 1000).with_ecn(ecn), &mut Vec::new()).unwrap();
        }
    }
    [marks, drops].map(|count| f64::from(count) / f64::from(n))
}

/// An update changes the base probability p' as in RFC 9332 appendix A.1, computed by hand: p' + 0.15 (q - 0.015) + 3
/// (q - `q_old`), for the delay q in seconds.
#[test]
fn the_base_probability_follows_the_pseudo_code() {
    let rfc = DualPi2Config::rfc(LIMIT, 1000);
    for (before, old, delay, expected) in [
        (0.0, 0, 15, 0.045),
        (0.1, 15, 15, 0.1),
        (0.1, 20, 30, 0.1 + 0.00225 + 0.03),
        (0.1, 40, 20, 0.1 + 0.00075 - 0.06),
        (0.01, 0, 0, 0.01 - 0.00225),
        (0.001, 0, 0, 0.0),
        (0.9, 0, 100, 1.0),
    ] {
        let mut control = Control { probability: before, delay: MS * old };
        control.update(&rfc, MS * delay);
        assert!((control.probability - expected).abs() < 1e-12, "{before}, {old}, {delay}");
        assert_eq!(control.delay, MS * delay);
    }
}

/// The probabilities of both queues are coupled by `p_C` = (`p_CL` / k)^2, for several k.
#[test]
fn the_queues_are_coupled_by_a_square() {
    for config in both() {
        for coupling in [1.0, 2.0, 3.5] {
            let held = |p| held(DualPi2Config { coupling, ..config }, p);
            let n = 40_000;
            let [marked, dropped] = shares(held(0.2), Ecn::Ect1, SimTime::from_micros(500), n);
            let near = |got: f64, p: f64| {
                let bound = match config.draw {
                    DualPi2Draw::Recur => 2.0 / f64::from(n),
                    DualPi2Draw::Roll => 4.5 * (p * (1.0 - p) / f64::from(n)).sqrt(),
                };
                assert!((got - p).abs() <= bound, "{got} against {p}, {config:?}");
            };
            near(marked, 0.2 * coupling);
            assert_eq!(dropped, 0.0);
            let [marked, dropped] = shares(held(0.2), Ecn::Ect0, SimTime::from_micros(500), n);
            near(marked, 0.04);
            assert_eq!(dropped, 0.0);
            // Each of the dropped makes room for another judgement in the same turn.
            let [marked, dropped] = shares(held(0.2), Ecn::NotEct, SimTime::from_micros(500), n);
            near(dropped / (1.0 + dropped), 0.04);
            assert_eq!(marked, 0.0);
        }
    }
}

/// The scalable queue marks by its own delay: on the ramp of RFC 9332 appendix A.1 only if a second packet waits, and
/// by Linux's step.
#[test]
fn the_scalable_queue_marks_by_its_own_delay() {
    let us = SimTime::from_micros;
    let [rfc, linux] = both().map(|config| held(config, 0.0));
    for (delay, ramp, step) in [
        (0, 0.0, 0.0),
        (800, 0.0, 0.0),
        (900, 0.25, 0.0),
        (1000, 0.5, 0.0),
        (1001, 0.5025, 1.0),
        (1200, 1.0, 1.0),
    ] {
        assert!((rfc.native(us(delay)) - ramp).abs() < 1e-12, "{delay}");
        assert_eq!(linux.native(us(delay)), step, "{delay}");
    }
    assert!((shares(rfc.clone(), Ecn::Ect1, us(900), 4000)[0] - 0.25).abs() < 0.001);
    // A step where both thresholds are one: at the threshold itself the RFC marks, and Linux does not.
    for (config, at) in [(DualPi2Config { min_th: MS, max_th: MS, ..rfc.config }, 1.0), (linux.config, 0.0)] {
        let step = held(config, 0.0);
        let ns = SimTime::from_nanos;
        let found = [999_999, 1_000_000, 1_000_001].map(|delay| step.native(ns(delay)));
        assert_eq!(found, [0.0, at, 1.0], "{config:?}");
    }
    let few = |packets: u32, config: &DualPi2| {
        let mut queue = config.clone();
        (0..packets).for_each(|id| {
            queue.enqueue(SimTime::ZERO, plain(id, 1000).with_ecn(Ecn::Ect1), &mut Vec::new()).unwrap();
        });
        // Two, for what is counted has to exceed one.
        (0..2).any(|_| queue.dequeue(MS * 2, &mut Vec::new()).is_some_and(|head| head.packet.is_ce()))
    };
    assert!(!few(3, &rfc) && few(4, &rfc));
    assert!(few(1, &linux));
}

/// Packets with ECT(1) or CE, whose low bit is set, go to the scalable queue (RFC 9332 section 2.5.1.1).
#[test]
fn ect_1_and_ce_are_scalable() {
    for config in both() {
        for (ecn, class) in [(Ecn::NotEct, C), (Ecn::Ect0, C), (Ecn::Ect1, L), (Ecn::Ce, L)] {
            let mut queue = queue(config);
            queue.enqueue(SimTime::ZERO, plain(0, 1000).with_ecn(ecn), &mut Vec::new()).unwrap();
            assert_eq!(queue.queues[class].packets(), 1, "{ecn:?}");
        }
    }
}

/// If packets always wait in both queues, the classic queue sends its weight of the bytes.
#[test]
fn the_classic_queue_does_not_starve() {
    for (config, share) in both().into_iter().zip([1.0 / 16.0, 0.1]) {
        let mut queue = held(config, 0.0);
        let (mut classic, mut all) = (0.0, 0.0);
        for id in 0..8000 {
            for (ecn, bytes) in [(Ecn::NotEct, 1000), (Ecn::Ect1, 250)] {
                queue.enqueue(SimTime::ZERO, plain(id, bytes).with_ecn(ecn), &mut Vec::new()).unwrap();
            }
            let sent = queue.dequeue(SimTime::ZERO, &mut Vec::new()).unwrap().packet;
            all += f64::from(sent.bytes());
            classic += f64::from(sent.bytes()) * f64::from(u8::from(sent.ecn() == Ecn::NotEct));
            assert!(id != 0 || sent.ecn() == Ecn::Ect1, "L begins");
        }
        assert!((classic / all - share).abs() < 0.01, "{}", classic / all);
    }
}

/// Shares dropped and marked, and mean delay in seconds of packets sent, after five seconds of arrivals every `gap`
/// microseconds onto a link that sends one packet per millisecond.
fn overload(config: DualPi2Config, ecn: Ecn, gap: u64) -> [f64; 3] {
    let mut queue = queue(config);
    let (mut arrivals, mut drops, mut marks, mut waited, mut sent) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for tick in 0..400_000_u64 {
        let (now, count) = (SimTime::from_micros(100) * tick, f64::from(u8::from(tick > 50_000)));
        if (tick * 100).is_multiple_of(gap) {
            arrivals += count;
            queue.enqueue(now, plain(0, 1000).with_ecn(ecn), &mut Vec::new()).unwrap();
        }
        if tick % 10 == 0 {
            let mut dropped = Vec::new();
            let head = queue.dequeue(now, &mut dropped);
            drops += count * dropped.len() as f64;
            if let Some(head) = head {
                waited += count * (now - head.since).as_secs_f64();
                sent += count;
                marks += count * f64::from(u8::from(head.packet.is_ce()));
            }
        }
    }
    [drops / arrivals, marks / sent, waited / sent]
}

/// Of a load that does not react, the excess is dropped at the target delay, from either queue. With ECT(0), marks up
/// to p'^2 = 1/k^2 have no effect, and the queue grows until k p' = 1, when packets are dropped (RFC 9332 section
/// 4.2.3).
#[test]
fn an_overload_that_does_not_yield_is_dropped() {
    for config in both() {
        for (ecn, gap, share) in
            [(Ecn::NotEct, 800, 0.2), (Ecn::NotEct, 500, 0.5), (Ecn::Ect1, 500, 0.5), (Ecn::Ect0, 500, 0.5)]
        {
            let [drops, marks, delay] = overload(config, ecn, gap);
            assert!((drops - share).abs() < 0.01, "{ecn:?}: {drops} dropped of {share}, {config:?}");
            assert!((delay - 0.015).abs() < 0.001, "{ecn:?}: {delay} s, {config:?}");
            assert!(if ecn == Ecn::Ect1 { marks > 0.99 } else { marks == 0.0 }, "{ecn:?}: {marks}");
        }
    }
}

/// RFC 9332 section 4.2.3: at p' = 1/k the marking probability is 1. From there on packets of L are dropped like those
/// of C, a quarter of both for k = 2, and the others of L are all marked. Below, L drops nothing, and C marks packets
/// with ECT(0).
#[test]
fn at_a_half_a_quarter_of_both_is_dropped() {
    let n = 20_000;
    // Each of the dropped makes room for another judgement in the same turn.
    let of_all = |[marked, dropped]: [f64; 2]| [marked / (1.0 + dropped), dropped / (1.0 + dropped)];
    let near = |got: [f64; 2], expected: [f64; 2]| {
        assert!(got.iter().zip(expected).all(|(got, p)| (got - p).abs() < 0.015), "{got:?}, {expected:?}");
    };
    for config in both() {
        for (p, l, ect_0) in [(0.499, [0.998, 0.0], [0.249, 0.0]), (0.501, [0.749, 0.251], [0.0, 0.251])] {
            let shares = |ecn| of_all(shares(held(config, p), ecn, SimTime::from_micros(500), n));
            near(shares(Ecn::Ect1), l);
            near(shares(Ecn::Ect0), ect_0);
            near(shares(Ecn::NotEct), [0.0, p * p]);
        }
    }
}

#[test]
fn updates_that_nobody_saw_are_made_up_for() {
    for config in both() {
        let mut rested = DualPi2 { control: Control { probability: 0.7, delay: MS * 40 }, ..queue(config) };
        let mut stepped = rested.clone();
        rested.update(MS * (10 * 365 * 24 * 3_600_000));
        (0..10_000).for_each(|at| stepped.update(MS * 7 * at));
        assert_eq!((rested.control, stepped.control), (Control::default(), Control::default()));
        assert_eq!(rested.updates.next % config.t_update, SimTime::ZERO);
    }
}

#[test]
fn numbers_outside_their_range_are_named() {
    let rfc = DualPi2Config::rfc(LIMIT, 1000);
    for (config, name) in [
        (DualPi2Config { target: SimTime::ZERO, ..rfc }, "target"),
        (DualPi2Config { t_update: SimTime::ZERO, ..rfc }, "t_update"),
        (DualPi2Config { coupling: 0.0, ..rfc }, "coupling"),
        (DualPi2Config { min_th: MS * 2, ..rfc }, "min_th"),
        (DualPi2Config { alpha: f64::NAN, ..rfc }, "alpha"),
    ] {
        let stream = RunSeed { seed: 1, run: 0 }.stream("queue.dl");
        assert!(DualPi2::new(config, stream).unwrap_err().to_string().contains(name));
    }
}
