//! Congestion controls against closed forms: the average window at a given loss rate.
//!
//! The network is that of the formulas: a constant RTT, evenly spaced acknowledgements (`cwnd` segments per RTT), and
//! losses that are noticed and repaired at once.

use crossfade_core::{RunSeed, SimTime, testing::Runs};
use crossfade_transport::congestion::{AckCounting, AckSample, CongestionControl, Cubic, HighSpeed, Reno};
use rand::RngExt;

/// Drives a congestion control and measures its window.
struct Drive<R> {
    control: R,
    rtt_s: f64,
    /// Maximum number of acknowledgements per RTT, about; in a larger window each covers several segments.
    acks_per_rtt: f64,
    now_s: f64,
    segments: f64,
}

impl<R: CongestionControl> Drive<R> {
    fn new(control: R, rtt_s: f64, acks_per_rtt: f64) -> Self {
        Self { control, rtt_s, acks_per_rtt, now_s: 0.0, segments: 0.0 }
    }

    /// Acknowledges `segments` segments, then loses one. Returns the window at the loss, in segments.
    fn until_loss(&mut self, segments: u64) -> f64 {
        let mut left = segments;
        while left > 0 {
            let cwnd = self.control.cwnd();
            let acked = ((cwnd / self.acks_per_rtt) as u64).clamp(1, left);
            left -= acked;
            self.now_s += self.rtt_s * acked as f64 / cwnd;
            self.segments += acked as f64;
            self.control.on_ack(&AckSample {
                now: SimTime::from_secs_f64(self.now_s),
                acked,
                rtt: Some(SimTime::from_secs_f64(self.rtt_s)),
                cwnd_limited: true,
                ..AckSample::default()
            });
        }
        let cwnd = self.control.cwnd();
        self.control.on_loss(SimTime::from_secs_f64(self.now_s), cwnd);
        cwnd
    }

    /// Time average of the window in segments, over `losses` losses with `segments()` segments between them.
    fn average_window(&mut self, losses: u32, mut segments: impl FnMut() -> u64) -> f64 {
        let (segments_before, before_s) = (self.segments, self.now_s);
        for _ in 0..losses {
            self.until_loss(segments());
        }
        (self.segments - segments_before) * self.rtt_s / (self.now_s - before_s)
    }
}

fn close(what: &str, value: f64, expected: f64, tolerance: f64) {
    let deviation = value / expected - 1.0;
    assert!(
        deviation.abs() <= tolerance,
        "{what}: {value}, expected {expected} ({:+.2} %)",
        100.0 * deviation
    );
}

/// With a loss every 1/p segments Reno's window runs from W/2 to W, W = sqrt(8 / (3 p)), and is 3/4 W or sqrt(3 / (2
/// p)) on average (Mathis, Semke, Mahdavi and Ott, "The macroscopic behavior of the TCP congestion avoidance
/// algorithm", 1997, equation (3)).
#[test]
fn reno_follows_the_sawtooth() {
    for segments in [1_000, 10_000, 100_000] {
        let n = segments as f64;
        // Equation (3) of RFC 5681 is the continuous growth of the formula. Counting adds a segment at the
        // end of a window instead: half a segment less on average.
        for (counting, lag) in [(AckCounting::PerAck, 0.0), (AckCounting::PerSegment, 0.5)] {
            let mut drive = Drive::new(Reno::new(2.0, 2.0).with_counting(counting), 0.1, f64::INFINITY);
            drive.average_window(10, || segments);
            let average = drive.average_window(10, || segments);
            close("average", average + lag, (1.5 * n).sqrt(), 0.005);
            let peak = drive.until_loss(segments);
            // A loss may come just before a step or just after.
            assert!((peak - (8.0 / 3.0 * n).sqrt()).abs() <= 1.0, "peak {peak} of {segments} segments");
            close("trough", drive.control.cwnd(), peak / 2.0, 0.0);
        }
    }
}

