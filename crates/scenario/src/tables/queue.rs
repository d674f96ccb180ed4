//! Keys of queues in front of links.

use super::base::{absent, json, positive_time, time};
use super::rfc::Rules;
use super::tagged::{refuse_foreign, tag, taken_by};
use crate::error::{ScenarioError, join};
use crate::quantity::{Limit, Room, Share, Size, Span};
use crossfade_core::SimTime;
use crossfade_link::{
    CoDelConfig, DualPi2Config, DualPi2Draw, FqCoDelConfig, PieConfig, QueueConfig, QueueLimit, RedConfig,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Queue of packets in front of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = taken_by::<Discipline>)]
pub struct Queue {
    /// Queue limit in packets or bytes, besides the packet being sent. Packets beyond it are dropped. A time ("200 ms")
    /// means the bytes that the link sends in it, "1 bdp" those of the longest idle RTT of a packet (the
    /// bandwidth-delay product); either is at least a packet.
    #[schemars(extend("x-default" = "1000 packets, or unlimited where the windows of all flows hold no more; 10240 packets for \"fq-codel\", 250 ms for \"dualpi2\" (10000 packets with profile \"linux\"). Required for red, codel and pie"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,

    /// Queue discipline: which packet is sent next, and which are dropped or marked early.
    #[schemars(extend("x-default" = "drop-tail"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discipline: Option<Discipline>,

    /// Whether packets that support ECN are marked instead of dropped (RFC 3168).
    #[schemars(extend("x-default" = "true for red, codel, fq-codel and pie"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,

    /// Average queue in packets below which RED marks nothing.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1e9, "x-default" = "5, with discipline \"red\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_th: Option<f64>,

    /// Average queue in packets at which RED marks with probability max_p.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1e9, "x-default" = "15, with discipline \"red\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_th: Option<f64>,

    /// Marking probability of RED as the average queue reaches max_th.
    #[schemars(extend("x-default" = "0.1, with discipline \"red\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_p: Option<Share>,

    /// Weight of the present queue in RED's average.
    #[schemars(extend("x-default" = "0.002, with discipline \"red\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub w_q: Option<Share>,

    /// Gentle RED: the probability grows to 1 from max_th to twice that, instead of jumping.
    #[schemars(extend("x-default" = "true, with discipline \"red\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gentle: Option<bool>,

    /// Target delay of the queue. It is the acceptable standing delay of codel and fq-codel (RFC 8289), and the delay
    /// that pie and dualpi2's classic queue settle at (RFC 8033, RFC 9332).
    #[schemars(extend("x-default" = "5 ms with discipline \"codel\" or \"fq-codel\"; 15 ms with \"pie\" or \"dualpi2\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Span>,

    /// Time above target after which CoDel drops a packet; about the longest RTT (RFC 8289).
    #[schemars(extend("x-default" = "100 ms, with discipline \"codel\" or \"fq-codel\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Span>,

    /// Update interval of the probability of PIE and DualPI2 (RFC 8033, RFC 9332).
    #[schemars(extend("x-default" = "15 ms with discipline \"pie\" or \"dualpi2\"; 16 ms with profile \"linux\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_update: Option<Span>,

    /// Burst allowance: time after a short queue in which PIE drops nothing (RFC 8033).
    #[schemars(extend("x-default" = "150 ms, with discipline \"pie\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_burst: Option<Span>,

    /// Number of bytes that a flow may send before the turn of the next flow (RFC 8290).
    #[schemars(extend("x-default" = "1514 B, with discipline \"fq-codel\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Size>,

    /// DualPI2 source: `rfc` (RFC 9332) or `linux` (Linux 6.17). The RFC has a ramp of evenly spaced marks and a
    /// weight of 1/16 for the classic queue; Linux has a step at 1 ms, marks drawn for each packet, and a weight of
    /// 1/10.
    #[schemars(extend("x-default" = "rfc, with discipline \"dualpi2\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Rules>,

    /// Coupling factor k of DualPI2. The scalable queue is marked with k p', the classic one dropped with p' squared
    /// (RFC 9332).
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 255, "x-default" = "2, with discipline \"dualpi2\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coupling: Option<f64>,

