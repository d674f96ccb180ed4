//! One user: a channel, a stream of bits with its packets, and what is counted.

use crate::config::{CellConfig, UserConfig};
use crate::error::CellError;
use crate::levels::{Levels, PredictedSinr, from_db};
use crate::receiver::{Packet, Receiver, lose};
use crate::sender::{Piece, Sender, Sent};
use crossfade_channel::{FrequencyResponse, PredictedFading, TravelledShadowing, simd::Simd};
use crossfade_core::{RunSeed, SimTime, Stream};
use crossfade_link::{Departure, Parcel, UserStatistics};
use rand::RngExt;
use std::collections::VecDeque;
use std::sync::Arc;

/// A frame in the air.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    pub(crate) user: usize,
    pub(crate) slot: u64,
    pub(crate) piece: Piece,
    pub(crate) is_good: bool,
}

/// What a user sends in a bin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transmission {
    pub(crate) sent: Sent,
    pub(crate) sinr: f64,
    pub(crate) is_good: bool,
}

pub(crate) struct User {
    config: UserConfig,
    fading: PredictedFading,
    shadowing: Option<TravelledShadowing>,
    /// Decides which frames fail, a draw each.
    errors: Stream,
    metres_a_slot: f64,
    /// The slot that the following are of.
    slot: Option<u64>,
    mean: f64,
    mean_db: f64,
    /// Predicted |p|^2 of all bins, where they were asked for.
    powers: Vec<f32>,
    pub(crate) sender: Sender,
    receiver: Receiver,
    packets: VecDeque<Packet>,
    /// Bits that have arrived and wait for earlier ones: up to where, since when.
    waits: Vec<(u64, SimTime)>,
    /// Packets of which nothing was sent, and their bytes.
    waiting: (usize, u64),
    pub(crate) statistics: UserStatistics,
}

impl User {
    /// Its streams are called `channel.cell.N`, `prediction.cell.N`, `shadowing.cell.N` and `error.cell.N`.
    pub(crate) fn new(
        number: usize,
        cell: &CellConfig,
        response: &Arc<FrequencyResponse>,
        seed: RunSeed,
        simd: Simd,
    ) -> Result<Self, CellError> {
        let config = cell.users[number].clone();
        let stream = |of: &str| seed.stream(&format!("{of}.cell.{number}"));
        let streams = [stream("channel"), stream("prediction")];
        let response = Arc::clone(response);
        let powers = vec![0.0; response.padded()];
        let shadowing = cell.shadowing.map(|config| TravelledShadowing::new(config, stream("shadowing")));
        Ok(Self {
            fading: PredictedFading::new(&cell.profile, response, config.fd_t, config.nmse, streams, simd)?,
            shadowing: shadowing.transpose()?,
            errors: stream("error"),
            metres_a_slot: config.speed_mps * cell.slot.as_secs_f64(),
            slot: None,
            mean: 0.0,
            mean_db: 0.0,
            powers,
            sender: Sender::new(cell.arq, cell.symbols),
            receiver: Receiver::default(),
            packets: VecDeque::new(),
            waits: Vec::new(),
            waiting: (0, 0),
            statistics: UserStatistics::default(),
            config,
        })
    }

    /// A packet joins the stream.
    pub(crate) fn push(&mut self, now: SimTime, parcel: Parcel) {
        let (start, end) = self.sender.append(u64::from(parcel.bytes()) * 8);
        self.packets.push_back(Packet { start, end, parcel, since: now, is_lost: false });
        self.waiting.0 += 1;
        self.waiting.1 += u64::from(parcel.bytes());
    }

    /// Packets of which nothing was sent, and their bytes.
    pub(crate) fn waiting(&self) -> (usize, u64) {
        self.waiting
    }

    /// Goes to `slot`.
    pub(crate) fn go(&mut self, slot: u64) {
        if self.slot == Some(slot) {
            return;
        }
        self.slot = Some(slot);
        self.fading.go(slot);
        let shadow_db = match &mut self.shadowing {
            Some(shadowing) => shadowing.db(slot as f64 * self.metres_a_slot),
            None => 0.0,
        };
        let mean_db = self.config.mean_snr_db + shadow_db;
        if mean_db != self.mean_db || self.mean == 0.0 {
            (self.mean_db, self.mean) = (mean_db, from_db(mean_db));
        }
    }

    /// The predicted |p|^2 of all bins in the slot that it is at.
    pub(crate) fn predict(&mut self) -> &[f32] {
        self.fading.predicted_powers(&mut self.powers);
        &self.powers
    }

    /// The local mean.
    pub(crate) fn mean(&self) -> f64 {
        self.mean
    }

    /// Sends something in `bin` of the slot that it is at, at `now`.
    pub(crate) fn transmit(&mut self, now: SimTime, slot: u64, bin: usize) -> Option<Transmission> {
        let predicted = match self.config.levels.kind() {
            PredictedSinr::Unbiased => self.fading.prediction(bin).norm_sqr() + self.config.nmse,
            PredictedSinr::Raw => self.fading.prediction(bin).norm_sqr(),
        };
        let (bits, is_below) = Levels::choose(self.config.levels.at(self.mean_db), self.mean * predicted);
        let sent = self.sender.take(slot, bits)?;
        if sent.is_new {
            self.leave_queue(now);
        }
        let sinr = self.mean * self.fading.gain(bin).norm_sqr();
        let is_good = self.errors.random::<f64>() < self.config.levels.success().at(sent.piece.bits, sinr);
        let statistics = &mut self.statistics;
        *(if sent.is_new { &mut statistics.frames } else { &mut statistics.retransmissions }) += 1;
        statistics.splits += u64::from(sent.is_split);
        statistics.below_levels += u64::from(is_below);
        statistics.frame_errors += u64::from(!is_good);
        statistics.frames_by_bits[sent.piece.bits as usize - 1] += 1;
        Some(Transmission { sent, sinr, is_good })
    }

    /// Packets whose first bits are being sent wait no longer.
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

    /// A frame has arrived, or not; the packets that leave are handed to `leave`.
    pub(crate) fn land(&mut self, now: SimTime, flight: &Flight, mut leave: impl FnMut(Departure)) {
        let piece = flight.piece;
        if flight.is_good {
            self.statistics.frames_delivered += 1;
            self.statistics.failures_before += u64::from(piece.failures);
        } else {
            if !self.sender.fail(flight.slot, piece) {
                return;
            }
            self.statistics.frames_lost += 1;
            lose(&mut self.packets, piece.start, piece.end);
        }
        self.receiver.settle(piece.start, piece.end);
        let until = self.receiver.until();
        let statistics = &mut self.statistics;
        self.waits.retain(|&(end, since)| {
            let waits = end > until;
            if !waits {
                statistics.head_of_line_delay.record(now - since);
                statistics.head_of_line_delay_s += (now - since).as_secs_f64();
            }
            waits
        });
        if flight.is_good {
            if piece.end > until {
                self.waits.push((piece.end, now));
            } else {
                statistics.head_of_line_delay.record(SimTime::ZERO);
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
