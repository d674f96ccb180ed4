//! A scenario in the terms of the models.

use crate::networks::{CellSetup, LinksSetup, NetworkSetup, NrSetup, WlanSetup};
use crate::stop::End;
use crate::tables::flow::{FlowSetup, TrafficSetup};
use crate::tables::mesh::MeshSetup;
use crate::tables::tcp::TcpSetup;
use crossfade_core::SimTime;
use crossfade_transport::congestion::CustomControl;

/// A scenario in the terms of the models. All times are absolute.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Transmission time of a data packet.
    pub slot: SimTime,
    /// Bytes of the packet whose transmission time is the slot: `link.packet_size`. Flows may have other sizes.
    pub packet_size: u32,
    /// Flows; empty only if the physical layer is simulated alone.
    pub flows: Vec<FlowSetup>,
    /// Network that carries the packets.
    pub network: NetworkSetup,
    /// Warm-up time, in which nothing is counted.
    pub warmup: SimTime,
    /// Condition that ends a run.
    pub end: End,
    /// Sampling interval; `None` without samples.
    pub sample: Option<SimTime>,
}

impl Setup {
    /// TCP configuration of the only flow, if it is an unlimited connection whose packets take one slot.
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

    /// Whether a custom congestion control has failed, which invalidates all results.
    pub fn custom_control_has_failed(&self) -> bool {
        self.flows.iter().any(|flow| flow.custom_control.as_ref().is_some_and(CustomControl::has_failed))
    }

    /// Idle RTT of a flow's segment and its acknowledgement.
    pub fn round_trip(&self, flow: &FlowSetup) -> SimTime {
        self.network.round_trip(flow)
    }

    /// Links, if they are the network.
    pub fn links(&self) -> Option<&LinksSetup> {
        if let NetworkSetup::Links(links) = &self.network { Some(links) } else { None }
    }

    /// Mesh, if it is the network.
    pub fn mesh(&self) -> Option<&MeshSetup> {
        if let NetworkSetup::Mesh(mesh) = &self.network { Some(mesh) } else { None }
    }

    /// Wi-Fi network, if it is the network.
    pub fn wlan(&self) -> Option<&WlanSetup> {
        if let NetworkSetup::Wlan(wlan) = &self.network { Some(wlan) } else { None }
    }

    /// NR cell, if it is the network.
    pub fn nr(&self) -> Option<&NrSetup> {
        if let NetworkSetup::Nr(nr) = &self.network { Some(nr) } else { None }
    }

    /// Cell, if it is the network.
    pub fn cell(&self) -> Option<&CellSetup> {
        if let NetworkSetup::Cell(cell) = &self.network { Some(cell) } else { None }
    }
}
