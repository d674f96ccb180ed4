//! Radiotap header in front of a captured 802.11 frame (radiotap.org).

use crossfade_core::SimTime;

/// Radiotap header under construction; its fields are added in the order of their numbers.
pub(crate) struct Radiotap {
    present: u32,
    bytes: Vec<u8>,
}

/// Radiotap channel flag of the 2.4 GHz band.
pub(crate) const CHANNEL_2_GHZ: u16 = 0x0080;
/// Radiotap channel flag of the 5 GHz band, which Linux also sets for 6 GHz.
pub(crate) const CHANNEL_5_GHZ: u16 = 0x0100;
/// Radiotap channel flag of OFDM.
pub(crate) const CHANNEL_OFDM: u16 = 0x0040;

/// Radiotap flag: the frame ends in its frame check sequence.
pub(crate) const HAS_FCS: u8 = 0x10;
/// Radiotap flag: the frame check sequence is wrong.
pub(crate) const BAD_FCS: u8 = 0x40;

/// Bit of an A-MPDU's radiotap flags: it is known if this MPDU is the last of the aggregate.
pub(crate) const LAST_KNOWN: u16 = 0x0004;
/// Bit of an A-MPDU's radiotap flags: this MPDU is the last of the aggregate.
pub(crate) const IS_LAST: u16 = 0x0008;
/// Bits of an A-MPDU's radiotap flags: the delimiter's end-of-frame bit is known and set. It marks an MPDU which is
/// alone in its aggregate and acknowledged alone.
pub(crate) const IS_ALONE: u16 = 0x0040 | 0x0080;

impl Radiotap {
    /// Radiotap header with the arrival time of the first bit (TSFT), in microseconds.
    pub(crate) fn new(at: SimTime) -> Self {
        // Version, padding, length and fields follow at the end.
        Self { present: 0, bytes: vec![0; 8] }.field(0, 8, &(at.as_nanos() / 1000).to_le_bytes())
    }

    /// Appends field `number`, aligned to a multiple of `align` bytes.
    fn field(mut self, number: u32, align: usize, content: &[u8]) -> Self {
        assert!(self.present >> number == 0, "fields are in the order of their numbers");
        self.present |= 1 << number;
        self.bytes.resize(self.bytes.len().next_multiple_of(align), 0);
        self.bytes.extend(content);
        self
    }

    fn halves<const N: usize>(self, number: u32, content: [u16; N]) -> Self {
        self.field(number, 2, content.map(u16::to_le_bytes).as_flattened())
    }

    pub(crate) fn flags(self, flags: u8) -> Self {
        self.field(1, 1, &[flags])
    }

    /// Appends the rate field; a rate which is no multiple of 500 kbit/s, or above 127.5 Mbit/s, is left out.
    pub(crate) fn rate(self, bps: f64) -> Self {
        let half_mbps = bps / 500e3;
        if half_mbps.fract() == 0.0 && (1.0..=255.0).contains(&half_mbps) {
            self.field(2, 1, &[half_mbps as u8])
        } else {
            self
        }
    }

    /// Appends the channel field: frequency in MHz and flags of band and modulation.
    pub(crate) fn channel(self, mhz: u16, kind: u16) -> Self {
        self.halves(3, [mhz, kind])
    }

    /// Appends the MCS field of HT (802.11n): mixed format, LDPC, no space-time code, no extension streams; all known.
    pub(crate) fn ht(self, width_mhz: u16, is_short: bool, index: u8) -> Self {
        let flags = u8::from(width_mhz == 40) | u8::from(is_short) << 2 | 1 << 4;
        self.field(19, 1, &[0x7f, flags, index])
    }

    /// Appends the A-MPDU field: number of the aggregate that the MPDU belongs to, and flags.
    pub(crate) fn aggregate(self, reference: u32, flags: u16) -> Self {
        let content = [reference.to_le_bytes(), [flags as u8, (flags >> 8) as u8, 0, 0]];
        self.field(20, 4, content.as_flattened())
    }

    /// Appends the VHT field (802.11ac) of one user: guard interval and width known, no space-time code, LDPC.
    pub(crate) fn vht(self, width_mhz: u16, is_short: bool, mcs: u8, streams: u8) -> Self {
        let width = match width_mhz {
            20 => 0,
            40 => 1,
            80 => 4,
            _ => 11,
        };
        let [low, high] = 0x0045_u16.to_le_bytes();
        let user = mcs << 4 | streams;
        self.field(21, 2, &[low, high, u8::from(is_short) << 2, width, user, 0, 0, 0, 1, 0, 0, 0])
    }

