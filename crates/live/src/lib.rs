//! Real packets through a [`Link`](crossfade_link::Link), in real time. Linux only; empty elsewhere.
//!
//! ```text
//!  network namespace "near"                                       network namespace "far"
//!  programs, TCP of the kernel                                    programs, TCP of the kernel
//!        | ^                                                            ^ |
//!     TUN device  -------- pump: read, push .. advance, write -----> TUN device
//!        ^------------- pump: write, advance .. push, read --------------|
//! ```
//!
//! A [`Host`] is a network namespace with a TUN device. An [`Emulation`] passes packets between two hosts through one
//! link object per direction; a simulation drives such an object from its event queue, the emulation from a timer.
//! Devices and namespaces have no names outside the process, so the kernel removes them whenever the process ends.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg(target_os = "linux")]

mod alarm;
mod awake;
mod bulk;
mod clock;
mod counters;
mod disturbance;
mod driver;
mod emulation;
mod error;
#[cfg(test)]
mod fakes;
mod header;
mod host;
mod interface;
mod machine;
mod meter;
mod namespace;
mod offload;
mod pair;
mod port_classes;
mod priority;
mod processes;
mod pump;
mod recording;
mod report;
mod sockets;
mod store;
mod tun;
mod way;
mod window;

pub use bulk::{Bulk, BulkFlow, BulkReport};
pub use clock::Clock;
pub use counters::TcpCounters;
pub use disturbance::Rebinding;
pub use emulation::{Between, Emulation, EmulationReport};
pub use error::LiveError;
pub use header::{Kind, kind, mark_ce, parcel};
pub use host::{Host, HostOptions};
pub use interface::TcpRoute;
pub use machine::Machine;
pub use meter::{Meter, Passed};
pub use namespace::gain_privileges;
pub use offload::Segments;
pub use port_classes::PortClasses;
pub use processes::{
    become_user, cover, die_with_parent, mount_proc, new_mount_namespace, new_process_namespace,
};
pub use pump::{LiveFabric, LiveLink, PumpConfig};
pub use recording::{Entry, Fate, Journal, JournalError, Packets, Recording};
pub use report::PumpReport;
pub use sockets::{SocketWatch, TcpSample};
pub use window::ReceiveWindow;
