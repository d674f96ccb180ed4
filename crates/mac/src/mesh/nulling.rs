//! Nulling in a mesh with arrays: deferral of calls, and antenna weights for a call.

use super::{Mesh, Node};
use crate::config::Overload;
use crate::svd::Svd;
use crossfade_core::SimTime;
use crossfade_link::LinkEvent;

impl Mesh {
    /// Time before which `node` must not call `to`: while `to` is engaged, or while `node` has too many signals to
    /// null.
    fn engaged_until(&mut self, node: u32, to: u32) -> Option<SimTime> {
        let arrays = self.arrays.as_ref()?;
        let table = &mut self.nodes[node as usize].table;
        table.forget(self.now);
        if let Some(until) = table.engaged(to) {
            return Some(until);
        }
        if arrays.config.overload == Overload::LeastSquares || table.len() < arrays.config.antennas {
            return None;
        }
        table.constraints(arrays.config.rule, true, &mut self.constraints);
        let rank = Svd::new(arrays.config.antennas, &self.constraints).rank();
        if rank < arrays.config.antennas { None } else { table.first_end() }
    }

    /// Defers the call of `node` if it has a packet and must not call yet; returns true if it must not.
    pub(super) fn hold_if_engaged(&mut self, node: u32) -> bool {
        let Some(job) = self.nodes[node as usize].station.job() else { return false };
        let Some(until) = self.engaged_until(node, job.to) else { return false };
        let now = self.now;
        let Node { station, statistics, .. } = self.node(node);
        if station.hold(now, until) {
            statistics.deferrals += 1;
            let (node, to) = (node as u16, job.to as u16);
            self.log.push(|| LinkEvent::Defer { at: now, node, to, until });
        }
        true
    }

    /// At the end of the backoff of a call: defers it and returns true, or sets the antenna weights for it and returns
    /// false.
    pub(super) fn puts_off_call(&mut self, node: u32) -> bool {
        if self.arrays.is_none() {
            return false;
        }
        if self.hold_if_engaged(node) {
            return true;
        }
        let Some(arrays) = &mut self.arrays else { return false };
        let Node { table, statistics, .. } = &mut self.nodes[node as usize];
        table.constraints(arrays.config.rule, true, &mut self.constraints);
        if let Some(weights) = arrays.nulling(&arrays.wish(node), &self.constraints) {
            arrays.set_weights(node, weights);
            table.nulled_nodes(arrays.config.rule, true, &mut arrays.nulled[node as usize]);
            statistics.nulls_spent += arrays.nulled[node as usize].len() as u64;
        }
        false
    }
}
