//! Resource units (RUs) of OFDMA: sizes, their number per channel width, and the division of a multi-user PPDU's band
//! among stations.
//!
//! Sizes are in subcarriers (tones), of which most carry data (IEEE 802.11ax-2021 clause 27.3.2; 802.11be for 320 MHz).
//! A channel of 20 MHz has 9 RUs of 26 tones, 4 of 52, 2 of 106 or one of 242; 80 MHz have one more of 26 tones,
//! between the second and the third 20 MHz.

/// Size of a resource unit (RU) in tones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ru {
    /// 26 tones, 24 with data.
    Tones26,
    /// 52 tones, 48 with data.
    Tones52,
    /// 106 tones, 102 with data.
    Tones106,
    /// 242 tones, 234 with data: 20 MHz.
    Tones242,
    /// 484 tones, 468 with data: 40 MHz.
    Tones484,
    /// 996 tones, 980 with data: 80 MHz.
    Tones996,
    /// Twice 996 tones: 160 MHz.
    Tones1992,
    /// Four times 996 tones: 320 MHz.
    Tones3984,
}

impl Ru {
    /// All sizes in ascending order.
    pub const ALL: [Self; 8] = [
        Self::Tones26,
        Self::Tones52,
        Self::Tones106,
        Self::Tones242,
        Self::Tones484,
        Self::Tones996,
        Self::Tones1992,
        Self::Tones3984,
    ];

    /// Number of tones, including those that carry no data.
    pub const fn tones(self) -> u16 {
        [26, 52, 106, 242, 484, 996, 1992, 3984][self as usize]
    }

    /// Number of tones that carry data.
    pub const fn subcarriers(self) -> u64 {
        [24, 48, 102, 234, 468, 980, 1960, 3920][self as usize]
    }

    /// Size with this number of tones; `None` if there is none.
    pub fn of_tones(tones: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|ru| u32::from(ru.tones()) == tones)
    }

    /// Number of RUs of this size in a channel of `width_mhz`.
    pub const fn count(self, width_mhz: u16) -> usize {
        let channels = width_mhz as usize / 20;
        match self {
            Self::Tones26 => 9 * channels + channels / 4,
            Self::Tones52 => 4 * channels,
            Self::Tones106 => 2 * channels,
            Self::Tones242 => channels,
            Self::Tones484 => channels / 2,
            Self::Tones996 => channels / 4,
            Self::Tones1992 => channels / 8,
            Self::Tones3984 => channels / 16,
        }
    }

    /// Size of the RU that fills a channel of `width_mhz`.
    fn of_width(width_mhz: u16) -> Self {
        Self::ALL.into_iter().rfind(|ru| ru.count(width_mhz) > 0).unwrap_or(Self::Tones242)
    }
}

/// Index of the RU of 26 tones in the middle of 20 MHz; `MIDDLE_OF_80` is that in the middle of 80 MHz.
const MIDDLE_OF_20: u8 = 4;
const MIDDLE_OF_80: u8 = 9;

/// RU at a position in a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuPlace {
    /// Size of the RU.
    pub ru: Ru,
    /// Number of the first 20 MHz in which it lies, from 0.
    pub channel: u8,
    /// Index among the RUs of its size in these 20 MHz, from 0; 9 for the one in the middle of 80 MHz.
    place: u8,
}

impl RuPlace {
    /// Two halves of an RU; `None` for the smallest size.
    fn halves(self) -> Option<[Self; 2]> {
        let Self { ru, channel, place } = self;
        let half = *Ru::ALL.get((ru as usize).checked_sub(1)?)?;
        let apart = match ru {
            Ru::Tones3984 => 8,
            Ru::Tones1992 => 4,
            Ru::Tones996 => 2,
            Ru::Tones484 => 1,
            _ => 0,
        };
        if apart > 0 {
            return Some([channel, channel + apart].map(|channel| Self { ru: half, channel, place: 0 }));
        }
        let first = match (ru, place) {
            // The RU in the middle of 20 MHz lies between the halves.
            (Ru::Tones52, 2..) => 2 * place + 1,
            _ => 2 * place,
        };
        Some([first, first + 1].map(|place| Self { ru: half, channel, place }))
    }

    /// RU allocation field of trigger frames (IEEE 802.11ax-2021 table 9-29i): its lowest bit selects the second 80
    /// MHz; an RU beyond 160 MHz has the value of the RU in the same place below.
    pub const fn allocation(self) -> u8 {
        let channel = self.channel % 4;
        let index = match self.ru {
            Ru::Tones26 if self.place == MIDDLE_OF_80 => 18,
            Ru::Tones26 => 9 * channel + channel / 2 + self.place,
            Ru::Tones52 => 37 + 4 * channel + self.place,
            Ru::Tones106 => 53 + 2 * channel + self.place,
            Ru::Tones242 => 61 + channel,
            Ru::Tones484 => 65 + channel / 2,
            Ru::Tones996 => 67,
            Ru::Tones1992 | Ru::Tones3984 => 68,
        };
        (index << 1) | ((self.channel / 4) % 2)
    }
}

