//! Keys of a 5G NR cell: table `nr`.

use super::base::{absent, json, named, positive_time, time};
use super::nr_block::NrBlock;
use super::nr_harq::NrHarq;
use super::nr_interruptions::{NrBlockage, NrDrx, NrHandover, NrNtn};
use super::nr_link_adaptation::{NrFeedback, NrOuterLoop};
use super::nr_stack::{DISCARD, NrRlc, NrUplink, REORDERING, stepped};
use super::propagation::{ProfileKeys, ProfileWord, Shadowing};
use super::radio::{Radio, RadioSetup};
use crate::error::ScenarioError;
use crate::files::Files;
use crate::quantity::{FileName, Frequency, Share, Size, Span};
use crossfade_channel::DelayProfile;
use crossfade_core::SimTime;
use crossfade_link::QueueLimit;
use crossfade_nr::rlc::RlcMode;
use crossfade_nr::{
    BlockConfig, Duplex, EffectiveSinr, ErrorTable, Fidelity, McsTable, NrConfig, NrUser, Numerology,
    Scheduler, StackConfig, USUAL_PRIORITY, Way,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Downlink of a 5G NR cell in place of the link: coded transport blocks with hybrid ARQ, one flow for each user. A
/// slot of the scenario is then a slot of the numerology.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Nr {
    /// Preset: cell whose values are the defaults of other keys of `nr`.
    #[schemars(extend("x-default" = "none, which equals \"nr-tdd-40\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<NrPreset>,

    /// Numerology mu: slots of 1 ms / 2^mu, subcarriers of 2^mu * 15 kHz.
    #[schemars(range(min = 0, max = 3), extend("x-default" = "1"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numerology: Option<u32>,

    /// Bandwidth of the carrier, one that 3GPP TS 38.101 has for the numerology. It gives the number of resource
    /// blocks.
    #[schemars(extend("x-default" = "40 MHz; 100 MHz with numerology 3"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Frequency>,

    /// Number of resource blocks of the carrier. Contradicts nr.bandwidth, which otherwise gives it.
    #[schemars(range(min = 1, max = 275), extend("x-default" = "the number that TS 38.101 gives nr.bandwidth"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prbs: Option<u32>,

    /// Number of resource blocks in a group, the unit of scheduling. The channel is constant over a group and a slot.
    #[schemars(range(min = 1, max = 275), extend("x-default" = "8, or nr.prbs if that is less"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,

    /// Carrier frequency of the cell. With the speed of a user it gives the Doppler frequency.
    #[schemars(extend("x-default" = "3.5 GHz; 28 GHz with numerology 3"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carrier: Option<Frequency>,

    /// TDD pattern of D (downlink), S (special) and U (uplink) slots, or `fdd`. A pattern has 2 to 80 letters, among
    /// them a D and a U, and repeats.
    #[schemars(extend("x-default" = "DDDSU"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,

    /// Downlink, guard and uplink symbols of a special slot: three numbers with the sum 14.
    #[schemars(extend("x-default" = "10:2:2, with a TDD pattern"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub special_slot: Option<String>,

    /// Number of OFDM symbols for control at the beginning of a slot with data.
    #[schemars(range(min = 0, max = 3), extend("x-default" = "2"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_symbols: Option<u32>,

    /// Number of resource elements for reference signals (DM-RS) per resource block and slot.
    #[schemars(range(min = 0, max = 48), extend("x-default" = "12"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dmrs_re: Option<u32>,

    /// Number of resource elements for other overhead per resource block and slot. It is 0, 6, 12 or 18 (`xOverhead`).
    #[schemars(range(min = 0, max = 18), extend("x-default" = "0"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overhead_re: Option<u32>,

    /// Number of spatial layers of the downlink. Each layer has the SNR of its user.
    #[schemars(range(min = 1, max = 8), extend("x-default" = "2"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layers: Option<u32>,

    /// MCS and CQI table of 3GPP TS 38.214 by number. Table 1 goes up to 64-QAM, 2 up to 256-QAM, 4 up to 1024-QAM; 3
    /// is for low error rates.
    #[schemars(range(min = 1, max = 4), extend("x-default" = "2"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcs_table: Option<u32>,

    /// Implementation loss of receivers: SNR needed beyond that of an ideal one, in dB.
    #[schemars(range(min = 0, max = 20), extend("x-default" = "0"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub implementation_loss_db: Option<f64>,

    /// Block error rates over SNR: `simulated`, `simulated-copies` or a file. The two names are tables of the simulated
    /// LDPC code, `simulated-copies` also for 2 to 4 combined transmissions.
    #[schemars(extend("x-default" = "none: normal approximation of the block error rate"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_table: Option<FileName>,

    /// Effective SINR: one SNR for a block whose resource blocks have different SNRs.
    #[schemars(extend("x-default" = "mutual-information"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effective_sinr: Option<NrEffectiveSinr>,

    /// Header bytes of PDCP, RLC and MAC per packet. Contradicts nr.uplink, with which RLC and PDCP have headers of
    /// their own.
    #[schemars(extend("x-default" = "9 B, without nr.uplink"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<Size>,

    /// Power delay profile of the fading channels, or `awgn` for constant channels.
    #[schemars(extend("x-default" = "TDL-C"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<NrProfile>,

    /// Root mean square delay spread of TDL-A, TDL-B and TDL-C, at most 10 us.
    #[schemars(extend("x-default" = "100 ns, with profile \"TDL-A\", \"TDL-B\" or \"TDL-C\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_spread: Option<Span>,

    /// Log-normal shadowing along the path of a user. Without this table there is no shadowing.
    #[serde(skip_serializing_if = "Shadowing::is_absent")]
    pub shadowing: Shadowing,

    /// Scheduler: which user gets each group of resource blocks. Retransmissions go first.
    #[schemars(extend("x-default" = "round-robin"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<NrScheduler>,

    /// Priorities that the scheduler follows first: of users, or of bearers with data. Needs nr.uplink.
    #[schemars(extend("x-default" = "user, with nr.uplink"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<NrPriority>,

    /// Averaging window of the scheduler proportional-fair. Slots without data do not count.
    #[schemars(extend("x-default" = "100 slots, with scheduler \"proportional-fair\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Span>,

    /// Target block error rate of first transmissions.
    #[schemars(extend("x-default" = "10 %"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_bler: Option<Share>,

    /// Channel quality reports of users to the base station.
    #[serde(skip_serializing_if = "NrFeedback::is_absent")]
    pub feedback: NrFeedback,

    /// Outer-loop link adaptation: correction of reported SNR by acknowledgements. Without this table there is none.
    #[serde(skip_serializing_if = "NrOuterLoop::is_absent")]
    pub outer_loop: NrOuterLoop,

    /// Hybrid ARQ (HARQ) of transport blocks: processes, timing and combining.
    #[serde(skip_serializing_if = "NrHarq::is_absent")]
    pub harq: NrHarq,

    /// Longest wait of a packet for missing earlier ones (t-Reordering of PDCP). Then the missing packets are given up.
    #[schemars(extend("x-default" = "100 ms; 220 ms with nr.uplink"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reordering: Option<Span>,

    /// Uplink of the cell, with RLC and PDCP in both directions. Without this table ACKs take the links of `reverse`.
    #[serde(skip_serializing_if = "NrUplink::is_absent")]
    pub uplink: NrUplink,

    /// Radio link control (RLC) of both directions. Needs nr.uplink.
    #[serde(skip_serializing_if = "NrRlc::is_absent")]
    pub rlc: NrRlc,

    /// Longest wait of a packet of which nothing was sent yet (PDCP discardTimer). Then the packet is dropped. Needs
    /// nr.uplink.
    #[schemars(extend("x-default" = "infinity, with nr.uplink"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discard: Option<Span>,

    /// Duration of the outage after a radio link failure. Needs nr.uplink.
    #[schemars(extend("x-default" = "200 ms, with nr.uplink"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outage: Option<Span>,

    /// Handovers of users at regular times. Without this table there are none. Needs nr.uplink.
    #[serde(skip_serializing_if = "NrHandover::is_absent")]
    pub handover: NrHandover,

    /// Discontinuous reception (DRX) of users. Without this table users always listen. Needs nr.uplink.
    #[serde(skip_serializing_if = "NrDrx::is_absent")]
    pub drx: NrDrx,

    /// Non-terrestrial network: propagation delay between base station and users. Without this table the delay is 0.
    #[serde(skip_serializing_if = "NrNtn::is_absent")]
    pub ntn: NrNtn,

    /// Blockage of users at random times, which lowers their SNR. Without this table there is none.
    #[serde(skip_serializing_if = "NrBlockage::is_absent")]
    pub blockage: NrBlockage,

    /// Fidelity: simulation of every transmission, or of mean transmissions per slot.
    #[schemars(extend("x-default" = "slot"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fidelity: Option<NrFidelity>,

    /// Radio of users whose flow has no radio table of its own.
    #[serde(skip_serializing_if = "Radio::is_absent")]
    pub radio: Radio,

    /// Transport block that method phy codes and decodes bit by bit.
    #[serde(skip_serializing_if = "NrBlock::is_absent")]
    pub block: NrBlock,
}

