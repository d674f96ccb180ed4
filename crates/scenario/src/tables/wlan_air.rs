//! Keys of the air of a Wi-Fi network and of the queues before it: limits of aggregates, access categories, the access
//! point, neighbours.

use super::base::{absent, json, positive_time, time};
use super::queue::{Packets, USUAL_LIMIT};
use crate::error::{ScenarioError, join};
use crate::quantity::{Bytes, Limit, Room, Share, Span};
use crossfade_core::SimTime;
use crossfade_link::QueueLimit;
use crossfade_mac::wlan::{AccessPointQueues, AmpduLimits, Aql, Category, EDCA, Neighbours, Standard};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limits of aggregates (A-MPDU).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WlanAmpdu {
    /// Block acknowledgement window in MPDUs. It is at most 64 (n, ac), 256 (ax) or 1024 (be); 1 switches aggregation
    /// off.
    #[schemars(range(min = 1, max = 1024), extend("x-default" = "the largest that the standard allows"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,

    /// Largest size of an aggregate (A-MPDU) in bytes.
    #[schemars(extend("x-default" = "the largest that the standard allows"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,

    /// Longest duration of an aggregate (A-MPDU), at most 5.484 ms.
    #[schemars(extend("x-default" = "5.484 ms"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Span>,
}

absent!(WlanAmpdu);

impl WlanAmpdu {
    /// Fills in the limits of the network's standard.
    pub(super) fn fill(&mut self, standard: Standard) {
        let of = AmpduLimits::of(standard);
        self.window.get_or_insert(of.window);
        self.bytes.get_or_insert(Bytes(of.bytes));
        self.duration.get_or_insert(Span::exactly(of.duration));
    }

    /// Limits of aggregates for stations of a standard. If it differs from the network's (`is_foreign`), limits are at
    /// most those of the stations' standard.
    pub(super) fn resolve(
        &self,
        standard: Standard,
        is_foreign: bool,
        slot: SimTime,
    ) -> Result<AmpduLimits, ScenarioError> {
        let of = AmpduLimits::of(standard);
        let duration = match self.duration {
            Some(span) => time("wlan.ampdu.duration", span, slot)?,
            None => of.duration,
        };
        let [window, bytes] =
            [(self.window, of.window), (self.bytes.map(|size| size.0), of.bytes)].map(|(given, most)| {
                given.map_or(most, |given| if is_foreign { given.min(most) } else { given })
            });
        Ok(AmpduLimits { bytes, duration, window })
    }
}

/// EDCA parameters by access category.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WlanEdca {
    /// Voice, of highest priority: contention window 3 to 7, AIFSN 2, TXOP limit 2.08 ms.
    #[serde(skip_serializing_if = "WlanCategory::is_absent")]
    pub voice: WlanCategory,

    /// Video: contention window 7 to 15, AIFSN 2, TXOP limit 4.096 ms.
    #[serde(skip_serializing_if = "WlanCategory::is_absent")]
    pub video: WlanCategory,

    /// Best effort: contention window 15 to 1023, AIFSN 3, one exchange a TXOP.
    #[serde(skip_serializing_if = "WlanCategory::is_absent")]
    pub best_effort: WlanCategory,

    /// Background, of lowest priority: window 15 to 1023, AIFSN 7, one exchange a TXOP.
    #[serde(skip_serializing_if = "WlanCategory::is_absent")]
    pub background: WlanCategory,
}

absent!(WlanEdca);

/// EDCA parameters of one access category.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WlanCategory {
    /// Smallest contention window of the category, one below a power of two.
    #[schemars(range(min = 1, max = 32_767), extend("x-default" = "3 (voice), 7 (video), 15 (best effort, background)"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cw_min: Option<u32>,

    /// Largest contention window of the category, one below a power of two.
    #[schemars(range(min = 1, max = 32_767), extend("x-default" = "7 (voice), 15 (video), 1023 (best effort, background)"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cw_max: Option<u32>,

    /// AIFSN: number of backoff slots by which the interframe space AIFS exceeds SIFS.
    #[schemars(range(min = 1, max = 15), extend("x-default" = "2 (voice, video), 3 (best effort), 7 (background)"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aifsn: Option<u32>,

    /// TXOP limit: longest duration of a transmission opportunity, at most 8.16 ms. 0 s allows one exchange.
    #[schemars(extend("x-default" = "2.08 ms (voice), 4.096 ms (video), 0 s (best effort, background)"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub txop: Option<Span>,
}

