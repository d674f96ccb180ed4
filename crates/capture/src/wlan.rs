//! Pcap files of the frames of a Wi-Fi network, as a radio that hears every station records them, with radiotap
//! headers.

use crate::air::address;
use crate::block_ack::{bitmap, bitmap_length, block};
use crate::capture::CaptureConfig;
use crate::error::CaptureError;
use crate::flow::Connection;
use crate::flows::Flows;
use crate::packet::Packet;
use crate::pcap::{LINKTYPE_IEEE802_11_RADIOTAP, Pcap};
use crate::radiotap::{
    BAD_FCS, CHANNEL_2_GHZ, CHANNEL_5_GHZ, CHANNEL_OFDM, HAS_FCS, IS_ALONE, IS_LAST, LAST_KNOWN, Radiotap,
};
use crate::trigger::{of_several, trigger};
use crossfade_core::{SimTime, crc32};
use crossfade_link::{EVERYBODY, Ecn, Parcel, Ppdu, PpduContent, PpduFormat, PpduMpdu, PpduRate};
use crossfade_transport::{Ack, Segment};
use std::collections::{BTreeSet, HashMap};

/// Node number of the access point.
const ACCESS_POINT: u16 = 0;
/// MAC address of the hosts behind the access point.
const DISTRIBUTION: [u8; 6] = [0x02, 0, 0, 1, 0, 0];

/// First byte of the frame control field of an RTS (IEEE 802.11-2020 table 9-1); the constants below are those of the
/// other frames.
const RTS: u8 = 0xb4;
const CTS: u8 = 0xc4;
const ACK: u8 = 0xd4;
const BLOCK_ACK_REQUEST: u8 = 0x84;
const BLOCK_ACK: u8 = 0x94;
const TRIGGER: u8 = 0x24;
const DATA: u8 = 0x08;
const QOS_DATA: u8 = 0x88;

/// To DS bit in the second byte of the frame control field (clause 9.2.4.1); From DS and Retry follow.
const TO_DS: u8 = 0x01;
const FROM_DS: u8 = 0x02;
const RETRY: u8 = 0x08;

/// `EtherType` for local experiments (IEEE 802), for packets that are neither IPv4 nor IPv6.
const EXPERIMENT: u16 = 0x88b5;

/// Encodes the frames of a Wi-Fi network into one pcap file with nanosecond times.
///
/// The access point has the address `02:00:00:00:00:00`, station n `02:00:00:00:XX:XX` with n + 1, and the hosts behind
/// the access point `02:00:00:01:00:00`. A record is an MPDU; all MPDUs of an aggregate have the start time of its PPDU
/// and one reference number. Every frame that was sent is recorded, decoded by its receiver or not; frames that
/// collided are marked with a bad checksum. Packets have the headers that [`Capture`](crate::Capture) gives them, but
/// connections have no handshake, and a packet that a queue has marked has CE in its IP header.
#[derive(Clone, Debug)]
pub struct WlanCapture {
    flows: Flows,
    /// Packets enqueued but not yet transmitted, by the identifiers of their parcels.
    waiting: HashMap<u32, Packet>,
    /// Packets of transmitted MPDUs, by sender, receiver, traffic identifier and sequence number modulo 4096, for
    /// retransmissions.
    sent: HashMap<(u16, u16, u8, u16), Packet>,
    /// By sender, receiver and traffic identifier: one past the highest sequence number transmitted, and the lower ones
    /// not transmitted yet (a PPDU with later numbers may end first on another link of a multi-link device).
    next: HashMap<(u16, u16, u8), (u64, BTreeSet<u64>)>,
    /// Reference number of the last aggregate.
    reference: u32,
    pcap: Pcap,
}

