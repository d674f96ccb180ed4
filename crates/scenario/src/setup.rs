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
    /// The time to transmit a data packet.
    pub slot: SimTime,
    /// Bytes of the packet that a slot is of: `link.packet_size`. Flows may have others.
    pub packet_size: u32,
    /// The flows: at least one, or none where the physical layer is looked at alone.
    pub flows: Vec<FlowSetup>,
    /// What carries their packets.
    pub network: NetworkSetup,
    /// What happens before is not counted.
    pub warmup: SimTime,
    /// When a run ends.
    pub end: End,
    /// How far apart samples are, if there are any.
    pub sample: Option<SimTime>,
}

impl Setup {
    /// The TCP of the only flow, if that is a connection without end whose packets are a slot long.
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

    /// Whether a custom congestion control has failed: what runs give is worth nothing then.
    pub fn custom_control_has_failed(&self) -> bool {
        self.flows.iter().any(|flow| flow.custom_control.as_ref().is_some_and(CustomControl::has_failed))
    }

    /// The round trip of a flow's segment and its acknowledgement that wait for nothing.
    pub fn round_trip(&self, flow: &FlowSetup) -> SimTime {
        self.network.round_trip(flow)
    }

    /// The links, if that is what carries packets.
    pub fn links(&self) -> Option<&LinksSetup> {
        if let NetworkSetup::Links(links) = &self.network { Some(links) } else { None }
    }

    /// The mesh, if that is what carries packets.
    pub fn mesh(&self) -> Option<&MeshSetup> {
        if let NetworkSetup::Mesh(mesh) = &self.network { Some(mesh) } else { None }
    }

    /// The Wi-Fi network, if that is what carries packets.
    pub fn wlan(&self) -> Option<&WlanSetup> {
        if let NetworkSetup::Wlan(wlan) = &self.network { Some(wlan) } else { None }
    }

    /// The NR cell, if that is what carries packets.
    pub fn nr(&self) -> Option<&NrSetup> {
        if let NetworkSetup::Nr(nr) = &self.network { Some(nr) } else { None }
    }

    /// The cell, if that is what carries packets.
    pub fn cell(&self) -> Option<&CellSetup> {
        if let NetworkSetup::Cell(cell) = &self.network { Some(cell) } else { None }
    }
}