absent!(Nr);

/// Power delay profile of an NR cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum NrProfile {
    /// Constant channels: white Gaussian noise alone.
    #[serde(rename = "awgn")]
    Awgn,
    /// Tapped delay line A (3GPP TR 38.901), scaled by nr.delay_spread.
    #[serde(rename = "TDL-A")]
    TdlA,
    /// Tapped delay line B (3GPP TR 38.901), scaled by nr.delay_spread.
    #[serde(rename = "TDL-B")]
    TdlB,
    /// Tapped delay line C (3GPP TR 38.901), scaled by nr.delay_spread.
    #[serde(rename = "TDL-C")]
    TdlC,
}

/// Scheduler of an NR cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NrScheduler {
    /// Groups of resource blocks go in turn to the users with data to send.
    RoundRobin,
    /// Each group goes to the user with the highest reported SNR in it.
    MaxSinr,
    /// Each group goes to the user with the highest ratio of reported rate to mean rate.
    ProportionalFair,
}

/// Priorities that the scheduler of an NR cell follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NrPriority {
    /// A user has the priority of the quality class (five_qi) of its first bearer.
    User,
    /// A user has the priority of its most urgent bearer with data, as far as the base station knows: from buffer status
    /// reports by logical channel group.
    Bearer,
}

/// Effective SINR of an NR cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NrEffectiveSinr {
    /// SNR whose mutual information is the mean over all resource blocks; it needs no calibration.
    MutualInformation,
    /// Exponential effective SINR mapping (EESM) with the parameters of 5G-LENA and Sionna, of MCS tables 1 and 2.
    Eesm,
}