impl WlanCapture {
    /// Starts a file without frames; `connection` holds for every flow of TCP that [`connect`](Self::connect) does not
    /// describe.
    ///
    /// # Errors
    /// If the snapshot length, the MSS or the window is out of range.
    pub fn new(config: CaptureConfig, connection: Connection) -> Result<Self, CaptureError> {
        let snaplen = config.snaplen()?;
        Ok(Self {
            flows: Flows::new(config.ip, connection)?,
            waiting: HashMap::new(),
            sent: HashMap::new(),
            next: HashMap::new(),
            reference: 0,
            pcap: Pcap::new(snaplen, LINKTYPE_IEEE802_11_RADIOTAP),
        })
    }

    /// Sets the options of a TCP flow before its first packet.
    ///
    /// # Errors
    /// If the MSS or the window is out of range, or the flow has begun.
    pub fn connect(&mut self, flow: u32, connection: Connection) -> Result<(), CaptureError> {
        self.flows.connect(flow, connection)
    }

    /// Makes `flow` one of QUIC: UDP datagrams with `mss` bytes of data in a packet, and ECN in the IP header if `ecn`.
    pub fn connect_quic(&mut self, flow: u32, mss: u32, ecn: bool) {
        self.flows.connect_quic(flow, mss, ecn);
    }

    /// Registers a data segment of `flow` that was enqueued as `parcel`; it is recorded when its PPDU is sent.
    pub fn on_segment(&mut self, flow: u32, parcel: Parcel, segment: &Segment) {
        let packet = self.flows.quic_packet(flow, parcel.bytes(), segment);
        let packet = packet.unwrap_or_else(|| self.flows.tcp(flow).segment(segment));
        self.waiting.insert(parcel.id(), packet);
    }

    /// An acknowledgement to the sender of `flow` waits to be sent.
    pub fn on_ack(&mut self, flow: u32, parcel: Parcel, ack: &Ack) {
        let packet = self.flows.quic_ack(flow, parcel.bytes(), ack);
        let packet = packet.unwrap_or_else(|| self.flows.tcp(flow).acknowledgement(ack));
        self.waiting.insert(parcel.id(), packet);
    }

    /// Registers a datagram of `flow`, which has no feedback, enqueued as `parcel`; it is recorded when its PPDU is
    /// sent.
    pub fn on_datagram(&mut self, flow: u32, parcel: Parcel) {
        self.waiting.insert(parcel.id(), self.flows.datagram(flow, parcel.bytes()));
    }

    /// Registers a real packet that was enqueued as `parcel`, with its first `bytes`; zeros fill it up to the parcel's
    /// length.
    pub fn on_packet(&mut self, parcel: Parcel, bytes: Vec<u8>) {
        let zeros = parcel.bytes().saturating_sub(bytes.len() as u32);
        self.waiting.insert(parcel.id(), Packet { headers: bytes, zeros });
    }

    /// Records the frames of a PPDU that was sent. The PPDU that sends a packet for the first time must be handed over
    /// before another packet reuses its parcel identifier.
    pub fn on_ppdu(&mut self, ppdu: &Ppdu) {
        match &ppdu.content {
            PpduContent::Rts => self.control(ppdu, RTS, true, &[]),
            PpduContent::Cts => self.control(ppdu, CTS, false, &[]),
            PpduContent::Ack => self.control(ppdu, ACK, false, &[]),
            &PpduContent::BlockAckRequest { tid, start } => {
                self.control(ppdu, BLOCK_ACK_REQUEST, true, &block(tid, start, 0));
            }
            PpduContent::Trigger { kind, lasts, users, padding } => {
                let mut body = trigger(&ppdu.rate, *kind, *lasts, users);
                // Padding: a user field with an association identifier of all ones ends the list, and ones follow.
                body.resize(body.len() + *padding as usize, 0xff);
                self.control(ppdu, TRIGGER, true, &body);
            }
            PpduContent::BlockAcks(of) => self.control(ppdu, BLOCK_ACK, true, &of_several(of)),
            PpduContent::BlockAck { tid, start, has } => {
                let length = bitmap_length(has.len());
                let body: Vec<u8> = block(*tid, *start, length).into_iter().chain(bitmap(has)).collect();
                self.control(ppdu, BLOCK_ACK, true, &body);
            }
            PpduContent::Data { tid, is_aggregate, is_acked_alone, mpdus } => {
                if *is_aggregate {
                    self.reference = self.reference.wrapping_add(1);
                }
                for (place, mpdu) in mpdus.iter().enumerate() {
                    let is_last = place + 1 == mpdus.len();
                    let mut radiotap = radiotap(ppdu);
                    if *is_aggregate {
                        let has_end_bit = *is_acked_alone && ppdu.rate.format != PpduFormat::Ht;
                        let last = if is_last { IS_LAST } else { 0 };
                        let alone = if has_end_bit { IS_ALONE } else { 0 };
                        let flags = LAST_KNOWN | last | alone;
                        radiotap.ampdu = Some((self.reference, flags));
                    }
                    self.data(ppdu, radiotap.finish(), *tid, mpdu);
                }
            }
        }
    }

