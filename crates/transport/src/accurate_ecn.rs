//! Accurate ECN feedback (RFC 9768): number of segments that arrived with a congestion mark (CE), modulo 8 in every
//! acknowledgement and, if configured, also in bytes in a TCP option. Every segment counts as full-sized.

/// Initial value of the CE packet counter (RFC 9768 section 3.2.1), chosen so that no ACK looks like one of RFC 3168.
const FIRST_PACKETS: u32 = 5;
/// Initial value of the byte counters of ECT(0) and ECT(1); the byte counter of CE starts at 0.
const FIRST_ECT_BYTES: u32 = 1;
/// Mask of the option's byte counters, which have 24 bits (RFC 9768 section 3.2.3).
const COUNTER: u32 = (1 << 24) - 1;

/// Congestion feedback in the header of an ACK: the ACE field and, if the option is present, two byte counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AccEcn(
    /// Feedback packed into one word, because every acknowledgement carries it. Bits 0 to 2: ACE. Bit 3: the option is
    /// present. Bit 4: the sender's codepoint is ECT(1). From bit 8: bytes received with the sender's codepoint. From
    /// bit 32: bytes received with CE.
    u64,
);

/// Byte counters of the AccECN option, modulo 2^24 (RFC 9768 section 3.2.3): one for CE and one for the sender's
/// codepoint, ECT(0) or ECT(1). The codepoint that the sender does not use has no counter, since it would never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteCounters {
    /// Bytes received with CE, modulo 2^24; starts at 0.
    pub ce: u32,
    /// Bytes received with the sender's codepoint, ECT(0) or ECT(1), modulo 2^24; starts at 1.
    pub ect: u32,
    /// True if the sender's codepoint is ECT(1), false if it is ECT(0).
    pub is_ect_1: bool,
}

impl AccEcn {
    /// Size in bytes of the AccECN option with two counters.
    pub const OPTION_BYTES: u32 = 8;
    const HAS_OPTION: u64 = 1 << 3;
    const IS_ECT_1: u64 = 1 << 4;
    const ECT: u32 = 8;
    const CE: u32 = 32;

    /// Creates the feedback of an ACK from the lowest three bits of `ace` and, if the option is sent, its byte
    /// counters.
    pub fn new(ace: u8, counters: Option<ByteCounters>) -> Self {
        let ace = u64::from(ace & 7);
        let Some(ByteCounters { ce, ect, is_ect_1 }) = counters else { return Self(ace) };
        let order = if is_ect_1 { Self::IS_ECT_1 } else { 0 };
        let [ect, ce] = [ect, ce].map(|counter| u64::from(counter & COUNTER));
        Self(ace | Self::HAS_OPTION | order | ect << Self::ECT | ce << Self::CE)
    }

    /// ACE field: the header flags AE, CWR and ECE read as a number, which is the CE packet counter modulo 8.
    pub fn ace(self) -> u8 {
        self.0 as u8 & 7
    }

    /// Byte counters of the AccECN option; `None` if the acknowledgement does not carry it.
    pub fn counters(self) -> Option<ByteCounters> {
        let number = |from: u32| (self.0 >> from) as u32 & COUNTER;
        let is_ect_1 = self.0 & Self::IS_ECT_1 != 0;
        let counters = ByteCounters { ce: number(Self::CE), ect: number(Self::ECT), is_ect_1 };
        (self.0 & Self::HAS_OPTION != 0).then_some(counters)
    }
}

/// Receiver's AccECN counters: packets that arrived with CE, and bytes per codepoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarksReceived {
    packets: u32,
    /// State of the AccECN option: segment size in bytes, and bytes received per codepoint; `None` without the option.
    counted: Option<(u32, ByteCounters)>,
    /// Number of CE marks not yet reported in an acknowledgement.
    pub(crate) untold: u32,
}

impl MarksReceived {
    /// Creates the counters of a new connection; `option` is the segment size in bytes if the AccECN option is in use.
    pub(crate) fn new(option: Option<u32>) -> Self {
        let counters = ByteCounters { ce: 0, ect: FIRST_ECT_BYTES, is_ect_1: false };
        Self { packets: FIRST_PACKETS, counted: option.map(|mss| (mss, counters)), untold: 0 }
    }

    /// Counts a segment by its codepoint: CE (`ce`), ECT(1) or ECT(0) (`is_capable`), or Not-ECT.
    pub(crate) fn on_segment(&mut self, ce: bool, is_capable: bool, is_ect_1: bool) {
        if ce {
            self.packets = self.packets.wrapping_add(1);
            self.untold += 1;
        }
        if let Some((mss, counters)) = self.counted.as_mut().filter(|_| is_capable) {
            counters.is_ect_1 = is_ect_1;
            let counter = if ce { &mut counters.ce } else { &mut counters.ect };
            *counter = counter.wrapping_add(*mss) & COUNTER;
        }
    }

    /// Resets `untold` and returns the feedback of the next acknowledgement; the option is included only if the header
    /// has `room` for it.
    pub(crate) fn tell(&mut self, room: bool) -> AccEcn {
        self.untold = 0;
        let counters = self.counted.filter(|_| room).map(|(_, counters)| counters);
        AccEcn::new(self.packets as u8, counters)
    }
}

/// Sender's counters of the CE marks that acknowledgements have reported (RFC 9768 appendix A.2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarksTold {
    packets: u32,
    ce_bytes: u32,
    /// Segment size in bytes; 0 without the AccECN option.
    mss: u32,
}

