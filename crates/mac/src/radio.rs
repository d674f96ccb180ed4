//! State of one radio: frames on the air at its position, and the frame that it is locked on.

use crate::vector::Vector;
use crossfade_core::SimTime;
use crossfade_link::NodeStatistics;

/// Activity of a radio, for the time counters of its node: at any time exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum Activity {
    /// No sensed signal on the air.
    #[default]
    Idle,
    /// A sensed signal is on the air, but the radio has not locked on it.
    Busy,
    /// The radio is locked on a frame, addressed to its node or not.
    Receive,
    /// The radio transmits.
    Transmit,
}

/// Frame on the air, as it arrives at one node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arriving {
    pub(crate) from: u32,
    /// Mean received power per antenna.
    pub(crate) power: f64,
    /// True if carrier sense counts the frame.
    pub(crate) sensed: bool,
    /// Channel vector of the frame at the node's antennas, for arrays.
    pub(crate) seen: Vector,
}

/// Frame that a radio is locked on, with its signal and interference power.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lock {
    pub(crate) from: u32,
    /// Antenna weights of the reception; `None` with one antenna.
    pub(crate) weights: Option<Vector>,
    signal: f64,
    /// Highest interference power so far.
    interference: f64,
}

/// Radio of one node.
#[derive(Debug, Default)]
pub(crate) struct Radio {
    arriving: Vec<Arriving>,
    sensed: u32,
    lock: Option<Lock>,
    transmitting: bool,
    activity: Activity,
    /// Start of the current activity.
    since: SimTime,
}

/// Outcome of a frame at a radio when it ends.
pub(crate) struct Ended {
    pub(crate) frame: Arriving,
    /// The lock on the frame if it was decoded; otherwise `None`.
    pub(crate) understood: Option<Lock>,
    /// True if carrier sense counted the frame.
    pub(crate) sensed: bool,
}

impl Arriving {
    /// Received power after antenna `weights`; without weights, the power of one antenna.
    fn through(&self, weights: Option<&Vector>) -> f64 {
        weights.map_or(self.power, |weights| self.power * weights.transpose_dot(&self.seen).norm_sqr())
    }
}

impl Radio {
    pub(crate) fn is_busy(&self) -> bool {
        self.sensed > 0
    }

    pub(crate) fn is_transmitting(&self) -> bool {
        self.transmitting
    }

    pub(crate) fn is_locked(&self) -> bool {
        self.lock.is_some()
    }

    /// Power after antenna `weights` of all frames on the air except that of `from`.
    fn interference(&self, from: u32, weights: Option<&Vector>) -> f64 {
        self.arriving.iter().filter(|frame| frame.from != from).map(|frame| frame.through(weights)).sum()
    }

    /// Records the beginning of a frame, which may interfere with the one that the radio is locked on.
    pub(crate) fn on_begin(&mut self, frame: Arriving) {
        self.sensed += u32::from(frame.sensed);
        self.arriving.push(frame);
        if let Some(mut lock) = self.lock {
            lock.interference = lock.interference.max(self.interference(lock.from, lock.weights.as_ref()));
            self.lock = Some(lock);
        }
    }

    /// Locks on `frame` with antenna `weights` if its power after them is at least `least`.
    pub(crate) fn lock_on(&mut self, frame: &Arriving, weights: Option<Vector>, least: f64) {
        let signal = frame.through(weights.as_ref());
        if signal >= least {
            let interference = self.interference(frame.from, weights.as_ref());
            self.lock = Some(Lock { from: frame.from, weights, signal, interference });
        }
    }

    /// Records the end of the frame of `from`, and the outcome. It is decoded if its power was at least `threshold`
    /// times the sum of noise and interference at their worst.
    pub(crate) fn on_end(&mut self, from: u32, threshold: f64, noise: f64) -> Option<Ended> {
        let at = self.arriving.iter().position(|frame| frame.from == from)?;
        let frame = self.arriving.swap_remove(at);
        self.sensed -= u32::from(frame.sensed);
        let lock = self.lock.take_if(|lock| lock.from == from);
        let understood = lock.filter(|lock| lock.signal >= threshold * (noise + lock.interference));
        Some(Ended { frame, understood, sensed: frame.sensed })
    }