/// If each segment is lost with probability p, Reno's average window is c / sqrt(p), c = 1.3098 (Ott, Kemperman and
/// Mathis, "The stationary behavior of ideal TCP congestion avoidance", 1996).
///
/// With Y = W^2 / 2, which grows by 1 per segment and is divided by 4 by a loss: p Y is the sum of e(k) / 4^k, all e(k)
/// exponential; Ramanujan's integral of the product of 1 / (1 + s / 4^k) gives the mean of Y^(-1/2), and the average
/// window over time is 1 / E[1 / W].
#[test]
fn reno_follows_the_square_root_law() {
    let product: f64 =
        (1..40).map(|k| (1.0 - 0.25_f64.powf(f64::from(k) - 0.5)) / (1.0 - 0.25_f64.powi(k))).product();
    let c = 2.0_f64.sqrt() / (std::f64::consts::PI.sqrt() * product);
    close("c", c, 1.3098, 0.0001);

    let p = 0.001_f64;
    let averages = Runs::of(30, |run| {
        let mut stream = RunSeed { seed: 1, run }.stream("losses");
        let mut segments = || ((1.0 - stream.random::<f64>()).ln() / (1.0 - p).ln()) as u64 + 1;
        let control = Reno::new(30.0, 2.0).with_counting(AckCounting::PerAck);
        let mut drive = Drive::new(control, 0.1, f64::INFINITY);
        drive.average_window(20, &mut segments);
        drive.average_window(2500, &mut segments)
    });
    // The law is the limit of many segments: whole segments and rounds are worth less than 1 % here.
    let law = c / p.sqrt();
    averages.assert_mean_near(law, 0.01 * law, "average window of Reno, p = 0.001");
}

/// The average window of HighSpeed TCP is 0.12/p^0.835 (RFC 3649 section 5). The RFC takes a(w) and b(w) at the average
/// window; a sawtooth with evenly spaced losses differs from that by a few per cent.
#[test]
fn highspeed_has_the_windows_of_its_table() {
    for (segments, window) in
        [(10_000, 263.0), (100_000, 1795.0), (1_000_000, 12_279.0), (10_000_000, 83_981.0)]
    {
        let mut drive = Drive::new(HighSpeed::new(2.0, 2.0), 0.1, 100.0);
        drive.average_window(20, || segments);
        close(&format!("1/p = {segments}"), drive.average_window(20, || segments), window, 0.06);
    }
}

/// Average window of CUBIC in its concave region, in segments (RFC 9438 figure 5).
fn avg_w_cubic(c: f64, rtt_s: f64, p: f64) -> f64 {
    (c * 3.7 / 1.2).powf(0.25) * (rtt_s / p).powf(0.75)
}

/// Values of C in tables 1 and 2 of RFC 9438, whose rows give RTT, 1/p and the average windows with these C.
const TABLES_C: [f64; 3] = [0.04, 0.4, 4.0];
const TABLES: [(f64, u64, [f64; 3]); 14] = [
    (0.1, 100, [12.0, 12.0, 12.0]),
    (0.1, 1_000, [38.0, 38.0, 59.0]),
    (0.1, 10_000, [120.0, 187.0, 333.0]),
    (0.1, 100_000, [593.0, 1054.0, 1874.0]),
    (0.1, 1_000_000, [3332.0, 5926.0, 10538.0]),
    (0.1, 10_000_000, [18740.0, 33325.0, 59261.0]),
    (0.1, 100_000_000, [105383.0, 187400.0, 333250.0]),
    (0.01, 100, [12.0, 12.0, 12.0]),
    (0.01, 1_000, [38.0, 38.0, 38.0]),
    (0.01, 10_000, [120.0, 120.0, 120.0]),
    (0.01, 100_000, [379.0, 379.0, 379.0]),
    (0.01, 1_000_000, [1200.0, 1200.0, 1874.0]),
    (0.01, 10_000_000, [3795.0, 5926.0, 10538.0]),
    (0.01, 100_000_000, [18740.0, 33325.0, 59261.0]),
];

