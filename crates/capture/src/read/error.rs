//! Errors in reading a capture.

use thiserror::Error;

/// Error in reading a capture; its text is one line for the user.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file is neither pcap nor pcapng.
    #[error("not a capture: pcap and pcapng files are read")]
    NotACapture,
    /// A packet or block has a length that the format does not allow.
    #[error("{what} at byte {at} has a length of {length}: must be {allowed}")]
    Length {
        /// Name of the block.
        what: &'static str,
        /// Offset of the block in the file, in bytes.
        at: u64,
        /// Length found in the file, in bytes.
        length: u64,
        /// Allowed values.
        allowed: &'static str,
    },
    /// A second pcap file begins at this byte offset, behind the first.
    #[error("another capture begins at byte {0}: give one capture (mergecap makes one of several)")]
    Another(u64),
    /// Link type (number of the registry of pcap link types) whose packets are not supported.
    #[error(
        "link type {0}: must be Ethernet (1), raw IP (12, 14, 101, 228, 229), loopback (0, 108) or Linux cooked (113, 276)"
    )]
    LinkType(u32),
    /// A packet belongs to an interface that no block before it describes.
    #[error("packet {packet}: interface {interface} is described nowhere before it")]
    Interface {
        /// Packet, counted from 1.
        packet: u64,
        /// Number of the interface that the packet names.
        interface: u32,
    },
    /// The file describes more interfaces than this limit.
    #[error("the file describes more than {0} interfaces")]
    Interfaces(usize),
    /// The time resolution of an interface is finer than a nanosecond can express or coarser than a second.
    #[error(
        "interface {interface}: if_tsresol {value} is finer than a nanosecond can tell or coarser than a second"
    )]
    Resolution {
        /// Number of the interface, counted from 0.
        interface: usize,
        /// Value of the `if_tsresol` option.
        value: u8,
    },
    /// The packet with this number, counted from 1, is in a simple packet block, which has no time.
    #[error("packet {0}: a simple packet block has no time, so nothing can be measured")]
    NoTime(u64),
    /// The capture has no TCP or UDP packet with data.
    #[error("the capture has no TCP or UDP packet with data")]
    NoFlow,
    /// The clock of the capture was set back: the step exceeds the disorder between processors that capture in
    /// parallel.
    #[error(
        "packet {packet}: its time is {back_ms} ms before that of the packet in front of it: the clock was set back"
    )]
    TimeGoesBack {
        /// Packet of the flow, counted from 1.
        packet: u64,
        /// Step of the clock in ms.
        back_ms: u64,
    },
    /// A packet follows the one before it by more than a day: the clock was set forward, or the flow was idle.
    #[error(
        "packet {packet}: comes {hours} hours after the packet in front of it: the clock was set, or the flow was idle"
    )]
    TimeLeaps {
        /// Packet of the flow, counted from 1.
        packet: u64,
        /// Time between the two packets in hours.
        hours: u64,
    },
    /// Flow (its text) captured at one end alone, without acknowledgements that could be read.
    #[error(
        "{0}: one end alone does not show what arrived; capture at both ends and give both files, the sender's first"
    )]
    OneEnd(String),
    /// TCP was captured at the receiver, without timestamps that date the transmission of segments.
    #[error(
        "captured at the receiver without TCP timestamps: capture at the sender, or give both files, the sender's first"
    )]
    AtReceiver,
    /// TCP flow (its text) of which only one direction was captured.
    #[error("{0}: the capture has no acknowledgements of it: capture both directions")]
    OneDirection(String),
    /// The captures of both ends were given in the wrong order: packets arrive before they are sent.
    #[error("the packets of the first capture arrive before they are sent: give the sender's first")]
    Order,
    /// The second capture has no packets of this flow (its text) of the first.
    #[error("the second capture does not have the flow {0} of the first")]
    OtherFlow(String),
    /// Too many datagrams have the same content, so the captures of both ends cannot be joined.
    #[error("{alike} of {packets} datagrams are alike: the captures of both ends cannot be joined")]
    Alike {
        /// Number of datagrams that equal another one sent less than a second apart.
        alike: usize,
        /// Number of datagrams compared.
        packets: usize,
    },
    /// Hardly any packet is in both captures: they are not of one flow at one time.
    #[error(
        "{joined} of the {packets} packets that arrived are in the sender's capture: not of one flow at one time"
    )]
    NotJoined {
        /// Number of received packets that are also in the sender's capture.
        joined: usize,
        /// Number of packets that arrived.
        packets: usize,
    },
}
