//! A congestion control compiled from one Rust file, called through the table of C functions that its library exports.

use super::answers::{Answers, is_word};
use super::failure::Failure;
use crate::error::scenario_error;
use crossfade_control::{self as abi, Answer, Event, Maybe, Start, Table, Time, VERSION};
use crossfade_core::{SimTime, Stream};
use crossfade_transport::congestion::{self, CongestionControl, ControlInfo, Needs, Phase};
use pyo3::PyErr;
use rand::Rng;
use std::ffi::c_void;

/// Sources of the crate `crossfade_control`, with which a user's file is compiled: file names and texts.
pub(super) const SOURCES: [(&str, &str); 2] = [
    ("lib.rs", include_str!("../../../control/src/lib.rs")),
    ("abi.rs", include_str!("../../../control/src/abi.rs")),
];

/// Greatest number of characters of a panic message in an error.
const LONGEST_PROBLEM: usize = 300;
/// Greatest number of bytes of the state that a control reports; a control with more has failed.
const LONGEST_INFO: usize = 4000;

/// A congestion control of a connection, made by a library.
pub(super) struct LoadedControl {
    /// Table of the library and the control that it made; `None` if it made none, in which case the run has failed.
    made: Option<(&'static Table, Object)>,
    answers: Answers,
    limits_itself: bool,
    needs: Needs,
    /// Name of the user's Rust file, for errors.
    name: String,
    failure: Failure,
}

/// Pointer to a control made by the library.
struct Object(*mut c_void);

// SAFETY: implementations of `crossfade_control::Control` are `Send`, and only the owner uses the object.
unsafe impl Send for Object {}

impl LoadedControl {
    /// Makes the control of a connection; `table` is the address of the library's table, or 0 if it has none.
    pub(super) fn begin(table: usize, [cwnd, ssthresh]: [f64; 2], name: String, failure: Failure) -> Self {
        let answers = Answers::new(cwnd, ssthresh);
        let mut control =
            Self { made: None, answers, limits_itself: false, needs: Needs::default(), name, failure };
        match table_at(table) {
            Err(problem) => control.fail(&problem),
            Ok(table) => {
                let (mut needs, mut answer) = (abi::Needs::default(), Answer::default());
                // SAFETY: the table is of this version, and the pointers are to values that the function reads and
                // writes.
                let object =
                    unsafe { (table.start)(&Start { cwnd, ssthresh }, &raw mut needs, &raw mut answer) };
                if object.is_null() {
                    control.fail(&format!("{}, in start", last_panic(table)));
                } else {
                    control.made = Some((table, Object(object)));
                    control.needs = Needs {
                        samples: needs.samples,
                        own_window: needs.own_window,
                        ect_1: needs.ect_1,
                        paced: needs.paced,
                        random: needs.random,
                    };
                    control.take(&answer, "start");
                }
            }
        }
        control
    }

    fn fail(&self, problem: &str) {
        self.failure.set(of_file(&self.name, problem));
    }

    fn tell(&mut self, event: &Event) {
        let Some((table, object)) = &self.made else { return };
        if self.failure.has_failed() {
            return;
        }
        let mut answer = Answer::default();
        // SAFETY: the table's own `start` made the object and nothing else uses it meanwhile; the two pointers are to
        // values that are read and written.
        if unsafe { (table.event)(object.0, event, &raw mut answer) } {
            self.take(&answer, event.method());
        } else {
            self.fail(&format!("{}, in {}", last_panic(table), event.method()));
        }
    }

