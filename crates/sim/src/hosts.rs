//! Hosts of a flow: sending, receiving, acknowledging, timers.

#![expect(
    clippy::inline_always,
    reason = "a segment passes through all of it; calls would cost a third of the time"
)]

use crate::flow::{Endpoints, Flow};
use crate::layout::Layout;
use crate::network::SenderGate;
use crate::packets::{Content, Data};
use crate::routing::Step;
use crate::state::{Kind, NetworkState};
use crate::watch::Watch;
use crossfade_core::{EventKind, SimTime};
use crossfade_link::{Ecn, Parcel};
use crossfade_transport::{Ack, AckOutcome, Expired, Received, Segment};

impl<W: Watch, L: Layout> NetworkState<W, L> {
    /// Processes a segment or datagram that has reached its receiver.
    #[inline(always)]
    pub(crate) fn on_segment(&mut self, flow: &mut Flow, parcel: Parcel) {
        let segment = Segment::from(self.forward.packets[parcel]);
        let (seq, one_way_delay) = (segment.seq, self.now - segment.timestamp);
        flow.counts.segments_received += 1;
        flow.one_way_delay_sum_ns += u128::from(one_way_delay.as_nanos());
        if self.measures_delays
            && let Some(histogram) = &mut flow.counts.one_way_delay
        {
            histogram.record(one_way_delay);
        }
        let received = match &mut flow.endpoints {
            Endpoints::Tcp(tcp) => {
                if tcp.doubts.concern(seq) {
                    flow.counts.spurious_timeouts += tcp.doubts.on_arrival(segment.timestamp);
                }
                tcp.receiver.on_segment(self.now, &segment, parcel.is_ce())
            }
            Endpoints::Udp(_) => Received { ack: None, is_new: true, delivered: 1 },
        };
        self.forward.packets.forget(parcel);
        self.observe(flow, EventKind::Receive, seq);
        if received.is_new {
            flow.counts.segments_delivered += 1;
            flow.counts.bytes_delivered += u64::from(parcel.bytes());
            flow.counts.segments_in_order += received.delivered;
            flow.counts.last_delivery = self.now;
            (self.sent_since_delivery, self.last_delivery) = (0, self.now);
        }
        let Endpoints::Tcp(tcp) = &flow.endpoints else { return };
        if received.delivered > 0 {
            self.segments_in_order += received.delivered;
            if flow.counts.segments_in_order.checked_sub(1) == Some(tcp.last) {
                flow.counts.completion_time = Some(self.now - flow.counts.start);
                self.observe(flow, EventKind::FlowEnd, seq);
            }
        }
        self.is_over |= received.is_new && self.segments_in_order >= self.enough_segments;
        match received.ack {
            Some(ack) => self.send_ack(flow, ack),
            None => self.schedule_ack_timer(flow),
        }
    }

    #[inline(always)]
    fn send_ack(&mut self, flow: &mut Flow, ack: Ack) {
        let ranges = ack.more_ranges() as u32;
        flow.counts.acks_sent += 1;
        let Ack { next_expected, sack, timestamp, timestamp_echo, ece, window, accurate, frame } = ack;
        let place = self.reverse.packets.keep(Ack {
            next_expected,
            sack,
            timestamp,
            timestamp_echo,
            ece,
            window,
            accurate,
            frame,
        });
        let parcel = flow.acknowledgement.named(Content::Ack.name(place));
        let bytes = parcel.bytes() + ranges * flow.sack_block_size;
        self.enter::<Ack>(flow, parcel.sized(bytes));
    }

    #[inline(never)]
    pub(crate) fn on_ack_timer(&mut self, flow: &mut Flow) {
        let Endpoints::Tcp(tcp) = &mut flow.endpoints else { unreachable!("datagrams are not acknowledged") };
        if tcp.ack_timer_at != Some(self.now) {
            return;
        }
        tcp.ack_timer_at = None;
        match tcp.receiver.on_timeout(self.now) {
            Some(ack) => self.send_ack_late(flow, ack),
            None => self.schedule_ack_timer(flow),
        }
    }

    #[inline(never)]
    fn send_ack_late(&mut self, flow: &mut Flow, ack: Ack) {
        self.send_ack(flow, ack);
    }

    fn schedule_ack_timer(&mut self, flow: &mut Flow) {
        let Endpoints::Tcp(tcp) = &mut flow.endpoints else { return };
        if let Some(deadline) = tcp.receiver.next_timeout()
            && tcp.ack_timer_at.is_none_or(|at| deadline < at)
        {
            tcp.ack_timer_at = Some(deadline);
            self.schedule(deadline, Kind::DelayedAck, flow.place);
        }
    }

