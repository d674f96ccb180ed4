//! Views of a live run for display: states of its sockets and counters of its link.

use super::watch::{LinkSample, Sample, Seen};
use serde::Serialize;

/// State of a socket that has sent data, at one time.
#[derive(Clone, Debug, Serialize)]
pub struct SocketView {
    /// Time in seconds since the run began.
    pub time_s: f64,
    /// Host of the socket: `far` or `near`.
    pub host: &'static str,
    /// Local port of the socket.
    pub port: u16,
    /// Port of the socket's peer.
    pub remote_port: u16,
    /// Congestion control of the socket, by the kernel's name.
    pub congestion: String,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Smoothed RTT in seconds.
    pub srtt_s: f64,
    /// Delivery rate in bit/s, as the kernel estimates it.
    pub delivery_rate_bps: u64,
    /// Number of segments retransmitted since the socket was opened.
    pub retransmissions: u32,
}

/// Counters of the link at one time; arrays hold the directions from the far host to the near one and back.
#[derive(Clone, Debug, Serialize)]
pub struct LinkView {
    /// Time in seconds since the run began.
    pub time_s: f64,
    /// Bytes that have come out in each direction since the start.
    pub arrived_bytes: [u64; 2],
    /// Number of packets that the channel has lost in each direction since the start.
    pub lost: [u64; 2],
    /// Number of packets that the queue has dropped in each direction since the start.
    pub dropped: [u64; 2],
    /// Number of packets between the hosts in each direction.
    pub inside: [u64; 2],
}

/// Samples of a live run since the last view.
#[derive(Clone, Debug, Serialize)]
pub struct View {
    /// States of the sockets that have sent data, in order of time.
    pub sockets: Vec<SocketView>,
    /// Counters of the link, in order of time.
    pub links: Vec<LinkView>,
    /// Number of samples of sockets and of links so far, to be passed to the next call.
    pub next: [usize; 2],
}

impl View {
    pub(super) fn new(seen: &Seen, since: [usize; 2]) -> Self {
        let sends = |sample: &&Sample| sample.tcp.data_segments_out > 0;
        Self {
            sockets: seen.samples.iter().filter(sends).map(SocketView::new).collect(),
            links: seen.links.iter().map(LinkView::new).collect(),
            next: [since[0] + seen.samples.len(), since[1] + seen.links.len()],
        }
    }
}

/// Names of the hosts, in the order of [`Session::hosts`](super::Session::hosts).
pub(super) const HOSTS: [&str; 2] = ["far", "near"];

impl SocketView {
    fn new(Sample { at, host, tcp }: &Sample) -> Self {
        Self {
            time_s: at.as_secs_f64(),
            host: HOSTS[*host],
            port: tcp.port,
            remote_port: tcp.remote_port,
            congestion: tcp.congestion.clone(),
            cwnd: tcp.cwnd,
            srtt_s: f64::from(tcp.srtt_us) / 1e6,
            delivery_rate_bps: tcp.delivery_rate * 8,
            retransmissions: tcp.retransmissions,
        }
    }
}

impl LinkView {
    fn new(LinkSample { at, ways }: &LinkSample) -> Self {
        Self {
            time_s: at.as_secs_f64(),
            arrived_bytes: ways.map(|way| way.arrived_bytes),
            lost: ways.map(|way| way.lost),
            dropped: ways.map(|way| way.dropped),
            inside: ways.map(|way| way.inside()),
        }
    }
}
