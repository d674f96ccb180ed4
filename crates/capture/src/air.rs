//! Pcap files of the frames of 802.11 stations, as a radio that hears every station records them, with radiotap
//! headers.

use crate::pcap::{LINKTYPE_IEEE802_11_RADIOTAP, Pcap};
use crate::radiotap::Radiotap;
use crossfade_core::SimTime;
use std::collections::HashMap;

/// Frame on the air: its kind, its two stations and the time that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AirFrame {
    /// Time at which the first bit of the preamble is sent.
    pub at: SimTime,
    /// Time at which the last bit of the frame is sent.
    pub end: SimTime,
    /// Kind of the frame: RTS, CTS, DATA or ACK.
    pub kind: AirKind,
    /// Node that sent the frame.
    pub from: u16,
    /// Node to which the frame is addressed.
    pub to: u16,
    /// Sequence number of a DATA frame, counted per sender; written modulo 4096, and of no use in other frames.
    pub number: u64,
}

/// Kind of 802.11 frame in an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AirKind {
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// Data frame.
    Data,
    /// Acknowledgement.
    Ack,
}

/// Bit rates and durations by which lengths and Duration fields of the captured 802.11 frames are computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AirConfig {
    /// Bit rate of DATA in bit/s.
    pub data_rate_bps: f64,
    /// Bit rate of RTS, CTS and ACK frames in bit/s.
    pub basic_rate_bps: f64,
    /// Duration of the preamble and PLCP header before every frame.
    pub preamble: SimTime,
    /// SIFS: time between two frames of an exchange.
    pub sifs: SimTime,
    /// Duration of a CTS frame, preamble included.
    pub cts: SimTime,
    /// Duration of an ACK frame, preamble included.
    pub ack: SimTime,
}

/// Bytes of the MAC header of a DATA frame: four addresses (IEEE 802.11-1999, 7.2.2), as it goes from station to
/// station.
const DATA_HEADER_BYTES: u32 = 30;
/// Bytes of the FCS, which the file leaves out; radiotap states it by an absent flag.
const FCS_BYTES: u32 = 4;
/// LLC and SNAP headers with the `EtherType` for local experiments (IEEE 802): the model has no network protocol above.
const SNAP: [u8; 8] = [0xaa, 0xaa, 0x03, 0, 0, 0, 0x88, 0xb5];
/// Default number of bytes kept of each frame: every header fits in it.
const SNAPLEN: u32 = 128;
/// Radiotap channel of all frames: frequency in MHz (channel 1 of the 2.4 GHz band) and flags (2.4 GHz, CCK).
const CHANNEL: [u16; 2] = [2412, 0x00a0];

/// Bytes of a pcap file with `frames`, which are in order of time; each is cut to `snaplen` bytes, or to its headers
/// if `snaplen` is `None`.
///
/// Stations have locally administered addresses `02:00:00:00:XX:XX`, where `XX:XX` is the number of the station. Bytes
/// above the MAC are zeros. Duration fields follow 802.11: an RTS announces the exchange with the next DATA frame
/// between the two stations, or a duration of 0 if no DATA frame follows.
pub fn air_pcap(config: &AirConfig, snaplen: Option<u32>, frames: &[AirFrame]) -> Vec<u8> {
    let mut pcap = Pcap::new(snaplen.unwrap_or(SNAPLEN), LINKTYPE_IEEE802_11_RADIOTAP);
    for (frame, duration) in frames.iter().zip(durations(config, frames)) {
        let rate_bps = if frame.kind == AirKind::Data { config.data_rate_bps } else { config.basic_rate_bps };
        let mut bytes = radiotap(frame.at, rate_bps);
        let payload = mac(config, frame, duration, &mut bytes);
        pcap.push(frame.at, &bytes, payload);
    }
    pcap.bytes
}

/// Duration field of each frame: time from its end to the end of the exchange (IEEE 802.11-1999, 7.1.3.2 and 9.2.5.4).
fn durations(config: &AirConfig, frames: &[AirFrame]) -> Vec<SimTime> {
    let AirConfig { sifs, cts, ack, .. } = *config;
    let mut next_data: HashMap<(u16, u16), SimTime> = HashMap::new();
    let rest = |frame: &AirFrame| {
        let AirFrame { from, to, .. } = *frame;
        match frame.kind {
            AirKind::Data => {
                next_data.insert((from, to), frame.end - frame.at);
                sifs + ack
            }
            AirKind::Rts => next_data
                .get(&(from, to))
                .map_or(SimTime::ZERO, |data| sifs + cts + sifs + *data + sifs + ack),
            AirKind::Cts => {
                next_data.get(&(to, from)).map_or(SimTime::ZERO, |data| sifs + *data + sifs + ack)
            }
            AirKind::Ack => SimTime::ZERO,
        }
    };
    let mut durations: Vec<SimTime> = frames.iter().rev().map(rest).collect();
    durations.reverse();
    durations
}