absent!(WlanCategory);

/// Longest TXOP limit that a beacon can carry: 255 units of 32 us.
const LONGEST_TXOP: SimTime = SimTime::from_micros(255 * 32);

impl WlanEdca {
    /// EDCA parameters of the access categories with these indices, in their order.
    pub(super) fn resolve(
        &mut self,
        categories: &[usize],
        slot: SimTime,
    ) -> Result<Vec<Category>, ScenarioError> {
        let Self { voice, video, best_effort, background } = self;
        let tables =
            [("voice", voice), ("video", video), ("best_effort", best_effort), ("background", background)];
        let mut all = Vec::new();
        for ((name, table), usual) in tables.into_iter().zip(EDCA) {
            let category = if table.is_absent() {
                usual
            } else {
                table.resolve(&join("wlan.edca", name), usual, slot)?
            };
            all.push(category);
        }
        Ok(categories.iter().map(|&place| all[place]).collect())
    }
}

impl WlanCategory {
    fn resolve(&mut self, table: &str, usual: Category, slot: SimTime) -> Result<Category, ScenarioError> {
        let [least, most] = usual.windows;
        let cw_min = *self.cw_min.get_or_insert(least);
        let cw_max = *self.cw_max.get_or_insert(most.max(cw_min));
        for (key, window) in [("cw_min", cw_min), ("cw_max", cw_max)] {
            if !(1..=32_767).contains(&window) || !(window + 1).is_power_of_two() {
                let problem = "must be one below a power of two, between 1 and 32767";
                return Err(ScenarioError::value(join(table, key), &json(window), problem));
            }
        }
        if cw_max < cw_min {
            let problem = format!("must be at least {} = {cw_min}", join(table, "cw_min"));
            return Err(ScenarioError::value(join(table, "cw_max"), &json(cw_max), problem));
        }
        let aifsn = *self.aifsn.get_or_insert(usual.aifsn);
        if !(1..=15).contains(&aifsn) {
            return Err(ScenarioError::value(join(table, "aifsn"), &json(aifsn), "must be between 1 and 15"));
        }
        let span = *self.txop.get_or_insert(Span::exactly(usual.txop));
        let txop = time(&join(table, "txop"), span, slot)?;
        if txop > LONGEST_TXOP {
            let problem = format!("must be at most {LONGEST_TXOP}");
            return Err(ScenarioError::value(join(table, "txop"), &json(span), problem));
        }
        Ok(Category { windows: [cw_min, cw_max], aifsn, txop, ..usual })
    }
}

/// Queues of an access point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WlanAccessPoint {
    /// Queues: one for each station and category, or one FIFO for all. The FIFO stands before a driver of 128 packets.
    #[schemars(extend("x-default" = "per-station"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<WlanQueues>,

    /// Limit of the single FIFO in packets or bytes.
    #[schemars(extend("x-default" = "1000 packets, with queues \"fifo\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,

    /// Whether stations get equal airtime, instead of equal numbers of transmissions.
    #[schemars(extend("x-default" = "true, with queues \"per-station\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub airtime_fairness: Option<bool>,

    /// Whether airtime queue limits (AQL) bound the packets in the driver. Otherwise the driver takes packets as it
    /// sends them.
    #[schemars(extend("x-default" = "true, with queues \"per-station\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aql: Option<bool>,

    /// Airtime that the driver holds per station once all together have aql_threshold.
    #[schemars(extend("x-default" = "5 ms, with aql"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aql_low: Option<Span>,

    /// Airtime that the driver holds per station while all together have less than aql_threshold.
    #[schemars(extend("x-default" = "12 ms, or aql_low if that is larger; with aql"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aql_high: Option<Span>,

    /// Airtime in the driver, of all stations together, from which aql_low holds.
    #[schemars(extend("x-default" = "24 ms, with aql"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aql_threshold: Option<Span>,
}

absent!(WlanAccessPoint);

/// Queues of an access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WlanQueues {
    /// One queue for each station and access category.
    PerStation,
    /// One first-in, first-out queue for all packets.
    Fifo,
}

