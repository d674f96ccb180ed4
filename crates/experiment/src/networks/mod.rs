//! Kinds of networks (a path of links, a mesh, a cell, an NR cell, a Wi-Fi network), a file or folder each.

mod bearer;
mod cell;
mod doubts;
mod hop;
mod kind;
mod links;
mod mesh;
mod nr;
mod nr_doubts;
mod wlan;

pub(crate) use doubts::{of_network_runs, percent};
pub(crate) use hop::hop;
pub(crate) use kind::NetworkKind;
pub(crate) use mesh::links as mesh_links;

use crate::metric::MetricInfo;
use crossfade_scenario::{NetworkSetup, Setup};

/// The kind of network of `setup`.
pub(crate) fn of(setup: &Setup) -> &dyn NetworkKind {
    match &setup.network {
        NetworkSetup::Links(links) => &**links,
        NetworkSetup::Mesh(mesh) => &**mesh,
        NetworkSetup::Cell(cell) => &**cell,
        NetworkSetup::Nr(nr) => &**nr,
        NetworkSetup::Wlan(wlan) => &**wlan,
    }
}

/// Metrics of kinds of networks that rows keep for the estimates of the published ones.
#[cfg(test)]
pub(crate) fn kept() -> impl Iterator<Item = &'static MetricInfo> {
    let of_bearers =
        bearer::BEARER_KEPT.iter().chain(bearer::UPLINK_BEARER_KEPT).chain(bearer::UPLINK_BY_FLOW_KEPT);
    cell::KEPT
        .iter()
        .chain(cell::UPLINK_KEPT)
        .chain(of_bearers)
        .map(|metric| &metric.info)
        .chain(wlan::kept())
}

/// Published metrics that only some kinds of networks have, in the order of tables.
pub(crate) fn metrics() -> impl Iterator<Item = &'static MetricInfo> {
    let of_meshes = mesh::METRICS.iter().map(|metric| &metric.info);
    let by_flow = bearer::BY_FLOW_METRICS.iter().chain(bearer::UPLINK_BY_FLOW_METRICS);
    let of_bearers = bearer::BEARER_METRICS.iter().chain(bearer::UPLINK_BEARER_METRICS).chain(by_flow);
    let of_cells = cell::METRICS.iter().chain(cell::UPLINK_METRICS).chain(of_bearers);
    of_meshes.chain(of_cells.map(|metric| &metric.info)).chain(wlan::metrics())
}
