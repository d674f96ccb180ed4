//! Effective SINR mapping: the single SINR at which a block has the error rate that it has over resource blocks of
//! different SINRs.

use crate::config::{EffectiveSinr, NrConfig};
use crate::mcs::{CodedModulation, McsTable, constellation};
use crossfade_core::{from_db, to_db};
use crossfade_phy::MutualInformation;

/// EESM parameter beta for MCS tables 1 and 2, by MCS index: Lagen et al., ICC 2020 (arXiv 2001.10309), as in 5G-LENA
/// and Sionna.
const BETAS: [&[f64]; 2] = [
    &[
        1.60, 1.61, 1.63, 1.65, 1.67, 1.70, 1.73, 1.76, 1.79, 1.82, 3.97, 4.27, 4.71, 5.16, 5.66, 6.16, 6.50,
        9.95, 10.97, 12.92, 14.96, 17.06, 19.33, 21.85, 24.51, 27.14, 29.94, 32.05, 34.28,
    ],
    &[
        1.60, 1.63, 1.67, 1.73, 1.79, 4.27, 4.71, 5.16, 5.66, 6.16, 6.50, 10.97, 12.92, 14.96, 17.06, 19.33,
        21.85, 24.51, 27.14, 29.94, 56.48, 65.0, 78.58, 92.48, 106.27, 118.74, 126.36, 132.54,
    ],
];

/// Effective SINR mapping of a cell: its kind, and the MCS table for EESM.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mapping {
    kind: EffectiveSinr,
    table: McsTable,
}

impl Mapping {
    pub(crate) fn of(config: &NrConfig) -> Self {
        Self { kind: config.effective_sinr, table: config.table }
    }

    /// Effective SINR in dB of a block of this scheme on these groups. `ratios` has linear SINRs, one for all groups or
    /// one per group.
    pub(crate) fn db(self, ratios: &[f64], groups: &[usize], scheme: CodedModulation) -> f64 {
        match self.kind {
            EffectiveSinr::MutualInformation => mutual_db(ratios, groups, constellation(scheme)),
            EffectiveSinr::Exponential => exponential_db(ratios, groups, beta(self.table, scheme)),
        }
    }
}

/// Quality report, with the results that link adaptation computes from it and keeps until the next report.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reported {
    /// Slot in which the report was measured; `None` for a constant one.
    slot: Option<u64>,
    /// SINR, linear: one value for all groups, or one per group.
    ratios: Vec<f64>,
    /// `ratios` in dB. Like in the lists below, NaN marks a value that is not computed yet; empty before the first is.
    ratios_db: Vec<f64>,
    /// Mutual information of Gaussian symbols at each SINR, in bits per symbol.
    gaussian: Vec<f64>,
    /// Scheduler's estimate of the rate at each SINR, in bits per symbol.
    rough_rates: Vec<f64>,
    /// Mutual information of each square constellation at each SINR; the index is half of its bits per symbol, less 1.
    information: [Vec<f64>; 5],
    /// Groups of the last call; `rough_db` and `mutual_db` are the effective SINRs found for them.
    last: Vec<usize>,
    rough_db: Option<f64>,
    mutual_db: [Option<f64>; 5],
    /// Single SINR of all groups in dB, once it has been computed.
    of_all_db: Option<f64>,
}

impl Reported {
    /// Report of one linear SINR for all groups, which belongs to no slot.
    pub(crate) fn constant(ratio: f64) -> Self {
        Self { ratios: vec![ratio], ..Self::default() }
    }

    /// True if the report was measured in `slot`.
    pub(crate) fn is_of(&self, slot: u64) -> bool {
        self.slot == Some(slot)
    }

    /// Stores a new report, measured in `slot`; results are kept if the SINRs have not changed.
    pub(crate) fn renew(&mut self, slot: u64, ratios: &[f64]) {
        self.slot = Some(slot);
        if self.ratios == ratios {
            return;
        }
        self.ratios.clear();
        self.ratios.extend(ratios);
        self.of_all_db = None;
        self.ratios_db.clear();
        self.gaussian.clear();
        self.rough_rates.clear();
        self.information.iter_mut().for_each(Vec::clear);
        self.forget();
    }

    fn forget(&mut self) {
        self.last.clear();
        (self.rough_db, self.mutual_db) = (None, [None; 5]);
    }

    fn look_at(&mut self, groups: &[usize]) {
        if self.last != groups {
            self.forget();
            self.last.extend(groups);
        }
    }

    /// Reported SINR, linear: one value for all groups, or one per group.
    pub(crate) fn ratios(&self) -> &[f64] {
        &self.ratios
    }

    /// SINR of all groups in dB; `None` if each group has its own.
    pub(crate) fn of_all_db(&mut self) -> Option<f64> {
        let [one] = *self.ratios else { return None };
        Some(*self.of_all_db.get_or_insert_with(|| to_db(one)))
    }

