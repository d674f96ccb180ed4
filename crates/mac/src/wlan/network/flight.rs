//! Transmissions in progress: frames and aggregates of one station, and multi-user PPDUs.

use crate::wlan::edca::{ANSWER_BYTES, RTS_BYTES};
use crate::wlan::modes::{Durations, Mode};
use crate::wlan::mu::MuExchange;
use crossfade_core::SimTime;
use crossfade_link::Parcel;

/// Control frame before data or a BAR, and the CTS that answers it.
#[derive(Clone, Copy)]
pub(super) struct Ahead {
    /// True for an initial control frame (MU-RTS) to an EMLSR station, false for an RTS.
    pub(super) is_initial: bool,
    pub(super) frame: SimTime,
    pub(super) cts: SimTime,
    /// Duration of both frames with their interframe spaces.
    pub(super) lasts: SimTime,
}

impl Ahead {
    /// RTS and CTS before data in mode `data`.
    pub(super) fn of_rts(data: Mode) -> Self {
        let control = data.control();
        let [frame, cts] = [RTS_BYTES, ANSWER_BYTES].map(|bytes| control.ppdu(bytes, Durations::Standard));
        Self { is_initial: false, frame, cts, lasts: frame + cts + control.band().sifs() * 2 }
    }

    /// Name of the control frame in events.
    pub(super) fn kind(&self) -> &'static str {
        if self.is_initial { "trigger" } else { "rts" }
    }
}

/// MPDU in flight, with its fate.
pub(super) struct Mpdu {
    pub(super) number: u64,
    pub(super) parcel: Parcel,
    pub(super) attempt: u32,
    pub(super) is_read: bool,
    pub(super) snr_db: Option<f64>,
}

/// Exchange in progress: a frame or an aggregate, or the PPDUs of several stations.
pub(super) struct Flight {
    pub(super) link: usize,
    pub(super) contender: usize,
    /// Index of direction, station and category; `None` for a neighbouring network and for several stations.
    pub(super) way: Option<usize>,
    /// Index of the mode among those of the station.
    pub(super) rate: usize,
    /// MPDUs of the aggregate; empty for a BAR.
    pub(super) mpdus: Vec<Mpdu>,
    /// Starting sequence number of a BAR; `None` for data.
    pub(super) bar: Option<u64>,
    /// RTS or initial control frame before the data; `None` without one.
    pub(super) ahead: Option<Ahead>,
    /// Start of the data, after RTS and CTS; `lasts` is their duration.
    pub(super) begins: SimTime,
    pub(super) lasts: SimTime,
    /// True for the first exchange of a transmission opportunity.
    pub(super) is_first: bool,
    /// True if the window ended the aggregate while more packets waited.
    pub(super) is_limited: bool,
    /// Parts of several stations, which replace `mpdus`.
    pub(super) shared: Option<Box<Shared>>,
}

impl Flight {
    /// Time from the start of the exchange to that of the data.
    pub(super) fn before(&self) -> SimTime {
        self.ahead.map_or(SimTime::ZERO, |ahead| ahead.lasts)
    }

    /// Exchange without MPDUs, in the first mode.
    pub(super) fn empty(
        link: usize,
        contender: usize,
        way: Option<usize>,
        begins: SimTime,
        lasts: SimTime,
    ) -> Self {
        Self {
            link,
            contender,
            way,
            rate: 0,
            mpdus: Vec::new(),
            bar: None,
            ahead: None,
            begins,
            lasts,
            is_first: true,
            is_limited: false,
            shared: None,
        }
    }
}

pub(super) enum Phase {
    Idle,
    Data(SimTime, Flight),
    Answer(SimTime, Flight),
    Missed(SimTime, Vec<Flight>),
}

impl Phase {
    /// Index of direction, station and category of the current exchange; `None` if idle, or for neighbours and several
    /// stations.
    pub(super) fn way(&self) -> Option<usize> {
        match self {
            Self::Data(_, flight) | Self::Answer(_, flight) => flight.way,
            Self::Missed(_, flights) => flights.first()?.way,
            Self::Idle => None,
        }
    }
}

/// Multi-user exchange: PPDUs to or from several stations.
pub(super) struct Shared {
    pub(super) direction: usize,
    pub(super) exchange: MuExchange,
    /// Start time of the exchange.
    pub(super) at: SimTime,
    /// Indices of direction, station and category, that with the largest RU first; `rates` has the mode index of each,
    /// and true for a probe.
    pub(super) ways: Vec<usize>,
    pub(super) rates: Vec<(usize, bool)>,
    /// Maximum number of symbols of the data.
    pub(super) symbols: u64,
    /// Data of each station; a part without MPDUs and BAR sends nothing.
    pub(super) parts: Vec<Flight>,
    /// For each part, true if its acknowledgement has been decoded.
    pub(super) answered: Vec<bool>,
}
