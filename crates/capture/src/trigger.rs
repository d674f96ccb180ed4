//! Bodies of control frames for several stations: trigger frames and multi-station block acknowledgements (IEEE
//! 802.11ax-2021 clauses 9.3.1.8.7 and 9.3.1.22).

use crate::block_ack::{bitmap, bitmap_length, block};
use crossfade_core::SimTime;
use crossfade_link::{PpduBlock, PpduRate, PpduTrigger, PpduTriggered};

/// Variant "multi-STA" of a block acknowledgement, in bits 1 to 4 of its control field (table 9-30).
const OF_SEVERAL: u16 = 11 << 1;

/// Body of a multi-station block acknowledgement: the control field, then for each station its association identifier
/// (here its node number), traffic identifier, starting sequence control and bitmap.
pub(crate) fn of_several(of: &[(u16, PpduBlock)]) -> Vec<u8> {
    let mut body = OF_SEVERAL.to_le_bytes().to_vec();
    for (node, PpduBlock { tid, start, has }) in of {
        body.extend((node & 0x7ff | u16::from(*tid) << 12).to_le_bytes());
        body.extend(((((start % 4096) as u16) << 4) | bitmap_length(has.len())).to_le_bytes());
        body.extend(bitmap(has));
    }
    body
}

/// Body of a trigger frame: the common field of 8 bytes, then for each station a user field of 5 bytes and what the
/// kind of trigger adds. `rate` is that of the trigger, except its width, which is that of the triggered PPDU; `lasts`
/// is the duration of the triggered PPDU.
pub(crate) fn trigger(
    rate: &PpduRate,
    kind: PpduTrigger,
    lasts: SimTime,
    users: &[PpduTriggered],
) -> Vec<u8> {
    let number = match kind {
        PpduTrigger::Basic => 0,
        PpduTrigger::BlockAcks => 2,
        PpduTrigger::Cts => 3,
    };
    // LENGTH of the triggered PPDU's legacy header (equation 27-11): 3 bytes each 4 us after the legacy preamble, less
    // 3 and 2.
    let symbols = lasts.as_nanos().saturating_sub(20_000).div_ceil(4000);
    let length = (3 * symbols).saturating_sub(5) & 0xfff;
    let width: u64 = match rate.width_mhz {
        20 => 0,
        40 => 1,
        80 => 2,
        _ => 3,
    };
    let streams = users.iter().map(|user| u64::from(user.streams)).max().unwrap_or(1);
    // Carrier sense is required; training of 2x with 1.6 us, or of 4x with 3.2 us; the number of training fields.
    let guard = if rate.guard_interval_ns > 1600 { 2 } else { 1 };
    let training = if streams <= 1 { 0 } else { streams.div_ceil(2) };
    let common: u64 = number | length << 4 | 1 << 17 | width << 18 | guard << 20 | training << 23;
    let mut body = common.to_le_bytes().to_vec();
    for user in users {
        let of: u64 = u64::from(user.node & 0xfff)
            | u64::from(user.ru_allocation) << 12
            // LDPC.
            | 1 << 20
            | u64::from(user.mcs & 0xf) << 21
            | u64::from(user.streams.saturating_sub(1) & 7) << 29;
        body.extend(&of.to_le_bytes()[..5]);
        match kind {
            // One traffic identifier may be sent.
            PpduTrigger::Basic => body.push(1 << 2),
            PpduTrigger::BlockAcks => body.extend(block(user.tid, user.start, 0)),
            PpduTrigger::Cts => {}
        }
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_link::PpduFormat;

    const USER: PpduTriggered =
        PpduTriggered { node: 3, ru_allocation: 53 << 1, mcs: 11, streams: 1, tid: 6, start: 4097 };

    fn rate(width_mhz: u16) -> PpduRate {
        PpduRate {
            format: PpduFormat::Ofdm,
            mcs: 4,
            streams: 1,
            width_mhz,
            guard_interval_ns: 800,
            bps: 24e6,
            band_ghz: 5,
            ru_tones: None,
        }
    }

    /// A basic trigger has the bytes laid out by hand. A PPDU of 264 us is 20 us and 61 symbols of 4 us: LENGTH is 3 x
    /// 61 - 5 = 178, 0xb2.
    #[test]
    fn triggers_are_laid_out_as_in_the_standard() {
        let basic = trigger(&rate(80), PpduTrigger::Basic, SimTime::from_micros(264), &[USER; 2]);
        // Bits: kind 0, length 0xb2 from 4, carrier sense 17, 80 MHz at 18, 2x training at 20.
        assert_eq!(basic[..8], [0x20, 0x0b, 0x1a, 0, 0, 0, 0, 0]);
        // Identifier 3, allocation 106 (0x6a) from bit 12, LDPC at 20, MCS 11 at 21, one stream.
        assert_eq!(basic[8..14], [0x03, 0xa0, 0x76, 0x01, 0, 0x04]);
        assert_eq!(basic.len(), 8 + 2 * 6);
        let asked = trigger(&rate(20), PpduTrigger::BlockAcks, SimTime::from_micros(91), &[USER]);
        assert_eq!((asked[0] & 0xf, asked.len()), (2, 8 + 9));
        assert_eq!(asked[13..], [0x04, 0x60, 0x10, 0x00]);
        assert_eq!(trigger(&rate(20), PpduTrigger::Cts, SimTime::from_micros(44), &[USER]).len(), 8 + 5);
    }

    #[test]
    fn acknowledgements_of_several_name_each_station() {
        let mut has = vec![false; 64];
        has[9] = true;
        let of = |node, bits: usize| {
            (
                node,
                PpduBlock {
                    tid: 6,
                    start: 4097,
                    has: if bits == 64 { has.clone() } else { vec![true; bits] },
                },
            )
        };
        let body = of_several(&[of(3, 64), of(4, 256)]);
        assert_eq!(body[..6], [0x16, 0, 0x03, 0x60, 0x10, 0x00]);
        assert_eq!(body[6..14], [0, 2, 0, 0, 0, 0, 0, 0]);
        assert_eq!(body[14..18], [0x04, 0x60, 0x14, 0x00]);
        assert_eq!((body[18..].len(), body[18..].iter().all(|&byte| byte == 0xff)), (32, true));
    }
}