    /// Bytes of the pcap file encoded since the last [`clear`](Self::clear); before the first, the file header comes
    /// first.
    pub fn bytes(&self) -> &[u8] {
        &self.pcap.bytes
    }

    /// Discards the bytes encoded so far, which the caller has written; later frames continue the same file.
    pub fn clear(&mut self) {
        self.pcap.bytes.clear();
    }

    /// Records a control frame, with the address of its sender if `has_sender`.
    fn control(&mut self, ppdu: &Ppdu, kind: u8, has_sender: bool, body: &[u8]) {
        let mut bytes = radiotap(ppdu).finish();
        let begin = bytes.len();
        bytes.extend([kind, 0]);
        bytes.extend(micros(ppdu.announced).to_le_bytes());
        bytes.extend(if ppdu.to == EVERYBODY { [0xff; 6] } else { address(ppdu.to) });
        if has_sender {
            bytes.extend(address(ppdu.from));
        }
        bytes.extend(body);
        self.push(ppdu, &bytes, begin, 0);
    }

    fn data(&mut self, ppdu: &Ppdu, radiotap: Vec<u8>, tid: Option<u8>, mpdu: &PpduMpdu) {
        let number = (mpdu.number % 4096) as u16;
        let way = (ppdu.from, ppdu.to, tid.unwrap_or(0));
        let key = (way.0, way.1, way.2, number);
        let (next, skipped) = self.next.entry(way).or_default();
        // A first attempt that ended after its RTS never sent the MPDU, so this is its first transmission.
        let is_first = mpdu.number >= *next || skipped.remove(&mpdu.number);
        if is_first {
            skipped.extend(*next..mpdu.number);
            // A sequence number further back belongs to a later MPDU by now.
            while skipped.first().is_some_and(|first| first + 2048 < mpdu.number) {
                skipped.pop_first();
            }
            *next = (*next).max(mpdu.number + 1);
            let packet = self.waiting.remove(&mpdu.parcel.id()).unwrap_or_default();
            self.sent.insert(key, packet);
        }
        let packet = self.sent.get(&key).cloned().unwrap_or_default();
        let mut bytes = radiotap;
        let begin = bytes.len();
        let is_down = ppdu.from == ACCESS_POINT;
        let retry = if is_first { 0 } else { RETRY };
        bytes.extend([
            if tid.is_some() { QOS_DATA } else { DATA },
            retry | if is_down { FROM_DS } else { TO_DS },
        ]);
        bytes.extend(micros(ppdu.announced).to_le_bytes());
        bytes.extend(address(ppdu.to));
        bytes.extend(address(ppdu.from));
        // Third address: source of a downlink frame before the access point, destination of an uplink frame behind it.
        bytes.extend(DISTRIBUTION);
        bytes.extend((number << 4).to_le_bytes());
        // Acknowledgement policy "normal": an aggregate is answered by a block acknowledgement.
        bytes.extend(tid.iter().flat_map(|&tid| [tid, 0]));
        let kind = match packet.headers.first().map(|first| first >> 4) {
            Some(4) => 0x0800,
            Some(6) => 0x86dd,
            _ => EXPERIMENT,
        };
        bytes.extend([0xaa, 0xaa, 0x03, 0, 0, 0]);
        bytes.extend(u16::to_be_bytes(kind));
        let headers = bytes.len();
        bytes.extend(&packet.headers);
        if mpdu.parcel.ecn() == Ecn::Ce {
            mark(&mut bytes[headers..]);
        }
        // The model's packet may be longer than its headers and payload here; it is never cut.
        let zeros = packet.zeros.max(mpdu.parcel.bytes().saturating_sub(packet.headers.len() as u32));
        self.push(ppdu, &bytes, begin, zeros);
    }

