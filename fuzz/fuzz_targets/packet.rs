//! Fuzz target: any bytes as a packet that a program sends over a live link, after ten bytes of the device's header
//! (`virtio_net_hdr`). Checks the properties that the link reads, the congestion mark that it writes, and the segments
//! into which it cuts the packet.
#![no_main]

use crossfade_link::Ecn;
use crossfade_live::{Kind, Segments, kind, mark_ce, parcel};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((virtio, packet)) = bytes.split_first_chunk() else { return };
    look(packet);
    cut(*virtio, packet);
});

fn look(packet: &[u8]) {
    let of = parcel(7, packet);
    assert_eq!((of.id(), of.bytes() as usize), (7, packet.len()));
    let is_ip = packet.first().is_some_and(|first| matches!(first >> 4, 4 | 6));
    assert!(is_ip || (kind(packet) == Kind::Data && of.flow() == 0));
    let mut marked = packet.to_vec();
    mark_ce(&mut marked);
    assert_eq!(marked.len(), packet.len());
    if marked != packet {
        let again = parcel(7, &marked);
        assert_eq!((again.flow(), again.ecn(), kind(&marked)), (of.flow(), Ecn::Ce, kind(packet)));
    }
}

/// Checks that the segments contain all payload, and that joined segments are cut into the same segments again.
fn cut(virtio: [u8; 10], packet: &[u8]) {
    let segments = Segments::of(virtio, packet);
    let count = segments.count();
    let wires: Vec<Vec<u8>> = (0..count).map(|segment| segments.on_wire(packet, segment)).collect();
    assert!(count > 1 || wires[0].len() == packet.len());
    let mut joined = Vec::new();
    // All segments, from the second and from the middle one to the last, and all but the last.
    for run in [0..count, 1.min(count - 1)..count, count / 2..count, 0..count.max(2) - 1] {
        let (virtio, payload) = segments.join(packet, run.clone(), &mut joined);
        let headers = joined.len();
        joined.extend_from_slice(&packet[payload]);
        let again = Segments::of(virtio, &joined);
        assert_eq!(again.count() as usize, run.len());
        for (number, segment) in run.enumerate() {
            assert_eq!(again.on_wire(&joined, number as u32), wires[segment as usize]);
        }
        if joined.len() == packet.len() {
            let all: Vec<u8> = wires.iter().flat_map(|wire| &wire[headers..]).copied().collect();
            // A packet that is one has its checksum in what is not cut.
            assert!(count == 1 || all == packet[headers..]);
        }
    }
}
