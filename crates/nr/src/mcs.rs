//! Modulation and coding schemes (MCS) and channel quality indicators (CQI): 3GPP TS 38.214 tables 5.1.3.1-1 to -4 and
//! 5.2.2.1-2 to -5.

use crossfade_phy::MutualInformation;
use std::sync::OnceLock;

/// Modulation and code rate of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CodedModulation {
    /// Coded bits per symbol: 2, 4, 6, 8 or 10.
    pub bits_per_symbol: u32,
    /// Code rate times 2048, which is an integer in every table.
    pub rate_times_2048: u32,
}

impl CodedModulation {
    const fn new(bits_per_symbol: u32, rate_times_2048: u32) -> Self {
        Self { bits_per_symbol, rate_times_2048 }
    }

    /// Code rate, between 0 and 1.
    pub fn rate(self) -> f64 {
        f64::from(self.rate_times_2048) / 2048.0
    }

    /// Spectral efficiency: information bits per symbol.
    pub fn efficiency(self) -> f64 {
        f64::from(self.bits_per_symbol) * self.rate()
    }

    /// Name of the constellation, such as `64-qam`.
    pub fn modulation(self) -> &'static str {
        match self.bits_per_symbol {
            2 => "qpsk",
            4 => "16-qam",
            6 => "64-qam",
            8 => "256-qam",
            _ => "1024-qam",
        }
    }
}

/// Mutual information of the constellation of a scheme.
pub(crate) fn constellation(scheme: CodedModulation) -> &'static MutualInformation {
    static BY_PAIRS: [OnceLock<&MutualInformation>; 5] = [const { OnceLock::new() }; 5];
    let place = scheme.bits_per_symbol as usize / 2 - 1;
    BY_PAIRS[place]
        .get_or_init(|| MutualInformation::named(scheme.modulation()).expect("a constellation that there is"))
}

/// List of schemes by bits per symbol and 1024 R, of which some end in a half.
macro_rules! rates {
    ($($bits:literal: [$($rate:literal)*];)*) => {
        &[$($(CodedModulation::new($bits, ($rate * 2.0) as u32),)*)*]
    };
}

const MCS: [&[CodedModulation]; 4] = [
    rates! {
        2: [120.0 157.0 193.0 251.0 308.0 379.0 449.0 526.0 602.0 679.0];
        4: [340.0 378.0 434.0 490.0 553.0 616.0 658.0];
        6: [438.0 466.0 517.0 567.0 616.0 666.0 719.0 772.0 822.0 873.0 910.0 948.0];
    },
    rates! {
        2: [120.0 193.0 308.0 449.0 602.0];
        4: [378.0 434.0 490.0 553.0 616.0 658.0];
        6: [466.0 517.0 567.0 616.0 666.0 719.0 772.0 822.0 873.0];
        8: [682.5 711.0 754.0 797.0 841.0 885.0 916.5 948.0];
    },
    rates! {
        2: [30.0 40.0 50.0 64.0 78.0 99.0 120.0 157.0 193.0 251.0 308.0 379.0 449.0 526.0 602.0];
        4: [340.0 378.0 434.0 490.0 553.0 616.0];
        6: [438.0 466.0 517.0 567.0 616.0 666.0 719.0 772.0];
    },
    rates! {
        2: [120.0 193.0 449.0];
        4: [378.0 490.0 616.0];
        6: [466.0 517.0 567.0 616.0 666.0 719.0 772.0 822.0 873.0];
        8: [682.5 711.0 754.0 797.0 841.0 885.0 916.5 948.0];
        10: [805.5 853.0 900.5 948.0];
    },
];

/// Schemes of CQI tables 1 to 4, from index 1 on.
const CQI: [&[CodedModulation]; 4] = [
    rates! {
        2: [78.0 120.0 193.0 308.0 449.0 602.0];
        4: [378.0 490.0 616.0];
        6: [466.0 567.0 666.0 772.0 873.0 948.0];
    },
    rates! {
        2: [78.0 193.0 449.0];
        4: [378.0 490.0 616.0];
        6: [466.0 567.0 666.0 772.0 873.0];
        8: [711.0 797.0 885.0 948.0];
    },
    rates! {
        2: [30.0 50.0 78.0 120.0 193.0 308.0 449.0 602.0];
        4: [378.0 490.0 616.0];
        6: [466.0 567.0 666.0 772.0];
    },
    rates! {
        2: [78.0 193.0 449.0];
        4: [378.0 616.0];
        6: [567.0 666.0 772.0 873.0];
        8: [711.0 797.0 885.0 948.0];
        10: [853.0 948.0];
    },
];

