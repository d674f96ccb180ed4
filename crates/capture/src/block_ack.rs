//! Fields of block acknowledgements and requests (IEEE 802.11ax-2021 clause 9.3.1): a file of its own, since frames of
//! one station and of several have them alike.

/// The variant of block acknowledgements and requests, in bits 1 to 4 of their control field (table 9-30).
const COMPRESSED: u16 = 2 << 1;

/// The fragment number of a block acknowledgement, which tells how long its bitmap is (table 9-31 of IEEE
/// 802.11ax-2021, and 802.11be).
pub(crate) const fn bitmap_length(bits: usize) -> u16 {
    match bits {
        0..=64 => 0,
        65..=256 => 4,
        257..=512 => 8,
        _ => 10,
    }
}

/// Bits as bytes, the first bit the lowest.
pub(crate) fn bitmap(has: &[bool]) -> impl Iterator<Item = u8> {
    has.chunks(8).map(|bits| (0..).zip(bits).fold(0, |byte, (place, &bit)| byte | u8::from(bit) << place))
}

/// The control field and the starting sequence control of a block acknowledgement or request.
pub(crate) fn block(tid: u8, start: u64, fragment: u16) -> [u8; 4] {
    let [control, start] = [COMPRESSED | u16::from(tid) << 12, ((start % 4096) as u16) << 4 | fragment];
    let ([a, b], [c, d]) = (control.to_le_bytes(), start.to_le_bytes());
    [a, b, c, d]
}
