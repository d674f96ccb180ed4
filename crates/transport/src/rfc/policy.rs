//! What Linux does otherwise than the RFCs (docs/kernel.md), mechanism by mechanism. Each decision has a name, and is taken
//! once a connection; the code asks for the decision and not for whose it is.

use crate::config::{RfcConfig, Rules};
use crossfade_core::SimTime;

/// The decisions of a sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    pub(super) window: WindowPolicy,
    pub(super) undo: UndoPolicy,
    pub(super) rtt: RttPolicy,
    pub(super) timers: TimerPolicy,
    pub(super) rack: RackPolicy,
    pub(super) pacer: PacerPolicy,
}

impl Policy {
    /// The policy that the keys of `config` choose.
    pub(crate) fn of(config: &RfcConfig) -> Self {
        Self {
            window: WindowPolicy::of(config.windows),
            undo: UndoPolicy::of(config.windows),
            rtt: RttPolicy::of(config.rtt_estimator),
            timers: TimerPolicy::of(config.timer_rules),
            rack: RackPolicy::of(config.rack_rules),
            pacer: PacerPolicy::of(config.timer_rules),
        }
    }
}

/// Defines the policy of a mechanism: its decisions, and what the RFCs and Linux decide.
macro_rules! policy {
    (
        $(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $decision:ident: $rfc:literal, $linux:literal;)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        #[allow(clippy::struct_excessive_bools, reason = "decisions, each taken or not")]
        pub(crate) struct $name {
            $($(#[$of])* pub(super) $decision: bool,)*
        }

        impl $name {
            pub(crate) const fn rfc() -> Self {
                Self { $($decision: $rfc,)* }
            }

            pub(crate) const fn linux() -> Self {
                Self { $($decision: $linux,)* }
            }

            pub(crate) fn of(rules: Rules) -> Self {
                match rules {
                    Rules::Rfc => Self::rfc(),
                    Rules::Linux => Self::linux(),
                }
            }
        }
    };
}

// Behind each decision: the RFCs', Linux's.

policy! {
    /// How the window grows, is reduced and is used.
    WindowPolicy {
        /// What duplicates report counts towards growth, not only what comes with an acknowledgement of new data.
        duplicates_credit: true, false;
        /// The acknowledgement that ends a recovery lets the window grow.
        recovery_end_credits: false, true;
        /// Proportional Rate Reduction reduces from the window, not from what was under way.
        reduces_from_window: false, true;
        /// A timeout in fast recovery reduces the window once more, not once in a window of data (RFC 5681 section 3.1).
        timeout_in_recovery_reduces: true, false;
        /// The loss window is one segment beside what may still be under way, not one segment.
        loss_window_beside_flight: false, true;
        /// Segments that may leave together are one packet, and small packets wait for more (`tcp_tso_should_defer`).
        leaves_in_packets: false, true;
    }
}

policy! {
    /// How spurious timeouts and retransmissions are told and taken back.
    UndoPolicy {
        /// F-RTO looks at timeouts in fast recovery, too, and at none that follows another; else only at those outside any
        /// recovery, and again at those of one segment (`tcp_enter_loss`).
        f_rto_in_recovery: true, false;
        /// The new segments that F-RTO sends as proof ask the window.
        proof_asks_window: false, true;
        /// After a timeout that was due the window is three segments (RFC 5682 section 2.1 step 3a).
        catches_up_slow_start: true, false;
        /// Eifel asks whether the receiver reports duplicates (RFC 3522 section 3.2 step 5).
        eifel_asks_d_sack: true, false;
        /// The burst of a window that is restored is bounded (RFC 4015 section 3.2 step 5).
        bounds_burst: true, false;
    }
}

policy! {
    /// How round trips are measured.
    RttPolicy {
        /// Each acknowledgement and each report measures, whatever it covers; the deviation falls once a round trip.
        from_every_report: false, true;
        /// A spurious timeout lengthens the estimate (RFC 4015 section 3.2 step 8).
        spurious_timeout_lengthens: true, false;
    }
}

policy! {
    /// When timers start and expire.
    TimerPolicy {
        /// Timers count ticks, those of delayed acknowledgements too.
        counts_ticks: false, true;
        /// Probes and the reordering timer wait 2 ms more (`TCP_TIMEOUT_MIN_US`).
        waits_longer: false, true;
        /// A report of what left before the oldest segment restarts the retransmission timer.
        report_restarts: false, true;
        /// A retransmission of the oldest segment restarts the timer; RFC 6298 section 5 restarts it by acknowledgements only.
        repetition_restarts: false, true;
    }
}

policy! {
    /// How losses are found by time.
    RackPolicy {
        /// A retransmission that is reported has arrived, whatever timestamp is echoed.
        trusts_reports: false, true;
        /// A retransmission lost in slow start after a timeout begins a fast recovery.
        recovers_after_timeout: false, true;
        /// A recovery that ends while something lost and repeated is out is followed by another (`tcp_time_to_recover`).
        repairs_begin_recovery: false, true;
        /// A congestion control with a window of its own sees one recovery until all losses are repaired.
        shows_one_recovery: true, false;
        /// A timeout allows for reordering (RFC 8985 section 6.3).
        timeout_allows_reordering: true, false;
        /// A recovery ends before losses are looked for.
        ends_recovery_first: false, true;
        /// The reordering timer counts as an arrival (`tcp_rack_reo_timeout`).
        timer_counts_arrival: false, true;
    }
}

policy! {
    /// How bursts are paced.
    PacerPolicy {
        /// The first ten segments are not paced.
        first_ten_unpaced: false, true;
        /// A burst that is late makes good for it with up to half of its length; else idle time earns no credit.
        credits_late_bursts: false, true;
    }
}

/// The tick of a kernel with 250 ticks a second.
const TICK: SimTime = SimTime::from_millis(4);

impl TimerPolicy {
    /// What probes and the reordering timer wait more.
    pub(super) fn slack(self) -> SimTime {
        if self.waits_longer { SimTime::from_millis(2) } else { SimTime::ZERO }
    }

    /// A span of time as timers keep it: in ticks it is rounded up.
    pub(super) fn whole(self, span: SimTime) -> SimTime {
        if !self.counts_ticks {
            return span;
        }
        TICK.saturating_mul(span.as_nanos().div_ceil(TICK.as_nanos()))
    }

    /// When a timer that is started at `now` for `span` expires. In ticks it never expires early: it does with the first tick
    /// after its span in whole ticks, or, from 63 ticks on, with the first that is divided by 8 (from 504 on by 64, and so on:
    /// `calc_wheel_index`).
    #[inline]
    pub(super) fn expiry(self, now: SimTime, span: SimTime) -> SimTime {
        if !self.counts_ticks {
            return now.saturating_add(span);
        }
        let ticks = span.as_nanos().div_ceil(TICK.as_nanos());
        let (mut shift, mut end) = (0, 63);
        while ticks >= end && shift < 24 {
            (shift, end) = (shift + 3, end << 3);
        }
        let at = (now.as_nanos() / TICK.as_nanos()).saturating_add(ticks);
        TICK.saturating_mul(((at >> shift) + 1) << shift)
    }
}
