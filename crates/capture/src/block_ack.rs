//! Fields of block acknowledgements and requests (IEEE 802.11ax-2021 clause 9.3.1): a file of its own, since frames of
//! one station and of several have them.

/// Variant "compressed" of a block acknowledgement or request, in bits 1 to 4 of the control field (table 9-30).
const COMPRESSED: u16 = 2 << 1;

/// Fragment number of a block acknowledgement, which encodes the length of its bitmap of `bits` (table 9-31 of IEEE
/// 802.11ax-2021, and 802.11be).
pub(crate) const fn bitmap_length(bits: usize) -> u16 {
    match bits {
        0..=64 => 0,
        65..=256 => 4,
        257..=512 => 8,
        _ => 10,
    }
}

/// Packs booleans into bytes, the first in the lowest bit.
pub(crate) fn bitmap(has: &[bool]) -> impl Iterator<Item = u8> {
    has.chunks(8).map(|bits| (0..).zip(bits).fold(0, |byte, (place, &bit)| byte | u8::from(bit) << place))
}

/// Control field and starting sequence control of a block acknowledgement or request.
pub(crate) fn block(tid: u8, start: u64, fragment: u16) -> [u8; 4] {
    let [control, start] = [COMPRESSED | u16::from(tid) << 12, ((start % 4096) as u16) << 4 | fragment];
    let ([a, b], [c, d]) = (control.to_le_bytes(), start.to_le_bytes());
    [a, b, c, d]
}