/// Division of a multi-user PPDU's band into RUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    width_mhz: u16,
    /// RUs with stations, the largest first.
    rus: Vec<RuPlace>,
    /// RUs without a station that nevertheless have a user field.
    empty: Vec<RuPlace>,
}

impl Layout {
    /// RUs for a number of stations, at most one per RU of 26 tones: the band is halved, then the first of its largest
    /// parts, until each station has one. Sizes differ at most by a factor of two.
    pub fn halved(width_mhz: u16, stations: usize) -> Self {
        let mut rus = vec![RuPlace { ru: Ru::of_width(width_mhz), channel: 0, place: 0 }];
        while rus.len() < stations {
            let largest = rus.iter().map(|place| place.ru).max();
            let Some(first) = rus.iter().position(|place| Some(place.ru) == largest) else { break };
            let Some(halves) = rus[first].halves() else { break };
            rus.splice(first..=first, halves);
        }
        let channels = (width_mhz / 20) as u8;
        let has_26 =
            |channel: u8| rus.iter().any(|place| place.ru == Ru::Tones26 && place.channel == channel);
        let middle = |channel: u8, place: u8| RuPlace { ru: Ru::Tones26, channel, place };
        let of_20 = (0..channels).filter(|&channel| has_26(channel)).map(|one| middle(one, MIDDLE_OF_20));
        let of_80 = (0..channels / 4).map(|number| middle(4 * number, MIDDLE_OF_80));
        // RUs in the middle of 80 MHz have no user field without a station.
        let (mut empty, mut spare): (Vec<_>, Vec<_>) = (of_20.collect(), of_80.collect());
        while rus.len() < stations && !(empty.is_empty() && spare.is_empty()) {
            rus.push(if empty.is_empty() { spare.remove(0) } else { empty.remove(0) });
        }
        rus.sort_by_key(|place| std::cmp::Reverse(place.ru));
        Self { width_mhz, rus, empty }
    }

    /// RUs of equal size for a number of stations, at most as many as there are RUs of this size.
    pub fn equal(width_mhz: u16, ru: Ru, stations: usize) -> Self {
        let each = if ru == Ru::Tones26 { 9 } else { ru.count(20).max(1) as u8 };
        let channels = (width_mhz / 20) as u8;
        let step = (ru.count(width_mhz) as u8).min(channels).max(1);
        let apart = if ru > Ru::Tones242 { channels / step } else { 1 };
        let in_20 = (0..channels / apart)
            .flat_map(|number| (0..each).map(move |place| RuPlace { ru, channel: number * apart, place }));
        let of_80 = (0..if ru == Ru::Tones26 { channels / 4 } else { 0 }).map(|number| RuPlace {
            ru,
            channel: 4 * number,
            place: MIDDLE_OF_80,
        });
        let mut rus: Vec<RuPlace> = in_20.chain(of_80).collect();
        let rest = rus.split_off(stations.min(rus.len()));
        let is_begun = |place: &RuPlace| {
            ru < Ru::Tones242
                && place.place != MIDDLE_OF_80
                && rus.iter().any(|used| used.channel == place.channel)
        };
        let empty = rest.into_iter().filter(is_begun).collect();
        Self { width_mhz, rus, empty }
    }

    /// RUs with stations, the largest first.
    pub fn rus(&self) -> &[RuPlace] {
        &self.rus
    }

