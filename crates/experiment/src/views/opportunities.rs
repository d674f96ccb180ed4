//! Deliveries to a flow of a simulated run as a trace of delivery opportunities.

use crate::methods::run_checked;
use crate::opportunity_log::OpportunityLog;
use crossfade_core::{EventKind, EventRecord, Observer};
use crossfade_scenario::{FlowSetup, Setup, TrafficSetup};
use crossfade_sim::Network;
use std::sync::atomic::AtomicBool;

/// Packet size in bytes of each flow that exists from the start of a run, in order; `None` if the packets of a flow
/// differ in size.
pub(super) fn packet_sizes(setup: &Setup) -> Vec<Option<u32>> {
    let comes_later =
        |flow: &&FlowSetup| matches!(flow.traffic, TrafficSetup::Arrivals { .. } | TrafficSetup::Outside);
    let lasting = setup.flows.iter().filter(|flow| !comes_later(flow));
    let size = |flow: &FlowSetup| Some(flow.packet_size).filter(|_| flow.packet_sizes().len() == 1);
    lasting.flat_map(|flow| std::iter::repeat_n(size(flow), flow.count as usize)).collect()
}

/// Trace of the deliveries to flow `number`, whose packets have `bytes` bytes, in a run of `network`; `None` once
/// `cancel` is true.
pub(super) fn opportunities(
    network: Network,
    number: u32,
    bytes: u32,
    cancel: &AtomicBool,
) -> Option<String> {
    let mut received = Received { flow: number, bytes, log: OpportunityLog::default() };
    run_checked(network, Some(&mut received), None, cancel)?;
    Some(received.log.into_text())
}

/// Log of the packets of one flow that reached their receiver.
struct Received {
    flow: u32,
    bytes: u32,
    log: OpportunityLog,
}

impl Observer for Received {
    fn record(&mut self, event: &EventRecord) {
        if event.kind == EventKind::Receive && event.flow == self.flow {
            self.log.add(event.time, self.bytes);
        }
    }
}
