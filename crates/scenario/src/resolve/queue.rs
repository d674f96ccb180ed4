//! Queues.

use super::{json, positive_time};
use crate::error::{ScenarioError, join};
use crate::quantity::{Limit, Share, Size, Span};
use crate::scenario::{Discipline, Queue};
use crossfade_core::SimTime;
use crossfade_link::{CoDelConfig, FqCoDelConfig, QueueLimit, RedConfig};

/// Which queue a link has, with checked parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum QueueModel {
    /// First in, first out; `None` is without limit.
    DropTail(Option<QueueLimit>),
    /// Random early detection.
    Red(RedConfig),
    /// Controlled delay, in a queue of this size.
    CoDel(CoDelConfig, QueueLimit),
    /// Fair queueing with controlled delay.
    FqCoDel(FqCoDelConfig),
}

/// What each discipline takes beside `limit`.
fn keys_of(discipline: Discipline) -> (&'static [&'static str], &'static str) {
    match discipline {
        Discipline::DropTail => (&[], "limit alone"),
        Discipline::Red => (
            &["ecn", "min_th", "max_th", "max_p", "w_q", "gentle"],
            "limit, ecn, min_th, max_th, max_p, w_q, gentle",
        ),
        Discipline::Codel => (&["ecn", "target", "interval"], "limit, ecn, target, interval"),
        Discipline::FqCodel => {
            (&["ecn", "target", "interval", "quantum"], "limit, ecn, target, interval, quantum")
        }
    }
}

impl Queue {
    /// Fills in the defaults of the table called `table`, on a link of `rate_bps` with packets of
    /// `packet_size`.
    pub(super) fn resolve(
        &mut self,
        table: &str,
        rate_bps: Option<f64>,
        packet_size: u32,
        slot: SimTime,
    ) -> Result<QueueModel, ScenarioError> {
        let Some(discipline) = self.discipline else {
            // Nothing said is drop-tail; the key stays away, so that it has no part in the run's identity.
            self.refuse_foreign_keys(table, Discipline::DropTail)?;
            return Ok(QueueModel::DropTail(self.limit.get_or_insert(Limit(None)).0));
        };
        self.refuse_foreign_keys(table, discipline)?;
        if discipline == Discipline::DropTail {
            // The same queue as without the key has the same results.
            self.discipline = None;
            return Ok(QueueModel::DropTail(self.limit.get_or_insert(Limit(None)).0));
        }
        let Some(rate_bps) = rate_bps else {
            let problem = "needs a link with a rate: without one nothing waits";
            return Err(ScenarioError::value(join(table, "discipline"), &json(discipline), problem));
        };
        let usual = (discipline == Discipline::FqCodel).then_some(Limit(Some(QueueLimit::Packets(10240))));
        let Some(Limit(Some(limit))) = self.limit.or(usual) else {
            let problem = format!("needs {}, such as \"100 packets\"", join(table, "limit"));
            return Err(ScenarioError::value(join(table, "discipline"), &json(discipline), problem));
        };
        self.limit = Some(Limit(Some(limit)));
        let ecn = *self.ecn.get_or_insert(true);
        let model = match discipline {
            Discipline::DropTail => unreachable!("returned above"),
            Discipline::Red => QueueModel::Red(self.red(table, limit, ecn, rate_bps, packet_size)?),
            Discipline::Codel => QueueModel::CoDel(self.codel(table, ecn, packet_size, slot)?, limit),
            Discipline::FqCodel => QueueModel::FqCoDel(FqCoDelConfig {
                codel: self.codel(table, ecn, packet_size, slot)?,
                limit,
                quantum: self.quantum.get_or_insert(Size(1514)).0,
                ..FqCoDelConfig::default()
            }),
        };
        if limit.admits(0, 0, packet_size) {
            return Ok(model);
        }
        let problem = format!("must let in a packet of link.packet_size = \"{packet_size} B\"");
        Err(ScenarioError::value(join(table, "limit"), &json(self.limit), problem))
    }

    fn given(&self) -> Vec<&'static str> {
        let keys = [
            ("ecn", self.ecn.is_some()),
            ("min_th", self.min_th.is_some()),
            ("max_th", self.max_th.is_some()),
            ("max_p", self.max_p.is_some()),
            ("w_q", self.w_q.is_some()),
            ("gentle", self.gentle.is_some()),
            ("target", self.target.is_some()),
            ("interval", self.interval.is_some()),
            ("quantum", self.quantum.is_some()),
        ];
        keys.into_iter().filter(|(_, given)| *given).map(|(key, _)| key).collect()
    }

    fn refuse_foreign_keys(&self, table: &str, discipline: Discipline) -> Result<(), ScenarioError> {
        let (allowed, takes) = keys_of(discipline);
        let Some(foreign) = self.given().into_iter().find(|key| !allowed.contains(key)) else {
            return Ok(());
        };
        let discipline = format!("{} = {}", join(table, "discipline"), json(discipline));
        Err(ScenarioError::contradiction(&join(table, foreign), &discipline, format!("it takes {takes}")))
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
        let target_time = super::time(&join(table, "target"), target, slot)?;
        let interval_time = positive_time(&join(table, "interval"), interval, slot)?;
        if target_time > interval_time {
            let problem = format!("must be at most {} = \"{interval}\"", join(table, "interval"));
            return Err(ScenarioError::value(join(table, "target"), &json(target), problem));
        }
        Ok(CoDelConfig { target: target_time, interval: interval_time, ecn, mtu: usual.mtu.max(packet_size) })
    }
}