    /// Appends the HE field (802.11ax): of one user, or, with `ru_tones`, of one of several on a resource unit of that
    /// many tones. Direction, MCS, coding, guard interval, training fields and a width up to 160 MHz are known; coding
    /// is LDPC.
    pub(crate) fn he(
        self,
        is_up: bool,
        width_mhz: u16,
        guard_interval_ns: u16,
        mcs: u8,
        streams: u8,
        ru_tones: Option<u16>,
    ) -> Self {
        const UP: u16 = 0x0010;
        const MCS: u16 = 0x0020;
        /// Coding (LDPC or not) and space-time code are known.
        const CODES: u16 = 0x0080 | 0x0200;
        const WIDTH: u16 = 0x4000;
        const GUARD_INTERVAL: u16 = 0x0002;
        const TRAINING: u16 = 0x0004;
        /// Format in the two lowest bits: 0 for one user, 2 for a downlink to several users, 3 for a triggered uplink.
        const TO_SEVERAL: u16 = 2;
        const TRIGGERED: u16 = 3;
        let width = match ru_tones {
            None => [20, 40, 80, 160].iter().position(|&known| known == width_mhz),
            Some(tones) => [26, 52, 106, 242, 484, 996, 1992]
                .iter()
                .position(|&known| known == tones)
                .map(|place| place + 4),
        };
        let kind = match (ru_tones, is_up) {
            (None, _) => 0,
            (Some(_), false) => TO_SEVERAL,
            (Some(_), true) => TRIGGERED,
        };
        let guard_interval: u16 = match guard_interval_ns {
            800 => 0,
            1600 => 1,
            _ => 2,
        };
        // 1, 2, 4, 6 or 8 training fields.
        let training = match streams {
            1 => 0,
            streams => u16::from(streams).div_ceil(2),
        };
        self.halves(
            23,
            [
                kind | UP | MCS | CODES | width.map_or(0, |_| WIDTH),
                GUARD_INTERVAL | TRAINING,
                u16::from(is_up) << 7 | u16::from(mcs) << 8 | 1 << 13,
                0,
                width.unwrap_or(0) as u16 | guard_interval << 4 | training << 8,
                u16::from(streams),
            ],
        )
    }

    /// The finished radiotap header, as bytes.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let length = self.bytes.len() as u16;
        self.bytes[2..4].copy_from_slice(&length.to_le_bytes());
        self.bytes[4..8].copy_from_slice(&self.present.to_le_bytes());
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun() -> Radiotap {
        Radiotap::new(SimTime::from_micros(1000)).flags(HAS_FCS)
    }

    /// Every field lies at a multiple of its alignment, as laid out by hand from radiotap.org.
    #[test]
    #[rustfmt::skip]
    fn fields_are_where_radiotap_has_them() {
        let channel = |radiotap: Radiotap| radiotap.channel(5500, CHANNEL_5_GHZ | CHANNEL_OFDM);
        let ofdm = channel(begun().rate(24e6)).finish();
        assert_eq!(ofdm, [
            0, 0, 22, 0,  0x0f, 0, 0, 0,  0xe8, 3, 0, 0, 0, 0, 0, 0,  0x10, 48,  0x7c, 0x15, 0x40, 0x01,
        ]);
        // 40 MHz, a short guard interval and LDPC; the last of aggregate 7.
        let ht = channel(begun()).ht(40, true, 15).aggregate(7, LAST_KNOWN | IS_LAST).finish();
        assert_eq!(ht, [
            0, 0, 36, 0,  0x0b, 0, 0x18, 0,  0xe8, 3, 0, 0, 0, 0, 0, 0,  0x10, 0,  0x7c, 0x15, 0x40, 0x01,
            0x7f, 0x15, 15, 0, 0, 0,  7, 0, 0, 0, 0x0c, 0, 0, 0,
        ]);
        // 80 MHz, MCS 9, two streams.
        let vht = channel(begun()).vht(80, true, 9, 2).finish();
        assert_eq!(vht[..8], [0, 0, 34, 0, 0x0b, 0, 0x20, 0]);
        assert_eq!(vht[22..], [0x45, 0, 4, 4, 0x92, 0, 0, 0, 1, 0, 0, 0]);
        // 160 MHz, 1.6 us, MCS 11, one stream, from a station.
        let he = channel(begun()).he(true, 160, 1600, 11, 1, None).finish();
        assert_eq!(he[..8], [0, 0, 34, 0, 0x0b, 0, 0x80, 0]);
        assert_eq!(he[22..], [0xb0, 0x42, 6, 0, 0x80, 0x2b, 0, 0, 0x13, 0, 1, 0]);
        // Three streams have four training fields; 320 MHz cannot be expressed, so the width is unknown.
        let wide = channel(begun()).he(false, 320, 800, 13, 3, None).finish();
        assert_eq!(wide[22..], [0xb0, 2, 6, 0, 0, 0x2d, 0, 0, 0, 2, 3, 0]);
        // A frame to one station on 106 tones, and one from it on 26 tones with a guard interval of 1.6 us.
        let to_it = channel(begun()).he(false, 80, 800, 11, 1, Some(106)).finish();
        assert_eq!(to_it[22..], [0xb2, 0x42, 6, 0, 0, 0x2b, 0, 0, 6, 0, 1, 0]);
        let from_it = channel(begun()).he(true, 80, 1600, 3, 1, Some(26)).finish();
        assert_eq!(from_it[22..], [0xb3, 0x42, 6, 0, 0x80, 0x23, 0, 0, 0x14, 0, 1, 0]);
    }
}