/// Fidelity with which an NR cell is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NrFidelity {
    /// Every transmission is simulated, with its outcome and its acknowledgement.
    Slot,
    /// Each slot has its mean rate and delay; single retransmissions are not simulated.
    Rate,
}

/// Resolved NR cell, apart from its seed.
#[derive(Clone, Debug)]
pub struct NrModel {
    /// Configuration of the NR cell, apart from its seed.
    pub config: NrConfig,
    /// Transport block that method phy codes and decodes; `None` if the scenario has none.
    pub block: Option<BlockConfig>,
}

impl Nr {
    /// Fills in the default numerology, and returns the numerology.
    pub(crate) fn resolve_numerology(&mut self) -> Result<Numerology, ScenarioError> {
        self.apply_preset();
        let mu = *self.numerology.get_or_insert(1);
        Numerology::new(mu)
            .ok_or_else(|| ScenarioError::value("nr.numerology", &json(mu), "must be between 0 and 3"))
    }

    /// Fills in the defaults of an NR cell. `radios` holds, for each flow, the key of its radio table, the table, and
    /// the number of users.
    #[expect(clippy::too_many_lines, reason = "key by key")]
    pub(crate) fn resolve(
        &mut self,
        numerology: Numerology,
        radios: &mut [(String, &mut Radio, usize)],
        queue: Option<QueueLimit>,
        files: &Files<'_>,
    ) -> Result<NrModel, ScenarioError> {
        let slot = numerology.slot();
        let prbs = self.resolve_blocks(numerology)?;
        let is_high = self.numerology == Some(3);
        let carrier = *self.carrier.get_or_insert(Frequency(if is_high { 28e9 } else { 3.5e9 }));
        let duplex = self.resolve_duplex()?;
        let number = *self.mcs_table.get_or_insert(2);
        let table = McsTable::numbered(number)
            .ok_or_else(|| ScenarioError::value("nr.mcs_table", &json(number), "must be between 1 and 4"))?;
        let profile = self.resolve_profile(slot)?;
        let shadowing =
            if self.shadowing.is_absent() { None } else { self.shadowing.resolve("nr.shadowing")? };
        self.radio.check("nr.radio")?;
        let mut users = Vec::new();
        for (table, radio, count) in radios {
            let radio = radio.resolve(table, &self.radio, slot, files)?;
            for i in 0..*count {
                users.push(match &radio {
                    RadioSetup::Recorded { trace, .. } => NrUser {
                        mean_snr_db: trace.mean_db(),
                        speed_mps: 0.0,
                        fd_t: 0.0,
                        trace: Some(trace.clone()),
                        priority: USUAL_PRIORITY,
                        queue: None,
                    },
                    RadioSetup::Modelled(modelled) => {
                        let (mean_snr_db, speed_mps, fd_t) =
                            modelled.user(table, i, *count, carrier.0, slot)?;
                        NrUser {
                            mean_snr_db,
                            speed_mps,
                            fd_t,
                            trace: None,
                            priority: USUAL_PRIORITY,
                            queue: None,
                        }
                    }
                });
            }
        }
        let error_table = match &self.error_table {
            None => None,
            Some(FileName(name)) if name == "simulated" => Some(ErrorTable::simulated()),
            Some(FileName(name)) if name == "simulated-copies" => Some(ErrorTable::simulated_with_copies()),
            Some(FileName(name)) => Some(files.nr_error_table("nr.error_table", name)?),
        };
        let (propagation, has_feedback) = self.ntn.resolve(slot)?;
        if !has_feedback {
            self.harq.transmissions.get_or_insert(1);
        }
        let mut harq = self.harq.resolve(slot)?;
        if !has_feedback {
            if self.harq.transmissions != Some(1) {
                let reason = "blocks without acknowledgement are sent once: leave it out, or say 1";
                return Err(ScenarioError::contradiction(
                    "nr.harq.transmissions",
                    "nr.ntn.harq_feedback",
                    reason,
                ));
            }
            harq.has_feedback = false;
        }
        let stack = self.resolve_stack(slot)?;
        let target = *self.target_bler.get_or_insert(Share(0.1));
        let reordering = *self.reordering.get_or_insert(Span::exactly(SimTime::from_millis(100)));
        let config = NrConfig {
            numerology,
            duplex,
            prbs,
            group_prbs: *self.group.get_or_insert(8.min(prbs)),
            control_symbols: *self.control_symbols.get_or_insert(2),
            dmrs_re: *self.dmrs_re.get_or_insert(12),
            overhead_re: *self.overhead_re.get_or_insert(0),
            layers: *self.layers.get_or_insert(2),
            table,
            implementation_loss_db: *self.implementation_loss_db.get_or_insert(0.0),
            error_table,
            effective_sinr: self.resolve_effective_sinr(),
            header_bytes: if stack.is_some() { 0 } else { self.headers.get_or_insert(Size(9)).0 },
            profile,
            shadowing,
            blockage: self.blockage.resolve(slot)?,
            users,
            scheduler: self.resolve_scheduler(slot)?,
            feedback: self.feedback.resolve(slot)?,
            target_error_rate: target.0,
            outer_loop: self.outer_loop.resolve(target.0),
            harq,
            reordering: stepped("nr.reordering", reordering, REORDERING, slot)?,
            queue,
            fidelity: match *self.fidelity.get_or_insert(NrFidelity::Slot) {
                NrFidelity::Slot => Fidelity::Slot,
                NrFidelity::Rate => Fidelity::Rate,
            },
            way: Way::Down,
            propagation,
            stack,
        };
        config.check().map_err(|error| named("nr", &error))?;
        let block = self.block.resolve(&config)?;
        Ok(NrModel { config, block })
    }