    /// Delay above which DualPI2's scalable queue begins to mark on its own (RFC 9332, minTh).
    #[schemars(extend("x-default" = "800 us with discipline \"dualpi2\"; 1 ms with profile \"linux\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l_min_th: Option<Span>,

    /// Delay from which DualPI2's scalable queue marks every packet. It is l_min_th for a step (RFC 9332, maxTh).
    #[schemars(extend("x-default" = "1.2 ms with discipline \"dualpi2\"; 1 ms with profile \"linux\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l_max_th: Option<Span>,

    /// Method by which DualPI2 turns a probability into marks.
    #[schemars(extend("x-default" = "recur with discipline \"dualpi2\"; roll with profile \"linux\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draw: Option<Draw>,
}

/// Method by which a marking probability becomes marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Draw {
    /// Evenly spaced marks (RFC 9332 appendix A.1).
    Recur,
    /// Marks drawn at random for each packet.
    Roll,
}

tag! {
    /// Queue discipline.
    #[serde(rename_all = "kebab-case")]
    pub enum Discipline: Queue by discipline {
        /// First in, first out; packets that find the queue full are dropped.
        DropTail [limit],
        /// Random early detection (Floyd and Jacobson 1993).
        Red [limit, ecn, min_th, max_th, max_p, w_q, gentle],
        /// Controlled delay (RFC 8289).
        Codel [limit, ecn, target, interval],
        /// Queue for each flow under controlled delay, served in turn (RFC 8290).
        FqCodel [limit, ecn, target, interval, quantum],
        /// Proportional integral controller enhanced (RFC 8033).
        Pie [limit, ecn, target, t_update, max_burst],
        /// Coupled queues, one for scalable senders such as "prague" and "dctcp", one for all others (RFC 9332).
        #[serde(rename = "dualpi2")]
        DualPi2 [limit, target, t_update, profile, coupling, l_min_th, l_max_th, draw],
    }
}

absent!(Queue);

/// Default queue limit in packets: Linux's txqueuelen.
pub(crate) const USUAL_LIMIT: usize = 1000;

/// Packets that a link carries: sizes, and numbers in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packets {
    /// Usual packet size in bytes, for which a queue is dimensioned.
    pub(crate) usual: u32,
    /// Largest packet size in bytes.
    pub(crate) largest: u32,
    /// Smallest header size of any packet in bytes.
    pub(crate) headers: u32,
    /// True if the windows of all senders together do not exceed the default limit of a queue.
    pub(crate) few: bool,
    /// Longest idle RTT of a packet; `None` while unknown.
    pub(crate) round_trip: Option<SimTime>,
}

impl Queue {
    /// Fills in the defaults of the queue in the table called `table`, in front of a link of `rate_bps` bit/s that
    /// carries these `packets`.
    pub(crate) fn resolve(
        &mut self,
        table: &str,
        rate_bps: Option<f64>,
        packets: Packets,
        slot: SimTime,
    ) -> Result<QueueConfig, ScenarioError> {
        let packet_size = packets.usual;
        // Without a rate no packet waits.
        let is_bounded = packets.few || rate_bps.is_none();
        let usual = if is_bounded { Room::Unlimited } else { Room::Of(QueueLimit::Packets(USUAL_LIMIT)) };
        self.settle(table, rate_bps, packets)?;
        let discipline = self.discipline.unwrap_or(Discipline::DropTail);
        refuse_foreign(table, self, discipline)?;
        if discipline == Discipline::DropTail {
            // A drop-tail queue given by the key equals the default, so the key has no part in the run's identity.
            self.discipline = None;
            return Ok(QueueConfig::DropTail(self.limit.get_or_insert(Limit(usual)).0.limit()));
        }
        let Some(rate_bps) = rate_bps else {
            let problem = "needs a link with a rate: without one nothing waits";
            return Err(ScenarioError::value(join(table, "discipline"), &json(discipline), problem));
        };
        let of_its_own = match (discipline, self.profile) {
            (Discipline::FqCodel, _) => Some(QueueLimit::Packets(10240)),
            (Discipline::DualPi2, Some(Rules::Linux)) => Some(QueueLimit::Packets(10000)),
            // RFC 9332 appendix A.1: as many bytes as the link sends in 250 ms.
            (Discipline::DualPi2, _) => {
                Some(QueueLimit::Bytes(((rate_bps / 8.0 * 0.25) as u64).max(packets.largest.into())))
            }
            _ => None,
        };
        let given = self.limit.and_then(|limit| limit.0.limit());
        let Some(limit) = given.or(of_its_own.filter(|_| self.limit.is_none())) else {
            let problem = format!("needs {}, such as \"100 packets\"", join(table, "limit"));
            return Err(ScenarioError::value(join(table, "discipline"), &json(discipline), problem));
        };
        self.limit = Some(Limit(Room::Of(limit)));
        let ecn = discipline == Discipline::DualPi2 || *self.ecn.get_or_insert(true);
        let model = match discipline {
            Discipline::DropTail => unreachable!("returned above"),
            Discipline::DualPi2 => {
                QueueConfig::DualPi2(self.dual_pi2(table, limit, packets.largest, slot)?)
            }
            Discipline::Red => QueueConfig::Red(self.red(table, limit, ecn, rate_bps, packet_size)?),
            Discipline::Codel => QueueConfig::CoDel(self.codel(table, ecn, packet_size, slot)?, limit),
            Discipline::FqCodel => QueueConfig::FqCoDel(FqCoDelConfig {
                codel: self.codel(table, ecn, packet_size, slot)?,
                limit,
                quantum: self.quantum.get_or_insert(Size(1514)).0,
                ..FqCoDelConfig::default()
            }),
            Discipline::Pie => QueueConfig::Pie(self.pie(table, limit, ecn, packet_size, slot)?),
        };
        self.check_room(table, packet_size)?;
        Ok(model)
    }

