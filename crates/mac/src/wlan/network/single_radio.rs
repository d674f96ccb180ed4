//! The only radio of a station on several links (EMLSR, IEEE 802.11be clause 35.3.17): on which link it is, since when it
//! senses nothing of the others, and what the access point knows of that.

use super::flight::Ahead;
use crate::wlan::config::MOST_LINKS;
use crate::wlan::edca::SLOT;
use crate::wlan::emlsr::EmlsrConfig;
use crate::wlan::modes::Mode;
use crossfade_core::SimTime;

/// An exchange that the access point has begun with a station.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub(super) link: usize,
    /// Time of the initial control frame.
    pub(super) at: SimTime,
    /// Whether the station reads that frame.
    pub(super) is_read: bool,
}

/// The only radio of a station.
pub(super) struct SingleRadio {
    pub(super) config: EmlsrConfig,
    pub(super) asked: Option<Asked>,
    /// Link on which the station sends, and from when on the access point knows that.
    pub(super) sends: Option<(usize, SimTime)>,
    /// Link on which the radio is, during an exchange and until it listens on all of them.
    pub(super) on: Option<usize>,
    /// Time from which on it listens on all links, and that which the access point knows.
    pub(super) listens_from: SimTime,
    pub(super) known_from: SimTime,
    /// Time at which the station notices an initial control frame, or listens anew.
    pub(super) turns_at: Option<SimTime>,
    /// By link, since when it senses nothing, and until when it begins with an RTS.
    pub(super) deaf_since: [SimTime; MOST_LINKS],
    pub(super) unsynchronized_until: [SimTime; MOST_LINKS],
}

impl SingleRadio {
    /// One that listens on all links.
    pub(super) fn new(config: EmlsrConfig) -> Self {
        Self {
            config,
            asked: None,
            sends: None,
            on: None,
            listens_from: SimTime::ZERO,
            known_from: SimTime::ZERO,
            turns_at: None,
            deaf_since: [SimTime::ZERO; MOST_LINKS],
            unsynchronized_until: [SimTime::ZERO; MOST_LINKS],
        }
    }

    /// Whether the access point, as far as it knows, may send to the station on a link.
    pub(super) fn may_be_asked(&self, link: usize, now: SimTime) -> bool {
        match self.asked {
            Some(asked) => asked.link == link,
            None => now >= self.known_from && self.sends.is_none_or(|(_, known)| now < known),
        }
    }

    /// Whether the station may send on a link.
    pub(super) fn may_send(&self, link: usize, now: SimTime) -> bool {
        match (self.sends, self.asked) {
            (Some((on, _)), _) => on == link,
            (None, Some(asked)) if asked.is_read && now >= asked.at + SLOT => false,
            _ => now >= self.listens_from || self.on == Some(link),
        }
    }

    /// What goes before data or a BAR at `now` beside RTS and CTS of all stations: an initial control frame of the
    /// access point, and an RTS of a station that has lost synchronization with the link (clause 35.3.16.8.1).
    pub(super) fn ahead(
        &self,
        is_up: bool,
        link: usize,
        data: Mode,
        now: SimTime,
        is_first: bool,
    ) -> Option<Ahead> {
        if is_up {
            return (is_first && now < self.unsynchronized_until[link]).then(|| Ahead::of_rts(data));
        }
        self.asked.is_none().then(|| {
            let [frame, cts] = self.config.initial(data);
            Ahead { is_initial: true, frame, cts, lasts: frame + cts + data.band().sifs() * 2 }
        })
    }
}