    /// State that the control reports, as `name=value` words; `None` after a failure.
    fn told(&self) -> Option<String> {
        let (table, object) = self.made.as_ref().filter(|_| !self.failure.has_failed())?;
        let mut text = vec![0; LONGEST_INFO];
        // SAFETY: the table's own `start` made the object and nothing else uses it meanwhile; as many bytes may be
        // written as `text` has.
        let length = unsafe { (table.info)(object.0, text.as_mut_ptr(), text.len()) };
        if length == usize::MAX {
            self.fail(&format!("{}, in info", last_panic(table)));
            return None;
        }
        if length > LONGEST_INFO {
            self.fail(&format!("info() gives {length} bytes: must be at most {LONGEST_INFO}"));
            return None;
        }
        text.truncate(length);
        let text = String::from_utf8_lossy(&text).into_owned();
        let is_pair =
            |pair: &str| pair.split_once('=').is_some_and(|(name, value)| is_word(name) && is_word(value));
        if let Some(pair) = text.split(' ').find(|pair| !text.is_empty() && !is_pair(pair)) {
            self.fail(&format!(
                "info() gives {pair:?}: names and values must be words of letters, digits and . _ + -"
            ));
            return None;
        }
        Some(text)
    }

    /// Takes over the control's answer if a sender can use it, otherwise the run fails; `method` names the event in
    /// errors.
    fn take(&mut self, answer: &Answer, method: &str) {
        let answers = Answers {
            cwnd: answer.cwnd,
            ssthresh: answer.ssthresh,
            pacing_rate: answer.pacing_rate.get(),
            send_quantum: answer.send_quantum.get().map(|quantum| i64::try_from(quantum).unwrap_or(i64::MAX)),
        };
        match answers.problem() {
            None => (self.answers, self.limits_itself) = (answers, answer.limits_itself),
            Some(problem) => {
                let (value, allowed) = problem.split_once(": ").unwrap_or((&problem, ""));
                self.fail(&format!("{value} after {method}: {allowed}"));
            }
        }
    }
}

impl Drop for LoadedControl {
    fn drop(&mut self) {
        if let Some((table, object)) = self.made.take() {
            // SAFETY: the table's own `start` made the object, and nothing uses it afterwards.
            unsafe { (table.end)(object.0) }
        }
    }
}

fn of_file(name: &str, problem: &str) -> PyErr {
    // A panic message contains its place in the file.
    let place = if problem.starts_with(&format!("{name}:")) { String::new() } else { format!("{name}: ") };
    scenario_error(format!("{place}{}", problem.split_whitespace().collect::<Vec<_>>().join(" ")))
}

/// The table at `address`, if it is of this version of the interface.
fn table_at(address: usize) -> Result<&'static Table, String> {
    // SAFETY: the address is that of a table exported by a library that is never unloaded. The first number is the
    // version in every version of the interface, and nothing else is read of another version.
    let version = unsafe { *std::ptr::with_exposed_provenance::<u32>(address) };
    let again = "build it again: crossfade control build";
    if version != VERSION {
        return Err(format!(
            "its library has version {version} of the interface, this is {VERSION}; {again}"
        ));
    }
    // SAFETY: the table is of this version.
    let table = unsafe { &*std::ptr::with_exposed_provenance::<Table>(address) };
    let sizes = [size_of::<Table>(), size_of::<Event>(), size_of::<Answer>()];
    if [table.size, table.sizes[0], table.sizes[1]].map(|size| size as usize) != sizes {
        return Err(format!("its library was built for another system; {again}"));
    }
    Ok(table)
}

/// Message of the last panic of this thread in the library of `table`.
fn last_panic(table: &Table) -> String {
    let mut text = vec![0; LONGEST_PROBLEM];
    // SAFETY: as many bytes may be written as the buffer has.
    let length = unsafe { (table.problem)(text.as_mut_ptr(), text.len()) };
    text.truncate(length);
    String::from_utf8_lossy(&text).into_owned()
}

fn time(time: SimTime) -> Time {
    Time(time.as_nanos())
}

fn maybe(span: Option<SimTime>) -> Maybe<Time> {
    span.map(time).into()
}