    /// Fills in the effective SINR. The default stays absent, so that rows of older results files keep their keys.
    fn resolve_effective_sinr(&mut self) -> EffectiveSinr {
        self.effective_sinr = self.effective_sinr.filter(|word| *word == NrEffectiveSinr::Eesm);
        if self.effective_sinr.is_some() {
            EffectiveSinr::Exponential
        } else {
            EffectiveSinr::MutualInformation
        }
    }

    /// Layers above hybrid ARQ (RLC, PDCP and uplink); `None` without an uplink.
    fn resolve_stack(&mut self, slot: SimTime) -> Result<Option<StackConfig>, ScenarioError> {
        // The default stays absent.
        self.priority = self.priority.filter(|word| *word != NrPriority::User);
        if self.uplink.is_absent() {
            for (key, is_given) in [
                ("nr.rlc", !self.rlc.is_absent()),
                ("nr.discard", self.discard.is_some()),
                ("nr.outage", self.outage.is_some()),
                ("nr.handover", !self.handover.is_absent()),
                ("nr.drx", !self.drx.is_absent()),
                ("nr.priority", self.priority.is_some()),
            ] {
                if is_given {
                    return Err(ScenarioError::missing("nr.uplink", &format!("a table, with {key}")));
                }
            }
            return Ok(None);
        }
        if self.headers.is_some() {
            let reason = "RLC and PDCP have headers of their own";
            return Err(ScenarioError::contradiction("nr.headers", "nr.uplink", reason));
        }
        let uplink = self.uplink.resolve(slot, self.mcs_table.unwrap_or(2))?;
        let rlc = self.rlc.resolve("nr.rlc", slot)?;
        let outage = *self.outage.get_or_insert(Span::exactly(SimTime::from_millis(200)));
        let reordering = *self.reordering.get_or_insert(Span::exactly(SimTime::from_millis(220)));
        let discard =
            self.discard.map(|discard| stepped("nr.discard", discard, DISCARD, slot)).transpose()?;
        Ok(Some(StackConfig {
            rlc,
            reordering: Some(stepped("nr.reordering", reordering, REORDERING, slot)?),
            discard,
            own: Vec::new(),
            further: Vec::new(),
            schedules_bearers: self.priority == Some(NrPriority::Bearer),
            outage: positive_time("nr.outage", outage, slot)?,
            uplink,
            handover: self.handover.resolve(rlc.mode == RlcMode::Acknowledged, slot)?,
            drx: self.drx.resolve(slot)?,
        }))
    }

