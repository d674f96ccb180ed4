//! Fuzz target: any bytes as a journal, and any entries in an otherwise valid journal, must give an error of one line,
//! or a replay that ends.
#![no_main]

use crossfade_experiment::live::{link_events, packets, replay};
use crossfade_live::Journal;
use libfuzzer_sys::fuzz_target;

const SCENARIO: &str = "schema = 1\nchannel = { model = 'iid', p_e = 0.1 }\nlink = { rate = '1 Mbit/s', \
    packet_size = '1500 B', queue = { limit = '20 packets' } }\ntcp = { flavour = 'rfc', variant = 'sack' }\n";

/// The CRC-32 of IEEE 802.3, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| crc >> 1 ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}

fn block(kind: u8, content: &[u8]) -> Vec<u8> {
    let mut block = [&[kind][..], &(content.len() as u32).to_le_bytes(), content].concat();
    let sum = crc32(&block);
    block.extend(sum.to_le_bytes());
    block
}

fn check(bytes: &[u8]) {
    if let Err(error) = Journal::parse(bytes) {
        assert!(!error.to_string().contains('\n'));
        return;
    }
    let found = packets(bytes);
    if let Ok(of) = &found {
        assert!(of.packets.iter().all(|packet| packet.arrived_ns.is_none_or(|at| at >= packet.sent_ns)));
    }
    for error in [replay(bytes).err(), link_events(bytes).err(), found.err()].into_iter().flatten() {
        assert!(!error.to_string().contains('\n'));
    }
}

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    let header = format!(
        "{{\"scenario\":{{\"name\":\"fuzz\",\"text\":{SCENARIO:?},\"overrides\":{{}},\"files\":{{}}}},\"point\":0,\
         \"seed\":1,\"run\":0,\"mtu\":1500,\"data_only\":false,\"version\":\"\",\"results_version\":0,\"kernel\":\"\"}}"
    );
    // A complete journal with the input as its entries, 24 bytes each.
    let whole = bytes.len() / 24 * 24;
    let entries = &bytes[..whole];
    let journal = [
        b"crossfade journal 1\n".to_vec(),
        block(b'H', header.as_bytes()),
        block(b'E', entries),
        block(b'C', b""),
        block(b'Z', &((whole / 24) as u64).to_le_bytes()),
    ];
    check(&journal.concat());
});
