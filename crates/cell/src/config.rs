//! Configuration of a cell, its uplink and its users.

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

/// Greatest number of users of a cell (see [`CellConfig::check`]).
pub const MOST_USERS: usize = 1000;
/// Greatest number of frequency bins of a cell (see [`CellConfig::check`]).
pub const MOST_BINS: usize = 1024;

/// Configuration of a cell, apart from its random seed.
#[derive(Clone, Debug)]
pub struct CellConfig {
    /// Duration of a slot, which is the TTI of the cell.
    pub slot: SimTime,
    /// Number of payload symbols of a frame, which fills one bin in one slot.
    pub symbols: u32,
    /// Number of frequency bins in a slot; each carries one frame.
    pub bins: usize,
    /// Width of a frequency bin in Hz.
    pub bin_width_hz: f64,
    /// Power delay profile of the channels of all users.
    pub profile: DelayProfile,
    /// Shadowing of the channels; `None` for channels without shadowing.
    pub shadowing: Option<ShadowingConfig>,
    /// Users of the cell, in the order of their ports.
    pub users: Vec<UserConfig>,
    /// Scheduler that allocates the downlink's bins to users.
    pub allocation: Allocation,
    /// Channel reports to the base station; `None` gives it a prediction for every slot.
    pub feedback: Option<FeedbackConfig>,
    /// Outer-loop link adaptation; `None` to choose the modulation by the predicted SNR alone.
    pub outer_loop: Option<OuterLoopConfig>,
    /// Parameters of the ARQ that retransmits failed frames.
    pub arq: ArqConfig,
    /// Limit of each user's downlink queue, which excludes packets already sent in part; `None` is without limit.
    pub queue: Option<QueueLimit>,
    /// Uplink of the cell; `None` for a downlink alone.
    pub uplink: Option<UplinkConfig>,
}

/// Uplink of a cell in time division duplex: it uses the downlink's bins in slots of its own. Its channels equal those
/// of the downlink (reciprocity), but the base station measures them itself: [`CellConfig::feedback`] does not apply.
/// [`CellConfig::arq`], [`CellConfig::outer_loop`] and [`CellConfig::symbols`] apply to both directions.
#[derive(Clone, Debug)]
pub struct UplinkConfig {
    /// Pattern of downlink and uplink slots.
    pub pattern: TddPattern,
    /// Time from the arrival of a packet at a user to the first slot in which it may be sent, for a scheduling request
    /// and its grant.
    pub grant_delay: SimTime,
    /// SNR at the base station minus the SNR at the user, in dB.
    pub snr_offset_db: f64,
    /// Scheduler of uplink slots; the window of its mean counts uplink slots only.
    pub allocation: Allocation,
    /// Limit of the uplink queue at each user, which excludes packets already sent in part; `None` is without limit.
    pub queue: Option<QueueLimit>,
}

/// Configuration of one user of a cell: its channel and its switching levels.
#[derive(Clone, Debug)]
pub struct UserConfig {
    /// Mean SINR (signal-to-interference-and-noise ratio) in dB, at the median of the shadowing.
    pub mean_snr_db: f64,
    /// Speed of the user in m/s.
    pub speed_mps: f64,
    /// Maximum Doppler shift in cycles per slot.
    pub fd_t: f64,
    /// Normalised mean-square error of channel predictions: error power over mean channel power.
    pub nmse: f64,
    /// Switching levels: values of the predicted SNR at which the modulation changes.
    pub levels: Arc<Levels>,
    /// Recorded SINR in place of a fading channel, relative to `mean_snr_db`; profile, shadowing, speed and prediction
    /// error then do not apply.
    pub trace: Option<SinrTrace>,
}

impl CellConfig {
    /// Configuration of the uplink as a cell of its own, whose slots are the uplink slots.
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

    /// Checks the configuration.
    ///
    /// # Errors
    /// A number is outside its range, there are no users, or allocation `static` has more users than bins.
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