impl MarksTold {
    /// Creates the counters of a new connection; `option` is the segment size in bytes if the AccECN option is in use.
    pub(crate) fn new(option: Option<u32>) -> Self {
        Self { packets: FIRST_PACKETS, ce_bytes: 0, mss: option.unwrap_or_default() }
    }

    /// Returns the number of new marks that an acknowledgement of `newly` arrived segments reports. The three-bit ACE
    /// field may have wrapped: beyond seven segments the largest possible count is assumed, unless the option's bytes
    /// rule it out, so marks are never undercounted.
    pub(crate) fn read(&mut self, told: AccEcn, newly: u64) -> u64 {
        let delta = u64::from(told.ace().wrapping_sub(self.packets as u8) & 7);
        let safer = if newly > 7 { newly - ((newly - delta) & 7) } else { delta };
        let ce_bytes = told.counters().map(|counters| {
            let bytes = counters.ce.wrapping_sub(self.ce_bytes) & COUNTER;
            // Marks assumed without the option may have been too many, so the byte difference can be negative.
            u64::from(if bytes > COUNTER / 2 { 0 } else { bytes })
        });
        let marks = match ce_bytes {
            Some(bytes) if !self.has_wrapped(delta, safer, bytes) => delta,
            _ => safer,
        };
        self.packets = self.packets.wrapping_add(marks as u32);
        self.ce_bytes = match told.counters() {
            Some(counters) => counters.ce,
            None => self.ce_bytes.wrapping_add(self.mss.wrapping_mul(marks as u32)) & COUNTER,
        };
        marks
    }

    /// True if `bytes`, newly reported as CE, fit `safer` marked packets better than `delta` (RFC 9768 appendix A.2.2),
    /// so the ACE field has wrapped.
    fn has_wrapped(&self, delta: u64, safer: u64, bytes: u64) -> bool {
        let mss = u64::from(self.mss);
        bytes > 0 && (bytes > delta * mss || 2 * bytes >= safer * mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MSS: u32 = 1460;

    /// Number of marks read from an ACK of `newly` segments whose ACE field has grown by `delta` and whose option
    /// reports `bytes` of CE.
    fn read(newly: u64, delta: u8, bytes: Option<u32>) -> u64 {
        let counters = bytes.map(|ce| ByteCounters { ce, ect: 1, is_ect_1: true });
        MarksTold::new(Some(MSS)).read(AccEcn::new(FIRST_PACKETS as u8 + delta, counters), newly)
    }

    /// Without the option, the largest number of marks that the ACE field allows is assumed (RFC 9768 appendix A.2.1).
    #[test]
    fn three_bits_count_the_most_that_is_possible() {
        assert_eq!([read(9, 2, None), read(10, 2, None), read(8, 0, None)], [2, 10, 8]);
        assert_eq!([read(7, 0, None), read(1, 1, None), read(0, 0, None)], [0, 1, 0]);
        // Duplicates of arrived segments are no new arrivals, but count if marked.
        assert_eq!(read(0, 1, None), 1);
    }

    /// The option's CE bytes decide whether the ACE field has wrapped (RFC 9768 appendix A.2.2): between 0 and 8 marks,
    /// 2 and 10, 7 and 15.
    #[test]
    fn bytes_tell_whether_three_bits_have_wrapped() {
        assert_eq!(read(8, 0, Some(1460)), 8);
        assert_eq!(read(10, 2, Some(1460)), 2);
        assert_eq!(read(15, 7, Some(10_200)), 7);
        assert_eq!(read(8, 0, Some(0)), 0);
        assert_eq!(read(10, 2, Some(14_600)), 10);
    }

    #[test]
    fn counts_begin_and_wrap_as_the_rfc_has_it() {
        let mut received = MarksReceived::new(Some(MSS));
        let first = ByteCounters { ce: 0, ect: 1, is_ect_1: false };
        assert_eq!(received.tell(true), AccEcn::new(5, Some(first)));
        (0..3).for_each(|_| received.on_segment(true, true, true));
        received.on_segment(false, true, true);
        let told = received.tell(true);
        assert_eq!(told.ace(), 0, "5 + 3 modulo 8");
        assert_eq!(told.counters(), Some(ByteCounters { ce: 3 * MSS, ect: 1 + MSS, is_ect_1: true }));
        assert_eq!(received.tell(false).counters(), None);
        (0..(1 << 24) / MSS).for_each(|_| received.on_segment(true, true, true));
        assert_eq!(received.tell(true).counters().unwrap().ce, (3 * MSS + (1 << 24) / MSS * MSS) & COUNTER);
    }

    proptest! {
        /// Marks are never undercounted, even if ACKs are lost; the count is exact if no ACK covers more than seven
        /// segments, or fifteen with the option.
        #[test]
        fn what_is_read_is_what_was_marked(
            segments in prop::collection::vec((any::<bool>(), any::<bool>()), 1..400), option in any::<bool>(), most in 1u64..20,
        ) {
            let mut received = MarksReceived::new(option.then_some(MSS));
            let mut told = MarksTold::new(Some(MSS));
            let (mut newly, mut marked, mut read, mut longest) = (0, 0, 0, 0);
            for (ce, arrives) in segments {
                received.on_segment(ce, true, true);
                (newly, marked) = (newly + 1, marked + u64::from(ce));
                if arrives || newly >= most {
                    longest = longest.max(newly);
                    read += told.read(received.tell(true), newly);
                    newly = 0;
                    prop_assert!(read >= marked);
                    if longest <= if option { 15 } else { 7 } {
                        prop_assert_eq!(read, marked);
                    }
                }
            }
        }
    }
}
