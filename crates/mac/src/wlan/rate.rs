//! Rate control: selection of the mode of each aggregate.

use super::config::{RateConfig, StationConfig};
use super::minstrel::Minstrel;
use super::reception::Reception;
use crossfade_core::{SimTime, Stream};

/// Bytes of the MPDU for which the ideal rate control chooses a mode.
pub(super) const REFERENCE_BYTES: u32 = 1538;

/// Rate control of one sender for one receiver.
pub(super) enum RateControl {
    Constant(usize),
    Ideal {
        target: f64,
        /// Indices of modes by number of streams, in rising order of bit rate.
        places: Vec<Vec<usize>>,
        rates_bps: Vec<f64>,
        /// Channel step of the last selection, and the selected mode.
        last: Option<(u64, usize)>,
    },
    Minstrel(Box<Minstrel>),
}

impl RateControl {
    pub(super) fn new(station: &StationConfig, stream: Stream) -> Self {
        match station.rate {
            RateConfig::Constant(place) => Self::Constant(place),
            RateConfig::Ideal(target) => {
                let most = station.modes.iter().map(|mode| mode.streams()).max().unwrap_or(1);
                let of = |streams: u8| {
                    let modes = station.modes.iter().enumerate();
                    modes.filter(|(_, mode)| mode.streams() == streams).map(|(place, _)| place).collect()
                };
                let rates_bps = station.modes.iter().map(|mode| mode.rate_bps()).collect();
                Self::Ideal { target, places: (1..=most).map(of).collect(), rates_bps, last: None }
            }
            RateConfig::Minstrel => Self::Minstrel(Box::new(Minstrel::new(&station.modes, stream))),
        }
    }

    /// Index of the mode of the next aggregate, and true if it is a probe of one MPDU.
    pub(super) fn choose(
        &mut self,
        now: SimTime,
        reception: &mut Reception,
        direction: usize,
    ) -> (usize, bool) {
        match self {
            Self::Constant(place) => (*place, false),
            Self::Ideal { target, places, rates_bps, last } => {
                let step = if reception.is_constant() {
                    0
                } else {
                    now.as_nanos() / super::reception::STEP.as_nanos()
                };
                if let Some((known, place)) = *last
                    && known == step
                {
                    return (place, false);
                }
                let mut lost =
                    |place: usize| reception.mpdu(place, now, REFERENCE_BYTES, direction).error_rate;
                let mut best = places[0][0];
                for places in places.iter() {
                    // Among modes with equal numbers of streams a faster one needs a higher SNR.
                    let count = places.partition_point(|&place| lost(place) <= *target);
                    if count > 0 && rates_bps[places[count - 1]] > rates_bps[best] {
                        best = places[count - 1];
                    }
                }
                *last = Some((step, best));
                (best, false)
            }
            Self::Minstrel(minstrel) => minstrel.choose(now),
        }
    }

    /// Records that `acknowledged` of an aggregate's `sent` MPDUs in the mode with index `place` were acknowledged; 0
    /// if no answer came.
    pub(super) fn on_exchange(&mut self, place: usize, sent: u32, acknowledged: u32) {
        if let Self::Minstrel(minstrel) = self {
            minstrel.on_exchange(place, sent, acknowledged);
        }
    }

    /// Index of the mode that would be chosen now without sampling, an estimate of the receiver's bit rate.
    pub(super) fn expected(&self) -> usize {
        match self {
            Self::Constant(place) => *place,
            Self::Ideal { last, places, .. } => last.map_or(places[0][0], |(_, place)| place),
            Self::Minstrel(minstrel) => minstrel.best(),
        }
    }
}