    /// Computes the scheduler's estimates of rates, if they are not known.
    pub(crate) fn look(&mut self) {
        if self.rough_rates.is_empty() {
            self.rough_rates.extend(self.ratios.iter().map(|ratio| libm::log2(1.0 + ratio * 0.7).min(10.0)));
        }
    }

    /// Scheduler's estimate of the rate at each SINR, in bits per symbol: the capacity at 1.5 dB below the SINR, at
    /// most 10. Empty before the first call of [`look`](Self::look) for a report.
    pub(crate) fn rough_rates(&self) -> &[f64] {
        &self.rough_rates
    }

    /// SINR in dB at which Gaussian symbols carry as much information as the mean over these groups.
    pub(crate) fn rough_db(&mut self, groups: &[usize]) -> f64 {
        self.look_at(groups);
        if let Some(found) = self.rough_db {
            return found;
        }
        if self.gaussian.is_empty() {
            self.gaussian.resize(self.ratios.len(), f64::NAN);
        }
        let (ratios, gaussian) = (&self.ratios, &mut self.gaussian);
        let at = |group: usize| known(&mut gaussian[group], || libm::log2(1.0 + ratios[group]));
        let last = ratios.len() - 1;
        let sum: f64 = groups.iter().map(|group| (*group).min(last)).map(at).sum();
        *self.rough_db.insert(to_db(libm::exp2(sum / groups.len() as f64) - 1.0))
    }

    /// Like [`Mapping::db`] for the reported SINRs, but keeps results until the next report.
    pub(crate) fn db(&mut self, mapping: Mapping, groups: &[usize], scheme: CodedModulation) -> f64 {
        if mapping.kind != EffectiveSinr::MutualInformation || self.ratios.len() == 1 || groups.len() == 1 {
            return mapping.db(&self.ratios, groups, scheme);
        }
        self.look_at(groups);
        let place = scheme.bits_per_symbol as usize / 2 - 1;
        if let Some(found) = self.mutual_db[place] {
            return found;
        }
        let (modulation, information) = (constellation(scheme), &mut self.information[place]);
        if self.ratios_db.is_empty() {
            self.ratios_db.resize(self.ratios.len(), f64::NAN);
        }
        if information.is_empty() {
            information.resize(self.ratios.len(), f64::NAN);
        }
        let each = groups.iter().map(|&group| {
            let db = known(&mut self.ratios_db[group], || to_db(self.ratios[group]));
            (db, known(&mut information[group], || modulation.at_db(db)))
        });
        *self.mutual_db[place].insert(of_mean(each, modulation))
    }
}

/// Value from a cache: computed and stored if it is still NaN.
fn known(value: &mut f64, compute: impl FnOnce() -> f64) -> f64 {
    if value.is_nan() {
        *value = compute();
    }
    *value
}

/// EESM parameter beta of a scheme of the MCS table; 1 if no value is known.
fn beta(table: McsTable, scheme: CodedModulation) -> f64 {
    let index = table.schemes().iter().position(|other| *other == scheme);
    let betas = BETAS.get(table.number() as usize - 1);
    betas.zip(index).map_or(1.0, |(betas, index)| betas[index])
}

fn exponential_db(ratios: &[f64], groups: &[usize], beta: f64) -> f64 {
    if let [one] = ratios {
        return to_db(*one);
    }
    // Relative to the smallest SINR, so that not all terms underflow.
    let least = groups.iter().map(|group| ratios[*group]).fold(f64::INFINITY, f64::min);
    let term = |group: &usize| libm::exp(-(ratios[*group] - least) / beta);
    let mean = groups.iter().map(term).sum::<f64>() / groups.len() as f64;
    to_db((least - beta * libm::log(mean)).max(from_db(-60.0)))
}

fn mutual_db(ratios: &[f64], groups: &[usize], modulation: &MutualInformation) -> f64 {
    if let [one] = ratios {
        return to_db(*one);
    }
    if let [group] = groups {
        return to_db(ratios[*group]);
    }
    let each = groups.iter().map(|group| {
        let db = to_db(ratios[*group]);
        (db, modulation.at_db(db))
    });
    of_mean(each, modulation)
}

