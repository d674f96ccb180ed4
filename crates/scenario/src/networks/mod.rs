//! Resolution of the network that carries the packets of a scenario. Each submodule resolves the tables of one kind of
//! network; this module selects the kind.

mod around;
mod cell;
mod links;
mod mesh;
mod nr;
mod users;
mod wlan;

pub use around::{Around, WirelessLink};
pub use cell::CellSetup;
pub use links::LinksSetup;
pub use nr::{NamedBearer, NamedQueue, NrSetup, outside_classes};
pub use wlan::WlanSetup;

use crate::error::ScenarioError;
use crate::files::Files;
use crate::flows::OnNetwork;
use crate::tables::mesh::MeshSetup;
use crate::tables::{FlowSetup, Gate, Scenario};
use crossfade_core::SimTime;

/// Resolved network that carries the packets of a scenario.
#[derive(Clone, Debug)]
pub enum NetworkSetup {
    /// Path of links in series, wired and wireless.
    Links(Box<LinksSetup>),
    /// Mesh: 802.11 stations that share the air.
    Mesh(Box<MeshSetup>),
    /// Slotted cell with many users, with adaptive OFDM.
    Cell(Box<CellSetup>),
    /// 5G NR cell with its users.
    Nr(Box<NrSetup>),
    /// Wi-Fi network: an access point and its stations.
    Wlan(Box<WlanSetup>),
}

/// Fills in the defaults of the network of `scenario` and of its flows, and returns their model objects.
///
/// # Errors
/// A key that is missing, out of range or contradictory.
pub(crate) fn resolve(
    scenario: &mut Scenario,
    files: &Files<'_>,
) -> Result<(OnNetwork, NetworkSetup), ScenarioError> {
    if !scenario.wlan.is_absent() {
        nr::refuse_queues(scenario)?;
        let (common, wlan) = wlan::resolve(scenario, files)?;
        return Ok((common, NetworkSetup::Wlan(Box::new(wlan))));
    }
    wlan::refuse_stations(scenario)?;
    nr::refuse_queues(scenario)?;
    if !scenario.nr.is_absent() {
        let (common, nr) = nr::resolve(scenario, files)?;
        return Ok((common, NetworkSetup::Nr(Box::new(nr))));
    }
    if !scenario.mesh.is_absent() {
        let (common, mesh) = mesh::resolve(scenario, files)?;
        return Ok((common, NetworkSetup::Mesh(Box::new(mesh))));
    }
    if !scenario.cell.is_absent() {
        let (common, cell) = cell::resolve(scenario, files)?;
        return Ok((common, NetworkSetup::Cell(Box::new(cell))));
    }
    let (common, links) = links::resolve(scenario, files)?;
    Ok((common, NetworkSetup::Links(Box::new(links))))
}

impl NetworkSetup {
    /// Idle RTT of a flow: a data packet and its acknowledgement over the whole path.
    pub fn round_trip(&self, flow: &FlowSetup) -> SimTime {
        match self {
            Self::Links(links) => links.round_trip(flow),
            Self::Mesh(mesh) => mesh::round_trip(mesh, flow),
            Self::Cell(cell) => cell.round_trip(flow),
            Self::Nr(nr) => nr.round_trip(flow),
            Self::Wlan(wlan) => wlan.round_trip(flow),
        }
    }

    /// Gate of the senders at the first link: wait for an idle link, or fill its queue.
    pub fn gate(&self) -> Gate {
        match self {
            Self::Links(links) => links.gate,
            Self::Mesh(_) | Self::Cell(_) | Self::Nr(_) | Self::Wlan(_) => Gate::Queue,
        }
    }

    /// Wireless links of the scenario, that of the data first.
    pub fn wireless_links(&self) -> Vec<WirelessLink<'_>> {
        match self {
            Self::Links(links) => {
                let forward = WirelessLink { table: "link", channel: "channel", hop: &links.forward };
                vec![forward, links.around.wireless_link()]
            }
            Self::Mesh(_) | Self::Wlan(_) => Vec::new(),
            Self::Cell(cell) => cell.reverse().map(|_| cell.around.wireless_link()).into_iter().collect(),
            Self::Nr(nr) => vec![nr.around.wireless_link()],
        }
    }

    /// Reverse path and wired segment around the hop that carries the data; `None` for a mesh.
    pub fn around(&self) -> Option<&Around> {
        match self {
            Self::Links(links) => Some(&links.around),
            Self::Mesh(_) => None,
            Self::Cell(cell) => Some(&cell.around),
            Self::Nr(nr) => Some(&nr.around),
            Self::Wlan(wlan) => Some(&wlan.around),
        }
    }
}