    fn resolve_blocks(&mut self, numerology: Numerology) -> Result<u32, ScenarioError> {
        let usual = Frequency(if self.numerology == Some(3) { 100e6 } else { 40e6 });
        if let Some(prbs) = self.prbs {
            if self.bandwidth.is_some() {
                let reason = "the resource blocks are those of the bandwidth";
                return Err(ScenarioError::contradiction("nr.prbs", "nr.bandwidth", reason));
            }
            return Ok(prbs);
        }
        let bandwidth = *self.bandwidth.get_or_insert(usual);
        let mhz = bandwidth.0 / 1e6;
        let blocks = (mhz.fract() == 0.0).then(|| numerology.resource_blocks(mhz as u32)).flatten();
        blocks.ok_or_else(|| {
            let all: Vec<String> = numerology.bandwidths().map(|mhz| mhz.to_string()).collect();
            let problem = format!(
                "there is no such channel at a subcarrier spacing of {} kHz: must be one of {} MHz",
                numerology.block_hz() / 12e3,
                all.join(", ")
            );
            ScenarioError::value("nr.bandwidth", &json(bandwidth), problem)
        })
    }

    fn resolve_duplex(&mut self) -> Result<Duplex, ScenarioError> {
        let pattern = self.pattern.get_or_insert_with(|| "DDDSU".to_owned());
        if pattern == "fdd" {
            // A sweep over the patterns has this key in all of its points.
            self.special_slot = None;
            return Ok(Duplex::frequency());
        }
        let text = self.special_slot.get_or_insert_with(|| "10:2:2".to_owned());
        let numbers: Option<Vec<u32>> = text.split(':').map(|number| number.parse().ok()).collect();
        let special = numbers.and_then(|numbers| <[u32; 3]>::try_from(numbers).ok());
        let special =
            special.filter(|special| special.iter().all(|n| *n <= 14) && special.iter().sum::<u32>() == 14);
        let special = special.ok_or_else(|| {
            let problem = "must be downlink, guard and uplink symbols with the sum 14, such as \"10:2:2\"";
            ScenarioError::value("nr.special_slot", &json(&*text), problem)
        })?;
        Duplex::time(pattern, special).ok_or_else(|| {
            let problem =
                "must be \"fdd\", or 2 to 80 letters D, S and U with a D and a U, such as \"DDDSU\"";
            ScenarioError::value("nr.pattern", &json(&*pattern), problem)
        })
    }