/// Radiotap header with time, flags, rate and channel. A rate which is no multiple of 500 kbit/s is left out: radiotap
/// cannot express it.
fn radiotap(at: SimTime, rate_bps: f64) -> Vec<u8> {
    let [mhz, kind] = CHANNEL;
    Radiotap::new(at).flags(0).rate(rate_bps).channel(mhz, kind).finish()
}

/// Appends the MAC header of `frame` to `bytes`; returns the number of payload bytes, all zero, that follow it.
fn mac(config: &AirConfig, frame: &AirFrame, duration: SimTime, bytes: &mut Vec<u8>) -> u32 {
    let control: [u8; 2] = match frame.kind {
        AirKind::Rts => [0xb4, 0],
        AirKind::Cts => [0xc4, 0],
        AirKind::Ack => [0xd4, 0],
        // To and from the distribution system: four addresses.
        AirKind::Data => [0x08, 0x03],
    };
    let micros = duration.as_nanos().div_ceil(1000).min(32_767) as u16;
    bytes.extend(control);
    bytes.extend(micros.to_le_bytes());
    bytes.extend(address(frame.to));
    if matches!(frame.kind, AirKind::Cts | AirKind::Ack) {
        return 0;
    }
    bytes.extend(address(frame.from));
    if frame.kind == AirKind::Rts {
        return 0;
    }
    bytes.extend(address(frame.to));
    bytes.extend(((frame.number % 4096) as u16 * 16).to_le_bytes());
    bytes.extend(address(frame.from));
    let airtime = (frame.end - frame.at).saturating_sub(config.preamble);
    let sent = (airtime.as_secs_f64() * config.data_rate_bps / 8.0).round() as u32;
    let payload = sent.saturating_sub(DATA_HEADER_BYTES + FCS_BYTES);
    let snap = SNAP.len().min(payload as usize);
    bytes.extend(&SNAP[..snap]);
    payload - snap as u32
}

pub(crate) fn address(node: u16) -> [u8; 6] {
    let [high, low] = node.to_be_bytes();
    [0x02, 0, 0, 0, high, low]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exchange_is_laid_out_as_the_standard_says() {
        let us = SimTime::from_micros;
        let config = AirConfig {
            data_rate_bps: 11e6,
            basic_rate_bps: 1e6,
            preamble: us(192),
            sifs: us(10),
            cts: us(304),
            ack: us(304),
        };
        let mut at = us(1000);
        let mut frame = |kind, from, to, airtime| {
            let frame = AirFrame { at, end: at + airtime, kind, from, to, number: 3 };
            at = frame.end + us(10);
            frame
        };
        let data = SimTime::from_nanos(1_898_182);
        let frames = [
            frame(AirKind::Rts, 1, 2, us(352)),
            frame(AirKind::Cts, 2, 1, us(304)),
            frame(AirKind::Data, 1, 2, data),
            frame(AirKind::Ack, 2, 1, us(304)),
            frame(AirKind::Rts, 1, 2, us(352)),
        ];
        // Remaining duration of the exchange after each frame, rounded up to microseconds.
        let micros: Vec<u64> =
            durations(&config, &frames).iter().map(|time| time.as_nanos().div_ceil(1000)).collect();
        assert_eq!(micros, [304 + 1899 + 304 + 30, 1899 + 304 + 20, 314, 0, 0]);
        let file = air_pcap(&config, None, &frames[..3]);
        assert_eq!(file[20..24], 127_u32.to_le_bytes());
        // A record of 16 bytes, radiotap of 22, an RTS of 16.
        let rts = &file[24 + 16..][..22 + 16];
        #[rustfmt::skip]
        let expected = [
            0, 0, 22, 0,  0x0f, 0, 0, 0,  0xe8, 3, 0, 0, 0, 0, 0, 0,  0, 2, 0x6c, 9, 0xa0, 0,
            0xb4, 0, 0xe9, 9,  2, 0, 0, 0, 0, 2,  2, 0, 0, 0, 0, 1,
        ];
        assert_eq!(rts, expected);
        // 2312 bytes of a packet behind 30 of the header and 22 of radiotap; 128 are kept.
        let record = &file[24 + (16 + 22 + 16) + (16 + 22 + 10)..];
        assert_eq!(record[8..16], [128, 0, 0, 0, (2364 % 256) as u8, (2364 / 256) as u8, 0, 0]);
    }

    #[test]
    fn a_rate_without_a_place_is_left_out() {
        assert_eq!(radiotap(SimTime::ZERO, 866.7e6).len(), 22);
        assert_eq!(radiotap(SimTime::ZERO, 866.7e6)[4], 0x0b);
    }
}
