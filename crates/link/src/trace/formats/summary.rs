//! Summary of one direction of a recording: means, quantiles and curves.

use super::item::{Extra, Item, Room, Step, Whole};
use super::windows::{Curve, Distribution, Windows};
use crossfade_core::SimTime;
use std::collections::BTreeSet;

/// Width of the windows of a summary.
const WINDOW: SimTime = SimTime::from_millis(100);

/// Collects the facts about one direction of a link, and summarises them over windows of 100 ms. Its memory grows only
/// with the number of windows.
#[derive(Clone, Debug)]
pub struct Summary {
    items: u64,
    opportunities: u64,
    sent: u64,
    arrived: u64,
    capacity: Windows,
    is_unlimited: bool,
    rate: Windows,
    delay: Windows,
    loss: Windows,
    sent_bits: Windows,
    arrived_bits: Windows,
    /// Least and greatest queue limit in packets, in bytes and in nanoseconds.
    rooms: [Option<[u64; 2]>; 3],
    extras: BTreeSet<Extra>,
    /// Greatest common divisors in ns of all times, and of all delays.
    clock: u64,
    delay_clock: u64,
    train: Option<(SimTime, SimTime)>,
}

/// Summary of one direction of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// Number of facts in the recording.
    pub items: u64,
    /// Number of delivery opportunities among the facts.
    pub opportunities: u64,
    /// Numbers of packets sent and arrived.
    pub packets: [u64; 2],
    /// Capacity in bit/s, from opportunities or from rates; `None` without a limited capacity.
    pub rate_bps: Option<Distribution>,
    /// True if some rate has no limit.
    pub is_unlimited: bool,
    /// One-way delay in seconds; `None` if the recording has none.
    pub delay_s: Option<Distribution>,
    /// Share of packets lost, from 0 to 1; `None` if the recording has none.
    pub loss: Option<Distribution>,
    /// Rates of packets sent and arrived, in bit/s; `None` without such packets.
    pub throughput_bps: [Option<Distribution>; 2],
    /// Least and greatest queue limit in packets, in bytes and in nanoseconds; `None` for each unit that does not
    /// occur.
    pub rooms: [Option<[u64; 2]>; 3],
    /// Further properties that occur in the recording.
    pub extras: Vec<Extra>,
    /// Greatest common divisor of all times, the resolution of the recording; zero if all times are zero.
    pub clock: SimTime,
    /// Greatest common divisor of all delays, their resolution; zero if all delays are zero.
    pub delay_clock: SimTime,
    /// Width of the windows from which quantiles are computed; the widest if they differ.
    pub window: SimTime,
}

impl Default for Summary {
    fn default() -> Self {
        let windows = || Windows::new(WINDOW);
        Self {
            items: 0,
            opportunities: 0,
            sent: 0,
            arrived: 0,
            capacity: windows(),
            is_unlimited: false,
            rate: windows(),
            delay: windows(),
            loss: windows(),
            sent_bits: windows(),
            arrived_bits: windows(),
            rooms: [None; 3],
            extras: BTreeSet::new(),
            clock: 0,
            delay_clock: 0,
            train: None,
        }
    }
}

impl Summary {
    /// Takes a fact of the recording.
    pub fn look(&mut self, item: &Item) {
        self.items += 1;
        self.clock = common(self.clock, item.time().as_nanos());
        match item {
            Item::Opportunity { time, bytes } => {
                self.opportunities += 1;
                self.capacity.at(*time, f64::from(*bytes) * 8.0, 0.0);
            }
            Item::Step(step) => self.look_at_step(step),
            Item::Train { time, delay, .. } => {
                self.look_at_delay(*delay);
                if let Some((from, before)) = self.train {
                    self.delay.over(from, *time, [before, *delay].map(SimTime::as_secs_f64));
                }
                self.train = Some((*time, *delay));
            }
            Item::Sent { time, bytes, .. } => {
                self.sent += 1;
                self.sent_bits.at(*time, f64::from(*bytes) * 8.0, 0.0);
            }
            Item::Arrived { time, bytes, delay, .. } => {
                self.arrived += 1;
                self.arrived_bits.at(*time, f64::from(*bytes) * 8.0, 0.0);
                if let Some(delay) = delay {
                    self.look_at_delay(*delay);
                    self.delay.at(*time, delay.as_secs_f64(), 1.0);
                }
            }
        }
    }

    fn look_at_step(&mut self, step: &Step) {
        // A step that lasts forever counts as one window.
        let lasts = step.lasts.unwrap_or(WINDOW);
        self.clock = common(self.clock, step.lasts.unwrap_or_default().as_nanos());
        let end = step.time.saturating_add(lasts);
        match step.rate_bps {
            Some(rate) if rate.is_finite() => self.rate.over(step.time, end, [rate; 2]),
            Some(_) => self.is_unlimited = true,
            None => {}
        }
        if let Some(delay) = step.delay {
            self.look_at_delay(delay);
            self.delay.over(step.time, end, [delay.as_secs_f64(); 2]);
        }
        if let Some(loss) = step.loss {
            self.loss.over(step.time, end, [loss; 2]);
        }
        if let Some(room) = step.queue {
            let (which, size) = match room {
                Room::Packets(packets) => (0, packets),
                Room::Bytes(bytes) => (1, bytes),
                Room::Time(time) => (2, time.as_nanos()),
            };
            let [least, most] = self.rooms[which].unwrap_or([size; 2]);
            self.rooms[which] = Some([least.min(size), most.max(size)]);
        }
        self.extras.extend(step.extras.iter().map(|(extra, _)| *extra));
    }

    fn look_at_delay(&mut self, delay: SimTime) {
        self.delay_clock = common(self.delay_clock, delay.as_nanos());
    }

