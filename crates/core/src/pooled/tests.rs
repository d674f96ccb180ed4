use super::*;
use crate::RunSeed;

/// A run of delays, in seconds.
fn run(delays: impl Iterator<Item = f64>) -> RunTimes {
    let mut ended = DelayHistogram::default();
    delays.for_each(|delay| ended.record(SimTime::from_secs_f64(delay)));
    RunTimes { ended, unended: DelayHistogram::default() }
}

/// A run of times in seconds, each with whether it ended.
fn seen(times: &[(f64, bool)]) -> RunTimes {
    let mut run = RunTimes::default();
    for &(time, has_ended) in times {
        let of = if has_ended { &mut run.ended } else { &mut run.unended };
        of.record(SimTime::from_secs_f64(time));
    }
    run
}

/// Uniform random numbers between 0 and 1, neither of them included.
fn uniform(name: &str) -> impl FnMut() -> f64 {
    use rand::Rng;
    let mut stream = RunSeed { seed: 1, run: 0 }.stream(name);
    move || ((stream.next_u64() >> 12) as f64 + 0.5) * f64::EPSILON
}

#[test]
fn one_bad_run_decides_the_quantiles_of_all_as_in_one_long_run() {
    // Nine runs with delays of 1 to 100 ms, one of twice as many packets with up to 10 s.
    let mut runs: Vec<_> = (0..9).map(|_| run((1..=1000).map(|i| f64::from(i) * 1e-4))).collect();
    runs.push(run((1..=2000).map(|i| f64::from(i) * 5e-3)));
    for (p, by_hand) in [(0.95, 7.25), (0.99, 9.45), (0.5, 0.0603)] {
        let found = pooled_quantile(&runs, p).unwrap().value;
        assert!((found / by_hand - 1.0).abs() < 1.0 / 64.0, "{p}: {found} against {by_hand}");
    }
    // One run of ten is all that there is of the tail, and the interval says so. Of its 2000 values 27.5 % lie above, of the
    // others' none: residuals of -450 and nine times 50, so that the variance of the share is 225000 10/9 / 11000^2 =
    // 0.002066, that of 0.0475 / 0.002066 = 22.99 independent values, less for ten runs: times (1.96 / 2.262)^2, 17.26.
    // Of 17 the 14th is the lower end (P(13 or fewer below it) = 0.9 %, 14 or fewer 5.0 %), and the 17th may well lie below
    // the quantile (42 %). Up to 14/17 lie 9059 values: all 9000 good ones and 59 of the bad run.
    let found = pooled_quantile(&runs, 0.95).unwrap();
    assert!((found.low.unwrap() / 0.295 - 1.0).abs() < 0.02, "{found:?}");
    assert!(found.high.is_none() && found.ci95.is_none() && !found.at_least, "{found:?}");
}

#[test]
fn quantiles_of_mixtures_with_gaps_are_within_one_part_in_64() {
    let mut uniform = uniform("mixtures");
    let mut noise = move |from: f64, to: f64| from + (to - from) * uniform();
    // ARQ: each repetition takes 200 ms. Outages of 2 s that 3 % of the packets wait for. A handover in one run of ten, to a path
    // of 600 ms. Delays without noise at all.
    let mut kinds: Vec<(&str, Vec<Vec<f64>>)> = Vec::new();
    let arq = |u: f64| 0.02 + 0.2 * (u.ln() / 0.1_f64.ln()).floor();
    kinds.push(("arq", (0..10).map(|_| (0..500).map(|_| arq(noise(0.0, 1.0))).collect()).collect()));
    let outage = |u: f64, v: f64| 0.05 + 0.01 * v + if u < 0.03 { 2.0 * v } else { 0.0 };
    kinds.push((
        "outages",
        (0..10).map(|_| (0..500).map(|_| outage(noise(0.0, 1.0), noise(0.0, 1.0))).collect()).collect(),
    ));
    let path = |run: i32| if run == 0 { 0.6 } else { 0.03 };
    kinds.push((
        "handover",
        (0..10).map(|run| (0..400).map(|_| path(run) * noise(1.0, 1.05)).collect()).collect(),
    ));
    kinds.push(("constant", (0..10).map(|run| vec![0.1 * f64::from(run % 3); 77]).collect()));
    for (kind, delays) in kinds {
        let runs: Vec<RunTimes> = delays.iter().map(|delays| run(delays.iter().copied())).collect();
        let mut all: Vec<f64> = delays.concat();
        all.sort_by(f64::total_cmp);
        for share in 1..1000 {
            let p = f64::from(share) / 1000.0;
            let exact = all[((p * all.len() as f64).ceil() as usize).max(1) - 1];
            let found = pooled_quantile(&runs, p).unwrap().value;
            assert!((found - exact).abs() <= exact / 64.0 + 1e-9, "{kind}, {p}: {found} against {exact}");
        }
    }
}