fn phase(phase: Phase) -> abi::Phase {
    match phase {
        Phase::Open => abi::Phase::Open,
        Phase::Recovery => abi::Phase::Recovery,
        Phase::Loss => abi::Phase::Loss,
    }
}

impl CongestionControl for LoadedControl {
    fn cwnd(&self) -> f64 {
        self.answers.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.answers.ssthresh
    }

    fn on_ack(&mut self, ack: &congestion::AckSample) {
        self.tell(&Event::Ack(abi::AckSample {
            now: time(ack.now),
            acked: ack.acked,
            rtt: maybe(ack.rtt),
            next_expected: ack.next_expected,
            snd_max: ack.snd_max,
            cwnd_limited: ack.cwnd_limited,
        }));
    }

    fn on_loss(&mut self, now: SimTime, window: f64) {
        self.tell(&Event::Loss(time(now), window));
    }

    fn on_timeout(&mut self, now: SimTime, window: f64) {
        self.tell(&Event::Timeout(time(now), window));
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.tell(&Event::SetCwnd(cwnd));
    }

    fn on_ecn(&mut self, now: SimTime, window: f64) {
        self.tell(&Event::Ecn(time(now), window));
    }

    fn undo(&mut self) {
        self.tell(&Event::Undo);
    }

    fn on_idle_end(&mut self, now: SimTime, idle: SimTime) {
        self.tell(&Event::IdleEnd(time(now), time(idle)));
    }

    fn needs(&self) -> Needs {
        self.needs
    }

    fn seed(&mut self, mut stream: Stream) {
        self.tell(&Event::Seed(stream.next_u64()));
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.answers.pacing_rate
    }

    fn send_quantum(&self) -> Option<u64> {
        self.answers.quantum()
    }

    fn on_send(&mut self, send: &congestion::SendEvent) {
        self.tell(&Event::Send(abi::SendEvent {
            now: time(send.now),
            in_flight: send.in_flight,
            after_idle: send.after_idle,
            app_limited: send.app_limited,
            srtt: maybe(send.srtt),
        }));
    }

    fn on_segment_lost(&mut self, lost: &congestion::LostSegment) {
        self.tell(&Event::SegmentLost(abi::LostSegment {
            now: time(lost.now),
            tx_in_flight: lost.tx_in_flight,
            lost_since_sent: lost.lost_since_sent,
            prior_delivered: lost.prior_delivered,
            app_limited: lost.app_limited,
        }));
    }

    fn on_probe_repaired(&mut self, now: SimTime, app_limited: bool) {
        self.tell(&Event::ProbeRepaired(time(now), app_limited));
    }

    fn on_phase(&mut self, now: SimTime, now_in: Phase, in_flight: u64) {
        self.tell(&Event::Phase(time(now), phase(now_in), in_flight));
    }

    fn on_delivery(&mut self, sample: &congestion::RateSample) {
        self.tell(&Event::Delivery(abi::RateSample {
            now: time(sample.now),
            delivered: sample.delivered,
            prior_delivered: sample.prior_delivered.into(),
            interval: time(sample.interval),
            rate: sample.rate.into(),
            rtt: maybe(sample.rtt),
            srtt: maybe(sample.srtt),
            newly_acked: sample.newly_acked,
            newly_lost: sample.newly_lost,
            lost: sample.lost,
            lost_since_sent: sample.lost_since_sent,
            tx_in_flight: sample.tx_in_flight,
            in_flight: sample.in_flight,
            prior_in_flight: sample.prior_in_flight,
            app_limited: sample.app_limited,
            ce: sample.ce,
            answers_probe: sample.answers_probe,
            phase: phase(sample.phase),
            departure: time(sample.departure),
        }));
    }

    fn limits_itself(&self) -> bool {
        self.limits_itself
    }

    /// State that the control reports; after `None` it is not requested again.
    fn info(&self) -> ControlInfo {
        ControlInfo { own: self.told().filter(|text| !text.is_empty()), ..ControlInfo::default() }
    }
}
