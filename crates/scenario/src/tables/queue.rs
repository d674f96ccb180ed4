//! Queues.

use super::base::{absent, json, positive_time, time};
use super::tagged::{refuse_foreign, tag, taken_by};
use crate::error::{ScenarioError, join};
use crate::quantity::{Limit, Room, Share, Size, Span};
use crossfade_core::SimTime;
use crossfade_link::{CoDelConfig, FqCoDelConfig, PieConfig, QueueConfig, QueueLimit, RedConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The packets that wait for a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = taken_by::<Discipline>)]
pub struct Queue {
    /// How much may wait beside the packet being sent, in packets or bytes; what comes then is dropped. A time
    /// ("200 ms") is what the link sends in it at its rate, "1 bdp" what it sends in the longest round trip of a
    /// packet that waits for nothing (the bandwidth-delay product); both are bytes, at least a packet.
    #[schemars(extend("x-default" = "1000 packets, or unlimited where the windows of all flows hold no more; 10240 packets for \"fq-codel\". Required for red, codel and pie"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,

    /// Which packet goes next, and which are dropped or marked before the queue is full.
    #[schemars(extend("x-default" = "drop-tail"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discipline: Option<Discipline>,

    /// Mark packets that allow it instead of dropping them (RFC 3168).
    #[schemars(extend("x-default" = "true for red, codel, fq-codel and pie"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,

    /// The average queue below which RED marks nothing, in packets.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1e9, "x-default" = "5, of red"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_th: Option<f64>,

    /// The average queue at which RED marks with probability max_p, in packets.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1e9, "x-default" = "15, of red"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_th: Option<f64>,

    /// The probability of a mark as the average reaches max_th.
    #[schemars(extend("x-default" = "0.1, of red"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_p: Option<Share>,

    /// The weight of the present queue in RED's average.
    #[schemars(extend("x-default" = "0.002, of red"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub w_q: Option<Share>,

    /// Between max_th and twice that RED's probability grows to 1 instead of jumping.
    #[schemars(extend("x-default" = "true, of red"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gentle: Option<bool>,

    /// How long a packet may wait in a queue that stands (RFC 8289); the delay that pie comes to (RFC 8033).
    #[schemars(extend("x-default" = "5 ms, of codel and fq-codel; 15 ms, of pie"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Span>,

    /// How long packets must have waited longer before one is dropped; about the longest round trip (RFC
    /// 8289).
    #[schemars(extend("x-default" = "100 ms, of codel and fq-codel"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Span>,

    /// How often PIE computes its probability (RFC 8033).
    #[schemars(extend("x-default" = "15 ms, of pie"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_update: Option<Span>,

    /// How long PIE drops nothing after the queue was short (RFC 8033).
    #[schemars(extend("x-default" = "150 ms, of pie"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_burst: Option<Span>,

    /// How many bytes a flow may send before it is the next one's turn (RFC 8290).
    #[schemars(extend("x-default" = "1514 B, of fq-codel"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Size>,
}

tag! {
    /// A queue discipline.
    #[serde(rename_all = "kebab-case")]
    pub enum Discipline: Queue by discipline {
        /// First in, first out; what finds the queue full is dropped.
        DropTail [limit],
        /// Random early detection (Floyd and Jacobson 1993).
        Red [limit, ecn, min_th, max_th, max_p, w_q, gentle],
        /// Controlled delay (RFC 8289).
        Codel [limit, ecn, target, interval],
        /// A queue for each flow under controlled delay, served in turn (RFC 8290).
        FqCodel [limit, ecn, target, interval, quantum],
        /// Proportional integral controller enhanced (RFC 8033).
        Pie [limit, ecn, target, t_update, max_burst],
    }
}

absent!(Queue);

/// So many packets wait at an interface of Linux (its txqueuelen), where nothing else is said.
pub(crate) const USUAL_LIMIT: usize = 1000;

/// What a link carries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packets {
    /// Bytes of those that a queue is made for.
    pub(crate) usual: u32,
    /// Bytes of the largest.
    pub(crate) largest: u32,
    /// The fewest bytes of headers in any.
    pub(crate) headers: u32,
    /// The windows of all senders hold no more of them than the usual limit of a queue.
    pub(crate) few: bool,
    /// The longest round trip of those that wait for nothing, as soon as it is known.
    pub(crate) round_trip: Option<SimTime>,
}

impl Queue {
    /// Fills in the defaults of the table called `table`, on a link of `rate_bps` that carries these `packets`.
    pub(crate) fn resolve(
        &mut self,
        table: &str,
        rate_bps: Option<f64>,
        packets: Packets,
        slot: SimTime,
    ) -> Result<QueueConfig, ScenarioError> {
        let packet_size = packets.usual;
        // Without a rate nothing waits.
        let is_bounded = packets.few || rate_bps.is_none();
        let usual = if is_bounded { Room::Unlimited } else { Room::Of(QueueLimit::Packets(USUAL_LIMIT)) };
        self.settle(table, rate_bps, packets)?;
        let discipline = self.discipline.unwrap_or(Discipline::DropTail);
        refuse_foreign(table, self, discipline)?;
        if discipline == Discipline::DropTail {
            // The same queue as without the key has the same results: the key has no part in the run's identity.
            self.discipline = None;
            return Ok(QueueConfig::DropTail(self.limit.get_or_insert(Limit(usual)).0.limit()));
        }
        let Some(rate_bps) = rate_bps else {
            let problem = "needs a link with a rate: without one nothing waits";
            return Err(ScenarioError::value(join(table, "discipline"), &json(discipline), problem));
        };
        let of_fq_codel = (discipline == Discipline::FqCodel).then_some(QueueLimit::Packets(10240));
        let given = self.limit.and_then(|limit| limit.0.limit());
        let Some(limit) = given.or(of_fq_codel.filter(|_| self.limit.is_none())) else {
            let problem = format!("needs {}, such as \"100 packets\"", join(table, "limit"));
            return Err(ScenarioError::value(join(table, "discipline"), &json(discipline), problem));
        };
        self.limit = Some(Limit(Room::Of(limit)));
        let ecn = *self.ecn.get_or_insert(true);
        let model = match discipline {
            Discipline::DropTail => unreachable!("returned above"),
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
        if limit.admits(0, 0, packet_size) {
            return Ok(model);
        }
        let problem = format!("must let in a packet of link.packet_size = \"{packet_size} B\"");
        Err(ScenarioError::value(join(table, "limit"), &json(self.limit), problem))
    }

    /// Whether its limit is a number of bandwidth-delay products.
    pub(crate) fn is_in_products(&self) -> bool {
        matches!(self.limit, Some(Limit(Room::Products(_))))
    }

    /// A limit that depends on the link becomes one in bytes: two ways to say one thing are one run.
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
        // Thresholds are given in packets; RED measures in what the limit counts.
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