#[test]
fn kaplan_and_meier_by_hand() {
    // 1, 3, 4+, 5, 7+ s: up to 1 s 1/5 have ended, up to 3 s 1 - 4/5 3/4 = 2/5, up to 5 s 1 - 3/5 1/2 = 7/10.
    let times = [(1.0, true), (3.0, true), (4.0, false), (5.0, true), (7.0, false)];
    let runs: Vec<RunTimes> = times.iter().map(|time| seen(&[*time])).collect();
    let of = |p| pooled_quantile(&runs, p).unwrap();
    for (p, exact) in [(0.1, 1.0), (0.2, 1.0), (0.21, 3.0), (0.4, 3.0), (0.41, 5.0), (0.7, 5.0)] {
        let found = of(p);
        assert!((found.value / exact - 1.0).abs() < 1.0 / 64.0 && !found.at_least, "{p}: {found:?}");
    }
    let beyond = of(0.71);
    assert!(beyond.at_least && beyond.value <= 7.0 && beyond.value > 7.0 * 63.0 / 64.0, "{beyond:?}");
    assert_eq!(beyond.high, None);
    // Greenwood: at 3 s the variance is (3/5)^2 (1/(5 4) + 1/(4 3)) = 0.048, that of five independent times: 0.24 / 0.048.
    let curve = Curve::of(&runs).unwrap();
    let squares: f64 = runs.iter().map(|run| curve.influence(run, 1).powi(2)).sum();
    assert!((squares - 0.048).abs() < 1e-12, "{squares}");
    // Without a censored time what a run adds is its own share less that of all, times its part.
    let runs = [seen(&[(1.0, true), (2.0, true), (9.0, true)]), seen(&[(9.0, true)])];
    let curve = Curve::of(&runs).unwrap();
    let influence = |run: usize| curve.influence(&runs[run], 1);
    assert!((influence(0) - 3.0 * (2.0 / 3.0 - 0.5) / 4.0).abs() < 1e-12);
    assert!((influence(1) + 0.5 / 4.0).abs() < 1e-12);
}

#[test]
fn nothing_that_ended_is_a_bound_alone() {
    let found = pooled_quantile(&vec![seen(&[(10.0, false)]); 20], 0.95).unwrap();
    assert!(found.at_least && found.value <= 10.0 && found.value > 9.8, "{found:?}");
    assert_eq!((found.low, found.high), (Some(found.value), None));
    // 6 of 20 that ended: the median is beyond the 10 s, 6/20 of all times are known.
    let runs: Vec<RunTimes> =
        (0..20).map(|i| seen(&[if i < 6 { (9.0, true) } else { (10.0, false) }])).collect();
    assert!(pooled_quantile(&runs, 0.5).unwrap().at_least);
    let known = pooled_quantile(&runs, 0.3).unwrap();
    assert!(!known.at_least && (known.value / 9.0 - 1.0).abs() < 1.0 / 64.0, "{known:?}");
}

#[test]
fn order_statistics_are_those_of_the_binomial_distribution() {
    // scipy.stats.binom: of 20 the median lies between the 6th and the 15th (P(fewer than 6) = 2.07 %); of 10 the 95 % quantile
    // is above all in 60 %.
    assert_eq!(order_statistics(20.0, 0.5), (Some(0.3), Some(0.75)));
    assert_eq!(order_statistics(20.0, 0.95), (Some(0.85), None));
    assert_eq!(order_statistics(10.0, 0.95), (Some(0.8), None));
    assert_eq!(order_statistics(2.0, 0.5), (None, None));
    let (low, high) = order_statistics(1000.0, 0.95);
    assert_eq!((low, high), (Some(0.936), Some(0.964)));
}