    /// Error if the limit of a resolved queue, through which every packet passes, admits no packet.
    ///
    /// A drop-tail queue in front of a transmitter is exempt: packets that find the transmitter idle do not enter the
    /// queue.
    pub(crate) fn check_room(&self, table: &str, packet_size: u32) -> Result<(), ScenarioError> {
        match self.limit.and_then(|limit| limit.0.limit()) {
            Some(limit) if !limit.admits(0, 0, packet_size) => {
                let problem = format!("must let in a packet of link.packet_size = \"{packet_size} B\"");
                Err(ScenarioError::value(join(table, "limit"), &json(self.limit), problem))
            }
            _ => Ok(()),
        }
    }

    /// True if the limit is a number of bandwidth-delay products.
    pub(crate) fn is_in_products(&self) -> bool {
        matches!(self.limit, Some(Limit(Room::Products(_))))
    }

    /// Converts a limit given as a time or in BDPs to one in bytes, so that equal limits give equal runs.
    fn settle(&mut self, table: &str, rate_bps: Option<f64>, packets: Packets) -> Result<(), ScenarioError> {
        let seconds = match self.limit {
            Some(Limit(Room::Time(time))) => time.as_secs_f64(),
            Some(Limit(Room::Products(products))) => {
                packets.round_trip.map_or(0.0, |round_trip| products * round_trip.as_secs_f64())
            }
            _ => return Ok(()),
        };
        let Some(rate_bps) = rate_bps else {
            let problem = "needs a link with a rate: without one nothing waits";
            return Err(ScenarioError::value(join(table, "limit"), &json(self.limit), problem));
        };
        let bytes = ((rate_bps * seconds / 8.0) as u64).max(packets.largest.into());
        self.limit = Some(Limit(Room::Of(QueueLimit::Bytes(bytes))));
        Ok(())
    }

    fn red(
        &mut self,
        table: &str,
        limit: QueueLimit,
        ecn: bool,
        rate_bps: f64,
        packet_size: u32,
    ) -> Result<RedConfig, ScenarioError> {
        // Thresholds are given in packets; RED measures the queue in the unit of its limit.
        let unit = match limit {
            QueueLimit::Packets(_) => 1.0,
            QueueLimit::Bytes(_) => f64::from(packet_size),
        };
        let usual = RedConfig::new(limit, packet_size, rate_bps);
        let min_th = *self.min_th.get_or_insert(usual.min_th / unit);
        let max_th = *self.max_th.get_or_insert(usual.max_th / unit);
        if max_th <= min_th {
            let problem = format!("must be above {} = {min_th}", join(table, "min_th"));
            return Err(ScenarioError::value(join(table, "max_th"), &json(max_th), problem));
        }
        for (key, share) in [("max_p", self.max_p), ("w_q", self.w_q)] {
            if share.is_some_and(|share| share.0 == 0.0) {
                return Err(ScenarioError::value(join(table, key), &json(share), "must be above 0"));
            }
        }
        Ok(RedConfig {
            min_th: min_th * unit,
            max_th: max_th * unit,
            max_p: self.max_p.get_or_insert(Share(usual.max_p)).0,
            w_q: self.w_q.get_or_insert(Share(usual.w_q)).0,
            gentle: *self.gentle.get_or_insert(usual.gentle),
            ecn,
            ..usual
        })
    }

