use super::*;
use crate::record::Packet;
use crossfade_core::Stream;
use rand::RngExt;

/// A link that packets are sent over: M0 with jitter.
#[derive(Clone, Copy)]
struct Link {
    rate_bps: f64,
    delay_s: f64,
    queue_packets: usize,
    loss: f64,
    jitter_s: f64,
}

const BYTES: f64 = 1500.0;

impl Link {
    /// The record of packets sent at times, each of 1500 B.
    fn record(self, times: &[f64], stream: &mut Stream) -> Record {
        let (mut free_at, mut leaves) = (0.0_f64, std::collections::VecDeque::new());
        let packets = times.iter().map(|&sent_s| {
            while leaves.front().is_some_and(|at| *at <= sent_s) {
                leaves.pop_front();
            }
            // The one being sent is beside the limit.
            if leaves.len() > self.queue_packets {
                return Packet { sent_s, bytes: BYTES, seen_s: None, fate: Fate::Lost };
            }
            free_at = free_at.max(sent_s) + 8.0 * BYTES / self.rate_bps;
            leaves.push_back(free_at);
            let uniform: f64 = stream.random();
            let seen_s = free_at + self.delay_s - self.jitter_s * libm::log(1.0 - uniform);
            let is_lost = self.loss > 0.0 && stream.random_bool(self.loss);
            let fate = if is_lost { Fate::Lost } else { Fate::Arrived };
            Packet { sent_s, bytes: BYTES, seen_s: (!is_lost).then_some(seen_s), fate }
        });
        Record::new(packets.collect(), true).unwrap()
    }
}

const LINK: Link = Link { rate_bps: 20e6, delay_s: 40e-3, queue_packets: 60, loss: 0.0, jitter_s: 0.0 };

/// Trains of 1 to `most` packets, a gap of 20 ms in the mean between them.
fn trains(lasts_s: f64, most: usize, stream: &mut Stream) -> Vec<f64> {
    let (mut at, mut times) = (0.0, Vec::new());
    while at < lasts_s {
        let length = stream.random_range(1..=most);
        times.extend(std::iter::repeat_n(at, length));
        let uniform: f64 = stream.random();
        at -= 20e-3 * libm::log(1.0 - uniform);
    }
    times
}

fn stream(seed: u64) -> Stream {
    RunSeed { seed, run: 0 }.stream("record")
}

#[test]
fn a_record_without_noise_is_fitted_exactly() {
    let mut random = stream(1);
    let times = trains(60.0, 100, &mut random);
    let fit = Fit::new(&LINK.record(&times, &mut random), 1);
    assert_eq!(fit.model, Model::M0);
    assert!((fit.rate.value / 20e6 - 1.0).abs() < 1e-3, "{:?}", fit.rate);
    assert!((fit.delay.value - 40e-3).abs() < 1e-6, "{:?}", fit.delay);
    assert!((fit.queue.value / BYTES - 60.0).abs() <= 1.0, "{:?}", fit.queue);
    let verdicts = [fit.rate.verdict, fit.delay.verdict, fit.queue.verdict, fit.loss.verdict];
    assert_eq!(verdicts, [Verdict::Identified, Verdict::Identified, Verdict::Identified, Verdict::Bounded]);
    assert_eq!(fit.losses.lost, 0, "all losses are of the full queue");
}

#[test]
fn random_losses_are_told_from_those_of_a_full_queue() {
    let mut random = stream(2);
    let times = trains(60.0, 100, &mut random);
    let record = Link { loss: 0.01, ..LINK }.record(&times, &mut random);
    let fit = Fit::new(&record, 1);
    assert!(fit.limit.drops > 100, "{:?}", fit.limit);
    assert!((0.008..0.012).contains(&fit.loss.value), "{:?}", fit.loss);
    assert!(fit.losses.chain.is_none() && !fit.losses.grows_with_queue());
}

