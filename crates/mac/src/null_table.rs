//! Table of the exchanges nearby that a node knows of, and of their channels.

use crate::config::NullingRule;
use crate::vector::Vector;
use crossfade_core::SimTime;

/// Role of a node in an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The node has sent an RTS.
    Sender,
    /// The node has sent a CTS.
    Receiver,
}

/// Neighbour that is known to be in an exchange.
#[derive(Clone, Copy, Debug)]
struct Engaged {
    node: u32,
    role: Role,
    until: SimTime,
    /// Latest start of its DATA; without DATA by then, the exchange has failed. The maximum if DATA is not awaited.
    data_by: SimTime,
    /// Estimated channel vector of its training field, which is nulled.
    seen: Vector,
}

impl Engaged {
    fn ends(&self) -> SimTime {
        self.until.min(self.data_by)
    }
}

/// Neighbours that a node knows to be in exchanges.
#[derive(Clone, Debug, Default)]
pub(crate) struct NullTable(Vec<Engaged>);

impl NullTable {
    /// Removes the exchanges that have ended by `now`.
    pub(crate) fn forget(&mut self, now: SimTime) {
        self.0.retain(|engaged| engaged.ends() > now);
    }

    /// Records that `node` is in an exchange until `until`, or until `data_by` if no DATA begins before.
    pub(crate) fn learn(&mut self, node: u32, role: Role, until: SimTime, data_by: SimTime, seen: Vector) {
        self.0.retain(|engaged| engaged.node != node);
        self.0.push(Engaged { node, role, until, data_by, seen });
    }

    /// Records that DATA of `node` has begun; returns true if its exchange was awaiting DATA.
    pub(crate) fn confirm(&mut self, node: u32) -> bool {
        let engaged =
            self.0.iter_mut().find(|engaged| engaged.node == node && engaged.data_by < SimTime::MAX);
        engaged.map(|engaged| engaged.data_by = SimTime::MAX).is_some()
    }

    /// Known end of `node`'s engagement; `None` if it is not known to be engaged.
    pub(crate) fn engaged(&self, node: u32) -> Option<SimTime> {
        self.0.iter().find(|engaged| engaged.node == node).map(Engaged::ends)
    }

    /// Earliest end of a known exchange.
    pub(crate) fn first_end(&self) -> Option<SimTime> {
        self.0.iter().map(Engaged::ends).min()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    fn nulled(&self, rule: NullingRule, as_sender: bool) -> impl Iterator<Item = &Engaged> {
        let paper = if as_sender { Role::Receiver } else { Role::Sender };
        self.0.iter().filter(move |engaged| rule == NullingRule::Full || engaged.role == paper)
    }

    /// Stores in `into` the channel vectors that a node must null when it begins an exchange as sender or receiver.
    pub(crate) fn constraints(&self, rule: NullingRule, as_sender: bool, into: &mut Vec<Vector>) {
        into.clear();
        into.extend(self.nulled(rule, as_sender).map(|engaged| engaged.seen));
    }

    /// Stores in `into` the nodes that a node must null when it begins an exchange as sender or receiver.
    pub(crate) fn nulled_nodes(&self, rule: NullingRule, as_sender: bool, into: &mut Vec<u32>) {
        into.clear();
        into.extend(self.nulled(rule, as_sender).map(|engaged| engaged.node));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(micros: u64) -> SimTime {
        SimTime::from_micros(micros)
    }

    #[test]
    fn entries_end_with_their_exchange_or_without_data() {
        let mut table = NullTable::default();
        let seen = Vector::first(2);
        table.learn(3, Role::Sender, us(3000), us(700), seen);
        table.learn(5, Role::Receiver, us(2000), SimTime::MAX, seen);
        assert_eq!((table.engaged(3), table.first_end()), (Some(us(700)), Some(us(700))));
        let mut confirmed = table.clone();
        assert!(confirmed.confirm(3) && !confirmed.confirm(3) && !confirmed.confirm(5));
        table.forget(us(700));
        assert_eq!((table.engaged(3), table.engaged(5)), (None, Some(us(2000))));
        confirmed.forget(us(2000));
        assert_eq!((confirmed.engaged(3), confirmed.engaged(5)), (Some(us(3000)), None));
    }

    #[test]
    fn the_papers_rule_nulls_the_other_role() {
        let mut table = NullTable::default();
        table.learn(3, Role::Sender, us(9), us(9), Vector::first(2));
        table.learn(5, Role::Receiver, us(9), us(9), Vector::first(2));
        let nulled = |rule, as_sender| {
            let mut nodes = vec![99];
            table.nulled_nodes(rule, as_sender, &mut nodes);
            nodes
        };
        assert_eq!(nulled(NullingRule::Full, true), [3, 5]);
        assert_eq!(nulled(NullingRule::Paper, true), [5]);
        assert_eq!(nulled(NullingRule::Paper, false), [3]);
    }
}