/// Creates a CUBIC flow just after a loss at the window `w_max`, without fast convergence: the tables assume a single
/// flow.
fn cubic_after_loss_at(w_max: f64, c: f64, rtt_s: f64) -> Drive<Cubic> {
    let cubic = Cubic::new(w_max, 1.0).with_c(c).with_counting(AckCounting::PerSegment);
    let mut drive = Drive::new(cubic.without_fast_convergence(), rtt_s, 100.0);
    drive.control.on_loss(SimTime::ZERO, w_max);
    drive
}

#[test]
fn cubic_follows_its_response_function() {
    for (rtt_s, segments, averages) in TABLES {
        let p = 1.0 / segments as f64;
        for (c, printed) in TABLES_C.into_iter().zip(averages) {
            let cubic = avg_w_cubic(c, rtt_s, p);
            // The tables take 1.2 / sqrt(p) for Reno and round.
            close("the RFC's table", printed, cubic.max(1.2 / p.sqrt()).round(), 1e-3);
            // AIMD with CUBIC's alpha and beta averages as Reno does (figure 2), sqrt(1.5 / p).
            let reno = (1.5 / p).sqrt();
            // The average is (3 + beta) / 4 of the window at the loss.
            let mut drive = cubic_after_loss_at(cubic.max(reno) * 4.0 / 3.7, c, rtt_s);
            drive.average_window(10, || segments);
            let average = drive.average_window(10, || segments);
            let what = format!("RTT {rtt_s} s, p {p}, C {c}");
            if cubic > 1.5 * reno {
                close(&what, average, cubic, 0.005);
            } else if reno > 3.0 * cubic {
                close(&what, average, reno, 0.001);
            } else {
                // Either region for part of the time: the larger of two curves averages more than either
                // does.
                let larger = cubic.max(reno);
                assert!((0.999..1.035).contains(&(average / larger)), "{what}: {average}, formulas {larger}");
            }
        }
    }
}

/// CUBIC forgets a disturbance slowly, since the fixed point of its response function is neutral to first order. Let
/// the window at loss n be (1 + x) times the formula's. The next one is larger by C (T - K)^3, where T - K is the time
/// by which the loss comes after the plateau. It takes (1 + x)^(4/3) / p segments to get there, 4/3 x / p more than
/// there are: T - K = -(3 + beta) / 3 K x. With C K^3 = (1 - beta) W this is x' = x - a x^3, a = (1 - beta) ((3 + beta)
/// / 3)^3, and 1 / x^2 grows by 2 a at each loss.
#[test]
fn cubic_returns_to_its_response_function_as_one_over_a_root() {
    let (c, rtt_s, segments) = (0.4, 0.1, 1_000_000);
    let w_max = avg_w_cubic(c, rtt_s, 1e-6) * 4.0 / 3.7;
    let a = 0.3 * (3.7_f64 / 3.0).powi(3);
    for x in [0.1_f64, -0.1] {
        let mut drive = cubic_after_loss_at(w_max * (1.0 + x), c, rtt_s);
        drive.average_window(100, || segments);
        let deviation = drive.until_loss(segments) / w_max - 1.0;
        let expected = x.signum() / (x.powi(-2) + 2.0 * a * 101.0).sqrt();
        close("deviation after 101 losses", deviation, expected, 0.1);
    }
}

/// With fast convergence every loss below the plateau leaves room for other flows, even if there are none: a single
/// flow with periodic losses stays up to an eighth below the formula (RFC 9438 section 4.7 mentions this for single
/// flows).
#[test]
fn fast_convergence_costs_a_single_flow_up_to_an_eighth() {
    let (c, rtt_s, segments) = (0.4, 0.1, 1_000_000);
    let formula = avg_w_cubic(c, rtt_s, 1e-6);
    for start in [0.5, 1.0, 4.0 / 3.7, 2.0] {
        let cubic = Cubic::new(start * formula, 1.0).with_counting(AckCounting::PerSegment);
        let mut drive = Drive::new(cubic, rtt_s, 100.0);
        drive.average_window(20, || segments);
        let average = drive.average_window(50, || segments);
        assert!((0.875..1.0).contains(&(average / formula)), "from {start}: {average}, formula {formula}");
    }
}
