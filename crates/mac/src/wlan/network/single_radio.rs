//! Radio of an EMLSR station (IEEE 802.11be clause 35.3.17): its link, since when it has not sensed the others, and
//! what the access point knows of its state.

use super::flight::Ahead;
use crate::wlan::config::MOST_LINKS;
use crate::wlan::edca::SLOT;
use crate::wlan::emlsr::EmlsrConfig;
use crate::wlan::modes::Mode;
use crossfade_core::SimTime;

/// Exchange that the access point has begun with an EMLSR station.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub(super) link: usize,
    /// Start of the initial control frame.
    pub(super) at: SimTime,
    /// True if the station decodes that frame.
    pub(super) is_read: bool,
}

/// Only radio of an EMLSR station.
pub(super) struct SingleRadio {
    pub(super) config: EmlsrConfig,
    pub(super) asked: Option<Asked>,
    /// Link on which the station transmits, and time from which the access point knows; `None` if it does not transmit.
    pub(super) sends: Option<(usize, SimTime)>,
    /// Link of the radio during an exchange and the transition delay; `None` while it listens on all links.
    pub(super) on: Option<usize>,
    /// Time from which the station listens on all links; `known_from` is that time as far as the access point knows.
    pub(super) listens_from: SimTime,
    pub(super) known_from: SimTime,
    /// Time of the next change of state: the station notices an initial control frame, or listens on all links again.
    pub(super) turns_at: Option<SimTime>,
    /// By link, the time since which the radio has not sensed it; `unsynchronized_until` is the time until which it
    /// must begin with an RTS there.
    pub(super) deaf_since: [SimTime; MOST_LINKS],
    pub(super) unsynchronized_until: [SimTime; MOST_LINKS],
}

impl SingleRadio {
    /// Radio that listens on all links.
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

    /// True if the access point, as far as it knows, may transmit to the station on a link.
    pub(super) fn may_be_asked(&self, link: usize, now: SimTime) -> bool {
        match self.asked {
            Some(asked) => asked.link == link,
            None => now >= self.known_from && self.sends.is_none_or(|(_, known)| now < known),
        }
    }

    /// True if the station may transmit on a link.
    pub(super) fn may_send(&self, link: usize, now: SimTime) -> bool {
        match (self.sends, self.asked) {
            (Some((on, _)), _) => on == link,
            (None, Some(asked)) if asked.is_read && now >= asked.at + SLOT => false,
            _ => now >= self.listens_from || self.on == Some(link),
        }
    }

    /// Control frame that EMLSR requires before data or a BAR at `now`: an initial control frame of the access point,
    /// or an RTS of a station that has lost synchronization with the link (clause 35.3.16.8.1). `None` if none is
    /// required.
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
