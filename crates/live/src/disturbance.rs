//! Disturbances of packets beside a link: a NAT with changing port bindings, and lost packets that arrive corrupted.

use crate::header;
use crossfade_core::SimTime;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Times at which a network address translator (NAT) in front of the second host changes the external ports of its UDP
/// flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rebinding {
    /// Time of the first rebinding, from the start of the emulation.
    pub first: SimTime,
    /// Interval between rebindings after the first one; above zero.
    pub every: SimTime,
}

/// First port that the NAT changes; ports below it are kept.
const FIRST_PORT: u16 = 1024;
/// Distance between the external ports of one flow before and after a rebinding: a prime, so that ports return only
/// after all have been used.
const STEP: u64 = 7919;

/// NAT for the UDP source ports of the second host, shared by both directions.
#[derive(Clone, Debug)]
pub(crate) struct Translator {
    rebinding: Rebinding,
    bound: Arc<Mutex<Bound>>,
}

/// Bindings since the last rebinding: the host's own port by its external port.
#[derive(Debug, Default)]
struct Bound {
    rebindings: u64,
    inside: BTreeMap<u16, u16>,
}

impl Translator {
    pub(crate) fn new(rebinding: Rebinding) -> Self {
        Self { rebinding, bound: Arc::default() }
    }

    /// Number of rebindings until time `now`.
    fn rebindings(&self, now: SimTime) -> u64 {
        let Rebinding { first, every } = self.rebinding;
        if now < first { 0 } else { 1 + (now - first).as_nanos() / every.as_nanos().max(1) }
    }

    /// Replaces the source port of a UDP packet of the host by its external port; other packets stay unchanged.
    pub(crate) fn outward(&self, now: SimTime, packet: &mut [u8], is_partial: bool) {
        let Some(at) = header::udp(packet) else { return };
        let inside = port(packet, at);
        let rebindings = self.rebindings(now);
        let outside = outside(inside, rebindings);
        let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        if bound.rebindings != rebindings {
            *bound = Bound { rebindings, ..Bound::default() };
        }
        bound.inside.insert(outside, inside);
        drop(bound);
        set_port(packet, at, at, outside, is_partial);
    }

    /// Replaces the destination port of a UDP packet for the host by the host's own port. Returns false if no packet
    /// has left from this external port since the last rebinding: a NAT drops it.
    pub(crate) fn inward(&self, now: SimTime, packet: &mut [u8], is_partial: bool) -> bool {
        let Some(at) = header::udp(packet) else { return true };
        let bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        let is_current = bound.rebindings == self.rebindings(now);
        let inside = bound.inside.get(&port(packet, at + 2)).copied().filter(|_| is_current);
        drop(bound);
        if let Some(inside) = inside {
            set_port(packet, at, at + 2, inside, is_partial);
        }
        inside.is_some()
    }
}

/// External port of the host's port `inside` after a number of rebindings.
fn outside(inside: u16, rebindings: u64) -> u16 {
    let Some(offset) = inside.checked_sub(FIRST_PORT) else { return inside };
    let ports = u64::from(u16::MAX - FIRST_PORT) + 1;
    FIRST_PORT + ((u64::from(offset) + rebindings * STEP) % ports) as u16
}

fn port(packet: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([packet[at], packet[at + 1]])
}

/// Writes port `new` at offset `place` of a packet whose UDP header begins at `at`, and updates the checksum unless the
/// kernel has left it to the device (`is_partial`) or the packet has none.
fn set_port(packet: &mut [u8], at: usize, place: usize, new: u16, is_partial: bool) {
    let old = port(packet, place);
    packet[place..place + 2].copy_from_slice(&new.to_be_bytes());
    if !is_partial && packet[at + 6..at + 8] != [0, 0] {
        header::correct(&mut packet[at + 6..at + 8], old, new);
        // RFC 768: a checksum that is computed as zero is sent as all ones.
        if packet[at + 6..at + 8] == [0, 0] {
            packet[at + 6..at + 8].fill(0xff);
        }
    }
}

/// Number of payload bytes among which one is changed: in QUIC it often lies in the header.
const FRONT: usize = 50;

