//! A congestion control in one Rust file, which a scenario names: `tcp.congestion = "mine.rs"`.
//!
//! Implement [`Control`] and export it. `crossfade control build mine.rs` compiles the file, and so does the first run
//! that needs it.
//!
//! ```
//! use crossfade_control::{AckSample, Control, Start, Time};
//!
//! struct Fixed(f64);
//!
//! impl Control for Fixed {
//!     fn start(start: &Start) -> Self {
//!         Self(start.cwnd)
//!     }
//!     fn cwnd(&self) -> f64 {
//!         self.0
//!     }
//!     fn ssthresh(&self) -> f64 {
//!         f64::INFINITY
//!     }
//!     fn on_ack(&mut self, _ack: &AckSample) {}
//!     fn on_loss(&mut self, _now: Time, _window: f64) {}
//!     fn on_timeout(&mut self, _now: Time, _window: f64) {}
//!     fn set_cwnd(&mut self, cwnd: f64) {
//!         self.0 = cwnd;
//!     }
//! }
//!
//! crossfade_control::export!(Fixed);
//! ```
//!
//! The results of a control that reads a clock, a file, other threads or random numbers of its own cannot be repeated.
//! A panic ends the run with one line; an endless loop blocks the process, and a stack overflow ends it.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
// The border is one of raw pointers: each block says why it may.
#![allow(unsafe_code)]

mod abi;

pub use abi::{
    AckSample, Answer, Event, LostSegment, Maybe, Needs, Phase, RateSample, SYMBOL, SendEvent, Start, Table,
    Time, VERSION,
};

use std::any::Any;
use std::cell::RefCell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::Once;

/// A congestion control loaded at run time: loss recovery reports events to it, and reads its congestion window and
/// slow-start threshold (in segments) and its pacing rate. The trait `CongestionControl` of the crate
/// `crossfade-transport`, which has these methods, documents each event and the order of the calls.
pub trait Control: Send + Sized + 'static {
    /// Creates the congestion control of a connection that begins; `start` has the initial window and slow-start
    /// threshold.
    fn start(start: &Start) -> Self;

    /// Congestion window in segments: finite, at least 1.
    fn cwnd(&self) -> f64;

    /// Slow-start threshold in segments: at least 1, infinite for none.
    fn ssthresh(&self) -> f64;

    /// Takes an acknowledgement of new segments outside loss recovery.
    fn on_ack(&mut self, ack: &AckSample);

    /// Takes a loss, once per recovery: duplicate acknowledgements revealed it with `window` segments in flight.
    fn on_loss(&mut self, now: Time, window: f64);

    /// Takes an expiry of the retransmission timer with `window` segments in flight; called only for the first timeout
    /// of a segment.
    fn on_timeout(&mut self, now: Time, window: f64);

    /// Sets the congestion window, in segments, when loss recovery inflates, deflates or restores it.
    fn set_cwnd(&mut self, cwnd: f64);

    /// Takes an echoed congestion mark with `window` segments in flight, at most once per RTT. By default a mark counts
    /// as a loss.
    fn on_ecn(&mut self, now: Time, window: f64) {
        self.on_loss(now, window);
    }

    /// Undoes the last reduction of the window, whose loss or timeout proved spurious; a control without saved state
    /// keeps its window, as by default.
    fn undo(&mut self) {}

    /// Called before the sender sends again after no segment was in flight for the time `idle`.
    fn on_idle_end(&mut self, _now: Time, _idle: Time) {}

    /// Features that the congestion control requests of the sender; read once, at the start of the connection.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Takes a random seed from the flow's own stream. Called once, before any other event, if [`Needs::random`] is
    /// set.
    fn seed(&mut self, _seed: u64) {}

    /// Pacing rate in segments per second: finite, above 0. `None`: the sender decides.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// Number of segments that may leave back to back when paced: at least 1. `None`: the sender decides.
    fn send_quantum(&self) -> Option<u64> {
        None
    }

    /// Called before each segment leaves, if [`Needs::samples`] is set.
    fn on_send(&mut self, _send: &SendEvent) {}

    /// Takes a segment found lost, whether an original or a retransmission, if [`Needs::samples`] is set.
    fn on_segment_lost(&mut self, _lost: &LostSegment) {}

    /// Called when a tail loss probe has repaired a loss, which starts no recovery and causes no `on_segment_lost`.
    /// `app_limited`: the sender was application-limited when the lost segment left.
    fn on_probe_repaired(&mut self, _now: Time, _app_limited: bool) {}

    /// Takes a change of the phase of loss recovery, with an estimated `in_flight` segments in the network.
    fn on_phase(&mut self, _now: Time, _phase: Phase, _in_flight: u64) {}

    /// Takes the delivery-rate sample of an acknowledgement, in any phase of loss recovery, if [`Needs::samples`] is
    /// set.
    fn on_delivery(&mut self, _sample: &RateSample) {}

    /// True if the congestion control deliberately sends less than the path can carry, so that segments sent now count
    /// as application-limited. Read after each `on_delivery`.
    fn limits_itself(&self) -> bool {
        false
    }

    /// Writes the state of the congestion control to `info`, for the event log of a run. Called when events are
    /// written, and once at the start: a control that writes nothing then is not called again.
    fn info(&self, _info: &mut Info) {}
}

/// Reported state of a congestion control: names with values, both of letters, digits and `. _ + -`.
#[derive(Clone, Debug, Default)]
pub struct Info(String);

impl Info {
    /// Adds a number to the reported state, under `name`.
    pub fn number(&mut self, name: &str, value: f64) {
        self.add(name, &value.to_string());
    }

    /// Adds a word to the reported state under `name`, such as the name of a phase.
    pub fn word(&mut self, name: &str, value: &str) {
        self.add(name, value);
    }