    /// Curves over time of the quantities that [`finish`](Self::finish) summarises, with their names, in at most `most`
    /// points each. `whole` has the facts about the recording as a whole.
    pub fn curves(mut self, whole: &Whole, most: usize) -> Vec<(&'static str, Curve)> {
        self.weigh(whole);
        let curves = [
            ("rate_bps", if self.opportunities > 0 { &self.capacity } else { &self.rate }),
            ("sent_bps", &self.sent_bits),
            ("arrived_bps", &self.arrived_bits),
            ("delay_s", &self.delay),
            ("loss", &self.loss),
        ];
        curves
            .map(|(name, windows)| (name, windows.curve(most)))
            .into_iter()
            .filter(|(_, curve)| !curve.means.is_empty())
            .collect()
    }

    /// Sets the weights of windows that only the duration of the whole recording determines.
    fn weigh(&mut self, whole: &Whole) {
        if let Some((time, delay)) = self.train.filter(|_| self.delay.distribution().is_none()) {
            self.delay.over(time, time.saturating_add(WINDOW), [delay.as_secs_f64(); 2]);
        }
        for (windows, count) in [
            (&mut self.capacity, self.opportunities),
            (&mut self.sent_bits, self.sent),
            (&mut self.arrived_bits, self.arrived),
        ] {
            if count > 0 {
                windows.weigh_until(whole.lasts);
            }
        }
    }

    /// Summary of the recording; `whole` has the facts about the recording as a whole.
    pub fn finish(mut self, whole: &Whole) -> Described {
        self.weigh(whole);
        let is_of_opportunities = self.opportunities > 0;
        let capacity = if is_of_opportunities { &self.capacity } else { &self.rate };
        let windows =
            [&self.capacity, &self.rate, &self.delay, &self.loss, &self.sent_bits, &self.arrived_bits];
        let mut loss = self.loss.distribution();
        if loss.is_none() && self.sent > 0 && self.arrived > 0 {
            let lost = 1.0 - self.arrived.min(self.sent) as f64 / self.sent as f64;
            loss = Some(Distribution { mean: lost, min: lost, p5: lost, p50: lost, p95: lost, max: lost });
        }
        Described {
            items: self.items,
            opportunities: self.opportunities,
            packets: [self.sent, self.arrived],
            rate_bps: capacity.distribution(),
            is_unlimited: self.is_unlimited,
            delay_s: self.delay.distribution(),
            loss,
            throughput_bps: [self.sent_bits.distribution(), self.arrived_bits.distribution()],
            rooms: self.rooms,
            window: windows.iter().map(|windows| windows.width()).max().unwrap_or(WINDOW),
            extras: self.extras.into_iter().collect(),
            clock: SimTime::from_nanos(self.clock),
            delay_clock: SimTime::from_nanos(self.delay_clock),
        }
    }
}

/// Greatest common divisor of two numbers; that of 0 and a number is the number.
fn common(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::super::{Assumed, Format, read};
    use super::*;

    fn described(format: Format, text: &str) -> Described {
        let (told, whole) = read(format, Assumed::default(), text).unwrap();
        let mut summary = Summary::default();
        for (_, item) in &told {
            summary.look(item);
        }
        summary.finish(&whole)
    }

    #[test]
    fn a_trace_in_a_few_numbers() {
        // 100 opportunities in the first 100 ms, 50 in the second.
        let text = (1..=100)
            .chain((102..=200).step_by(2))
            .fold(String::new(), |text, at| text + &at.to_string() + "\n");
        let found = described(Format::Mahimahi, &text);
        let rate = found.rate_bps.unwrap();
        assert!((rate.max - 12e6).abs() < 1e-3 && (rate.min - 6e6).abs() < 1e-3, "{rate:?}");
        assert!((rate.mean - 9e6).abs() < 1e-3);
        assert_eq!((found.items, found.opportunities, found.clock), (150, 150, SimTime::from_millis(1)));
        assert_eq!((found.delay_s, found.loss), (None, None));
    }

    #[test]
    fn a_table_in_a_few_numbers() {
        let found =
            described(Format::TheaterQ, "100000,20000000,1000000,0,100\n300000,40000000,-1,2147483648,50\n");
        let (delay, loss) = (found.delay_s.unwrap(), found.loss.unwrap());
        assert!((delay.mean - 0.035).abs() < 1e-12 && (delay.p5 - 0.02).abs() < 1e-12, "{delay:?}");
        assert!((loss.mean - 0.375).abs() < 1e-9 && (loss.max - 0.5).abs() < 1e-9, "{loss:?}");
        assert!(found.is_unlimited && (found.rate_bps.unwrap().mean - 1e6).abs() < 1e-6);
        assert_eq!((found.rooms[0], found.clock), (Some([50, 100]), SimTime::from_millis(100)));
        assert_eq!(found.delay_clock, SimTime::from_millis(20));
        let (told, whole) =
            read(Format::LeoReplayer, Assumed::default(), "20\n".repeat(40).as_str()).unwrap();
        let mut summary = Summary::default();
        for (_, item) in &told {
            summary.look(item);
        }
        let curves = summary.curves(&whole, 100);
        assert_eq!((curves.len(), curves[0].0, curves[0].1.times_s.len()), (1, "delay_s", 4));
        // A step that lasts forever has a value, too.
        assert_eq!(described(Format::Delays, "0 0.02\n").delay_s.unwrap().mean, 0.02);
        let trains = described(Format::CellReplayLight, "0 20 0\n100 40 0\n200 40 0\n").delay_s.unwrap();
        assert!((trains.mean - 0.035).abs() < 1e-9 && (trains.min - 0.03).abs() < 1e-9, "{trains:?}");
    }
}
