//! One user of a cell: its channel with reports, its stream of bits with packets, and its statistics.

use crate::config::{CellConfig, UserConfig};
use crate::error::CellError;
use crate::levels::from_db;
use crate::outer_loop::OuterLoop;
use crate::receiver::{Packet, Receiver, lose};
use crate::reports::Reports;
use crate::sender::{Piece, Sender, Sent};
use crate::user_channel::UserChannel;
use crossfade_channel::{FrequencyResponse, simd::Simd};
use crossfade_core::{RunSeed, SimTime, Stream};
use crossfade_link::{Departure, Parcel, UserStatistics};
use rand::RngExt;
use std::collections::VecDeque;
use std::sync::Arc;

/// Direction of a user's packets, downlink or uplink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Downlink: the base station knows all waiting packets at once.
    Down,
    /// Uplink: the base station knows about a packet `grant_delay` after its arrival.
    Up { grant_delay: SimTime },
}

/// Frame in the air, with its outcome.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    pub(crate) user: usize,
    pub(crate) slot: u64,
    pub(crate) piece: Piece,
    pub(crate) is_good: bool,
}

/// Transmission of a user's frame in a bin, with its SNR (not in dB) and outcome.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transmission {
    pub(crate) sent: Sent,
    pub(crate) sinr: f64,
    pub(crate) is_good: bool,
}

pub(crate) struct User {
    config: UserConfig,
    channel: UserChannel,
    /// Channel reports that the base station uses in place of predictions; `None` without reports.
    reports: Option<Reports>,
    outer_loop: Option<OuterLoop>,
    /// Delay in slots until an acknowledgement acts.
    feedback_slots: u64,
    /// Random stream that decides the outcome of frames, by one draw for each.
    errors: Stream,
    /// Predicted |p|^2 of all bins in the slot `predicted`.
    powers: Vec<f32>,
    /// Slot of the predictions in `powers`; `None` before the first.
    predicted: Option<u64>,
    pub(crate) sender: Sender,
    receiver: Receiver,
    packets: VecDeque<Packet>,
    /// Received frames that wait for earlier bits: the place after the frame's last bit, and its time of arrival.
    waits: Vec<(u64, SimTime)>,
    /// Number of packets of which no bit was sent, and their total bytes.
    waiting: (usize, u64),
    way: Way,
    /// Number of packets, the last of the queue, that the base station does not know about yet (uplink).
    untold: usize,
    pub(crate) statistics: UserStatistics,
}

impl User {
    /// Creates a user without data. Its random streams are those of its channel ([`UserChannel::new`]), equal in both
    /// directions, and `error.cell.N` for the downlink or `error.cell.ul.N` for the uplink.
    pub(crate) fn new(
        number: usize,
        cell: &CellConfig,
        way: Way,
        response: &Arc<FrequencyResponse>,
        seed: RunSeed,
        simd: Simd,
    ) -> Result<Self, CellError> {
        let config = cell.users[number].clone();
        let channel = UserChannel::new(number, cell, &config, response, seed, simd)?;
        let reports = cell.feedback.map(|feedback| Reports::new(feedback, channel.clone(), cell.bins));
        let prefix = if way == Way::Down { "error.cell" } else { "error.cell.ul" };
        Ok(Self {
            channel,
            reports,
            outer_loop: cell.outer_loop.map(|outer| OuterLoop::new(outer, config.levels.success().range())),
            feedback_slots: cell.arq.delay_slots,
            errors: seed.stream(&format!("{prefix}.{number}")),
            powers: vec![0.0; response.padded()],
            predicted: None,
            sender: Sender::new(cell.arq, cell.symbols),
            receiver: Receiver::default(),
            packets: VecDeque::new(),
            waits: Vec::new(),
            waiting: (0, 0),
            way,
            untold: 0,
            statistics: UserStatistics::default(),
            config,
        })
    }

    /// Appends a packet to the user's stream of bits.
    pub(crate) fn push(&mut self, now: SimTime, parcel: Parcel) {
        let (start, end) = self.sender.append(u64::from(parcel.bytes()) * 8);
        match self.way {
            Way::Down => self.sender.grant(end),
            Way::Up { .. } => self.untold += 1,
        }
        self.packets.push_back(Packet { start, end, parcel, since: now, is_lost: false });
        self.waiting.0 += 1;
        self.waiting.1 += u64::from(parcel.bytes());
    }

    /// Grants uplink packets that arrived at least `grant_delay` before `now`; no effect on the downlink.
    pub(crate) fn tell(&mut self, now: SimTime) {
        let Way::Up { grant_delay } = self.way else { return };
        while self.untold > 0 {
            let packet = &self.packets[self.packets.len() - self.untold];
            if packet.since + grant_delay > now {
                break;
            }
            self.sender.grant(packet.end);
            self.untold -= 1;
        }
    }

    /// Number of packets of which no bit was sent, and their total bytes.
    pub(crate) fn waiting(&self) -> (usize, u64) {
        self.waiting
    }

    /// Statistics of the user at `now`, including the waits of packets that are still queued.
    pub(crate) fn report(&self, now: SimTime) -> UserStatistics {
        let mut statistics = self.statistics.clone();
        statistics.packets.add_waits(self.unsent().map(|packet| now.saturating_sub(packet.since)));
        statistics
    }

