use super::*;
use crate::RunSeed;
use crate::testing::is_long;

/// Times of a run from its delays in seconds.
fn run(delays: impl Iterator<Item = f64>) -> RunTimes {
    let mut ended = DelayHistogram::default();
    delays.for_each(|delay| ended.record(SimTime::from_secs_f64(delay)));
    RunTimes { ended, unended: DelayHistogram::default() }
}

/// Times of a run from pairs of a time in seconds and whether it ended.
fn seen(times: &[(f64, bool)]) -> RunTimes {
    let mut run = RunTimes::default();
    for &(time, has_ended) in times {
        let of = if has_ended { &mut run.ended } else { &mut run.unended };
        of.record(SimTime::from_secs_f64(time));
    }
    run
}

/// Generator of uniform random numbers in the open interval from 0 to 1.
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
    // One run of ten is all that there is of the tail, and the interval says so. Of its 2000 values 27.5 % lie above,
    // of the others' none: residuals of -450 and nine times 50, so that the variance of the share is 225000 10/9 /
    // 11000^2 = 0.002066, that of 0.0475 / 0.002066 = 22.99 independent values, less for ten runs: times (1.96 /
    // 2.262)^2, 17.26. Of 17 the 14th is the lower end (P(13 or fewer below it) = 0.9 %, 14 or fewer 5.0 %), and the
    // 17th may well lie below the quantile (42 %). Up to 14/17 lie 9059 values: all 9000 good ones and 59 of the bad
    // run.
    let found = pooled_quantile(&runs, 0.95).unwrap();
    assert!((found.low.unwrap() / 0.295 - 1.0).abs() < 0.02, "{found:?}");
    assert!(found.high.is_none() && found.ci95.is_none() && !found.at_least, "{found:?}");
}

#[test]
fn quantiles_of_mixtures_with_gaps_are_within_one_part_in_64() {
    let mut uniform = uniform("mixtures");
    let mut noise = move |from: f64, to: f64| from + (to - from) * uniform();
    // ARQ: each retransmission takes 200 ms. Outages of 2 s that 3 % of the packets wait for. A handover in one run of
    // ten, to a path of 600 ms. Delays without noise at all.
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
    let near = |found: Estimate, exact: f64| (found.value / exact - 1.0).abs() < 1.0 / 64.0;
    // 1, 3, 4+, 5, 7+ s: up to 1 s 1/5 have ended, up to 3 s 1 - 4/5 3/4 = 2/5, up to 5 s 1 - 3/5 1/2 = 7/10. Two of
    // five did not end, so that of shares up to 3/5 there is a value.
    let times = [(1.0, true), (3.0, true), (4.0, false), (5.0, true), (7.0, false)];
    let runs: Vec<RunTimes> = times.iter().map(|time| seen(&[*time])).collect();
    for (p, exact) in [(0.1, 1.0), (0.2, 1.0), (0.21, 3.0), (0.4, 3.0), (0.41, 5.0), (0.6, 5.0)] {
        let found = pooled_quantile(&runs, p).unwrap();
        assert!(near(found, exact) && !found.at_least, "{p}: {found:?}");
    }
    // Beyond, they are at least as long as they were seen: the fourth of five, and the fifth.
    for (p, exact) in [(0.61, 5.0), (0.9, 7.0)] {
        let found = pooled_quantile(&runs, p).unwrap();
        assert!(
            near(found, exact) && found.value <= exact && found.at_least && found.high.is_none(),
            "{p}: {found:?}"
        );
    }
    // 1+, 1+, 2, 3, ..., 9 s: with an eighth ending in each second from 2 s on the median is 5 s; as seen it would be 4
    // s, and with two endless times 6 s.
    let mut times: Vec<(f64, bool)> = (2..10).map(|time| (f64::from(time), true)).collect();
    times.extend([(1.0, false); 2]);
    assert!(near(pooled_quantile(&[seen(&times)], 0.5).unwrap(), 5.0));
    let runs = [seen(&times)];
    let as_seen = Times::of(&runs, |_| {
        Cow::Owned(seen(&times.iter().map(|(time, _)| (*time, true)).collect::<Vec<_>>()).ended)
    });
    let endless = Times::of(&runs, |run| Cow::Borrowed(&run.ended));
    let of = |times: &Times<'_>| times.quantile(0.5).unwrap().as_secs_f64().round();
    assert_eq!([of(&as_seen), of(&endless)], [4.0, 6.0]);
}