    /// Appends a frame that begins at offset `begin` of `bytes`, with its frame check sequence, wrong if the PPDU
    /// collided.
    fn push(&mut self, ppdu: &Ppdu, bytes: &[u8], begin: usize, zeros: u32) {
        let spoilt = if ppdu.collided { u32::MAX } else { 0 };
        self.pcap.push_with(ppdu.at, bytes, zeros, |all| (crc32(&all[begin..]) ^ spoilt).to_le_bytes());
    }
}

/// Duration field in microseconds, rounded up, at most 32767.
fn micros(time: SimTime) -> u16 {
    time.as_nanos().div_ceil(1000).min(32_767) as u16
}

/// Sets "congestion experienced" (CE) in an IP header (RFC 3168 section 5) and updates its checksum.
fn mark(packet: &mut [u8]) {
    match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= 20 => {
            let before = u16::from_be_bytes([packet[0], packet[1]]);
            packet[1] |= 0b11;
            let after = u16::from_be_bytes([packet[0], packet[1]]);
            // RFC 1624, equation 3.
            let sum = u32::from(!u16::from_be_bytes([packet[10], packet[11]]));
            let sum = sum + u32::from(!before) + u32::from(after);
            let sum = (sum & 0xffff) + (sum >> 16);
            let sum = (sum & 0xffff) + (sum >> 16);
            packet[10..12].copy_from_slice(&(!sum as u16).to_be_bytes());
        }
        Some(6) if packet.len() >= 2 => packet[1] |= 0b11 << 4,
        _ => {}
    }
}

/// Radiotap header of a frame of `ppdu`; `ampdu` has the number of its aggregate and the flags in it.
struct Front<'a> {
    ppdu: &'a Ppdu,
    ampdu: Option<(u32, u16)>,
}

fn radiotap(ppdu: &Ppdu) -> Front<'_> {
    Front { ppdu, ampdu: None }
}

