//! Nulling in a mesh with arrays: which nodes must wait for which, and the weights of a call.

use super::{Mesh, Node};
use crate::config::Overload;
use crate::svd::Svd;
use crossfade_core::SimTime;
use crossfade_link::LinkEvent;

impl Mesh {
    /// Time before which `node` must not call `to`: while that is engaged, or while there are too many nulls to make.
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

    /// Puts off the call of `node`, if it has one to make and must not; whether it must not.
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

    /// The backoff of a call is over: puts it off, or finds the weights for it.
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