    #[inline(always)]
    pub(crate) fn on_ack(&mut self, flow: &mut Flow, parcel: Parcel) {
        let ack = &self.reverse.packets[parcel];
        flow.counts.acks_received += 1;
        let Endpoints::Tcp(tcp) = &mut flow.endpoints else { unreachable!("datagrams are not acknowledged") };
        if let Some(capture) = self.watch.capture() {
            capture.ack(self.now, flow.id, parcel.bytes(), ack);
        }
        let recoveries = if self.watch.is_observed() { tcp.recoveries() } else { 0 };
        let outcome = tcp.sender.on_ack(self.now, ack);
        self.reverse.packets.forget(parcel);
        if self.measures_delays
            && let Some(histogram) = &mut flow.counts.rtt
        {
            let (sum_s, samples) = tcp.sender.rtt_samples();
            let (seen_s, seen) = tcp.rtt_samples;
            if samples > seen {
                histogram.record(SimTime::from_secs_f64((sum_s - seen_s) / (samples - seen) as f64));
                tcp.rtt_samples = (sum_s, samples);
            }
        }
        if self.watch.is_observed() {
            self.observe_ack(flow, outcome, recoveries);
        }
        self.transmit(flow);
        if !L::IS_SINGLE && flow.arrivals.is_some() && flow.is_done() {
            self.ended.push(flow.place);
        }
    }

    #[inline(never)]
    pub(crate) fn on_timer(&mut self, flow: &mut Flow) {
        let Endpoints::Tcp(tcp) = &mut flow.endpoints else { unreachable!("datagrams have no timer") };
        if tcp.timer_at != Some(self.now) {
            return;
        }
        tcp.timer_at = None;
        match tcp.sender.next_timeout() {
            Some(deadline) if deadline <= self.now => {
                let recoveries = tcp.recoveries();
                let expired = tcp.sender.on_timeout(self.now);
                if tcp.recoveries() > recoveries {
                    let snd_una = tcp.sender.snd_una();
                    self.observe(flow, EventKind::FastRetransmit, snd_una);
                } else if expired == Some(Expired::Retransmission) {
                    flow.counts.timeouts += 1;
                    let snd_una = tcp.sender.snd_una();
                    if tcp.receiver.rcv_nxt() > snd_una {
                        // The receiver has the segment, and only its acknowledgement is missing.
                        flow.counts.spurious_timeouts += 1;
                    } else {
                        tcp.doubts.on_timeout(self.now, snd_una);
                    }
                    self.observe(flow, EventKind::Timeout, snd_una);
                }
                self.resume(flow);
            }
            // Acknowledgements have moved the deadline since this event was scheduled.
            Some(_) => self.schedule_timer(flow),
            None => {}
        }
    }

    /// Begins a flow; its first packet waits for handshake and request.
    pub(crate) fn open(&mut self, flow: &mut Flow) {
        match flow.counts.start.saturating_add(flow.opening) {
            first if first <= self.now => self.start(flow),
            first => self.schedule(first, Kind::Start, flow.place),
        }
    }

    /// Starts sending, after the handshake and request of a flow.
    #[inline(never)]
    pub(crate) fn start(&mut self, flow: &mut Flow) {
        self.observe(flow, EventKind::FlowStart, 0);
        match &mut flow.endpoints {
            Endpoints::Tcp(tcp) if tcp.write_gap.is_some() => self.write(flow),
            Endpoints::Tcp(_) => self.resume(flow),
            Endpoints::Udp(udp) => match udp.first_after(self.now) {
                Some(first) if first <= self.now => self.send_datagram(flow),
                Some(first) => self.schedule(first, Kind::Datagram, flow.place),
                None => {}
            },
        }
    }

    /// Lets the application write one more segment.
    #[inline(never)]
    pub(crate) fn write(&mut self, flow: &mut Flow) {
        let Endpoints::Tcp(tcp) = &mut flow.endpoints else { unreachable!("datagrams are not written") };
        let Some(gap) = tcp.write_gap else { return };
        tcp.sender.write(1);
        self.schedule(self.now.saturating_add(gap), Kind::Write, flow.place);
        self.resume(flow);
    }

    #[inline(never)]
    fn resume(&mut self, flow: &mut Flow) {
        self.transmit(flow);
    }

    /// Sends all segments that the sender may send now.
    #[inline(always)]
    fn transmit(&mut self, flow: &mut Flow) {
        match self.gate {
            SenderGate::Queue => {
                while self.send_one(flow) {}
                self.schedule_timer(flow);
            }
            SenderGate::Slot => self.schedule_slot(flow),
        }
    }