/// How many of 1,000 experiments of `runs` runs have the quantile `p` of `truth` within their interval; an exact 95 % has fewer
/// than 929 in one of a thousand test runs.
fn covered(p: f64, truth: f64, mut experiment: impl FnMut() -> Vec<RunTimes>) -> (usize, usize) {
    let (mut covered, mut bounds) = (0, 0);
    for _ in 0..1000 {
        let found = pooled_quantile(&experiment(), p).unwrap();
        // As good as the histogram is.
        let above = found.low.is_none_or(|low| low * (63.0 / 64.0) <= truth);
        let below = found.high.is_none_or(|high| high * (65.0 / 64.0) >= truth);
        covered += usize::from(above && below);
        bounds += usize::from(found.at_least);
    }
    (covered, bounds)
}

#[test]
fn intervals_of_delays_cover() {
    // Runs of exponential delays whose mean differs from run to run, by 0.5 to 1.5: the truth of 95 % is where the mean of
    // exp(-x / m) over m is 0.05.
    let above =
        |x: f64| (0..2000).map(|i| (-x / (0.50025 + 0.0005 * f64::from(i))).exp()).sum::<f64>() / 2000.0;
    let truth = (0..60).fold((1.0_f64, 9.0_f64), |(low, high), _| {
        let middle = f64::midpoint(low, high);
        if above(middle) > 0.05 { (middle, high) } else { (low, middle) }
    });
    let mut uniform = uniform("pooled");
    let (covered, bounds) = covered(0.95, truth.0, || {
        let mut one = || {
            let mean = 0.5 + uniform();
            run((0..100).map(|_| -mean * uniform().ln()))
        };
        (0..10).map(|_| one()).collect()
    });
    assert!(covered >= 929 && bounds == 0, "{covered}");
}

#[test]
fn intervals_of_censored_times_cover() {
    // Exponential times of mean 1. One a run and all seen up to a horizon; five a run that start at random and are seen up to the
    // end; the same with a mean that differs from run to run.
    let quantile = |p: f64| -(1.0 - p).ln();
    let mut draw = uniform("censored");
    for p in [0.5, 0.95] {
        for horizon in [0.3, 1.0, 2.0, 4.0] {
            let (covered, bounds) = covered(p, quantile(p), || {
                let mut one = || {
                    let time = -draw().ln();
                    seen(&[if time < horizon { (time, true) } else { (horizon, false) }])
                };
                (0..20).map(|_| one()).collect()
            });
            assert!(covered >= 929, "{p}, {horizon}: {covered}");
            // What is called a quantile and no bound is one.
            let reached = quantile(p) < horizon;
            assert!(reached || p < 0.9 || bounds > 300, "{p}, {horizon}: {bounds} bounds");
        }
        let (covered, _) = covered(p, quantile(p), || {
            let mut one = || {
                let mut flow = || {
                    let (time, horizon) = (-draw().ln(), 3.0 * draw());
                    if time < horizon { (time, true) } else { (horizon, false) }
                };
                seen(&[flow(), flow(), flow(), flow(), flow()])
            };
            (0..20).map(|_| one()).collect()
        });
        assert!(covered >= 929, "{p}, random starts: {covered}");
    }
}

#[test]
fn equal_values_have_no_width() {
    let found = pooled_quantile(&vec![run([0.02; 5].into_iter()); 3], 0.5).unwrap();
    let within = |x: f64| (x / 0.02 - 1.0).abs() < 1.0 / 64.0;
    assert!(within(found.value) && within(found.low.unwrap()), "{found:?}");
    assert_eq!(pooled_quantile(&[run([0.02].into_iter())], 0.99).unwrap().low, None);
    assert_eq!(pooled_quantile(&[], 0.99), None);
    assert_eq!(pooled_quantile(&[RunTimes::default()], 0.99), None);
}
