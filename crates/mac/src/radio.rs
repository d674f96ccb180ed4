//! State of one radio: the frames on the air at its place, and the frame that it is locked on.

use crate::vector::Vector;
use crossfade_core::SimTime;
use crossfade_link::NodeStatistics;

/// Activity of a node, as its radio sees it: at any time exactly one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum Activity {
    /// Idle: no signal that it would not ignore is on the air.
    #[default]
    Idle,
    /// Something is on the air, but it has not locked on it.
    Busy,
    /// The radio has locked on a frame, for itself or others.
    Receive,
    /// The radio sends.
    Transmit,
}

/// A frame on the air, as it arrives at one node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arriving {
    pub(crate) from: u32,
    /// The power of each antenna's signal in the mean.
    pub(crate) power: f64,
    /// Whether carrier sense counts it.
    pub(crate) sensed: bool,
    /// Channel vector of the frame, for arrays.
    pub(crate) seen: Vector,
}

/// The frame that a radio is locked on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lock {
    pub(crate) from: u32,
    /// Through these weights, for arrays.
    pub(crate) weights: Option<Vector>,
    signal: f64,
    /// The most interference there was.
    interference: f64,
}

/// A radio.
#[derive(Debug, Default)]
pub(crate) struct Radio {
    arriving: Vec<Arriving>,
    sensed: u32,
    lock: Option<Lock>,
    transmitting: bool,
    activity: Activity,
    /// Since when.
    since: SimTime,
}

/// Outcome of a frame at a radio.
pub(crate) struct Ended {
    pub(crate) frame: Arriving,
    /// The lock on it, if there was one and the frame was understood.
    pub(crate) understood: Option<Lock>,
    /// Whether carrier sense had counted it.
    pub(crate) sensed: bool,
}

impl Arriving {
    /// Its power through `weights`; through one antenna without.
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

    /// The power of everything on the air here but `from`, through `weights`.
    fn interference(&self, from: u32, weights: Option<&Vector>) -> f64 {
        self.arriving.iter().filter(|frame| frame.from != from).map(|frame| frame.through(weights)).sum()
    }

    /// A frame begins.
    pub(crate) fn on_begin(&mut self, frame: Arriving) {
        self.sensed += u32::from(frame.sensed);
        self.arriving.push(frame);
        if let Some(mut lock) = self.lock {
            lock.interference = lock.interference.max(self.interference(lock.from, lock.weights.as_ref()));
            self.lock = Some(lock);
        }
    }

    /// Locks on `frame` through `weights`, if it has at least the power `least` there.
    pub(crate) fn lock_on(&mut self, frame: &Arriving, weights: Option<Vector>, least: f64) {
        let signal = frame.through(weights.as_ref());
        if signal >= least {
            let interference = self.interference(frame.from, weights.as_ref());
            self.lock = Some(Lock { from: frame.from, weights, signal, interference });
        }
    }

    /// The frame of `from` ends. It is understood if its power was `threshold` times that of noise and interference
    /// at the worst.
    pub(crate) fn on_end(&mut self, from: u32, threshold: f64, noise: f64) -> Option<Ended> {
        let at = self.arriving.iter().position(|frame| frame.from == from)?;
        let frame = self.arriving.swap_remove(at);
        self.sensed -= u32::from(frame.sensed);
        let lock = self.lock.take_if(|lock| lock.from == from);
        let understood = lock.filter(|lock| lock.signal >= threshold * (noise + lock.interference));
        Some(Ended { frame, understood, sensed: frame.sensed })
    }

    /// The node begins or ends to send; what it was locked on is gone.
    pub(crate) fn transmit(&mut self, transmitting: bool) {
        self.transmitting = transmitting;
        self.lock = None;
    }

    /// Enters the time since the last change.
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

    /// Enters the time up to now, without a change.
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

    /// Outcome of a frame of power 20 on noise 1 that another of this power overlaps.
    fn overlapped(power: f64) -> bool {
        let mut radio = Radio::default();
        let first = arriving(1, 20.0);
        radio.on_begin(first);
        radio.lock_on(&first, None, 10.0);
        radio.on_begin(arriving(2, power));
        // That it ends first does not help.
        assert!(radio.on_end(2, 10.0, 1.0).unwrap().understood.is_none());
        radio.on_end(1, 10.0, 1.0).unwrap().understood.is_some()
    }

    #[test]
    fn the_first_frame_survives_what_is_weak_enough() {
        assert!(overlapped(1.0));
        assert!(!overlapped(1.01));
        assert!(!overlapped(1000.0));
    }

    /// The worst of all that overlapped decides, whatever came after it.
    #[test]
    fn a_frame_is_judged_by_its_worst_interference() {
        let mut radio = Radio::default();
        let first = arriving(1, 20.0);
        radio.on_begin(first);
        radio.lock_on(&first, None, 10.0);
        // 20 is not 10 times 1 + 5; the whisper of 0.1 that follows would leave 20 > 11.
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