impl WlanAccessPoint {
    pub(super) fn resolve(
        &mut self,
        packets: Packets,
        slot: SimTime,
    ) -> Result<AccessPointQueues, ScenarioError> {
        const TABLE: &str = "wlan.access_point";
        if *self.queues.get_or_insert(WlanQueues::PerStation) == WlanQueues::Fifo {
            let given = [
                ("airtime_fairness", self.airtime_fairness.is_some()),
                ("aql", self.aql.is_some()),
                ("aql_low", self.aql_low.is_some()),
                ("aql_high", self.aql_high.is_some()),
                ("aql_threshold", self.aql_threshold.is_some()),
            ];
            if let Some((key, _)) = given.iter().find(|(_, is_given)| *is_given) {
                let reason = "one FIFO knows no stations";
                return Err(ScenarioError::contradiction(
                    &join(TABLE, key),
                    &join(TABLE, "queues = \"fifo\""),
                    reason,
                ));
            }
            let room = *self.limit.get_or_insert(Limit(Room::Of(QueueLimit::Packets(USUAL_LIMIT))));
            let Room::Of(limit) = room.0 else {
                let problem = "must be packets or bytes";
                return Err(ScenarioError::value(join(TABLE, "limit"), &json(room), problem));
            };
            if !limit.admits(0, 0, packets.largest) {
                let problem = format!("must let in a packet of {} B", packets.largest);
                return Err(ScenarioError::value(join(TABLE, "limit"), &json(room), problem));
            }
            return Ok(AccessPointQueues::OneFifo(limit));
        }
        if let Some(limit) = self.limit {
            let problem = "needs queues \"fifo\"; those of stations have wlan.queue.limit";
            return Err(ScenarioError::value(join(TABLE, "limit"), &json(limit), problem));
        }
        let airtime_fairness = *self.airtime_fairness.get_or_insert(true);
        if !*self.aql.get_or_insert(true) {
            (self.aql_low, self.aql_high, self.aql_threshold) = (None, None, None);
            return Ok(AccessPointQueues::PerStation { airtime_fairness, aql: None });
        }
        let span = |key: &str, given: &mut Option<Span>, usual: SimTime| {
            let span = *given.get_or_insert(Span::exactly(usual));
            positive_time(&join(TABLE, key), span, slot)
        };
        let low = span("aql_low", &mut self.aql_low, Aql::LINUX.low)?;
        let high = span("aql_high", &mut self.aql_high, Aql::LINUX.high.max(low))?;
        let threshold = span("aql_threshold", &mut self.aql_threshold, Aql::LINUX.threshold)?;
        if high < low {
            let problem = format!("must be at least wlan.access_point.aql_low = {low}");
            return Err(ScenarioError::value(join(TABLE, "aql_high"), &json(self.aql_high), problem));
        }
        Ok(AccessPointQueues::PerStation { airtime_fairness, aql: Some(Aql { low, high, threshold }) })
    }
}

/// Neighbouring networks on the channel, each of which contends as one station of best effort.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WlanNeighbours {
    /// Number of neighbouring networks.
    #[schemars(range(min = 1, max = 100), extend("x-default" = "1"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,

    /// Share of time that the data of all neighbours take on a free channel. With 100 % they always have data.
    #[schemars(extend("x-default" = "20 %"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy: Option<Share>,

    /// Duration of a neighbour's aggregate, between 20 us and 5.484 ms.
    #[schemars(extend("x-default" = "2 ms"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<Span>,
}

absent!(WlanNeighbours);

impl WlanNeighbours {
    /// Fills in the defaults of the neighbouring networks in the table called `table`.
    pub(super) fn resolve(
        &mut self,
        table: &str,
        slot: SimTime,
    ) -> Result<Option<Neighbours>, ScenarioError> {
        if self.is_absent() {
            return Ok(None);
        }
        let count = *self.count.get_or_insert(1) as usize;
        let busy = self.busy.get_or_insert(Share(0.2)).0;
        let aggregate = *self.aggregate.get_or_insert(Span::millis(2));
        Ok(Some(Neighbours { count, busy, aggregate: time(&join(table, "aggregate"), aggregate, slot)? }))
    }
}