    /// Numbers of user fields in the two content channels of HE-SIG-B (clause 27.3.11.8). The first covers the first,
    /// third, ... 20 MHz, the second the others. An RU wider than 20 MHz is in the channel with fewer fields.
    pub(super) fn user_fields(&self) -> [u64; 2] {
        let mut fields = [0; 2];
        let all = || self.rus.iter().chain(&self.empty);
        for place in all().filter(|place| place.ru <= Ru::Tones242) {
            let second = match place.place {
                MIDDLE_OF_80 => place.channel / 4 % 2,
                _ => place.channel % 2,
            };
            fields[if self.width_mhz > 20 { usize::from(second) } else { 0 }] += 1;
        }
        for _ in all().filter(|place| place.ru > Ru::Tones242) {
            fields[usize::from(fields[1] < fields[0])] += 1;
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WIDTHS: [u16; 5] = [20, 40, 80, 160, 320];

    /// Numbers of RUs per width equal IEEE 802.11ax-2021 tables 27-8 and 27-9, and 802.11be for 320 MHz.
    #[test]
    fn widths_have_the_rus_of_the_standard() {
        let expected: [(u16, &[usize]); 5] = [
            (20, &[9, 4, 2, 1, 0, 0, 0, 0]),
            (40, &[18, 8, 4, 2, 1, 0, 0, 0]),
            (80, &[37, 16, 8, 4, 2, 1, 0, 0]),
            (160, &[74, 32, 16, 8, 4, 2, 1, 0]),
            (320, &[148, 64, 32, 16, 8, 4, 2, 1]),
        ];
        for (width, counts) in expected {
            assert_eq!(Ru::ALL.map(|ru| ru.count(width)), counts, "{width} MHz");
        }
        assert_eq!(Ru::of_tones(106), Some(Ru::Tones106));
        assert_eq!(Ru::of_tones(100), None);
    }

    fn tones(layout: &Layout) -> Vec<u16> {
        layout.rus().iter().map(|place| place.ru.tones()).collect()
    }

    #[test]
    fn the_band_is_halved_until_each_has_a_part() {
        assert_eq!(tones(&Layout::halved(80, 1)), [996]);
        assert_eq!(tones(&Layout::halved(80, 3)), [484, 242, 242]);
        assert_eq!(tones(&Layout::halved(80, 8)), [106; 8]);
        assert_eq!(tones(&Layout::halved(80, 10)), [106, 106, 106, 106, 106, 106, 52, 52, 52, 52]);
        assert_eq!(tones(&Layout::halved(20, 9)), [26; 9]);
        assert_eq!(tones(&Layout::halved(80, 37)), [26; 37]);
        assert_eq!(Layout::halved(20, 40).rus().len(), 9, "no more than there are");
    }

    /// The RU in the middle of 20 MHz has a user field if its neighbours have 26 tones, with and without a station.
    #[test]
    fn user_fields_are_those_of_the_parts_of_20_mhz() {
        assert_eq!(Layout::halved(20, 2).user_fields(), [2, 0]);
        assert_eq!(Layout::halved(20, 5).user_fields(), [6, 0]);
        assert_eq!(Layout::halved(20, 9).user_fields(), [9, 0]);
        assert_eq!(Layout::halved(40, 2).user_fields(), [1, 1]);
        assert_eq!(Layout::halved(80, 8).user_fields(), [4, 4]);
        assert_eq!(Layout::halved(80, 3).user_fields(), [2, 1]);
        assert_eq!(Layout::halved(80, 37).user_fields(), [19, 18]);
        assert_eq!(Layout::equal(80, Ru::Tones106, 3).user_fields(), [2, 2], "one is empty");
        assert_eq!(Layout::equal(80, Ru::Tones242, 3).user_fields(), [2, 1]);
        assert_eq!(Layout::equal(160, Ru::Tones484, 4).user_fields(), [2, 2]);
    }

    /// RU allocation fields equal IEEE 802.11ax-2021 table 9-29i.
    #[test]
    fn allocations_are_numbered_as_in_triggers() {
        let index = |layout: &Layout| -> Vec<u8> {
            layout.rus().iter().map(|place| place.allocation() >> 1).collect()
        };
        let all: Vec<u8> = (0..37).collect();
        let mut of_26 = index(&Layout::halved(80, 37));
        of_26.sort_unstable();
        assert_eq!(of_26, all);
        let mut equal = index(&Layout::equal(80, Ru::Tones26, 37));
        equal.sort_unstable();
        assert_eq!(equal, all);
        assert_eq!(index(&Layout::equal(80, Ru::Tones52, 16)), (37..53).collect::<Vec<u8>>());
        assert_eq!(index(&Layout::halved(80, 8)), (53..61).collect::<Vec<u8>>());
        assert_eq!(index(&Layout::halved(80, 4)), [61, 62, 63, 64]);
        assert_eq!(index(&Layout::halved(80, 2)), [65, 66]);
        assert_eq!(index(&Layout::halved(160, 1)), [68]);
        let of_160: Vec<u8> = Layout::halved(160, 2).rus().iter().map(|place| place.allocation()).collect();
        assert_eq!(of_160, [67 << 1, 67 << 1 | 1]);
    }

    proptest! {
        /// RUs of a layout do not overlap, and together they are not wider than the channel.
        #[test]
        fn rus_fit_into_the_channel(width in prop::sample::select(WIDTHS.to_vec()), stations in 1_usize..150) {
            let most = Ru::Tones26.count(width);
            let layout = Layout::halved(width, stations);
            prop_assert_eq!(layout.rus().len(), stations.min(most));
            let sizes: Vec<Ru> = layout.rus().iter().map(|place| place.ru).collect();
            prop_assert!(sizes.windows(2).all(|two| two[0] >= two[1]));
            prop_assert!(sizes[0] as usize - sizes[sizes.len() - 1] as usize <= 1, "one step of size");
            let mut seen: Vec<RuPlace> = layout.rus().to_vec();
            seen.extend(&layout.empty);
            for (at, one) in seen.iter().enumerate() {
                prop_assert!(!seen[..at].contains(one), "{:?} twice", one);
            }
            let tones: u64 = seen.iter().map(|place| u64::from(place.ru.tones())).sum();
            prop_assert!(tones <= u64::from(Ru::of_width(width).tones()));
            for ru in Ru::ALL.into_iter().filter(|ru| ru.count(width) > 0) {
                let all = Layout::equal(width, ru, stations);
                prop_assert_eq!(all.rus().len(), stations.min(ru.count(width)));
                prop_assert!(all.rus().iter().all(|place| place.ru == ru && u16::from(place.channel) < width / 20));
            }
        }
    }
}