    /// Begins or ends a transmission of the node's own; a reception is aborted.
    pub(crate) fn transmit(&mut self, transmitting: bool) {
        self.transmitting = transmitting;
        self.lock = None;
    }

    /// Updates the current activity, and adds the time of the last one to the counters if it changed.
    pub(crate) fn account(&mut self, now: SimTime, statistics: &mut NodeStatistics) {
        let activity = match self {
            Self { transmitting: true, .. } => Activity::Transmit,
            Self { lock: Some(_), .. } => Activity::Receive,
            Self { sensed: 1.., .. } => Activity::Busy,
            Self { .. } => Activity::Idle,
        };
        if activity != self.activity {
            self.settle(now, statistics);
            self.activity = activity;
        }
    }

    /// Adds the time of the current activity up to `now` to the counters.
    pub(crate) fn settle(&mut self, now: SimTime, statistics: &mut NodeStatistics) {
        *match self.activity {
            Activity::Idle => &mut statistics.idle,
            Activity::Busy => &mut statistics.busy,
            Activity::Receive => &mut statistics.receive,
            Activity::Transmit => &mut statistics.transmit,
        } += now - self.since;
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arriving(from: u32, power: f64) -> Arriving {
        Arriving { from, power, sensed: true, seen: Vector::zeros(1) }
    }

    /// True if a frame of power 20 is decoded over noise 1 when a frame of power `power` overlaps it.
    fn overlapped(power: f64) -> bool {
        let mut radio = Radio::default();
        let first = arriving(1, 20.0);
        radio.on_begin(first);
        radio.lock_on(&first, None, 10.0);
        radio.on_begin(arriving(2, power));
        // The interferer ends first, which does not matter.
        assert!(radio.on_end(2, 10.0, 1.0).unwrap().understood.is_none());
        radio.on_end(1, 10.0, 1.0).unwrap().understood.is_some()
    }

    #[test]
    fn the_first_frame_survives_what_is_weak_enough() {
        assert!(overlapped(1.0));
        assert!(!overlapped(1.01));
        assert!(!overlapped(1000.0));
    }

    /// The highest interference during a frame decides, not the last one.
    #[test]
    fn a_frame_is_judged_by_its_worst_interference() {
        let mut radio = Radio::default();
        let first = arriving(1, 20.0);
        radio.on_begin(first);
        radio.lock_on(&first, None, 10.0);
        // 20 < 10 * (1 + 5); the weak frame of 0.1 that follows alone would leave 20 > 11.
        for (other, power) in [(2, 5.0), (3, 0.1)] {
            radio.on_begin(arriving(other, power));
            radio.on_end(other, 10.0, 1.0);
        }
        assert!(radio.on_end(1, 10.0, 1.0).unwrap().understood.is_none());
    }

    #[test]
    fn too_weak_a_frame_is_not_locked_on() {
        let mut radio = Radio::default();
        let weak = arriving(1, 9.9);
        radio.on_begin(weak);
        radio.lock_on(&weak, None, 10.0);
        assert!(!radio.is_locked() && radio.is_busy());
    }

    #[test]
    fn weights_decide_what_interferes() {
        let mut radio = Radio::default();
        let seen = |antenna: usize| {
            let mut vector = Vector::zeros(2);
            vector[antenna] = 1.0.into();
            vector
        };
        let wanted = Arriving { seen: seen(0), ..arriving(1, 1.0) };
        radio.on_begin(wanted);
        radio.lock_on(&wanted, Some(seen(0)), 0.0);
        radio.on_begin(Arriving { seen: seen(1), ..arriving(2, 1e6) });
        assert!(radio.on_end(1, 10.0, 0.0).unwrap().understood.is_some());
    }
}