    /// Schedules the next packet time of a gated sender, at the time when the link is idle.
    #[inline]
    fn schedule_slot(&mut self, flow: &Flow) {
        if self.slot_at.is_none() {
            let link = match flow.data.first {
                _ if L::IS_SINGLE => 0,
                Step::Link(link) => link,
                Step::Fabric(_) => unreachable!("checked: the first medium is a link"),
            };
            let idle_at = self.forward.links[link as usize].idle_at();
            let at = idle_at.map_or(self.now, |at| at.max(self.now));
            self.slot_at = Some(at);
            self.schedule(at, Kind::SlotStart, flow.place);
        }
    }

    pub(crate) fn on_slot(&mut self, flow: &mut Flow) {
        self.slot_at = None;
        if self.send_one(flow) {
            self.schedule_slot(flow);
        }
        self.schedule_timer(flow);
    }

    fn send_one(&mut self, flow: &mut Flow) -> bool {
        let Endpoints::Tcp(tcp) = &mut flow.endpoints else { return false };
        let Some(segment) = tcp.sender.poll_transmit(self.now) else { return false };
        flow.counts.segments_sent += 1;
        if segment.retransmission {
            flow.counts.retransmissions += 1;
        }
        let mut parcel = flow.packet;
        if segment.seq == tcp.last {
            parcel = parcel.sized(parcel.bytes() - flow.last_short_by);
        }
        if let Some(capture) = self.watch.capture() {
            capture.segment(self.now, flow.id, parcel.bytes(), &segment);
        }
        self.sent_since_delivery += 1;
        if !L::IS_SINGLE {
            self.sent_late();
        }
        self.is_over |= self.has_stalled();
        self.send(flow, parcel, segment);
        true
    }

    #[inline(never)]
    pub(crate) fn send_datagram(&mut self, flow: &mut Flow) {
        let Endpoints::Udp(udp) = &mut flow.endpoints else { unreachable!("TCP sends segments") };
        let (seq, bytes) = udp.take(flow.packet.bytes());
        let next = udp.next_after(self.now);
        let segment = Segment { seq, timestamp: self.now, ..Segment::default() };
        flow.counts.segments_sent += 1;
        if let Some(capture) = self.watch.capture() {
            capture.datagram(self.now, flow.id, bytes, seq);
        }
        self.send(flow, flow.packet.sized(bytes), segment);
        if let Some(next) = next {
            self.schedule(next, Kind::Datagram, flow.place);
        }
    }

    #[inline(always)]
    fn send(&mut self, flow: &mut Flow, parcel: Parcel, segment: Segment) {
        self.observe(flow, EventKind::Send, segment.seq);
        let place = self.forward.packets.keep(Data::from(segment));
        let parcel = parcel.named(Content::Data.name(place));
        let capable = |parcel: Parcel| parcel.with_ecn(if segment.l4s { Ecn::Ect1 } else { Ecn::Ect0 });
        let parcel = if segment.ecn_capable { capable(parcel) } else { parcel };
        self.enter::<Data>(flow, parcel);
    }

    /// Schedules an event no later than the sender's deadline. A deadline that moves later needs no new event until the
    /// old one happens.
    fn schedule_timer(&mut self, flow: &mut Flow) {
        let Endpoints::Tcp(tcp) = &mut flow.endpoints else { return };
        if let Some(deadline) = tcp.sender.next_timeout()
            && tcp.timer_at.is_none_or(|at| deadline < at)
        {
            let at = deadline.max(self.now);
            tcp.timer_at = Some(at);
            self.schedule(at, Kind::Timer, flow.place);
        }
    }

    /// Reports an acknowledgement to observers; `recoveries` fast recoveries had begun before it.
    fn observe_ack(&mut self, flow: &Flow, outcome: AckOutcome, recoveries: u64) {
        let Endpoints::Tcp(tcp) = &flow.endpoints else { return };
        let kind = match outcome {
            AckOutcome::New => Some(EventKind::Ack),
            AckOutcome::Duplicate => Some(EventKind::DuplicateAck),
            AckOutcome::RecoveryEnd => Some(EventKind::RecoveryEnd),
            AckOutcome::FastRetransmit | AckOutcome::Stale => None,
        };
        // A fast recovery may begin at the acknowledgement that ends another.
        let begins = (tcp.recoveries() > recoveries).then_some(EventKind::FastRetransmit);
        for kind in kind.into_iter().chain(begins) {
            self.observe(flow, kind, tcp.sender.snd_una());
        }
    }
}