    fn pie(
        &mut self,
        table: &str,
        limit: QueueLimit,
        ecn: bool,
        packet_size: u32,
        slot: SimTime,
    ) -> Result<PieConfig, ScenarioError> {
        let target = *self.target.get_or_insert(Span::millis(15));
        let t_update = *self.t_update.get_or_insert(Span::millis(15));
        let max_burst = *self.max_burst.get_or_insert(Span::millis(150));
        Ok(PieConfig {
            target: positive_time(&join(table, "target"), target, slot)?,
            t_update: positive_time(&join(table, "t_update"), t_update, slot)?,
            max_burst: time(&join(table, "max_burst"), max_burst, slot)?,
            ecn,
            ..PieConfig::new(limit, packet_size)
        })
    }

    fn dual_pi2(
        &mut self,
        table: &str,
        limit: QueueLimit,
        mtu: u32,
        slot: SimTime,
    ) -> Result<DualPi2Config, ScenarioError> {
        let usual = match *self.profile.get_or_insert(Rules::Rfc) {
            Rules::Rfc => DualPi2Config::rfc(limit, mtu),
            Rules::Linux => DualPi2Config::linux(limit, mtu),
        };
        let span = |given: &mut Option<Span>, usual: SimTime| *given.get_or_insert(Span::exactly(usual));
        let target = span(&mut self.target, usual.target);
        let t_update = span(&mut self.t_update, usual.t_update);
        let [low, high] = [span(&mut self.l_min_th, usual.min_th), span(&mut self.l_max_th, usual.max_th)];
        let coupling = *self.coupling.get_or_insert(usual.coupling);
        if !(coupling > 0.0 && coupling <= 255.0) {
            let problem = "must be more than 0 and at most 255";
            return Err(ScenarioError::value(join(table, "coupling"), &json(coupling), problem));
        }
        let usual_draw = if usual.draw == DualPi2Draw::Recur { Draw::Recur } else { Draw::Roll };
        let draw = match *self.draw.get_or_insert(usual_draw) {
            Draw::Recur => DualPi2Draw::Recur,
            Draw::Roll => DualPi2Draw::Roll,
        };
        let min_th = time(&join(table, "l_min_th"), low, slot)?;
        let max_th = time(&join(table, "l_max_th"), high, slot)?;
        if min_th > max_th {
            let problem = format!("must be at most {} = \"{high}\"", join(table, "l_max_th"));
            return Err(ScenarioError::value(join(table, "l_min_th"), &json(low), problem));
        }
        Ok(DualPi2Config {
            target: positive_time(&join(table, "target"), target, slot)?,
            t_update: positive_time(&join(table, "t_update"), t_update, slot)?,
            coupling,
            min_th,
            max_th,
            draw,
            ..usual
        })
    }

    fn codel(
        &mut self,
        table: &str,
        ecn: bool,
        packet_size: u32,
        slot: SimTime,
    ) -> Result<CoDelConfig, ScenarioError> {
        let usual = CoDelConfig::default();
        let target = *self.target.get_or_insert(Span::millis(5));
        let interval = *self.interval.get_or_insert(Span::millis(100));
        let target_time = time(&join(table, "target"), target, slot)?;
        let interval_time = positive_time(&join(table, "interval"), interval, slot)?;
        if target_time > interval_time {
            let problem = format!("must be at most {} = \"{interval}\"", join(table, "interval"));
            return Err(ScenarioError::value(join(table, "target"), &json(target), problem));
        }
        Ok(CoDelConfig { target: target_time, interval: interval_time, ecn, mtu: usual.mtu.max(packet_size) })
    }
}
