//! Differences between Linux and the RFCs (docs/kernel.md), by mechanism. Each decision has a name and is fixed per
//! connection; code asks for the decision, never for its source.

use crate::config::{RfcConfig, Rules};
use crossfade_core::SimTime;

/// Decisions of a sender in which Linux and the RFCs differ.
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
    /// Policy that the options in `config` select.
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

/// Defines the policy of a mechanism: its decisions, with the values of the RFCs and of Linux.
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

// Each decision is followed by the RFCs' value, then Linux's.

policy! {
    /// Growth, reduction and use of the window.
    WindowPolicy {
        /// Segments reported by duplicate ACKs count towards growth, not only those of an acknowledgement of new data.
        duplicates_credit: true, false;
        /// The acknowledgement that ends a recovery lets the window grow.
        recovery_end_credits: false, true;
        /// Proportional Rate Reduction starts from the window, not from the flight size.
        reduces_from_window: false, true;
        /// A timeout in fast recovery reduces the window again, beyond once per window of data (RFC 5681 section 3.1).
        timeout_in_recovery_reduces: true, false;
        /// After a timeout the window is one segment more than the number of segments that may still be in flight,
        /// instead of one segment.
        loss_window_beside_flight: false, true;
        /// Segments that may leave together form one packet, and small packets wait for more segments
        /// (`tcp_tso_should_defer`).
        leaves_in_packets: false, true;
    }
}

policy! {
    /// Detection and undo of spurious timeouts and retransmissions.
    UndoPolicy {
        /// F-RTO examines timeouts in fast recovery, but none that follows another timeout. If not set, it examines
        /// only timeouts outside recovery, and repeated ones of one segment (`tcp_enter_loss`).
        f_rto_in_recovery: true, false;
        /// The new segments that F-RTO sends after a timeout are subject to the window.
        proof_asks_window: false, true;
        /// The window after a justified timeout is three segments (RFC 5682 section 2.1 step 3a).
        catches_up_slow_start: true, false;
        /// Eifel takes into account whether the receiver reports duplicates (RFC 3522 section 3.2 step 5).
        eifel_asks_d_sack: true, false;
        /// The burst after a restored window is limited (RFC 4015 section 3.2 step 5).
        bounds_burst: true, false;
    }
}

policy! {
    /// RTT samples and their use.
    RttPolicy {
        /// Every acknowledgement and SACK report gives a sample, and the deviation falls once per RTT.
        from_every_report: false, true;
        /// A spurious timeout raises the estimate of the RTT (RFC 4015 section 3.2 step 8).
        spurious_timeout_lengthens: true, false;
    }
}

policy! {
    /// Start, ticks and expiry of timers.
    TimerPolicy {
        /// All timers count ticks, including those of delayed ACKs.
        counts_ticks: false, true;
        /// Tail loss probes and the reordering timer wait 2 ms longer (`TCP_TIMEOUT_MIN_US`).
        waits_longer: false, true;
        /// A report of a segment sent before the oldest one restarts the retransmission timer.
        report_restarts: false, true;
        /// A retransmission of the oldest segment restarts the timer; by RFC 6298 section 5 only acknowledgements do.
        repetition_restarts: false, true;
    }
}

policy! {
    /// Loss detection by transmission time (RACK).
    RackPolicy {
        /// A SACK report of a retransmission counts as its arrival, whatever timestamp is echoed.
        trusts_reports: false, true;
        /// A retransmission lost in slow start after a timeout starts a fast recovery.
        recovers_after_timeout: false, true;
        /// A recovery that ends while a lost and retransmitted segment is outstanding is followed by another
        /// (`tcp_time_to_recover`).
        repairs_begin_recovery: false, true;
        /// A congestion control with its own window sees a single recovery until all losses are repaired.
        shows_one_recovery: true, false;
        /// The age from which a segment counts as lost at a timeout includes the reordering window (RFC 8985 section
        /// 6.3).
        timeout_allows_reordering: true, false;
        /// The end of a recovery is processed before loss detection.
        ends_recovery_first: false, true;
        /// The expiry of the reordering timer counts as an arrival in rate reduction (`tcp_rack_reo_timeout`).
        timer_counts_arrival: false, true;
    }
}

policy! {
    /// Pacing of bursts by the sender's pacer.
    PacerPolicy {
        /// The first ten segments are not paced.
        first_ten_unpaced: false, true;
        /// A late burst shortens the next wait by up to half of its length; if not set, idle time earns no credit.
        credits_late_bursts: false, true;
    }
}

/// Clock tick of a kernel with 250 ticks per second.
const TICK: SimTime = SimTime::from_millis(4);

impl TimerPolicy {
    /// Extra delay of tail loss probes and the reordering timer.
    pub(super) fn slack(self) -> SimTime {
        if self.waits_longer { SimTime::from_millis(2) } else { SimTime::ZERO }
    }

    /// Duration as timers keep it: rounded up to ticks, if they count ticks.
    pub(super) fn whole(self, span: SimTime) -> SimTime {
        if !self.counts_ticks {
            return span;
        }
        TICK.saturating_mul(span.as_nanos().div_ceil(TICK.as_nanos()))
    }

    /// Expiry of a timer started at `now` for `span`. With ticks it never expires early: it expires at the first tick
    /// after its span in whole ticks or, from 63 ticks on, at the first multiple of 8 ticks (from 504 on of 64, and so
    /// on: `calc_wheel_index`).
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