/// Changes one byte of a packet, among the first 50 of its payload. A UDP packet over IPv4 loses its checksum, so the
/// receiving program gets it; the kernel discards any other.
pub(crate) fn corrupt(packet: &mut [u8]) {
    let hash = packet
        .iter()
        .fold(0x811c_9dc5, |hash: u32, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let udp = header::udp(packet).filter(|at| packet.len() > at + 8);
    if let Some(at) = udp.filter(|_| packet[0] >> 4 == 4) {
        packet[at + 6..at + 8].fill(0);
    }
    let from = udp.map(|at| at + 8).or_else(|| header::tcp(packet)).unwrap_or(0);
    let front = (packet.len() - from).min(FRONT);
    if front > 0 {
        let place = from + hash as usize % front;
        packet[place] ^= 1 + (hash >> 16) as u8 % 255;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{PacketBuilder, SlicedPacket, TransportSlice};

    const S: fn(u64) -> SimTime = |seconds| SimTime::from_millis(1_000 * seconds);

    fn udp(ports: [u16; 2], data: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ipv4([10, 77, 0, 2], [10, 77, 0, 1], 64).udp(ports[0], ports[1]);
        builder.write(&mut packet, data).unwrap();
        packet
    }

    fn is_sound(packet: &[u8]) -> bool {
        let sliced = SlicedPacket::from_ip(packet).unwrap();
        let Some(TransportSlice::Udp(found)) = sliced.transport else { panic!("no UDP") };
        let ip = etherparse::Ipv4HeaderSlice::from_slice(packet).unwrap().to_header();
        let header = found.to_header();
        header.checksum == header.calc_checksum_ipv4(&ip, found.payload()).unwrap()
    }

    fn translator() -> Translator {
        Translator::new(Rebinding { first: S(1), every: S(5) })
    }

    #[test]
    fn a_flow_keeps_its_port_until_the_nat_forgets_it() {
        let translator = translator();
        let at = |time_s: f64| {
            let mut packet = udp([50_000, 4433], b"hello");
            translator.outward(SimTime::from_secs_f64(time_s), &mut packet, false);
            assert!(is_sound(&packet), "checksum at {time_s}");
            assert_eq!(port(&packet, 22), 4433);
            port(&packet, 20)
        };
        assert_eq!([at(0.0), at(0.999)], [50_000; 2]);
        let second = at(1.0);
        assert_ne!(second, 50_000);
        assert_eq!(at(5.999), second);
        assert!(![50_000, second].contains(&at(6.0)));
    }

    #[test]
    fn answers_come_back_by_the_present_port_and_by_no_earlier_one() {
        let translator = translator();
        let mut packet = udp([50_000, 4433], b"hello");
        translator.outward(S(0), &mut packet, false);
        let mut answer = udp([4433, 50_000], b"world");
        assert!(translator.inward(S(0), &mut answer, false));
        assert_eq!(answer, udp([4433, 50_000], b"world"));
        // The NAT has forgotten the port, and the host has sent nothing since.
        assert!(!translator.inward(S(2), &mut answer, false));
        translator.outward(S(2), &mut packet, false);
        let outside = port(&packet, 20);
        assert!(!translator.inward(S(3), &mut udp([4433, 50_000], b"world"), false));
        let mut answer = udp([4433, outside], b"world");
        assert!(translator.inward(S(3), &mut answer, false));
        assert_eq!(answer, udp([4433, 50_000], b"world"));
        assert!(!translator.inward(S(3), &mut udp([4433, 53], b"who?"), false));
    }

    #[test]
    fn tcp_is_not_translated() {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ipv4([10, 77, 0, 2], [10, 77, 0, 1], 64).tcp(50_000, 80, 1, 1000);
        builder.write(&mut packet, &[7; 100]).unwrap();
        let before = packet.clone();
        translator().outward(S(10), &mut packet, false);
        assert!(translator().inward(S(10), &mut packet, false));
        assert_eq!(packet, before);
    }

    #[test]
    fn a_corrupted_packet_differs_in_one_byte_and_only_udp_hides_it() {
        for length in [1, 10, 50, 1200] {
            let whole = udp([50_000, 4433], &vec![length as u8; length]);
            let mut packet = whole.clone();
            corrupt(&mut packet);
            let places: Vec<_> = (28..whole.len()).filter(|&at| packet[at] != whole[at]).collect();
            assert!(places.len() == 1 && places[0] < 78, "{length}: {places:?}");
            assert_eq!(packet[26..28], [0, 0]);
            assert_eq!(packet[..26], whole[..26]);
        }
        let mut tcp = Vec::new();
        let builder = PacketBuilder::ipv4([10, 77, 0, 2], [10, 77, 0, 1], 64).tcp(50_000, 80, 1, 1000);
        builder.write(&mut tcp, &[7; 100]).unwrap();
        let whole = tcp.clone();
        corrupt(&mut tcp);
        let places: Vec<_> = (0..whole.len()).filter(|&at| tcp[at] != whole[at]).collect();
        assert!(places.len() == 1 && places[0] >= 20, "{places:?}");
        for length in 0..40 {
            corrupt(&mut vec![0x45; length]);
            corrupt(&mut vec![0x60; length]);
        }
    }
}
