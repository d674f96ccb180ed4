//! Views of a live run for display.

use super::watch::{LinkSample, Sample, Seen};
use serde::Serialize;

/// State at some time of a socket that has sent data.
#[derive(Clone, Debug, Serialize)]
pub struct SocketView {
    /// Seconds since the run began.
    pub time_s: f64,
    /// `far` or `near`.
    pub host: &'static str,
    /// Port of the socket.
    pub port: u16,
    /// Port of the socket's peer.
    pub remote_port: u16,
    /// Congestion control of the socket, as the kernel names it.
    pub congestion: String,
    /// The congestion window in segments.
    pub cwnd: u32,
    /// Smoothed RTT in seconds.
    pub srtt_s: f64,
    /// The delivery rate in bit/s, as the kernel estimates it.
    pub delivery_rate_bps: u64,
    /// Segments retransmitted since it was opened.
    pub retransmissions: u32,
}

/// Counters at some time, from the far host to the near one and back.
#[derive(Clone, Debug, Serialize)]
pub struct LinkView {
    /// Seconds since the run began.
    pub time_s: f64,
    /// Bytes that came out in each direction.
    pub arrived_bytes: [u64; 2],
    /// Packets that the channel lost, in each direction.
    pub lost: [u64; 2],
    /// Packets that the queue dropped, in each direction.
    pub dropped: [u64; 2],
    /// Packets between the hosts, in each direction.
    pub inside: [u64; 2],
}

/// Counters and windows of a live run since the watch was last read.
#[derive(Clone, Debug, Serialize)]
pub struct View {
    /// The sockets that have sent data.
    pub sockets: Vec<SocketView>,
    /// Counters of the network.
    pub links: Vec<LinkView>,
    /// Number of samples of sockets and of links so far, for the next call.
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

/// Names of the hosts.
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
