//! The kinds of networks, a file or folder each.

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

/// The network of `setup`, by its kind.
pub(crate) fn of(setup: &Setup) -> &dyn NetworkKind {
    match &setup.network {
        NetworkSetup::Links(links) => &**links,
        NetworkSetup::Mesh(mesh) => &**mesh,
        NetworkSetup::Cell(cell) => &**cell,
        NetworkSetup::Nr(nr) => &**nr,
        NetworkSetup::Wlan(wlan) => &**wlan,
    }
}

/// Additional counts in rows, beside those of [`metrics`].
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

/// The published metrics that only some kind has, in the order of tables.
pub(crate) fn metrics() -> impl Iterator<Item = &'static MetricInfo> {
    let of_meshes = mesh::METRICS.iter().map(|metric| &metric.info);
    let by_flow = bearer::BY_FLOW_METRICS.iter().chain(bearer::UPLINK_BY_FLOW_METRICS);
    let of_bearers = bearer::BEARER_METRICS.iter().chain(bearer::UPLINK_BEARER_METRICS).chain(by_flow);
    let of_cells = cell::METRICS.iter().chain(cell::UPLINK_METRICS).chain(of_bearers);
    of_meshes.chain(of_cells.map(|metric| &metric.info)).chain(wlan::metrics())
}
