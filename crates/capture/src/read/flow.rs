//! One flow of a capture: each packet that was sent, and what became of it.

use super::error::ReadError;
use super::headers::{FlowKey, Frame, Kind, Packet};
use super::numbered::Numbered;
use super::observed::{FlowRecord, Observed, Seen, Vantage};
use super::receiver;
use super::segments::Segments;

/// So many packets of a flow are kept; a longer capture is read to there.
pub const MOST_PACKETS: usize = 8_000_000;
/// Packets that several processors captured are out of order by less than this.
const OUT_OF_ORDER_NS: i64 = 1_000_000_000;

/// Follows one flow of a capture, both directions of it.
#[derive(Clone, Debug)]
pub struct FlowReader {
    key: FlowKey,
    seen: Vec<Seen>,
    last_ns: i64,
    is_cut: bool,
}

impl FlowReader {
    /// Follows the flow whose data goes as `key` says.
    pub fn new(key: FlowKey) -> Self {
        Self { key, seen: Vec::new(), last_ns: i64::MIN, is_cut: false }
    }

    /// Takes a packet, if it is of the flow.
    ///
    /// # Errors
    /// A clock that was set back.
    pub fn look(&mut self, frame: Frame<'_>, packet: Option<Packet>) -> Result<(), ReadError> {
        let Some(packet) = packet.filter(|of| of.flow == self.key || of.flow == self.key.reversed()) else {
            return Ok(());
        };
        if self.is_cut {
            return Ok(());
        }
        let back = self.last_ns.saturating_sub(frame.time_ns);
        if back > OUT_OF_ORDER_NS {
            let packet = self.seen.len() as u64 + 1;
            return Err(ReadError::TimeGoesBack { packet, back_ms: (back / 1_000_000) as u64 });
        }
        self.last_ns = self.last_ns.max(frame.time_ns);
        if self.seen.len() == MOST_PACKETS {
            self.is_cut = true;
            return Ok(());
        }
        self.seen.push(Seen { time_ns: frame.time_ns, packet });
        Ok(())
    }

    /// Which flow.
    pub fn key(&self) -> FlowKey {
        self.key
    }

    /// The packets in the order of time.
    pub(super) fn into_seen(mut self) -> (FlowKey, Vec<Seen>, bool) {
        self.seen.sort_by_key(|seen| seen.time_ns);
        (self.key, self.seen, self.is_cut)
    }

    /// The record of a capture at one end: of TCP, or of QUIC in the clear at the sender.
    ///
    /// # Errors
    /// A capture that does not show what arrived: of UDP, or of TCP without timestamps at the receiver.
    pub fn finish(self) -> Result<FlowRecord, ReadError> {
        let (flow, seen, is_cut) = self.into_seen();
        if !flow.is_tcp {
            let packets = in_the_clear(&seen, flow).ok_or_else(|| ReadError::OneEnd(flow.to_string()))?;
            return Ok(FlowRecord {
                flow,
                vantage: Vantage::Sender,
                packets,
                is_cut,
                offloads: false,
                tick_ns: 0,
                reverse: Vec::new(),
            });
        }
        let start = seen.first().map_or(0, |seen| seen.time_ns);
        let mut segments = Segments::new(&seen, flow);
        for Seen { time_ns, packet } in &seen {
            let Kind::Tcp(tcp) = packet.kind else { continue };
            if packet.flow == flow {
                segments.sent(time_ns - start, packet, &tcp);
            } else if tcp.has_ack {
                segments.acknowledged(time_ns - start, &tcp);
            }
        }
        let offloads = segments.offloads;
        if segments.is_at_receiver() {
            let (packets, tick_ns) = receiver::packets(&seen, flow)?;
            let vantage = Vantage::Receiver;
            return Ok(FlowRecord { flow, vantage, packets, is_cut, offloads, tick_ns, reverse: Vec::new() });
        }
        let packets = segments.finish();
        Ok(FlowRecord {
            flow,
            vantage: Vantage::Sender,
            packets,
            is_cut,
            offloads,
            tick_ns: 0,
            reverse: Vec::new(),
        })
    }
}

/// The packets of QUIC in the clear, if all are.
fn in_the_clear(seen: &[Seen], flow: FlowKey) -> Option<Vec<Observed>> {
    let start = seen.first()?.time_ns;
    let (mut packets, mut next, mut acknowledgements) = (Numbered::default(), 0_u64, 0_u64);
    for Seen { time_ns, packet } in seen {
        let Kind::Quic { quic, .. } = packet.kind else { return None };
        let now = time_ns - start;
        match (packet.flow == flow, quic.ranges) {
            (true, (_, 0)) => {
                let number = next + u64::from(quic.number.wrapping_sub(next as u16));
                next = number + 1;
                packets.sent(now, number, packet.bytes);
            }
            (false, (ranges, count)) if count > 0 => {
                let ranges =
                    ranges[..count].iter().map(|(first, last)| (u64::from(*first), u64::from(*last)));
                packets.acknowledged(now, ranges, quic.delay_ns);
                acknowledgements += 1;
            }
            _ => return None,
        }
    }
    (acknowledgements > 0).then(|| packets.finish())
}