impl Front<'_> {
    fn finish(self) -> Vec<u8> {
        let Ppdu { at, rate, from, collided, .. } = *self.ppdu;
        let PpduRate { format, mcs, streams, width_mhz, guard_interval_ns, bps, band_ghz, ru_tones } = rate;
        let (mhz, kind) = match band_ghz {
            2 => (2437, CHANNEL_2_GHZ),
            5 => (5500, CHANNEL_5_GHZ),
            _ => (6495, CHANNEL_5_GHZ),
        };
        let is_short = guard_interval_ns == 400;
        let is_up = from != ACCESS_POINT;
        let flags = HAS_FCS | if collided { BAD_FCS } else { 0 };
        let mut header = Radiotap::new(at).flags(flags);
        if format == PpduFormat::Ofdm {
            header = header.rate(bps);
        }
        header = header.channel(mhz, kind | CHANNEL_OFDM);
        if format == PpduFormat::Ht {
            header = header.ht(width_mhz, is_short, 8 * (streams - 1) + mcs);
        }
        if let Some((reference, flags)) = self.ampdu {
            header = header.aggregate(reference, flags);
        }
        match format {
            PpduFormat::Vht => header.vht(width_mhz, is_short, mcs, streams),
            // EHT is shown as HE: Wireshark before 4.2 reports radiotap's EHT field as malformed.
            PpduFormat::He | PpduFormat::Eht => {
                header.he(is_up, width_mhz, guard_interval_ns, mcs, streams, ru_tones)
            }
            PpduFormat::Ofdm | PpduFormat::Ht => header,
        }
        .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::WHOLE_PACKETS;
    use crate::flow::Ecn as Negotiated;
    use crate::packet::IpVersion;

    const US: SimTime = SimTime::from_micros(1);
    /// Residue of CRC-32 over any message with its checksum.
    const RESIDUE: u32 = 0x2144_df1c;
    const STATION: u16 = 3;

    const CONNECTION: Connection = Connection {
        mss: 1460,
        w_max: 64,
        timestamps: false,
        sack: false,
        ecn: Negotiated::Off,
        linux: false,
        bytes: None,
    };

    fn capture(snaplen: u32, ip: IpVersion) -> WlanCapture {
        WlanCapture::new(CaptureConfig { ip, snaplen }, CONNECTION).unwrap()
    }

    fn rate(format: PpduFormat, bps: f64) -> PpduRate {
        let (width_mhz, guard_interval_ns) = (20, 800);
        PpduRate {
            format,
            mcs: 4,
            streams: 1,
            width_mhz,
            guard_interval_ns,
            bps,
            band_ghz: 5,
            ru_tones: None,
        }
    }

    fn ppdu(from: u16, to: u16, format: PpduFormat, content: PpduContent) -> Ppdu {
        let (at, rate) = (US * 2000, rate(format, 24e6));
        Ppdu { at, end: at + US * 28, from, to, announced: US * 44, rate, collided: false, content }
    }

    fn data(mpdus: &[PpduMpdu], is_acked_alone: bool) -> PpduContent {
        PpduContent::Data { tid: Some(6), is_aggregate: true, is_acked_alone, mpdus: mpdus.to_vec() }
    }

    /// Radiotap header and frame of each record of a capture.
    fn records(capture: &WlanCapture) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut rest = &capture.bytes()[24..];
        let mut found = Vec::new();
        while !rest.is_empty() {
            let kept = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
            assert_eq!(rest[4..8], (2_000_000_u32).to_le_bytes());
            let (record, after) = rest[16..].split_at(kept);
            let (radiotap, frame) = record.split_at(usize::from(record[2]));
            found.push((radiotap.to_vec(), frame.to_vec()));
            rest = after;
        }
        found
    }

    /// Control frames have the bytes laid out by hand; their checksums are those of zlib.
    #[test]
    #[rustfmt::skip]
    fn control_frames_are_those_of_the_standard() {
        let mut capture = capture(WHOLE_PACKETS, IpVersion::V4);
        let mut send = |from, to, announced, content| {
            let sent = ppdu(from, to, PpduFormat::Ofdm, content);
            capture.on_ppdu(&Ppdu { announced, ..sent });
        };
        send(0, STATION, SimTime::ZERO, PpduContent::Ack);
        send(STATION, 0, SimTime::from_nanos(43_001), PpduContent::Cts);
        send(0, STATION, US * 300, PpduContent::Rts);
        send(STATION, 0, US * 48, PpduContent::BlockAckRequest { tid: 6, start: 4096 + 4095 });
        let mut has = vec![false; 64];
        for place in [0, 2, 9] {
            has[place] = true;
        }
        send(STATION, 0, SimTime::ZERO, PpduContent::BlockAck { tid: 6, start: 4095, has });
        for bits in [256, 512, 1024] {
            let has = vec![true; bits];
            send(STATION, 0, SimTime::ZERO, PpduContent::BlockAck { tid: 0, start: 1, has });
        }
        assert_eq!(capture.bytes()[20..24], 127_u32.to_le_bytes());
        let records = records(&capture);
        let [to_station, to_access_point] = [[2, 0, 0, 0, 0, 3], [2, 0, 0, 0, 0, 0]];
        let ack = [&[0xd4, 0, 0, 0][..], &to_station, &[0xf4, 0xb7, 0xb1, 0x61]].concat();
        assert_eq!(records[0].1, ack);
        assert_eq!(records[0].0[16..], [0x10, 48, 0x7c, 0x15, 0x40, 0x01]);
        let cts = [&[0xc4, 0, 44, 0][..], &to_access_point, &[0xbf, 0x10, 0xcf, 0x71]].concat();
        assert_eq!(records[1].1, cts);
        let rts = [&[0xb4, 0, 0x2c, 0x01][..], &to_station, &to_access_point].concat();
        assert_eq!((&records[2].1[..16], records[2].1.len()), (&rts[..], 20));
        let bar = [&[0x84, 0, 48, 0][..], &to_access_point, &to_station, &[0x04, 0x60, 0xf0, 0xff]].concat();
        assert_eq!((&records[3].1[..20], records[3].1.len()), (&bar[..], 24));
        let block = [0x04, 0x60, 0xf0, 0xff, 0x05, 0x02, 0, 0, 0, 0, 0, 0];
        let block = [&[0x94, 0, 0, 0][..], &to_access_point, &to_station, &block, &[0x57, 0x25, 0x8d, 0xf3]].concat();
        assert_eq!(records[4].1, block);
        for ((_, frame), (length, start)) in records[5..].iter().zip([(56, 0x14), (88, 0x18), (152, 0x1a)]) {
            assert_eq!((frame.len(), frame[18]), (length, start));
        }
        assert!(records.iter().all(|(_, frame)| crc32(frame) == RESIDUE));
    }

    #[test]
    fn an_aggregate_is_its_mpdus_with_one_number() {
        let mut capture = capture(WHOLE_PACKETS, IpVersion::V4);
        let parcels = [0, 1].map(|id| Parcel::new(id, 0, 128));
        for parcel in parcels {
            capture.on_datagram(5, parcel);
        }
        let mpdu = |number, attempt, parcel| PpduMpdu { number, attempt, parcel };
        let both = [mpdu(4097, 0, parcels[0]), mpdu(4098, 0, parcels[1])];
        capture.on_ppdu(&ppdu(0, STATION, PpduFormat::Vht, data(&both, false)));
        // Another packet reuses the parcel identifier of the first.
        capture.on_segment(0, parcels[0], &Segment::default());
        let again = [mpdu(4097, 1, parcels[0])];
        let collides = ppdu(0, STATION, PpduFormat::Vht, data(&again, false));
        capture.on_ppdu(&Ppdu { collided: true, ..collides });
        capture.on_ppdu(&ppdu(STATION, 0, PpduFormat::Vht, data(&[mpdu(0, 0, parcels[0])], true)));
        let records = records(&capture);
        #[rustfmt::skip]
        let expected = [
            0x88, 0x02, 44, 0,  2, 0, 0, 0, 0, 3,  2, 0, 0, 0, 0, 0,  2, 0, 0, 1, 0, 0,  0x10, 0,  6, 0,
            0xaa, 0xaa, 3, 0, 0, 0, 8, 0,  0x45, 0, 0, 128,
        ];
        let (front, frame) = &records[0];
        assert_eq!((&frame[..38], frame.len()), (&expected[..], 26 + 8 + 128 + 4));
        // UDP from 50005 to 9.
        assert_eq!(frame[34 + 20..][..4], [0xc3, 0x55, 0, 9]);
        let ampdu = |front: &[u8]| (front[24], front[28]);
        assert_eq!((ampdu(front), ampdu(&records[1].0)), ((1, 0x04), (1, 0x0c)));
        // The retransmission is the packet of the first attempt; only its Retry bit differs.
        let (front, again) = &records[2];
        assert_eq!((again[1], &again[2..54]), (0x0a, &frame[2..54]));
        assert_eq!((ampdu(front), front[16]), ((2, 0x0c), 0x50));
        // An uplink TCP packet, acknowledged alone.
        let (front, up) = &records[3];
        assert_eq!((up[1], &up[16..22]), (0x01, &DISTRIBUTION[..]));
        assert_eq!((ampdu(front), up[34 + 9]), ((3, 0xcc), 6));
        let is_good = |(_, frame): &(Vec<u8>, Vec<u8>)| crc32(frame) == RESIDUE;
        assert_eq!(records.iter().map(is_good).collect::<Vec<_>>(), [true, true, false, true]);
    }

    /// Retry is not set on the first MPDU with a number, although an earlier attempt ended with its RTS.
    #[test]
    fn an_attempt_that_ended_with_its_rts_is_no_retransmission() {
        let mut capture = capture(WHOLE_PACKETS, IpVersion::V4);
        let parcel = Parcel::new(4, 0, 300);
        capture.on_datagram(0, parcel);
        for attempt in [2, 3] {
            let content = data(&[PpduMpdu { number: 9, attempt, parcel }], false);
            capture.on_ppdu(&ppdu(0, STATION, PpduFormat::He, content));
        }
        let records = records(&capture);
        assert_eq!([0, 1].map(|place: usize| records[place].1[1]), [0x02, 0x0a]);
        assert!(records.iter().all(|(_, frame)| frame[32..36] == [8, 0, 0x45, 0]));
    }

    /// Retry is not set on the first MPDU with a number, although later numbers were sent before on another link of a
    /// multi-link device; each MPDU has its own packet.
    #[test]
    fn numbers_of_two_links_come_in_any_order() {
        let mut capture = capture(WHOLE_PACKETS, IpVersion::V4);
        let parcels = [0, 1, 2, 3].map(|id| Parcel::new(id, 0, 300 + id));
        for parcel in parcels {
            capture.on_datagram(0, parcel);
        }
        for numbers in [2..4, 0..2, 1..2_usize] {
            let mpdus: Vec<PpduMpdu> = numbers
                .map(|number| PpduMpdu { number: number as u64, attempt: 0, parcel: parcels[number] })
                .collect();
            capture.on_ppdu(&ppdu(0, STATION, PpduFormat::Eht, data(&mpdus, false)));
        }
        let records = records(&capture);
        let retries: Vec<u8> = records.iter().map(|(_, frame)| frame[1]).collect();
        assert_eq!(retries, [0x02, 0x02, 0x02, 0x02, 0x0a]);
        let lengths: Vec<u8> = records.iter().map(|(_, frame)| frame[37]).collect();
        assert_eq!(lengths, [302, 303, 300, 301, 301].map(|bytes: u32| (bytes % 256) as u8));
    }

    #[test]
    fn a_frame_that_is_cut_tells_its_length_and_no_checksum() {
        let mut capture = capture(100, IpVersion::V6);
        let parcel = Parcel::new(7, 0, 1500);
        capture.on_packet(parcel, vec![0x60; 50]);
        let content = data(&[PpduMpdu { number: 0, attempt: 0, parcel }], false);
        capture.on_ppdu(&ppdu(0, STATION, PpduFormat::He, content));
        let record = &capture.bytes()[24..];
        let radiotap = u32::from(record[18]);
        assert_eq!(record[8..12], 100_u32.to_le_bytes());
        assert_eq!(record[12..16], (radiotap + 1538).to_le_bytes());
        assert_eq!(record.len(), 116);
        assert_eq!(record[16 + radiotap as usize + 32..][..4], [0x86, 0xdd, 0x60, 0x60]);
    }

    /// A marked packet has CE, and the header's checksum is right before and after (RFC 1071).
    #[test]
    fn a_marked_packet_shows_it() {
        let mut flows = Flows::new(IpVersion::V4, CONNECTION).unwrap();
        let mut v4 = flows.datagram(0, 500).headers;
        mark(&mut v4);
        let sum: u32 = v4[..20].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        assert_eq!((v4[1] & 3, (sum & 0xffff) + (sum >> 16)), (3, 0xffff));
        let mut v6 = [0x60, 0, 0, 0];
        mark(&mut v6);
        assert_eq!(v6, [0x60, 0x30, 0, 0]);
        mark(&mut []);
    }
}
