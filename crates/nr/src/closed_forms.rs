//! Closed forms of hybrid ARQ: error rates after each copy, mean transmissions, losses, goodput and delays.
//!
//! Over a constant channel the error rate after each copy is known, and the slot of each copy of a block that waits for
//! no other. Let `e_l` be the error rate after l copies (one random number decides the fate of a block, so a share `e_l
//! / e_(l-1)` of the blocks that failed before fails again). With at most L copies and no misread acknowledgements:
//!
//! - `E[T] = 1 + e_1 + ... + e_(L-1)` copies are sent per block, and a share `e_L` of blocks is lost;
//! - a saturated cell whose data slots are equal carries `(1 - e_L) / E[T]` blocks per data slot;
//! - a block in an idle cell arrives at the end of the slot of its copy l with probability `e_(l-1) - e_l`; after a
//!   lost block its packet then waits for t-Reordering, which starts at its arrival.

use crate::config::NrConfig;
use crate::effective_sinr::Reported;
use crate::error_rates::ErrorRates;
use crate::harq::Block;
use crate::link_adaptation::Adaptation;
use crate::transport_block::{Allocation, CodeBlocks};
use crossfade_core::{SimTime, from_db, greatest_common_divisor};

/// Probability below which an event counts as impossible.
const NEVER: f64 = 1e-12;

/// Assumption of the closed forms that a cell does not meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// Configuration key that violates the assumption, without the cell's own key.
    pub key: &'static str,
    /// What the closed forms assume instead, for an error message.
    pub assumed: &'static str,
}

/// Fate of a block first sent in a given slot whose copies wait for no other block.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockFate {
    /// Bits of the block.
    pub bits: u32,
    /// Error rate after 1, 2, ... copies.
    pub error_rates: Vec<f64>,
    /// Probability that copy 1, 2, ... is the first with which the block is received.
    pub received: Vec<f64>,
    /// Slots from the beginning of the first copy to the arrival of copy 1, 2, ...
    pub arrives_after: Vec<u64>,
    /// Mean number of copies.
    pub transmissions: f64,
    /// Probability that the block is given up, or counts as received by a misread acknowledgement, without being
    /// received.
    pub lost: f64,
}

/// Closed forms of a cell with one user that always has data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saturated {
    /// Error rate of first copies.
    pub initial_error_rate: f64,
    /// Mean number of copies per block.
    pub transmissions: f64,
    /// Share of blocks that are lost.
    pub lost: f64,
    /// Goodput in bit/s: bits of whole packets that arrive.
    pub goodput_bps: f64,
    /// Offered load in bit/s, headers included, from which the cell always has data.
    pub filled_from_bps: f64,
}

/// Closed forms of a cell whose user sends packets so far apart that each finds it idle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Idle {
    /// Error rate of first copies.
    pub initial_error_rate: f64,
    /// Mean number of copies per block.
    pub transmissions: f64,
    /// Share of packets that are lost with their block.
    pub lost: f64,
    /// Mean delay of packets that arrive, in seconds.
    pub delay_mean_s: f64,
    /// Standard deviation of the delay of packets that arrive, in seconds.
    pub delay_deviation_s: f64,
}

/// Closed forms of the downlink of a cell.
pub struct ClosedForms {
    config: NrConfig,
    adaptation: Adaptation,
    rates: ErrorRates,
}

impl ClosedForms {
    /// Closed forms of `config`.
    ///
    /// # Errors
    /// The first assumption that `config` does not meet: one user, a constant channel, no outer loop, no handover, no
    /// DRX.
    pub fn new(config: &NrConfig) -> Result<Self, Unmet> {
        let unmet = |key, assumed| Err(Unmet { key, assumed });
        if config.users.len() != 1 {
            return unmet("users", "one user");
        }
        if config.profile.is_some() || config.shadowing.is_some() || config.users[0].trace.is_some() {
            return unmet(
                "profile",
                "a channel that does not change: \"awgn\", without shadowing or a trace",
            );
        }
        if config.blockage.is_some() {
            return unmet("blockage", "nobody in the way");
        }
        if config.outer_loop.is_some() {
            return unmet("outer_loop", "a scheme that does not change: no outer loop");
        }
        let stack = config.stack.as_ref();
        if stack.is_some_and(|stack| stack.handover.is_some()) {
            return unmet("handover", "no handovers");
        }
        if stack.is_some_and(|stack| stack.drx.is_some()) {
            return unmet("drx", "a user that always listens");
        }
        let mut rates = ErrorRates::of_config(config);
        Ok(Self { adaptation: Adaptation::new(config, &mut rates), rates, config: config.clone() })
    }

