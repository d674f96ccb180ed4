//! Share of marked segments, as DCTCP and Prague average it.

/// Share of marked segments as a moving average (RFC 8257 section 3.3).
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkedShare {
    /// Moving average of the share of marked segments, 0 to 1.
    pub(super) alpha: f64,
    acked: u64,
    marked: u64,
}

impl MarkedShare {
    /// Weight g of the last window in the moving average (RFC 8257 section 4.2).
    const GAIN: f64 = 1.0 / 16.0;

    pub(super) fn new(alpha: f64) -> Self {
        Self { alpha, acked: 0, marked: 0 }
    }

    pub(super) fn count(&mut self, acked: u64, marked: u64) {
        self.acked += acked;
        self.marked += marked;
    }

    /// Ends a window and adds its share to the average. Returns true if any of the window's segments was marked.
    pub(super) fn end_window(&mut self) -> bool {
        let (acked, marked) = (std::mem::take(&mut self.acked), std::mem::take(&mut self.marked));
        if acked > 0 {
            // A mark may be reported in the window after its segment's, so the share is limited to 1.
            let share = (marked as f64 / acked as f64).min(1.0);
            self.alpha += Self::GAIN * (share - self.alpha);
        }
        marked > 0
    }
}

#[cfg(test)]
pub(super) mod testing {
    use crate::congestion::{AckSample, CongestionControl, Phase, RateSample};
    use crossfade_core::SimTime;
    use std::collections::VecDeque;

    /// Mean window, in segments, of a sender limited only by its congestion control, on a path where `is_marked`
    /// decides for each acknowledgement whether it carries a mark.
    pub(crate) fn mean_window(
        control: &mut dyn CongestionControl,
        rtt: SimTime,
        acks: u32,
        mut is_marked: impl FnMut() -> bool,
    ) -> f64 {
        let (mut now, mut delivered, mut sent) = (SimTime::ZERO, 0_u64, 0_u64);
        // Number of segments delivered when each segment in flight left.
        let mut under_way = VecDeque::new();
        let (mut counted, mut began) = (0.0, SimTime::ZERO);
        for ack in 0..acks {
            while (under_way.len() as f64) < control.cwnd().floor().max(1.0) {
                under_way.push_back(delivered);
                sent += 1;
            }
            now += SimTime::from_secs_f64(rtt.as_secs_f64() / under_way.len() as f64);
            let prior_delivered = under_way.pop_front();
            delivered += 1;
            let ce = u64::from(is_marked());
            control.on_delivery(&RateSample {
                now,
                delivered,
                prior_delivered,
                rtt: Some(rtt),
                srtt: Some(rtt),
                newly_acked: 1,
                ce,
                phase: Phase::Open,
                ..RateSample::default()
            });
            control.on_ack(&AckSample {
                now,
                acked: 1,
                rtt: Some(rtt),
                next_expected: delivered,
                snd_max: sent,
                cwnd_limited: true,
            });
            if ack == acks / 4 {
                began = now;
            }
            counted += f64::from(u8::from(ack > acks / 4));
        }
        counted * rtt.as_secs_f64() / (now - began).as_secs_f64()
    }

    /// Marks every (1/p)-th acknowledgement if `evenly`, otherwise each one with probability p.
    pub(crate) fn marks(p: f64, evenly: bool) -> impl FnMut() -> bool {
        use rand::RngExt;
        let mut stream = crossfade_core::RunSeed { seed: 7, run: 0 }.stream("marks");
        let mut count = 0.0;
        move || {
            if !evenly {
                return stream.random::<f64>() < p;
            }
            count += p;
            let marks = count > 1.0;
            count -= f64::from(u8::from(marks));
            marks
        }
    }
}