/// MCS table that a network configures: 1 up to 64-QAM, 2 up to 256-QAM, 3 for low error rates, 4 up to 1024-QAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct McsTable(usize);

impl McsTable {
    /// Table `number`, 1 to 4; `None` for any other number.
    pub fn numbered(number: u32) -> Option<Self> {
        (1..=4).contains(&number).then(|| Self(number as usize - 1))
    }

    /// Number of the MCS table, as in scenarios.
    pub fn number(self) -> u32 {
        self.0 as u32 + 1
    }

    /// Modulation and coding schemes of the table, by MCS index.
    pub fn schemes(self) -> &'static [CodedModulation] {
        MCS[self.0]
    }

    /// Schemes that channel quality indicators 1, 2, ... promise; indicator 0 promises nothing.
    pub fn quality_indicators(self) -> &'static [CodedModulation] {
        CQI[self.0]
    }

    /// Error rate that a channel quality indicator promises not to exceed (38.214 section 5.2.2.1).
    pub fn promised_error_rate(self) -> f64 {
        if self.0 == 2 { 1e-5 } else { 0.1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Efficiencies that 38.214 prints in tables 5.2.2.1-2 to -4.
    const PRINTED: [[f64; 15]; 3] = [
        [
            0.1523, 0.2344, 0.3770, 0.6016, 0.8770, 1.1758, 1.4766, 1.9141, 2.4063, 2.7305, 3.3223, 3.9023,
            4.5234, 5.1152, 5.5547,
        ],
        [
            0.1523, 0.3770, 0.8770, 1.4766, 1.9141, 2.4063, 2.7305, 3.3223, 3.9023, 4.5234, 5.1152, 5.5547,
            6.2266, 6.9141, 7.4063,
        ],
        [
            0.0586, 0.0977, 0.1523, 0.2344, 0.3770, 0.6016, 0.8770, 1.1758, 1.4766, 1.9141, 2.4063, 2.7305,
            3.3223, 3.9023, 4.5234,
        ],
    ];

    #[test]
    fn efficiencies_are_those_printed() {
        for (table, printed) in (1..).zip(PRINTED) {
            let indicators = McsTable::numbered(table).unwrap().quality_indicators();
            assert_eq!(indicators.len(), 15);
            for (scheme, printed) in indicators.iter().zip(printed) {
                assert!(
                    (scheme.efficiency() - printed).abs() <= 0.5e-4 + 1e-9,
                    "{table}: {scheme:?}, {printed}"
                );
            }
        }
    }

    #[test]
    fn tables_have_their_sizes_and_rise() {
        let sizes = [29, 28, 29, 27];
        for (number, size) in (1..).zip(sizes) {
            let table = McsTable::numbered(number).unwrap();
            assert_eq!(
                (table.number(), table.schemes().len(), table.quality_indicators().len()),
                (number, size, 15)
            );
            for rows in [table.schemes(), table.quality_indicators()] {
                // Where the modulation changes, two schemes of table 1 are equally efficient to the third digit; one is
                // lower.
                assert!(
                    rows.windows(2).all(|pair| pair[0].efficiency() < pair[1].efficiency() + 0.004),
                    "{number}"
                );
                assert!(rows.windows(2).all(|pair| pair[0].bits_per_symbol <= pair[1].bits_per_symbol));
            }
            // Each indicator promises a scheme of the MCS table, except the lowest ones of tables 1, 2 and 4.
            let schemes = table.schemes();
            let without =
                table.quality_indicators().iter().filter(|indicator| !schemes.contains(indicator)).count();
            assert_eq!(without, [1, 1, 0, 1][number as usize - 1]);
        }
        assert_eq!([0, 5].map(McsTable::numbered), [None; 2]);
        let different: std::collections::BTreeSet<_> = MCS[..3].iter().copied().flatten().collect();
        assert_eq!(different.len(), 43);
    }
}
