//! Resolved scenario, in the terms of the models.

use crate::networks::{CellSetup, LinksSetup, NetworkSetup, NrSetup, WlanSetup};
use crate::stop::End;
use crate::tables::flow::{FlowSetup, TrafficSetup};
use crate::tables::mesh::MeshSetup;
use crate::tables::tcp::TcpSetup;
use crossfade_core::SimTime;
use crossfade_transport::congestion::CustomControl;

/// Resolved scenario, in the terms of the models. All times are absolute.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Duration of a slot: the transmission time of a data packet, or the TTI of a cell.
    pub slot: SimTime,
    /// Size in bytes of the packet whose transmission time is a slot (`link.packet_size`). Packets of flows may have
    /// other sizes.
    pub packet_size: u32,
    /// Resolved flows; empty only if the physical layer is simulated alone.
    pub flows: Vec<FlowSetup>,
    /// Resolved network that carries the packets.
    pub network: NetworkSetup,
    /// Warm-up time at the start of a run, which is not counted in the results.
    pub warmup: SimTime,
    /// Condition that ends a run.
    pub end: End,
    /// Sampling interval of flows and links; `None` without samples.
    pub sample: Option<SimTime>,
}

impl Setup {
    /// TCP configuration of the only flow if it is an unlimited connection whose packets take one slot; otherwise
    /// `None`.
    pub fn only_bulk_tcp(&self) -> Option<&TcpSetup> {
        match self.flows.as_slice() {
            [FlowSetup { count: 1, packet_size, traffic: TrafficSetup::Tcp(tcp, None), .. }]
                if *packet_size == self.packet_size =>
            {
                Some(tcp)
            }
            _ => None,
        }
    }

    /// True if a custom congestion control of any flow has failed, which invalidates all results.
    pub fn custom_control_has_failed(&self) -> bool {
        self.flows.iter().any(|flow| flow.custom_control.as_ref().is_some_and(CustomControl::has_failed))
    }

    /// Idle RTT of a flow: a data packet and its acknowledgement over the whole path.
    pub fn round_trip(&self, flow: &FlowSetup) -> SimTime {
        self.network.round_trip(flow)
    }

    /// Path of links, if this is the network of the scenario; otherwise `None`.
    pub fn links(&self) -> Option<&LinksSetup> {
        if let NetworkSetup::Links(links) = &self.network { Some(links) } else { None }
    }

    /// Mesh, if this is the network of the scenario; otherwise `None`.
    pub fn mesh(&self) -> Option<&MeshSetup> {
        if let NetworkSetup::Mesh(mesh) = &self.network { Some(mesh) } else { None }
    }

    /// Wi-Fi network, if this is the network of the scenario; otherwise `None`.
    pub fn wlan(&self) -> Option<&WlanSetup> {
        if let NetworkSetup::Wlan(wlan) = &self.network { Some(wlan) } else { None }
    }

    /// NR cell, if this is the network of the scenario; otherwise `None`.
    pub fn nr(&self) -> Option<&NrSetup> {
        if let NetworkSetup::Nr(nr) = &self.network { Some(nr) } else { None }
    }

    /// Cell, if this is the network of the scenario; otherwise `None`.
    pub fn cell(&self) -> Option<&CellSetup> {
        if let NetworkSetup::Cell(cell) = &self.network { Some(cell) } else { None }
    }
}