#[test]
fn runs_are_clusters() {
    // One run with times of 1, 2 and 9 s, one with 9 s alone: up to the median of 2 s (its bucket whole) lie 2 of 3 and
    // 0 of 1, residuals of 2 - 3/2 and -1/2: a variance of 2 (1/4 + 1/4) / 16 = 1/16, that of (1/4) / (1/16) = 4
    // independent times, less for two runs: at least one.
    let runs = [seen(&[(1.0, true), (2.0, true), (9.0, true)]), seen(&[(9.0, true)])];
    let times = Times::of(&runs, |run| Cow::Borrowed(&run.ended));
    let of_two_runs = (NORMAL / student_quantiles(2)[0]).powi(2);
    assert!((times.independent_times(0.5) - (4.0 * of_two_runs).max(1.0)).abs() < 1e-12);
    // Twenty equal runs say as much as all their times.
    let runs = vec![run((1..=10).map(f64::from)); 20];
    let times = Times::of(&runs, |run| Cow::Borrowed(&run.ended));
    assert_eq!(times.independent_times(0.5), 200.0);
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
    // scipy.stats.binom: of 20 the median lies between the 6th and the 15th (P(fewer than 6) = 2.07 %); of 10 the 95 %
    // quantile is above all in 60 %.
    assert_eq!(order_statistics(20.0, 0.5), (Some(0.3), Some(0.75)));
    assert_eq!(order_statistics(20.0, 0.95), (Some(0.85), None));
    assert_eq!(order_statistics(10.0, 0.95), (Some(0.8), None));
    assert_eq!(order_statistics(2.0, 0.5), (None, None));
    let (low, high) = order_statistics(1000.0, 0.95);
    assert_eq!((low, high), (Some(0.936), Some(0.964)));
}

/// Number of `experiments` in which the interval contains the true quantile `p`, and number in which only a lower bound
/// results.
fn covered(
    p: f64,
    truth: f64,
    experiments: usize,
    mut experiment: impl FnMut() -> Vec<RunTimes>,
) -> (usize, usize) {
    let (mut covered, mut bounds) = (0, 0);
    for _ in 0..experiments {
        let found = pooled_quantile(&experiment(), p).unwrap();
        // As good as the histogram is.
        let above = found.low.is_none_or(|low| low * (63.0 / 64.0) <= truth);
        let below = found.high.is_none_or(|high| high * (65.0 / 64.0) >= truth);
        covered += usize::from(above && below);
        bounds += usize::from(found.at_least);
    }
    (covered, bounds)
}

/// Smallest number of `experiments` that an exact 95 % interval covers, but for one of a thousand test runs.
fn least(experiments: usize) -> usize {
    let n = experiments as f64;
    (0.95 * n - 3.09 * (0.95 * 0.05 * n).sqrt()) as usize
}

/// Argument at which the falling function `above` is `1 - p`.
fn quantile_of(above: impl Fn(f64) -> f64, p: f64) -> f64 {
    let narrowed = (0..60).fold((0.0_f64, 100.0_f64), |(low, high), _| {
        let middle = f64::midpoint(low, high);
        if above(middle) > 1.0 - p { (middle, high) } else { (low, middle) }
    });
    narrowed.1
}

/// Number of experiments in which the interval covers the true 95 % quantile of exponential delays whose mean differs
/// from run to run (uniform from 0.5 to 1.5): mean over m of exp(-x / m) is 0.05 at this quantile x.
fn coverage_of_delays(experiments: usize) -> usize {
    let above =
        |x: f64| (0..2000).map(|i| (-x / (0.50025 + 0.0005 * f64::from(i))).exp()).sum::<f64>() / 2000.0;
    let mut uniform = uniform("pooled");
    let (covered, bounds) = covered(0.95, quantile_of(above, 0.95), experiments, || {
        let mut one = || {
            let mean = 0.5 + uniform();
            run((0..100).map(|_| -mean * uniform().ln()))
        };
        (0..10).map(|_| one()).collect()
    });
    assert_eq!(bounds, 0);
    covered
}

