//! What a cell is made of.

use crate::error::{CellError, out_of_range};
use crate::feedback::FeedbackConfig;
use crate::levels::Levels;
use crate::outer_loop::OuterLoopConfig;
use crate::scheduler::Allocation;
use crate::sender::ArqConfig;
use crate::tdd::TddPattern;
use crossfade_channel::{DelayProfile, ShadowingConfig};
use crossfade_core::SimTime;
use crossfade_link::QueueLimit;
use crossfade_link::trace::SinrTrace;
use std::sync::Arc;

/// More users than this a cell cannot have.
pub const MOST_USERS: usize = 1000;
/// More bins than this it cannot have.
pub const MOST_BINS: usize = 1024;

/// Everything about a cell but its seed.
#[derive(Clone, Debug)]
pub struct CellConfig {
    /// How long a slot is.
    pub slot: SimTime,
    /// Symbols of a bin and slot that carry payload: a frame.
    pub symbols: u32,
    /// How many bins there are.
    pub bins: usize,
    /// How wide each is, in Hz.
    pub bin_width_hz: f64,
    /// The paths of the channels of all users.
    pub profile: DelayProfile,
    /// Their shadowing; `None` has none.
    pub shadowing: Option<ShadowingConfig>,
    /// Users of the cell.
    pub users: Vec<UserConfig>,
    /// Which user gets which bin.
    pub allocation: Allocation,
    /// How the base station learns of channels; `None` has a prediction of every slot.
    pub feedback: Option<FeedbackConfig>,
    /// How it learns from acknowledgements; `None` does not.
    pub outer_loop: Option<OuterLoopConfig>,
    /// How frames are repeated.
    pub arq: ArqConfig,
    /// How much waits for each user, beside what has been sent in part; `None` is without limit.
    pub queue: Option<QueueLimit>,
    /// How users send; `None` has them send nothing.
    pub uplink: Option<UplinkConfig>,
}

/// The uplink, in slots of its own of the same bins (time division duplex). Its channels are those of the downlink, as the same
/// paths carry both (reciprocity); the base station measures them itself, so that [`CellConfig::feedback`] does not apply, and
/// [`CellConfig::arq`] and [`CellConfig::outer_loop`] do. A frame has the same symbols.
#[derive(Clone, Debug)]
pub struct UplinkConfig {
    /// Slots of the uplink; all others are the downlink's.
    pub pattern: TddPattern,
    /// From when a packet comes to a user until the first slot in which it may be sent: a scheduling request, and its grant.
    pub grant_delay: SimTime,
    /// How many dB the base station receives a user better than the user receives it.
    pub snr_offset_db: f64,
    /// Which user gets which bin of an uplink slot. A window counts slots of the uplink alone.
    pub allocation: Allocation,
    /// How much waits at each user, beside what has been sent in part; `None` is without limit.
    pub queue: Option<QueueLimit>,
}

/// A user of a cell.
#[derive(Clone, Debug)]
pub struct UserConfig {
    /// The mean signal-to-interference-and-noise ratio in dB, with shadowing at its median.
    pub mean_snr_db: f64,
    /// Metres a second.
    pub speed_mps: f64,
    /// The maximum Doppler shift in cycles a slot.
    pub fd_t: f64,
    /// The normalised mean square error of its predictions.
    pub nmse: f64,
    /// Levels of the SNR at which the modulation changes.
    pub levels: Arc<Levels>,
    /// What was recorded in place of a channel, with the mean of it above; nothing of the profile, shadowing, speed and
    /// error of predictions applies then.
    pub trace: Option<SinrTrace>,
}

impl CellConfig {
    /// The uplink as a cell of its own that has the slots of its pattern alone.
    pub(crate) fn of_uplink(&self, uplink: &UplinkConfig) -> Self {
        let mut config = Self {
            allocation: uplink.allocation,
            queue: uplink.queue,
            feedback: None,
            uplink: None,
            ..self.clone()
        };
        config.users.iter_mut().for_each(|user| user.mean_snr_db += uplink.snr_offset_db);
        config
    }