/// Packets that never wait for one another bound the rate, and say so.
#[test]
fn paced_packets_give_a_bound_alone() {
    let mut random = stream(3);
    let times: Vec<f64> = (0..30_000).map(|index| f64::from(index) * 2e-3).collect();
    let fit = Fit::new(&LINK.record(&times, &mut random), 1);
    assert_eq!((fit.rate.verdict, fit.queue.verdict), (Verdict::Bounded, Verdict::Bounded));
    // 6 Mbit/s of 20 were offered.
    assert!((5.9e6..=20e6).contains(&fit.rate.value), "{:?}", fit.rate);
    assert!(fit.rate.high > 1.5 * fit.rate.value);
    assert!((fit.delay.value - 40e-3).abs() < 2.1e-3);
}

#[test]
fn bursts_of_losses_make_a_chain() {
    let mut random = stream(4);
    let times = trains(120.0, 8, &mut random);
    let record = LINK.record(&times, &mut random);
    let mut is_bad = false;
    let packets = record.packets().iter().map(|packet| {
        is_bad = random.random_bool(if is_bad { 0.75 } else { 0.004 });
        if is_bad { Packet { seen_s: None, fate: Fate::Lost, ..*packet } } else { *packet }
    });
    let fit = Fit::new(&Record::new(packets.collect(), true).unwrap(), 1);
    assert_eq!(fit.model, Model::M1);
    let chain = fit.losses.chain.unwrap();
    assert!((chain.p_bb.value - 0.75).abs() < 0.05, "{:?}", chain.p_bb);
}

/// A flow with a window of 100 packets over a rate that is another one in each 100 ms.
fn saturated(rate_of: impl Fn(usize) -> f64) -> Record {
    let (mut free_at, mut packets) = (0.0_f64, Vec::<Packet>::new());
    while free_at < 60.0 {
        let acknowledged = packets.len().checked_sub(100).and_then(|at| packets[at].seen_s);
        let sent_s = acknowledged.unwrap_or(0.0);
        free_at = free_at.max(sent_s);
        free_at += 8.0 * BYTES / rate_of((free_at / 0.1) as usize);
        packets.push(Packet { sent_s, bytes: BYTES, seen_s: Some(free_at + 40e-3), fate: Fate::Arrived });
    }
    Record::new(packets, true).unwrap()
}

#[test]
fn a_rate_that_changes_is_followed_and_white_noise_is_not() {
    let mut random = stream(5);
    let levels: Vec<f64> =
        (0..31).map(|_| libm::exp(0.5 * crate::bootstrap::normal(&mut random)) * 10e6).collect();
    let fit = Fit::new(&saturated(|window| levels[window / 20]), 1);
    assert_eq!(fit.model, Model::M2, "{:?}", fit.held_out);
    for pair in fit.rates.windows(2).filter(|pair| pair[1].0 - pair[0].0 > 0.5) {
        let (from, rate) = pair[0];
        // Windows are of arrivals, 40 ms later; the first window of a level has both rates.
        let there = levels[(0.5 * (from + 0.16)) as usize];
        assert!((rate / there - 1.0).abs() < 0.1, "from {from}: {rate} and {there}");
    }
    for seed in 0..10 {
        let mut random = stream(100 + seed);
        let noise: Vec<f64> =
            (0..700).map(|_| 10e6 * (1.0 + 0.05 * crate::bootstrap::normal(&mut random))).collect();
        let fit = Fit::new(&saturated(|window| noise[window]), 1);
        assert_eq!(fit.model, Model::M0, "{:?}", fit.held_out);
    }
}

/// 90 % intervals of the rate hold what they say, over records with jitter.
#[test]
fn intervals_of_the_rate_cover_it() {
    let (mut of_rate, mut of_loss, all) = (0, 0, 100);
    for seed in 0..all {
        let mut random = stream(1000 + seed);
        let times = trains(20.0, 6, &mut random);
        let link = Link { jitter_s: 0.5e-3, loss: 0.01, ..LINK };
        let fit = Fit::new(&link.record(&times, &mut random), seed);
        assert_eq!(fit.rate.verdict, Verdict::Identified);
        of_rate += usize::from(fit.rate.low <= 20e6 && 20e6 <= fit.rate.high);
        of_loss += usize::from(fit.loss.low <= 0.01 && 0.01 <= fit.loss.high);
    }
    println!("of {all} intervals: rate {of_rate}, loss {of_loss}");
    assert!((80..=99).contains(&of_rate), "rate: {of_rate} of {all}");
    assert!((82..=98).contains(&of_loss), "loss: {of_loss} of {all}");
}