/// Name of a distribution of times, its survival function, and a function from two uniform random numbers to a time.
type Kind = (&'static str, fn(f64) -> f64, fn(f64, f64) -> f64);

/// Number of experiments in which the interval covers the true quantile of partly censored times, for each
/// distribution, quantile and horizon.
fn coverage_of_unended_times(experiments: usize) -> Vec<(String, usize)> {
    let mut draw = uniform("censored");
    let mut found = Vec::new();
    // Exponential times of mean 1, log-normal ones of median 1, and times with gaps (a timer of 1, 2, 4, ... s that
    // expires with probability 0.4 each time).
    let kinds: [Kind; 3] = [
        ("exponential", |x| (-x).exp(), |u, _| -u.ln()),
        (
            "log-normal",
            |x| 0.5 * libm::erfc(x.ln() / std::f64::consts::SQRT_2),
            |u, v| ((-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()).exp(),
        ),
        ("gaps", gaps_above, |u, v| {
            let expired = (u.ln() / 0.4_f64.ln()).floor();
            expired.exp2() - 1.0 + 0.1 + 0.1 * v
        }),
    ];
    for (kind, above, time) in kinds {
        for p in [0.5, 0.95] {
            let truth = quantile_of(above, p);
            // One a run, all seen up to a horizon.
            for horizon in [0.3, 1.0, 2.0, 4.0] {
                let (covered, bounds) = covered(p, truth, experiments, || {
                    let mut one = || {
                        let time = time(draw(), draw());
                        seen(&[if time < horizon { (time, true) } else { (horizon, false) }])
                    };
                    (0..20).map(|_| one()).collect()
                });
                found.push((format!("{kind}, {p}, seen for {horizon} s: {bounds} bounds"), covered));
                // What is called a quantile and no bound is one.
                assert!(truth < horizon || p < 0.9 || bounds > 3 * experiments / 10, "{:?}", found.last());
            }
            // Five a run that begin at random and are seen up to the end.
            let (covered, bounds) = covered(p, truth, experiments, || {
                let mut one = || {
                    let mut flow = || {
                        let (time, horizon) = (time(draw(), draw()), 3.0 * draw());
                        if time < horizon { (time, true) } else { (horizon, false) }
                    };
                    seen(&[flow(), flow(), flow(), flow(), flow()])
                };
                (0..20).map(|_| one()).collect()
            });
            found.push((format!("{kind}, {p}, random beginnings: {bounds} bounds"), covered));
        }
    }
    // An overloaded link: the later a flow begins, the longer it lasts, and the sooner it is cut off.
    let above = |x: f64| {
        (0..2000).map(|i| (-x / (0.2 + 2.0 * (f64::from(i) + 0.5) / 2000.0)).exp()).sum::<f64>() / 2000.0
    };
    for p in [0.5, 0.95] {
        let (covered, bounds) = covered(p, quantile_of(above, p), experiments, || {
            let mut one = || {
                let mut flow = || {
                    let begin = draw();
                    let (time, horizon) = (-(0.2 + 2.0 * begin) * draw().ln(), 4.0 * (1.0 - begin));
                    if time < horizon { (time, true) } else { (horizon, false) }
                };
                seen(&std::array::from_fn::<_, 10, _>(|_| flow()))
            };
            (0..20).map(|_| one()).collect()
        });
        found.push((format!("overloaded, {p}: {bounds} bounds"), covered));
    }
    found
}

/// Survival function of the times with gaps: the share of them longer than `x`.
fn gaps_above(x: f64) -> f64 {
    (0..60)
        .map(|expired| {
            let begin = f64::from(expired).exp2() - 1.0 + 0.1;
            0.4_f64.powi(expired) * 0.6 * (1.0 - ((x - begin) / 0.1).clamp(0.0, 1.0))
        })
        .sum()
}

#[test]
fn intervals_of_delays_cover() {
    let covered = coverage_of_delays(1000);
    assert!(covered >= least(1000), "{covered}");
}

#[test]
fn intervals_of_unended_times_cover() {
    for (of, covered) in coverage_of_unended_times(1000) {
        assert!(covered >= least(1000), "{of}: {covered}");
    }
}

/// Many experiments: takes about a minute.
#[test]
fn intervals_cover_in_many_experiments() {
    const EXPERIMENTS: usize = 20_000;
    if !is_long() {
        return;
    }
    let mut found = coverage_of_unended_times(EXPERIMENTS);
    found.push(("delays".to_owned(), coverage_of_delays(EXPERIMENTS)));
    for (of, covered) in &found {
        println!("{of}: {:.1} %", 100.0 * *covered as f64 / EXPERIMENTS as f64);
    }
    for (of, covered) in found {
        assert!(covered >= least(EXPERIMENTS), "{of}: {covered}");
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
