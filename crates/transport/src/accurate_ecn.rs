//! Accurate ECN feedback (RFC 9768): how many segments arrived with a congestion mark, in three bits of every acknowledgement and,
//! if that is asked for, in byte counters of an option. All segments count as full.

/// The count of marked packets begins with this (section 3.2.1): no acknowledgement looks like one of RFC 3168.
const FIRST_PACKETS: u32 = 5;
/// Bytes of ECT(0) and of ECT(1) begin with this, those of CE with none.
const FIRST_ECT_BYTES: u32 = 1;
/// Counters of the option have 24 bits.
const COUNTER: u32 = (1 << 24) - 1;

/// What the header of an acknowledgement says of marks: the ACE field, and two counters of the option if they are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AccEcn(
    /// Three bits of ACE, then whether the option is there, and whether ECT(1) is what it counts beside CE; from bit 8 on the bytes of
    /// that codepoint, from bit 32 on those of CE. One word: every acknowledgement carries it.
    u64,
);

/// The counters of the option, modulo 2^24 (section 3.2.3): CE, and the codepoint that the sender uses. The other
/// codepoint has no counter: it would not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteCounters {
    /// Bytes that came with CE; 0 at first.
    pub ce: u32,
    /// Bytes that came with the sender's codepoint; 1 at first.
    pub ect: u32,
    /// Whether the codepoint of the sender is ECT(1), not ECT(0).
    pub is_ect_1: bool,
}

impl AccEcn {
    /// Bytes of the option with two counters.
    pub const OPTION_BYTES: u32 = 8;
    const HAS_OPTION: u64 = 1 << 3;
    const IS_ECT_1: u64 = 1 << 4;
    const ECT: u32 = 8;
    const CE: u32 = 32;

    /// An acknowledgement with this ACE field, and with these counters.
    pub fn new(ace: u8, counters: Option<ByteCounters>) -> Self {
        let ace = u64::from(ace & 7);
        let Some(ByteCounters { ce, ect, is_ect_1 }) = counters else { return Self(ace) };
        let order = if is_ect_1 { Self::IS_ECT_1 } else { 0 };
        let [ect, ce] = [ect, ce].map(|counter| u64::from(counter & COUNTER));
        Self(ace | Self::HAS_OPTION | order | ect << Self::ECT | ce << Self::CE)
    }

    /// The ACE field: the flags AE, CWR and ECE read as a number.
    pub fn ace(self) -> u8 {
        self.0 as u8 & 7
    }

    /// The counters of the option, if the acknowledgement carries it.
    pub fn counters(self) -> Option<ByteCounters> {
        let number = |from: u32| (self.0 >> from) as u32 & COUNTER;
        let is_ect_1 = self.0 & Self::IS_ECT_1 != 0;
        let counters = ByteCounters { ce: number(Self::CE), ect: number(Self::ECT), is_ect_1 };
        (self.0 & Self::HAS_OPTION != 0).then_some(counters)
    }
}

/// The receiver's counters of marked packets and bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarksReceived {
    packets: u32,
    /// With the option: bytes of a segment, and the bytes that came.
    counted: Option<(u32, ByteCounters)>,
    /// Marks that no acknowledgement has told of.
    pub(crate) untold: u32,
}

impl MarksReceived {
    /// A connection that begins; `option` is the size of a segment if the option is in use.
    pub(crate) fn new(option: Option<u32>) -> Self {
        let counters = ByteCounters { ce: 0, ect: FIRST_ECT_BYTES, is_ect_1: false };
        Self { packets: FIRST_PACKETS, counted: option.map(|mss| (mss, counters)), untold: 0 }
    }

    /// A segment with ECT(1) or ECT(0), or neither, or with a mark.
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

    /// What the next acknowledgement says; the option needs `room`.
    pub(crate) fn tell(&mut self, room: bool) -> AccEcn {
        self.untold = 0;
        let counters = self.counted.filter(|_| room).map(|(_, counters)| counters);
        AccEcn::new(self.packets as u8, counters)
    }
}

/// The sender's half: what it was told (appendix A.2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarksTold {
    packets: u32,
    ce_bytes: u32,
    /// Bytes of a segment.
    mss: u32,
}

impl MarksTold {
    /// A connection that begins; `option` is the size of a segment if the option is in use.
    pub(crate) fn new(option: Option<u32>) -> Self {
        Self { packets: FIRST_PACKETS, ce_bytes: 0, mss: option.unwrap_or_default() }
    }

    /// How many marks an acknowledgement tells of that shows `newly` segments to have arrived. Three bits leave open how often
    /// they have wrapped; more than seven segments at once count as marked as often as is possible, unless the option shows
    /// that they were not: never too few.
    pub(crate) fn read(&mut self, told: AccEcn, newly: u64) -> u64 {
        let delta = u64::from(told.ace().wrapping_sub(self.packets as u8) & 7);
        let safer = if newly > 7 { newly - ((newly - delta) & 7) } else { delta };
        let ce_bytes = told.counters().map(|counters| {
            let bytes = counters.ce.wrapping_sub(self.ce_bytes) & COUNTER;
            // What was taken for marked without the option may have been too much.
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

    /// Whether so many bytes with CE are rather `safer` packets than `delta` (appendix A.2.2).
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

    /// The marks read from an acknowledgement of `newly` segments whose count differs by `delta` modulo 8, and the bytes.
    fn read(newly: u64, delta: u8, bytes: Option<u32>) -> u64 {
        let counters = bytes.map(|ce| ByteCounters { ce, ect: 1, is_ect_1: true });
        MarksTold::new(Some(MSS)).read(AccEcn::new(FIRST_PACKETS as u8 + delta, counters), newly)
    }

    /// RFC 9768 appendix A.2.1: without the option.
    #[test]
    fn three_bits_count_the_most_that_is_possible() {
        assert_eq!([read(9, 2, None), read(10, 2, None), read(8, 0, None)], [2, 10, 8]);
        assert_eq!([read(7, 0, None), read(1, 1, None), read(0, 0, None)], [0, 1, 0]);
        // Copies of what has arrived are no news, and count when they are marked.
        assert_eq!(read(0, 1, None), 1);
    }

    /// Appendix A.2.2: bytes decide. (d, safer) = (0, 8), (2, 10), (7, 15).
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
        /// Acknowledgements get lost: never too few, and exact where none covers more than seven segments, or fifteen with the
        /// option.
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
