//! Medium access of 802.11: multihop meshes ([`Mesh`]) of stations of the distributed coordination function, with one
//! antenna or with arrays that null neighbours in other exchanges, and Wi-Fi 4 to 7 networks ([`wlan`]).
//!
//! A [`Mesh`] is a [`Fabric`](crossfade_link::Fabric): packets enter at any node and leave at any other. It is built
//! from a seed and a [`MeshConfig`]: placement of nodes ([`Topology`]), routes ([`Routing`]), 802.11 ([`DcfConfig`]),
//! reception of frames ([`Reception`]) and antenna arrays ([`NullingConfig`]). Its results are a
//! [`LinkReport`](crossfade_link::LinkReport) with counts of each node, and [`LinkEvent`](crossfade_link::LinkEvent)s.
//!
//! Points that the standard and the paper leave open: there is no propagation delay, since the backoff slot includes
//! it; stations whose backoff ends in one slot collide. Every RTS or DATA is preceded by a backoff, even on an idle
//! medium. A station that has sent a CTS waits until the announced end of the DATA. A CTS is not sent into a busy
//! medium or against the NAV. With arrays, an overheard RTS reserves the medium only until its CTS has ended, and an
//! overheard CTS does not reserve it; carrier sense ignores neighbours known to be in an exchange, and no node sends
//! them an RTS; a node that sends or receives a frame overhears nothing.
//!
//! Analytic results: [`reuse`] (largest set of simultaneous exchanges), [`bianchi`] (throughput of saturated stations),
//! and antenna [`weights`] with their [`golden`] vectors.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod air;
mod arrays;
pub mod bianchi;
mod config;
mod contention;
mod error;
pub mod golden;
mod interface;
mod mesh;
mod null_table;
mod radio;
pub mod reuse;
mod routes;
mod station;
mod svd;
mod timers;
mod timing;
mod topology;
mod vector;
pub mod weights;
pub mod wlan;

pub use config::{Knowledge, Mac, MeshConfig, NullingConfig, NullingRule, Overload, Reception};
pub use error::MeshError;
pub use mesh::Mesh;
pub use routes::{Routes, Routing};
pub use svd::Svd;
pub use timing::{DcfConfig, MAX_MSDU_BYTES, Timing};
pub use topology::{MAX_NODES, Position, Topology, parse_positions};
pub use vector::{MAX_ANTENNAS, Vector};