    /// Longest time over which a block may be retransmitted.
    fn persists(&self) -> SimTime {
        let longest = self.config.round_trips().0.into_iter().max().unwrap_or(0);
        self.config.numerology.slot() * (longest * u64::from(self.config.harq.transmissions - 1))
    }

    /// Fate of a block on the whole carrier that is first sent in `slot`.
    pub fn block(&mut self, slot: u64) -> BlockFate {
        let Self { config, adaptation, rates } = self;
        let snr_db = config.users[0].mean_snr_db;
        let groups: Vec<usize> = (0..config.groups()).collect();
        let NrConfig { dmrs_re, overhead_re, layers, prbs, .. } = *config;
        let allocation =
            |slot: u64| Allocation { symbols: config.data_symbols(slot), dmrs_re, overhead_re, prbs, layers };
        let index = adaptation.choose(
            &mut Reported::constant(from_db(snr_db)),
            &groups,
            config.data_symbols(slot),
            0.0,
        );
        let scheme = config.table.schemes()[index];
        let rate_millionths = u64::from(scheme.rate_times_2048) * 500_000;
        let bits = allocation(slot).transport_block_bits(scheme.bits_per_symbol, rate_millionths, 0);
        let code = CodeBlocks::of(bits, scheme.rate());
        let mut block = Block::new(0, index, code, prbs, (0, u64::from(bits / 8)), 0.0);
        let (mut error_rates, mut arrives_after) = (Vec::new(), Vec::new());
        let mut sent = slot;
        for _ in 0..config.harq.transmissions {
            let symbols = f64::from(allocation(sent).resource_elements() * layers);
            block.receive_copy(scheme, symbols, snr_db, config.harq.combining, rates);
            error_rates.push(block.error_rate);
            arrives_after.push(sent - slot + 1 + config.hop_slots());
            sent = config.again(sent);
        }
        let harq = &config.harq;
        let misread = if harq.has_feedback { [harq.nack_to_ack, harq.ack_to_nack] } else { [0.0; 2] };
        let (transmissions, lost, received) = fate(&error_rates, misread);
        BlockFate { bits, error_rates, received, arrives_after, transmissions, lost }
    }

    /// Closed forms of a saturated cell with packets of `packet_bytes`.
    ///
    /// # Errors
    /// The assumption that the cell does not meet: equal data slots (otherwise it matters which carry new blocks), no
    /// RLC with its own retransmissions, no packet given up while hybrid ARQ still sends it.
    pub fn saturated(&mut self, packet_bytes: u32) -> Result<Saturated, Unmet> {
        let unmet = |key, assumed| Err(Unmet { key, assumed });
        if self.config.stack.is_some() {
            return unmet("uplink", "in a full cell HARQ alone, without RLC above it: no nr.uplink");
        }
        let period = self.config.duplex.period();
        let symbols: Vec<u32> =
            (0..period).map(|slot| self.config.data_symbols(slot)).filter(|symbols| *symbols > 0).collect();
        if symbols.iter().any(|other| *other != symbols[0]) {
            return unmet(
                "special_slot",
                "in a full cell that all slots with data have equally many symbols: \"fdd\", or special slots without data",
            );
        }
        if self.config.reordering < self.persists() {
            return unmet(
                "reordering",
                "that no packet is given up which HARQ still sends: a longer reordering",
            );
        }
        let first = (0..period).find(|slot| self.config.data_symbols(*slot) > 0).unwrap_or(0);
        let fate = self.block(first);
        let slot_s = self.config.numerology.slot().as_secs_f64();
        let slots_per_s = symbols.len() as f64 / (period as f64 * slot_s) * self.adaptation.process_share();
        let bits_per_s = slots_per_s * f64::from(fate.bits) / fate.transmissions;
        let whole = packet_bytes + self.config.header_bytes;
        let arrives = whole_packets(u64::from(whole), u64::from(fate.bits / 8), 1.0 - fate.lost);
        Ok(Saturated {
            initial_error_rate: fate.error_rates[0],
            transmissions: fate.transmissions,
            lost: fate.lost,
            goodput_bps: bits_per_s * arrives * f64::from(packet_bytes) / f64::from(whole),
            filled_from_bps: bits_per_s,
        })
    }

