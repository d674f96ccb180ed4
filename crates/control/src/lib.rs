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

/// A congestion control: loss recovery tells it what happened; it answers with its windows, in segments, and its rate.
/// What a method means and in which order they are called is said by the trait `CongestionControl` of the crate
/// `crossfade-transport`, whose methods these are.
pub trait Control: Send + Sized + 'static {
    /// A connection begins.
    fn start(start: &Start) -> Self;

    /// The congestion window: finite, at least 1.
    fn cwnd(&self) -> f64;

    /// The slow-start threshold: at least 1.
    fn ssthresh(&self) -> f64;

    /// An acknowledgement outside loss recovery covered new segments.
    fn on_ack(&mut self, ack: &AckSample);

    /// Duplicate acknowledgements showed a loss with `window` segments under way; once for each recovery.
    fn on_loss(&mut self, now: Time, window: f64);

    /// The retransmission timer expired, for the first time for this segment.
    fn on_timeout(&mut self, now: Time, window: f64);

    /// Loss recovery inflates, deflates or restores the window.
    fn set_cwnd(&mut self, cwnd: f64);

    /// An acknowledgement echoed a congestion mark; at most once a round trip. As a loss, by default.
    fn on_ecn(&mut self, now: Time, window: f64) {
        self.on_loss(now, window);
    }

    /// The last loss or timeout was spurious: be as if it had not happened, if you remember.
    fn undo(&mut self) {}

    /// The sender is about to send after nothing was under way for `idle`.
    fn on_idle_end(&mut self, _now: Time, _idle: Time) {}

    /// Features that the control requests of the sender. Called once, at the start.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// A number of the flow's own random stream, once, if it needs random numbers.
    fn seed(&mut self, _seed: u64) {}

    /// The pacing rate in segments a second: finite, above 0. None leaves it to the sender.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// Number of segments that may leave back to back when paced: at least 1. None leaves it to the sender.
    fn send_quantum(&self) -> Option<u64> {
        None
    }

    /// A segment is about to leave.
    fn on_send(&mut self, _send: &SendEvent) {}

    /// A segment was found lost, a retransmission or not.
    fn on_segment_lost(&mut self, _lost: &LostSegment) {}

    /// A tail loss probe has repaired the loss of a segment, of which nothing else tells. `app_limited`: the
    /// application had nothing to send as that left.
    fn on_probe_repaired(&mut self, _now: Time, _app_limited: bool) {}

    /// The sender does something else about losses, with `in_flight` segments thought to be in the network.
    fn on_phase(&mut self, _now: Time, _phase: Phase, _in_flight: u64) {}

    /// An acknowledgement arrived, in whatever phase.
    fn on_delivery(&mut self, _sample: &RateSample) {}

    /// Whether it sends less than the path takes, on purpose. Asked for after each `on_delivery`.
    fn limits_itself(&self) -> bool {
        false
    }

    /// State of the control in numbers, for the events of a run. Called when events are written, and at the start:
    /// one that has nothing to say then is not asked again.
    fn info(&self, _info: &mut Info) {}
}

/// Information of a control about itself. Names and words consist of letters, digits and `. _ + -`.
#[derive(Clone, Debug, Default)]
pub struct Info(String);

impl Info {
    /// A number.
    pub fn number(&mut self, name: &str, value: f64) {
        self.add(name, &value.to_string());
    }

    /// A word, such as the name of a state.
    pub fn word(&mut self, name: &str, value: &str) {
        self.add(name, value);
    }

    fn add(&mut self, name: &str, value: &str) {
        let between = if self.0.is_empty() { "" } else { " " };
        self.0.extend([between, name, "=", value]);
    }
}

/// Exports a type that is a [`Control`], once a file.
#[macro_export]
macro_rules! export {
    ($control:ty) => {
        /// Symbol that Crossfade looks up.
        #[unsafe(no_mangle)]
        pub static CROSSFADE_CONTROL: $crate::Table = $crate::table::<$control>();
    };
}

/// The table of a control.
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
    /// Message and place of the last panic of this thread.
    static PROBLEM: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Does `work`; None if it panics, which is kept for [`problem`].
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