    /// Refuses what cannot be.
    ///
    /// # Errors
    /// Numbers outside their ranges, no users, more users with a bin of their own than bins.
    pub fn check(&self) -> Result<(), CellError> {
        if !(SimTime::from_micros(10)..=SimTime::from_millis(100)).contains(&self.slot) {
            return out_of_range("slot", self.slot, "between 10 us and 100 ms");
        }
        if !(1..=100_000).contains(&self.symbols) {
            return out_of_range("symbols", self.symbols, "between 1 and 100000");
        }
        if !(1..=MOST_BINS).contains(&self.bins) {
            return out_of_range("bins", self.bins, format!("between 1 and {MOST_BINS}"));
        }
        if !(1.0..=1e9).contains(&self.bin_width_hz) {
            return out_of_range("bin_width", format!("{} Hz", self.bin_width_hz), "between 1 Hz and 1 GHz");
        }
        if !(1..=MOST_USERS).contains(&self.users.len()) {
            return out_of_range("users", self.users.len(), format!("between 1 and {MOST_USERS}"));
        }
        for user in &self.users {
            if let Some(bits) = user.levels.success().missing_rest().filter(|_| self.arq.split) {
                let rest = user.levels.success().modulation(bits).name();
                let allowed =
                    format!("false, or {rest} in the table: rests of frames that are split need it");
                return out_of_range("arq.split", "true", allowed);
            }
            if let Some(trace) = &user.trace {
                if trace.columns() != 1 && trace.columns() != self.bins {
                    let allowed = format!("a time and 1 or {} ratios, the bins, on each line", self.bins);
                    return out_of_range("trace", format!("{} ratios", trace.columns()), allowed);
                }
                continue;
            }
            if !(-30.0..=60.0).contains(&user.mean_snr_db) {
                return out_of_range("mean_snr_db", user.mean_snr_db, "between -30 and 60");
            }
            if !(0.0..=1000.0).contains(&user.speed_mps) {
                return out_of_range("speed", format!("{} m/s", user.speed_mps), "between 0 and 1000 m/s");
            }
            if !(user.fd_t == 0.0 || (5e-5..0.5).contains(&user.fd_t)) {
                return out_of_range("fd_t", user.fd_t, "0 or between 5e-5 and 0.5");
            }
            if !(0.0..1.0).contains(&user.nmse) {
                return out_of_range("nmse", user.nmse, "at least 0 and below 1");
            }
        }
        if let Some(shadowing) = &self.shadowing {
            shadowing.check()?;
        }
        if let Some(feedback) = &self.feedback {
            feedback.check()?;
        }
        if let Some(outer_loop) = &self.outer_loop {
            outer_loop.check()?;
        }
        self.check_allocation()?;
        if !(1..=1000).contains(&self.arq.delay_slots) {
            return out_of_range("arq.delay", self.arq.delay_slots, "between 1 and 1000 slots");
        }
        if self.queue.is_some_and(|limit| !limit.admits(0, 0, 1)) {
            return out_of_range("queue", "0", "at least one packet");
        }
        self.uplink.as_ref().map_or(Ok(()), |uplink| self.check_uplink(uplink))
    }

    fn check_uplink(&self, uplink: &UplinkConfig) -> Result<(), CellError> {
        if uplink.grant_delay > self.slot * 1000 {
            return out_of_range("uplink.grant_delay", uplink.grant_delay, "at most 1000 slots");
        }
        if !(-60.0..=60.0).contains(&uplink.snr_offset_db) {
            return out_of_range("uplink.snr_offset_db", uplink.snr_offset_db, "between -60 and 60");
        }
        let drawn = self.users.iter().filter(|user| user.trace.is_none());
        let allowed = -30.0..=60.0;
        if let Some(mean_db) =
            drawn.map(|user| user.mean_snr_db + uplink.snr_offset_db).find(|mean| !allowed.contains(mean))
        {
            let allowed = format!("such that users are received at -30 to 60 dB, here one at {mean_db}");
            return out_of_range("uplink.snr_offset_db", uplink.snr_offset_db, allowed);
        }
        if uplink.queue.is_some_and(|limit| !limit.admits(0, 0, 1)) {
            return out_of_range("uplink.queue", "0", "at least one packet");
        }
        self.of_uplink(uplink).check_allocation()
    }

    fn check_allocation(&self) -> Result<(), CellError> {
        match self.allocation {
            Allocation::Static if self.users.len() > self.bins => {
                let allowed =
                    format!("at least {}, one for each user of allocation static", self.users.len());
                out_of_range("bins", self.bins, allowed)
            }
            Allocation::BestBin { candidates } if !(1..=self.bins).contains(&candidates) => {
                out_of_range("candidates", candidates, format!("between 1 and {}, the bins", self.bins))
            }
            Allocation::ProportionalFair { window_slots } if !(1.0..=1e9).contains(&window_slots) => {
                out_of_range("window", window_slots, "between 1 and 1e9 slots")
            }
            _ => Ok(()),
        }
    }
}