    /// Packets of which no bit was sent, in order.
    fn unsent(&self) -> impl Iterator<Item = &Packet> {
        self.packets.range(self.packets.len() - self.waiting.0..)
    }

    /// Packets of which no bit was sent, in the form in which they were handed to the link.
    pub(crate) fn unsent_parcels(&self) -> impl Iterator<Item = Parcel> {
        self.unsent().map(|packet| packet.parcel)
    }

    /// Advances the channel and the reports to `slot`.
    #[inline]
    pub(crate) fn go(&mut self, slot: u64) {
        self.channel.go(slot);
        if let Some(reports) = &mut self.reports {
            reports.go(slot);
        }
    }

    /// Computes the channel and its predictions of the later `slot` in advance, unless reports are used.
    pub(crate) fn prepare(&mut self, slot: u64) {
        if self.reports.is_none() {
            self.channel.go(slot);
            self.predict();
        }
    }

    /// Power gains of all bins in the current slot known to the base station, relative to [`mean`](Self::mean).
    pub(crate) fn predict(&mut self) -> &[f32] {
        if let Some(reports) = &self.reports {
            return reports.ratios();
        }
        if self.predicted != self.channel.slot() {
            self.predicted = self.channel.slot();
            self.channel.predicted_powers(&mut self.powers);
        }
        &self.powers
    }

    /// Local mean SNR (not in dB) known to the base station; 1 with reports, which are absolute.
    pub(crate) fn mean(&self) -> f64 {
        if self.reports.is_some() { 1.0 } else { self.channel.mean() }
    }

    /// Sends a frame in `bin` of the current slot, which begins at `now`; `None` if the user has no data to send.
    pub(crate) fn transmit(&mut self, now: SimTime, slot: u64, bin: usize) -> Option<Transmission> {
        let (known, mean_db) = match &self.reports {
            Some(reports) => (f64::from(reports.ratios()[bin]), reports.mean_db()),
            None => (self.channel.mean() * self.channel.predicted_power(bin), self.channel.mean_db()),
        };
        let offset = self.outer_loop.as_mut().map_or(1.0, |outer| from_db(outer.offset_db(slot)));
        let (bits, is_below) = self.config.levels.bits(mean_db, known * offset);
        let sent = self.sender.take(slot, bits)?;
        if sent.is_new {
            self.leave_queue(now);
        }
        let sinr = self.channel.mean() * self.channel.power(bin);
        let is_good = self.errors.random::<f64>() < self.config.levels.success().at(sent.piece.bits, sinr);
        if let Some(outer) = self.outer_loop.as_mut().filter(|_| sent.is_new) {
            outer.learn(slot + self.feedback_slots, sent.piece.bits, is_good);
        }
        let statistics = &mut self.statistics;
        *(if sent.is_new { &mut statistics.arq.frames } else { &mut statistics.arq.retransmissions }) += 1;
        statistics.splits += u64::from(sent.is_split);
        statistics.below_levels += u64::from(is_below);
        statistics.arq.frame_errors += u64::from(!is_good);
        statistics.first_errors += u64::from(!is_good && sent.is_new);
        statistics.frames_by_bits[sent.piece.bits as usize - 1] += 1;
        Some(Transmission { sent, sinr, is_good })
    }

    /// Ends the queueing delay of packets whose first bit is sent now.
    fn leave_queue(&mut self, now: SimTime) {
        while self.waiting.0 > 0 {
            let packet = &self.packets[self.packets.len() - self.waiting.0];
            if packet.start >= self.sender.sent_until() {
                break;
            }
            let bytes = packet.parcel.bytes();
            self.statistics.packets.on_transmission(bytes, now - packet.since);
            self.waiting.0 -= 1;
            self.waiting.1 -= u64::from(bytes);
        }
    }

    /// Handles a received or failed frame; each packet that leaves the cell goes to `leave`.
    pub(crate) fn land(&mut self, now: SimTime, flight: &Flight, mut leave: impl FnMut(Departure)) {
        let piece = flight.piece;
        if flight.is_good {
            self.statistics.arq.frames_delivered += 1;
            self.statistics.failures_before += u64::from(piece.failures);
        } else {
            if !self.sender.fail(flight.slot, piece) {
                return;
            }
            self.statistics.arq.frames_lost += 1;
            lose(&mut self.packets, piece.start, piece.end);
        }
        self.receiver.settle(piece.start, piece.end);
        let until = self.receiver.until();
        let statistics = &mut self.statistics;
        self.waits.retain(|&(end, since)| {
            let waits = end > until;
            if !waits {
                statistics.arq.on_release(now - since);
            }
            waits
        });
        if flight.is_good {
            if piece.end > until {
                self.waits.push((piece.end, now));
            } else {
                statistics.arq.on_release(SimTime::ZERO);
            }
        }
        while let Some(packet) = self.packets.front().filter(|packet| packet.end <= self.receiver.until()) {
            if packet.is_lost {
                self.statistics.packets.losses += 1;
                leave(Departure::Lost(packet.parcel));
            } else {
                self.statistics.packets.on_arrival(packet.parcel.bytes());
                leave(Departure::Arrived(packet.parcel));
            }
            self.packets.pop_front();
        }
    }
}