    fn add(&mut self, name: &str, value: &str) {
        let between = if self.0.is_empty() { "" } else { " " };
        self.0.extend([between, name, "=", value]);
    }
}

/// Exports a type that implements [`Control`] for Crossfade to load; used once in a file.
#[macro_export]
macro_rules! export {
    ($control:ty) => {
        /// Table of functions by which Crossfade calls the congestion control; it looks this symbol up by name.
        #[unsafe(no_mangle)]
        pub static CROSSFADE_CONTROL: $crate::Table = $crate::table::<$control>();
    };
}

/// Table of C functions by which Crossfade calls the congestion control `C`.
pub const fn table<C: Control>() -> Table {
    Table {
        version: VERSION,
        size: size_of::<Table>() as u32,
        sizes: [size_of::<Event>() as u32, size_of::<Answer>() as u32],
        start: start::<C>,
        event: event::<C>,
        info: info::<C>,
        end: end::<C>,
        problem,
    }
}

thread_local! {
    /// Message and source location of the last panic of this thread.
    static PROBLEM: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs `work` and returns its result; `None` if it panicked: [`problem`] then returns the message of the panic.
fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    // This copy of the standard library is the control's own: nobody else's panics come here.
    HOOK.call_once(|| {
        set_hook(Box::new(|panic| {
            let place = panic
                .location()
                .map_or(String::new(), |place| format!("{}:{}: ", place.file(), place.line()));
            let said = said(panic.payload());
            PROBLEM.with_borrow_mut(|problem| *problem = format!("{place}panicked: {said}"));
        }));
    });
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(found) => Some(found),
        Err(payload) => {
            // To drop it may panic in turn.
            std::mem::forget(payload);
            None
        }
    }
}

fn said(payload: &dyn Any) -> &str {
    match payload.downcast_ref::<&str>() {
        Some(said) => said,
        None => payload.downcast_ref::<String>().map_or("no message", String::as_str),
    }
}

fn answer<C: Control>(control: &C) -> Answer {
    Answer {
        cwnd: control.cwnd(),
        ssthresh: control.ssthresh(),
        pacing_rate: control.pacing_rate().into(),
        send_quantum: control.send_quantum().into(),
        limits_itself: control.limits_itself(),
    }
}

unsafe extern "C" fn start<C: Control>(
    start: *const Start,
    needs: *mut Needs,
    into: *mut Answer,
) -> *mut c_void {
    let made = guarded(|| {
        // SAFETY: the caller hands over a pointer to a valid `Start`.
        let control = Box::new(C::start(unsafe { &*start }));
        let found = (control.needs(), answer(&*control));
        (control, found)
    });
    let Some((control, (wanted, first))) = made else { return std::ptr::null_mut() };
    // SAFETY: the caller hands over two pointers to which can be written.
    unsafe {
        needs.write(wanted);
        into.write(first);
    }
    Box::into_raw(control).cast()
}

unsafe extern "C" fn event<C: Control>(control: *mut c_void, event: *const Event, into: *mut Answer) -> bool {
    // SAFETY: `control` is what `start` of the same type gave, which nobody else uses meanwhile, and `event` a valid
    // one.
    let (control, event) = unsafe { (&mut *control.cast::<C>(), &*event) };
    let answered = guarded(|| {
        match event {
            Event::Ack(ack) => control.on_ack(ack),
            Event::Loss(now, window) => control.on_loss(*now, *window),
            Event::Timeout(now, window) => control.on_timeout(*now, *window),
            Event::SetCwnd(cwnd) => control.set_cwnd(*cwnd),
            Event::Ecn(now, window) => control.on_ecn(*now, *window),
            Event::Undo => control.undo(),
            Event::IdleEnd(now, idle) => control.on_idle_end(*now, *idle),
            Event::Seed(seed) => control.seed(*seed),
            Event::Send(send) => control.on_send(send),
            Event::SegmentLost(lost) => control.on_segment_lost(lost),
            Event::ProbeRepaired(now, app_limited) => control.on_probe_repaired(*now, *app_limited),
            Event::Phase(now, phase, in_flight) => control.on_phase(*now, *phase, *in_flight),
            Event::Delivery(sample) => control.on_delivery(sample),
        }
        answer(control)
    });
    let Some(answered) = answered else { return false };
    // SAFETY: the caller hands over a pointer to which can be written.
    unsafe { into.write(answered) };
    true
}

unsafe extern "C" fn info<C: Control>(control: *const c_void, into: *mut u8, most: usize) -> usize {
    // SAFETY: `control` is what `start` of the same type gave, which nobody else uses meanwhile.
    let control = unsafe { &*control.cast::<C>() };
    let told = guarded(|| {
        let mut info = Info::default();
        control.info(&mut info);
        info.0
    });
    let Some(told) = told else { return usize::MAX };
    // SAFETY: the caller has `most` bytes to which can be written, and they are not those of this text.
    unsafe { std::ptr::copy_nonoverlapping(told.as_ptr(), into, most.min(told.len())) };
    told.len()
}

unsafe extern "C" fn end<C: Control>(control: *mut c_void) {
    // SAFETY: `control` is what `start` of the same type gave, and is not used any more.
    let control = unsafe { Box::from_raw(control.cast::<C>()) };
    guarded(|| drop(control));
}

unsafe extern "C" fn problem(into: *mut u8, most: usize) -> usize {
    PROBLEM.with_borrow(|problem| {
        let most = most.min(problem.len());
        let length = (0..=most).rfind(|at| problem.is_char_boundary(*at)).unwrap_or(0);
        // SAFETY: the caller has `most` bytes to which can be written, and no thread shares its own text.
        unsafe { std::ptr::copy_nonoverlapping(problem.as_ptr(), into, length) };
        length
    })
}