    /// Closed forms of an idle cell with packets of `packet_bytes` that arrive at the times `arrivals`, at least `gap`
    /// apart.
    ///
    /// # Errors
    /// The assumption that the cell does not meet: packets that fit into a block, and never meet retransmissions of
    /// their predecessor.
    pub fn idle(
        &mut self,
        packet_bytes: u32,
        gap: SimTime,
        arrivals: impl Iterator<Item = SimTime>,
    ) -> Result<Idle, Unmet> {
        let unmet = |key, assumed| Err(Unmet { key, assumed });
        let slot = self.config.numerology.slot();
        let period = self.config.duplex.period();
        let fates: Vec<Option<BlockFate>> =
            (0..period).map(|slot| (self.config.data_symbols(slot) > 0).then(|| self.block(slot))).collect();
        let all = || fates.iter().flatten();
        // Headers: PDCP 3 bytes, RLC at most 4, MAC at most 3; without a stack as configured.
        let headers = if self.config.stack.is_some() { 10 } else { self.config.header_bytes };
        if all().any(|fate| fate.bits / 8 < packet_bytes + headers) {
            return unmet("radio.mean_snr_db", "in an idle cell that a packet fits into a block");
        }
        let is_lost = all().any(|fate| fate.lost > NEVER);
        let reordering = match &self.config.stack {
            None => Some(self.config.reordering),
            Some(stack) => {
                if is_lost && stack.rlc.mode == crate::rlc::RlcMode::Acknowledged {
                    return unmet(
                        "rlc.mode",
                        "in AM that HARQ loses no block, which RLC would send again: \"um\", or harq.nack_to_ack = 0",
                    );
                }
                stack.reordering
            }
        };
        // The packet behind a lost one detects the loss, and waits for t-Reordering.
        let behind_a_loss = match reordering {
            _ if !is_lost => SimTime::ZERO,
            Some(reordering) => slot * reordering.as_nanos().div_ceil(slot.as_nanos()),
            None => return unmet("reordering", "that packets do not wait for lost ones for ever"),
        };
        // Until the last possible copy is acknowledged, plus one period for the wait before the first.
        let done = all().map(|fate| self.last_slot(fate)).max().unwrap_or(0) + period;
        if gap < slot * done + behind_a_loss {
            return unmet(
                "rate",
                "either a full cell or packets so far apart that each finds the cell idle, HARQ of the one before done: a lower rate, or \
                 one above what the cell carries",
            );
        }
        let [mut packets, mut first, mut copies, mut lost, mut sum, mut squares, mut arrived] = [0.0; 7];
        let mut before_lost = 0.0;
        for at in arrivals {
            let reached = at.as_nanos().div_ceil(slot.as_nanos());
            let sent = (reached..reached + period)
                .find(|slot| self.config.data_symbols(*slot) > 0)
                .unwrap_or(reached);
            let Some(fate) = &fates[(sent % period) as usize] else { continue };
            let wait_s = (slot * sent).saturating_sub(at).as_secs_f64();
            packets += 1.0;
            first += fate.error_rates[0];
            copies += fate.transmissions;
            lost += fate.lost;
            for (p, after) in fate.received.iter().zip(&fate.arrives_after) {
                let delay_s = wait_s + (slot * *after).as_secs_f64();
                let longer_s = delay_s + behind_a_loss.as_secs_f64();
                sum += p * ((1.0 - before_lost) * delay_s + before_lost * longer_s);
                squares += p * ((1.0 - before_lost) * delay_s * delay_s + before_lost * longer_s * longer_s);
                arrived += p;
            }
            before_lost = fate.lost;
        }
        let delay_mean_s = sum / arrived;
        Ok(Idle {
            initial_error_rate: first / packets,
            transmissions: copies / packets,
            lost: lost / packets,
            delay_mean_s,
            delay_deviation_s: (squares / arrived - delay_mean_s * delay_mean_s).max(0.0).sqrt(),
        })
    }

    /// Slots from the first copy of a block until its process is certainly free.
    fn last_slot(&self, fate: &BlockFate) -> u64 {
        let harq = &self.config.harq;
        // A received block may be retransmitted up to the limit if its acknowledgements are misread.
        let may_repeat = |p: f64| p > NEVER || harq.has_feedback && harq.ack_to_nack > 0.0;
        let copies = 1 + fate.error_rates.iter().take_while(|p| may_repeat(**p)).count();
        let last = fate.arrives_after[copies.min(fate.arrives_after.len()) - 1];
        last + self.config.round_trips().0.into_iter().max().unwrap_or(0)
    }
}