/// SINR in dB at which symbols of this modulation carry the mean information of the groups, limited to the range of
/// their SINRs. Each group is given by SINR in dB and information.
fn of_mean(each: impl ExactSizeIterator<Item = (f64, f64)>, modulation: &MutualInformation) -> f64 {
    let count = each.len() as f64;
    let (mut sum, mut least_db, mut greatest_db) = (0.0, f64::INFINITY, f64::NEG_INFINITY);
    for (db, information) in each {
        sum += information;
        (least_db, greatest_db) = (least_db.min(db), greatest_db.max(db));
    }
    let mean = sum / count;
    modulation.inverse_db_between(mean, least_db, greatest_db).clamp(least_db, greatest_db).max(-60.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MCS of table 1, and the mean Es/N0 in dB at which a tenth of blocks of 2000 bits fails over a Rayleigh profile
    /// of 24 quantiles, and over symbols of which half are 4 dB up and half 4 dB down: by EESM, by mutual information,
    /// and simulated, all by an independent implementation. Over white noise the schemes need -2.03, 5.74, 11.37 and
    /// 15.34 dB.
    const PROFILES: [(usize, f64, [f64; 3], [f64; 3]); 4] = [
        (4, -2.03, [-1.24, -1.05, -1.01], [-1.53, -1.37, -1.34]),
        (13, 5.74, [7.35, 7.62, 7.64], [6.89, 7.17, 7.13]),
        (20, 11.37, [13.45, 13.55, 13.65], [12.95, 12.97, 13.03]),
        (24, 15.34, [18.65, 18.53, 18.60], [18.12, 17.56, 17.51]),
    ];

    #[test]
    fn both_mappings_are_those_of_another_implementation() {
        let table = McsTable::numbered(1).unwrap();
        let rayleigh: Vec<f64> = (0..24).map(|i| -(1.0 - (f64::from(i) + 0.5) / 24.0).ln()).collect();
        let mean = f64::midpoint(from_db(4.0), from_db(-4.0));
        let halves = vec![from_db(4.0) / mean, from_db(-4.0) / mean];
        for (mcs, needed_db, of_rayleigh, of_halves) in PROFILES {
            let scheme = table.schemes()[mcs];
            for (profile, expected) in [(&rayleigh, of_rayleigh), (&halves, of_halves)] {
                let groups: Vec<usize> = (0..profile.len()).collect();
                let required = |kind| {
                    let mapping = Mapping { kind, table };
                    let (mut low, mut high) = (-10.0, 40.0);
                    for _ in 0..40 {
                        let middle = f64::midpoint(low, high);
                        let ratios: Vec<f64> = profile.iter().map(|power| power * from_db(middle)).collect();
                        let found = mapping.db(&ratios, &groups, scheme);
                        if found < needed_db { low = middle } else { high = middle }
                    }
                    low
                };
                let exponential = required(EffectiveSinr::Exponential);
                let mutual = required(EffectiveSinr::MutualInformation);
                println!("{mcs}: EESM {exponential:.2} {}, MI {mutual:.2} {}", expected[0], expected[1]);
                assert!((exponential - expected[0]).abs() < 0.1, "EESM {mcs}: {exponential} {expected:?}");
                assert!((mutual - expected[1]).abs() < 0.1, "MI {mcs}: {mutual} {expected:?}");
            }
        }
    }

    #[test]
    fn what_is_remembered_of_a_report_is_what_would_be_computed() {
        let table = McsTable::numbered(2).unwrap();
        let mut reported = Reported::default();
        for kind in [EffectiveSinr::MutualInformation, EffectiveSinr::Exponential] {
            let mapping = Mapping { kind, table };
            for slot in 0..3_u32 {
                let ratios: Vec<f64> =
                    (0..6).map(|group| 0.7 + f64::from(group * (slot + 1)) * 1.3).collect();
                reported.renew(u64::from(slot), &ratios);
                for groups in
                    [vec![0, 1, 2, 3, 4, 5], vec![1, 4], vec![2], vec![1, 4], vec![0, 1, 2, 3, 4, 5]]
                {
                    for scheme in [table.schemes()[3], table.schemes()[12], table.schemes()[3]] {
                        let exact = mapping.db(&ratios, &groups, scheme);
                        assert_eq!(reported.db(mapping, &groups, scheme), exact, "{kind:?} {groups:?}");
                        let sum: f64 = groups.iter().map(|group| libm::log2(1.0 + ratios[*group])).sum();
                        let rough = to_db(libm::exp2(sum / groups.len() as f64) - 1.0);
                        assert_eq!(reported.rough_db(&groups), rough);
                    }
                }
            }
        }
    }

    #[test]
    fn one_ratio_stays_and_many_lie_between() {
        let table = McsTable::numbered(2).unwrap();
        for kind in [EffectiveSinr::MutualInformation, EffectiveSinr::Exponential] {
            let mapping = Mapping { kind, table };
            for (index, scheme) in table.schemes().iter().enumerate() {
                assert!((mapping.db(&[3.0], &[0, 1], *scheme) - to_db(3.0)).abs() < 1e-12);
                let equal = mapping.db(&[3.0, 3.0], &[0, 1], *scheme);
                assert!((equal - to_db(3.0)).abs() < 1e-3, "{kind:?} {index}: {equal}");
                let between = mapping.db(&[0.5, 2.0, 8.0], &[0, 1, 2], *scheme);
                assert!((to_db(0.5)..to_db(8.0)).contains(&between), "{kind:?} {index}: {between}");
            }
        }
    }
}