    fn resolve_profile(&mut self, slot: SimTime) -> Result<Option<DelayProfile>, ScenarioError> {
        let mut word = match *self.profile.get_or_insert(NrProfile::TdlC) {
            NrProfile::Awgn => {
                // In a sweep over profiles this key is present at all points.
                self.delay_spread = None;
                return Ok(None);
            }
            NrProfile::TdlA => Some(ProfileWord::TdlA),
            NrProfile::TdlB => Some(ProfileWord::TdlB),
            NrProfile::TdlC => Some(ProfileWord::TdlC),
        };
        let spread = *self.delay_spread.get_or_insert(Span::exactly(SimTime::from_nanos(100)));
        if time("nr.delay_spread", spread, slot)? > SimTime::from_micros(10) {
            return Err(ScenarioError::value("nr.delay_spread", &json(spread), "must be at most 10 us"));
        }
        let profile = &mut word;
        let keys =
            ProfileKeys { profile, delay_spread: &mut self.delay_spread, delays_ns: None, powers_db: None };
        keys.resolve(slot).map(Some)
    }

    fn resolve_scheduler(&mut self, slot: SimTime) -> Result<Scheduler, ScenarioError> {
        let scheduler = *self.scheduler.get_or_insert(NrScheduler::RoundRobin);
        if scheduler != NrScheduler::ProportionalFair {
            self.window = None;
        }
        Ok(match scheduler {
            NrScheduler::RoundRobin => Scheduler::RoundRobin,
            NrScheduler::MaxSinr => Scheduler::MaxSinr,
            NrScheduler::ProportionalFair => {
                let window = *self.window.get_or_insert(Span::exactly(slot * 100));
                let window = positive_time("nr.window", window, slot)?;
                let window_slots = (window.as_nanos() as f64 / slot.as_nanos() as f64).max(1.0);
                Scheduler::ProportionalFair { window_slots }
            }
        })
    }
}

/// Preset of an NR cell: values that become the defaults of its other keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NrPreset {
    /// FDD of 10 MHz at 15 kHz and 2.1 GHz: the cell width of RFC 8869, with srsRAN's scheduling times (k1 4,
    /// scheduling requests every 20 ms).
    #[serde(rename = "nr-fdd-10")]
    NrFdd10,
    /// TDD of 40 MHz at 30 kHz and 3.5 GHz, pattern `DDDSU`. These are the defaults without a preset.
    #[serde(rename = "nr-tdd-40")]
    NrTdd40,
    /// TDD of 100 MHz at 30 kHz and 3.5 GHz, pattern `DDDDDDDSUU`, four layers: srsRAN's example for band n78.
    #[serde(rename = "nr-tdd-100")]
    NrTdd100,
    /// srsRAN Project on 100 MHz: the cell of `nr-tdd-100`, 5 transmissions, a target of 1 %, and the RLC of its 5QI 9.
    #[serde(rename = "srsran-tdd-100")]
    SrsranTdd100,
    /// OpenAirInterface on 40 MHz: `DDDDDDDSUU`, one layer, k1 and k2 of 2 slots, and the RLC and PDCP of its data
    /// bearers.
    #[serde(rename = "oai-tdd-40")]
    OaiTdd40,
    /// LTE of 10 MHz with its 50 resource blocks: FDD, 64-QAM, 8 HARQ processes with an RTT of 8 ms, scheduling
    /// requests every 10 ms.
    #[serde(rename = "lte-10")]
    Lte10,
    /// Satellite at 600 km with a transparent payload (3GPP TR 38.821): RTT 25.77 ms, 32 HARQ processes, timers of
    /// Amarisoft.
    NrNtnLeo,
    /// Geostationary satellite (3GPP TR 38.821): RTT 541.46 ms, no HARQ feedback (srsRAN's example),
    /// t-PollRetransmit 2 s.
    NrNtnGeo,
    /// Millimetre waves of 100 MHz at 28 GHz, 120 kHz, blocked by pedestrians: by 15.8 dB for 299 ms, after 5 s
    /// without blockage (means).
    NrMmwaveBlockage,
}