/// Mean number of copies of a block, share of lost blocks, and probability of reception by copy 1, 2, ..., given the
/// error rates after 1, 2, ... copies and the probabilities that negative and positive acknowledgements are misread.
fn fate(error_rates: &[f64], [nack_to_ack, ack_to_nack]: [f64; 2]) -> (f64, f64, Vec<f64>) {
    let (mut open, mut in_vain, mut before) = (1.0, 0.0, 1.0);
    let (mut transmissions, mut lost) = (0.0, 0.0);
    let mut received = Vec::new();
    for (copy, error_rate) in error_rates.iter().enumerate() {
        transmissions += open + in_vain;
        let fails = open * if before > 0.0 { error_rate / before } else { 0.0 };
        received.push(open - fails);
        in_vain = (open - fails + in_vain) * ack_to_nack;
        let is_last = copy + 1 == error_rates.len();
        lost += if is_last { fails } else { fails * nack_to_ack };
        open = fails * (1.0 - nack_to_ack);
        before = *error_rate;
    }
    (transmissions, lost, received)
}

/// Share of packets of `packet` bytes of which every block arrives, if blocks of `block` bytes arrive with probability
/// `arrives`: the mean over all offsets at which a packet can begin in a block.
fn whole_packets(packet: u64, block: u64, arrives: f64) -> f64 {
    let step = greatest_common_divisor(packet, block);
    let places = block / step;
    let survives = |place: u64| libm::pow(arrives, ((place * step + packet - 1) / block + 1) as f64);
    (0..places).map(survives).sum::<f64>() / places as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell_tests::{SEED, config, goodput_bps, half_failing, saturated};
    use crate::rlc::RlcMode;
    use crate::stack_tests::stack;
    use crate::{Combining, Duplex, NrCell, closed_form};
    use crossfade_link::{Departure, Fabric, Parcel, Push};

    #[test]
    fn copies_and_losses_by_hand() {
        let (transmissions, lost, received) = fate(&[0.1, 0.01, 0.002, 0.001], [0.0, 0.0]);
        assert_eq!((transmissions, lost), closed_form(&[0.1, 0.01, 0.002, 0.001]));
        assert!((received[1] - 0.09).abs() < 1e-12 && (received[3] - 0.001).abs() < 1e-12);
        // As in the test of misread acknowledgements: half fails in the first copy, none in the second.
        let (transmissions, lost, _) = fate(&[0.5, 0.0, 0.0, 0.0], [0.0, 0.2]);
        assert!((transmissions - (1.5 + 0.2 + 0.2 * 0.2 + 0.5 * 0.008)).abs() < 1e-12 && lost == 0.0);
        let (_, lost, _) = fate(&[0.5, 0.0, 0.0, 0.0], [0.1, 0.0]);
        assert!((lost - 0.05).abs() < 1e-12);
    }

    #[test]
    fn packets_of_several_blocks_by_hand() {
        // Blocks of 4 bytes, packets of 6: two blocks from offset 0, and from offset 2.
        assert!((whole_packets(6, 4, 0.9) - 0.81).abs() < 1e-12);
        // Packets of 3 bytes: one block from offsets 0 and 1, two from 2 and 3.
        assert!((whole_packets(3, 4, 0.9) - 0.855).abs() < 1e-12);
    }

    /// A saturated cell has the goodput of the closed form, with half of the first copies failing, misread
    /// acknowledgements, and the least helpful second copy.
    #[test]
    fn a_full_cell_has_the_goodput_of_the_closed_form() {
        for (combining, transmissions, processes) in [
            (Combining::IncrementalRedundancy, 4, 16),
            (Combining::Chase, 2, 16),
            (Combining::Chase, 1, 16),
            (Combining::IncrementalRedundancy, 4, 3),
        ] {
            let mut config = half_failing();
            config.duplex = Duplex::frequency();
            config.users[0].mean_snr_db = NrCell::thresholds_db(&config)[10] + 1e-9;
            config.header_bytes = 9;
            config.harq.nack_to_ack = 0.05;
            config.harq.ack_to_nack = 0.1;
            (config.harq.combining, config.harq.transmissions) = (combining, transmissions);
            config.harq.processes = processes;
            let found = ClosedForms::new(&config).unwrap().saturated(1500).unwrap();
            let report = saturated(config, 10);
            let frames = report.frames.clone().unwrap();
            let blocks = frames.frames as f64;
            let close = |a: f64, b: f64, sigma: f64| (a - b).abs() < 4.0 * sigma + 1e-9;
            let rate = frames.frames_lost as f64 / blocks;
            assert!(close(rate, found.lost, (found.lost / blocks).sqrt()), "{rate} {found:?}");
            let copies = frames.frame_transmissions_per_frame();
            assert!(close(copies, found.transmissions, 0.6 / blocks.sqrt()), "{copies} {found:?}");
            let first = report.users[0].first_errors as f64 / blocks;
            assert!(close(first, found.initial_error_rate, 0.5 / blocks.sqrt()), "{first} {found:?}");
            let bps = goodput_bps(&report);
            assert!((bps / found.goodput_bps - 1.0).abs() < 0.02, "{bps} {found:?}");
        }
    }

    /// An idle cell has the delays of the closed form: the mean over packets in every slot of the pattern, within four
    /// standard errors.
    #[test]
    fn an_idle_cell_has_the_delays_of_the_closed_form() {
        for mode in [None, Some(RlcMode::Unacknowledged), Some(RlcMode::Acknowledged)] {
            let mut config = half_failing();
            config.harq.ack_to_nack = 0.1;
            if mode != Some(RlcMode::Acknowledged) {
                config.harq.nack_to_ack = 0.1;
            }
            config.reordering = SimTime::from_millis(50);
            config.stack = mode.map(|mode| {
                let mut stack = stack(mode);
                stack.reordering = Some(SimTime::from_millis(50));
                stack
            });
            let gap = SimTime::from_micros(100_130);
            let count = 6000_u64;
            let times = || (1..=count).map(|number| gap * number);
            let expected = ClosedForms::new(&config).unwrap().idle(200, gap, times()).unwrap();
            let mut cell = NrCell::new(config, SEED).unwrap();
            let (mut sum, mut arrived) = (0.0, 0.0);
            for (number, at) in times().enumerate() {
                let mut drain = |cell: &mut NrCell, until: SimTime| {
                    while let Some(now) = cell.next_event().filter(|now| *now < until) {
                        while let Some((_, departure)) = cell.advance(now) {
                            if let Departure::Arrived(parcel) = departure {
                                sum += (now - gap * u64::from(parcel.id())).as_secs_f64();
                                arrived += 1.0;
                            }
                        }
                    }
                };
                drain(&mut cell, at);
                assert_eq!(cell.push(at, 0, 1, Parcel::new(number as u32 + 1, 0, 200)), Push::Accepted);
                drain(&mut cell, at + gap);
            }
            let mean = sum / arrived;
            let error = expected.delay_deviation_s / f64::sqrt(arrived);
            assert!((mean - expected.delay_mean_s).abs() < 4.0 * error, "{mode:?} {mean} {expected:?}");
            let lost = 1.0 - arrived / count as f64;
            let error = (expected.lost.max(1e-9) / count as f64).sqrt();
            assert!((lost - expected.lost).abs() < 4.0 * error, "{mode:?} {lost} {expected:?}");
        }
    }

    #[test]
    fn what_has_no_closed_form_is_named() {
        let key = |config: NrConfig| ClosedForms::new(&config).err().map(|unmet| unmet.key);
        assert_eq!(key(crate::cell_tests::fading(1)), Some("profile"));
        assert_eq!(key(crate::cell_tests::fading(2)), Some("users"));
        let mut forms = ClosedForms::new(&config(20.0)).unwrap();
        assert_eq!(forms.saturated(1500).unwrap_err().key, "special_slot");
        let often = |forms: &mut ClosedForms| {
            forms.idle(200, SimTime::from_millis(5), std::iter::once(SimTime::ZERO)).unwrap_err().key
        };
        assert_eq!(often(&mut forms), "rate");
        let mut large = ClosedForms::new(&config(-10.0)).unwrap();
        let found = large.idle(1500, SimTime::from_millis(5000), std::iter::once(SimTime::ZERO));
        assert_eq!(found.unwrap_err().key, "radio.mean_snr_db");
    }
}
