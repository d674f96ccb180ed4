//! Why a capture is refused.

use thiserror::Error;

/// Error of a capture, in one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Neither of the two formats.
    #[error("not a capture: pcap and pcapng files are read")]
    NotACapture,
    /// A length that no writer has.
    #[error("{what} at byte {at} has a length of {length}: must be {allowed}")]
    Length {
        /// Name of the block.
        what: &'static str,
        /// Offset of the block in the file.
        at: u64,
        /// The length.
        length: u64,
        /// Allowed values.
        allowed: &'static str,
    },
    /// A second file behind the first.
    #[error("another capture begins at byte {0}: give one capture (mergecap makes one of several)")]
    Another(u64),
    /// A link type whose packets are not read.
    #[error(
        "link type {0}: must be Ethernet (1), raw IP (12, 14, 101, 228, 229), loopback (0, 108) or Linux cooked (113, 276)"
    )]
    LinkType(u32),
    /// A packet of an interface that the file does not describe.
    #[error("packet {packet}: interface {interface} is described nowhere before it")]
    Interface {
        /// Packet, counted from 1.
        packet: u64,
        /// Number of the interface that the packet names.
        interface: u32,
    },
    /// More interfaces than any file has.
    #[error("the file describes more than {0} interfaces")]
    Interfaces(usize),
    /// A resolution of time that cannot be.
    #[error(
        "interface {interface}: if_tsresol {value} is finer than a nanosecond can tell or coarser than a second"
    )]
    Resolution {
        /// Interface, counted from 0.
        interface: usize,
        /// The value.
        value: u8,
    },
    /// A simple packet block, which has no time.
    #[error("packet {0}: a simple packet block has no time, so nothing can be measured")]
    NoTime(u64),
    /// No packet of TCP or UDP.
    #[error("the capture has no TCP or UDP packet with data")]
    NoFlow,
    /// A clock that was set back by more than packets of several processors are out of order.
    #[error(
        "packet {packet}: its time is {back_ms} ms before that of the packet in front of it: the clock was set back"
    )]
    TimeGoesBack {
        /// Packet of the flow, counted from 1.
        packet: u64,
        /// Size of the jump, in the unit of the name.
        back_ms: u64,
    },
    /// A clock that was set forward, or a flow that sleeps for days.
    #[error(
        "packet {packet}: comes {hours} hours after the packet in front of it: the clock was set, or the flow was idle"
    )]
    TimeLeaps {
        /// Packet of the flow, counted from 1.
        packet: u64,
        /// Size of the jump, in the unit of the name.
        hours: u64,
    },
    /// One end of a flow without acknowledgements that can be read.
    #[error(
        "{0}: one end alone does not show what arrived; capture at both ends and give both files, the sender's first"
    )]
    OneEnd(String),
    /// TCP captured where its data arrives, without timestamps that tell when it was sent.
    #[error(
        "captured at the receiver without TCP timestamps: capture at the sender, or give both files, the sender's first"
    )]
    AtReceiver,
    /// TCP of which one direction was captured.
    #[error("{0}: the capture has no acknowledgements of it: capture both directions")]
    OneDirection(String),
    /// Files of both ends in the wrong order.
    #[error("the packets of the first capture arrive before they are sent: give the sender's first")]
    Order,
    /// The other end's file does not have the flow.
    #[error("the second capture does not have the flow {0} of the first")]
    OtherFlow(String),
    /// Datagrams of the same content.
    #[error("{alike} of {packets} datagrams are alike: the captures of both ends cannot be joined")]
    Alike {
        /// Number of packets with a duplicate.
        alike: usize,
        /// Packets compared.
        packets: usize,
    },
    /// Two captures of which almost nothing is in both.
    #[error(
        "{joined} of the {packets} packets that arrived are in the sender's capture: not of one flow at one time"
    )]
    NotJoined {
        /// Number of packets in both captures.
        joined: usize,
        /// Number of packets that arrived.
        packets: usize,
    },
}
