//! Flights: frames and aggregates of one station, and PPDUs of several stations.

use crate::wlan::edca::{ANSWER_BYTES, RTS_BYTES};
use crate::wlan::modes::{Durations, Mode};
use crate::wlan::mu::MuExchange;
use crossfade_core::SimTime;
use crossfade_link::Parcel;

/// A control frame before data or a BAR, and the CTS that answers it.
#[derive(Clone, Copy)]
pub(super) struct Ahead {
    /// Whether it is an initial control frame (MU-RTS) to an EMLSR station, or an RTS.
    pub(super) is_initial: bool,
    pub(super) frame: SimTime,
    pub(super) cts: SimTime,
    /// Both with their spaces.
    pub(super) lasts: SimTime,
}

impl Ahead {
    /// RTS and CTS before data.
    pub(super) fn of_rts(data: Mode) -> Self {
        let control = data.control();
        let [frame, cts] = [RTS_BYTES, ANSWER_BYTES].map(|bytes| control.ppdu(bytes, Durations::Standard));
        Self { is_initial: false, frame, cts, lasts: frame + cts + control.band().sifs() * 2 }
    }

    /// Name of the frame in events.
    pub(super) fn kind(&self) -> &'static str {
        if self.is_initial { "trigger" } else { "rts" }
    }
}

/// An MPDU in the air.
pub(super) struct Mpdu {
    pub(super) number: u64,
    pub(super) parcel: Parcel,
    pub(super) attempt: u32,
    pub(super) is_read: bool,
    pub(super) snr_db: Option<f64>,
}

/// A frame, or an aggregate, in the air.
pub(super) struct Flight {
    pub(super) link: usize,
    pub(super) contender: usize,
    /// Station and direction; `None` for a neighbour, and for several stations.
    pub(super) way: Option<usize>,
    /// The place of its mode among those of the station.
    pub(super) rate: usize,
    /// MPDUs of the aggregate; empty for a BAR.
    pub(super) mpdus: Vec<Mpdu>,
    /// The number in a BAR.
    pub(super) bar: Option<u64>,
    /// What goes first.
    pub(super) ahead: Option<Ahead>,
    /// Start time, after RTS and CTS, and duration.
    pub(super) begins: SimTime,
    pub(super) lasts: SimTime,
    /// Whether it is the first exchange of its opportunity.
    pub(super) is_first: bool,
    /// Whether the window ended it, though more waited.
    pub(super) is_limited: bool,
    /// Parts of several stations, in place of MPDUs of its own.
    pub(super) shared: Option<Box<Shared>>,
}

impl Flight {
    /// Time from the first frame of the exchange to the data.
    pub(super) fn before(&self) -> SimTime {
        self.ahead.map_or(SimTime::ZERO, |ahead| ahead.lasts)
    }

    /// One without MPDUs of a contender on a link, in the first mode.
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
    /// The way of what is alone in the air.
    pub(super) fn way(&self) -> Option<usize> {
        match self {
            Self::Data(_, flight) | Self::Answer(_, flight) => flight.way,
            Self::Missed(_, flights) => flights.first()?.way,
            Self::Idle => None,
        }
    }
}

/// PPDU to several stations, or from them.
pub(super) struct Shared {
    pub(super) direction: usize,
    pub(super) exchange: MuExchange,
    /// Time at which the exchange begins.
    pub(super) at: SimTime,
    /// The ways, that with the largest RU first, and the place of the mode of each with whether it is a probe.
    pub(super) ways: Vec<usize>,
    pub(super) rates: Vec<(usize, bool)>,
    /// Symbols of the data, at most.
    pub(super) symbols: u64,
    /// Flights by way; one without MPDUs and BAR is no flight.
    pub(super) parts: Vec<Flight>,
    /// Whether the acknowledgement of each way has been read.
    pub(super) answered: Vec<bool>,
}
