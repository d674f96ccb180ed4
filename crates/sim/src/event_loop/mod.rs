//! Event loop: one clock, one queue of events, and any number of flows over links and fabrics.

mod counts;
mod warm_up;

use crate::direction::Direction;
use crate::flow::{AccessLines, Flow, FlowRoute, FlowWays};
use crate::guests::Guests;
use crate::late::Late;
use crate::layout::Layout;
use crate::line::LineTable;
use crate::network::{Arrivals, FlowConfig, FlowPath, Network, Source, StopRule};
use crate::packets::Data;
use crate::path::Path;
use crate::path_link::PathFabric;
use crate::routing::{Next, Place, Routing, Use};
use crate::state::{Event, Kind, NetworkState};
use crate::statistics::{ArrivalStatistics, FlowStatistics};
use crate::watch::Watch;
use crate::workload::{Distribution, whole_segments};
use crossfade_core::{EventQueue, RunSeed, SimTime, Stream};
use crossfade_link::{Departure, LinkEvent, LinkStatistics, Parcel, Port, Push};
use crossfade_transport::{Ack, Receiver};
use warm_up::WarmUp;

/// State of an [`Arrivals`] process: its random streams and statistics.
struct Group {
    config: Arrivals,
    ways: FlowWays,
    times: Stream,
    sizes: Stream,
    seed: RunSeed,
    statistics: ArrivalStatistics,
}

pub(crate) struct EventLoop<W, L: Layout> {
    /// True once the first event was requested; until then observers can be added.
    has_begun: bool,
    flows: L::Flows,
    /// Number of flows in the table that exist from the start.
    permanent: usize,
    /// Free places in the table of flows, left by flows that have ended.
    free: Vec<u32>,
    next_id: u32,
    groups: Vec<Group>,
    net: NetworkState<W, L>,
    warmup: SimTime,
    /// Counts at the end of the warm-up; `None` before.
    warm: Option<WarmUp>,
}

impl<W: Watch, L: Layout> EventLoop<W, L> {
    /// Creates the event loop of `network`, which must have passed [`Network::check`].
    // Here and below: code for events that happen once per flow or less is kept out of the loop, which is faster if its
    // code is short.
    #[inline(never)]
    pub(crate) fn new(network: Network, watch: W) -> Self {
        let Network {
            flows,
            arrivals,
            topology,
            passages,
            gate,
            measures_delays,
            warmup,
            stop,
            seed,
            shortcuts,
        } = network;
        let paths = flows.iter().map(|flow| flow.path).chain(arrivals.iter().map(|come| come.path));
        let mut uses: Vec<(Use, usize)> =
            paths.flat_map(|path| [(Use::Data, path.data), (Use::Acks, path.acks)]).collect();
        uses.extend(passages.iter().map(|passage| (Use::Outside, passage.route)));
        let (routing, tables) = Routing::new(topology, &uses);
        let (mut senders, mut receivers) = (LineTable::default(), LineTable::default());
        let route = |route: usize| FlowRoute { route: route as u32, first: routing.first(route as u32) };
        let mut ways = |path: &FlowPath| FlowWays {
            lines: AccessLines {
                sender: senders.line(path.sender_access),
                receiver: receivers.line(path.receiver_access),
            },
            data: route(path.data),
            acks: route(path.acks),
        };
        let flows: Vec<Flow> = (0..)
            .zip(&flows)
            .map(|(i, config)| {
                let stream = |what: &str| seed.stream(&format!("{what}.{}", config.name));
                Flow::new(config, i, ways(&config.path), measures_delays, stream)
            })
            .collect();
        let groups = arrivals
            .into_iter()
            .map(|config| Group {
                ways: ways(&config.path),
                times: seed.stream(&format!("workload.arrivals.{}", config.name)),
                sizes: seed.stream(&format!("workload.segments.{}", config.name)),
                seed,
                config,
                statistics: ArrivalStatistics::default(),
            })
            .collect();
        Self {
            has_begun: false,
            permanent: flows.len(),
            next_id: flows.len() as u32,
            flows: flows.into(),
            free: Vec::new(),
            groups,
            net: NetworkState {
                shortcuts,
                forward: Path::new(senders.delays(), tables.forward, receivers.delays()),
                reverse: Path::new(receivers.delays(), tables.reverse, senders.delays()),
                late: Late::default(),
                fabrics: tables
                    .fabrics
                    .into_iter()
                    .map(|fabric| PathFabric::new(fabric, watch.hears()))
                    .collect(),
                routing,
                outside: Guests::new(passages),
                gate,
                stop,
                measures_delays,
                now: SimTime::ZERO,
                queue: EventQueue::default(),
                last: Kind::Warm,
                is_traced: false,
                early: Vec::new(),
                slot_at: None,
                segments_in_order: 0,
                enough_segments: u64::MAX,
                sent_since_delivery: 0,
                last_delivery: SimTime::ZERO,
                ended: Vec::new(),
                is_over: false,
                watch,
            },
            warmup,
            warm: None,
        }
    }

    /// Time of the next event; `None` once the run is over or no event is left.
    pub(crate) fn next_event(&self) -> Option<SimTime> {
        if self.net.outside.has_left() || !self.has_begun {
            return Some(self.net.now);
        }
        if self.net.is_over { None } else { self.net.queue.next_time() }
    }

    /// Processes events up to time `until`, at most `most` of them. Returns true if there may be more.
    #[inline(never)]
    pub(crate) fn run(&mut self, until: SimTime, most: u32) -> bool {
        if !self.has_begun {
            self.has_begun = true;
            self.begin();
        }
        for _ in 0..most {
            if self.net.is_over {
                break;
            }
            let Some((now, event)) = self.net.queue.pop_by(until) else {
                self.net.tell_by(&mut self.flows, until);
                return false;
            };
            self.net.now = now;
            self.happen(event);
        }
        if self.net.is_over {
            self.pass_on();
        }
        !self.net.is_over
    }

    /// Forwards packets that leave a link at the instant at which the run ends, whichever of the two events was
    /// scheduled first. That order depends on how often a queue asks for events, and must not affect results.
    #[cold]
    fn pass_on(&mut self) {
        let net = &mut self.net;
        while net.queue.next_time() == Some(net.now) {
            let Some((_, Event { kind, index, .. })) = net.queue.pop() else { return };
            let is_amid = |next: Next| matches!(next, Next::Link(_));
            if kind == Kind::ForwardLink && is_amid(net.forward.links[index as usize].next) {
                net.on_link::<Data>(&mut self.flows, index);
            } else if kind == Kind::ReverseLink && is_amid(net.reverse.links[index as usize].next) {
                net.on_link::<Ack>(&mut self.flows, index);
            }
        }
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the body of the loop")]
    fn happen(&mut self, event: Event) {
        let (net, flows, index) = (&mut self.net, &mut self.flows[..], event.index);
        net.last = event.kind;
        match event.kind {
            Kind::ForwardEntry => {
                net.on_entry::<Data>(flows, index);
                self.release();
            }
            Kind::ForwardLink => {
                net.on_link::<Data>(flows, index);
                self.release();
            }
            Kind::Fabric => {
                net.on_fabrics(flows, index);
                self.release();
            }
            Kind::ForwardExit => match net.tied_exits::<Data>(index) {
                None => net.on_exit::<Data>(flows, index),
                Some(lines) => self.exit_in_order::<Data>(&lines),
            },
            Kind::Late => net.on_late(flows),
            Kind::ReverseEntry => {
                net.on_entry::<Ack>(flows, index);
                self.release();
            }
            Kind::ReverseLink => {
                net.on_link::<Ack>(flows, index);
                self.release();
            }
            Kind::ReverseExit => match net.tied_exits::<Ack>(index) {
                None => {
                    net.on_exit::<Ack>(flows, index);
                    self.release();
                }
                Some(lines) => self.exit_in_order::<Ack>(&lines),
            },
            Kind::Timer => net.on_timer(&mut flows[index as usize]),
            Kind::DelayedAck => {
                net.settle(flows);
                net.on_ack_timer(&mut flows[index as usize]);
            }
            Kind::Warm => self.warm_up(),
            Kind::Stop => {
                net.settle(flows);
                net.is_over = true;
            }
            Kind::Start => net.start(&mut flows[index as usize]),
            Kind::Datagram => net.send_datagram(&mut flows[index as usize]),
            Kind::Write => net.write(&mut flows[index as usize]),
            Kind::Arrival => self.on_arrival(index),
            Kind::SlotStart => net.on_slot(&mut flows[index as usize]),
        }
    }

    /// Lets packets come out of several access lines at the same instant, in the order of `lines`.
    #[cold]
    fn exit_in_order<D: Direction>(&mut self, lines: &[u32]) {
        for &line in lines {
            if self.net.is_over {
                return;
            }
            self.net.on_exit::<D>(&mut self.flows, line);
            self.release();
        }
    }

    /// Lets a packet enter from outside, after all events up to `now`.
    pub(crate) fn inject(&mut self, now: SimTime, from: Port, to: Port, parcel: Parcel) -> Push {
        while self.run(now, u32::MAX) {}
        if self.net.is_over {
            return Push::QueueDrop;
        }
        self.net.now = self.net.now.max(now);
        self.net.outside_enters(from, to, parcel)
    }

    /// Takes the next packet from outside that has left the network, with its outer port.
    pub(crate) fn poll(&mut self) -> Option<(Port, Departure)> {
        self.net.outside.poll()
    }

    /// Number of ports to the outside.
    pub(crate) fn ports(&self) -> Port {
        self.net.outside.ports()
    }

    /// Counts of packets from outside.
    pub(crate) fn outside_statistics(&self) -> &LinkStatistics {
        &self.net.outside.statistics
    }

    /// Starts or stops the keeping of link events.
    pub(crate) fn trace(&mut self, keep: bool) {
        let net = &mut self.net;
        net.is_traced |= keep;
        net.forward.links.iter_mut().for_each(|link| link.trace(keep));
        net.reverse.links.iter_mut().for_each(|link| link.trace(keep));
        net.fabrics.iter_mut().for_each(|fabric| fabric.trace(keep));
    }

    /// Lets fabrics compute in advance what does not depend on later packets.
    pub(crate) fn prepare(&mut self) {
        self.net.fabrics.iter_mut().for_each(PathFabric::prepare);
    }

    /// Takes the link events up to the time of the last event, in order of time; at equal times in the order of the
    /// media.
    pub(crate) fn link_events(&mut self) -> Vec<(u32, LinkEvent)> {
        self.reports();
        let net = &mut self.net;
        let mut events = std::mem::take(&mut net.early);
        let mut name = 0;
        for (place, &has_back) in net.routing.places.iter().zip(&net.routing.have_back) {
            let next = || match *place {
                Place::Forward(link) => net.forward.links[link as usize].next_trace(),
                Place::Reverse(link) => net.reverse.links[link as usize].next_trace(),
                Place::Fabric(fabric) => net.fabrics[fabric as usize].next_trace(),
            };
            events.extend(std::iter::from_fn(next).map(|event| (name, event)));
            name += 1;
            if has_back {
                if let Place::Fabric(fabric) = *place {
                    let next = || net.fabrics[fabric as usize].next_trace_back();
                    events.extend(std::iter::from_fn(next).map(|event| (name, event)));
                }
                name += 1;
            }
        }
        events.sort_by_key(|(_, event)| event.at());
        // Some links report events in advance; a run that ends before such an event does not include it.
        net.early = events.split_off(events.partition_point(|(_, event)| event.at() <= net.now));
        events
    }

    /// Names of links and fabrics, in the order of their reports.
    pub(crate) fn names(&self) -> &[String] {
        &self.net.routing.names
    }

    /// Time of the last event.
    pub(crate) fn now(&self) -> SimTime {
        self.net.now
    }

    #[inline(never)]
    fn begin(&mut self) {
        // Traced links need all their events, so the shortcuts stay off.
        if !self.net.is_traced {
            let ways = self.flows.iter().map(Flow::ways).chain(self.groups.iter().map(|group| group.ways));
            self.net.pass_where_possible(&ways.collect::<Vec<_>>());
            let comes =
                self.groups.iter().map(|group| Receiver::new(group.config.tcp.config).shortest_delay());
            self.net.tell_late_where_possible(self.flows.iter().map(Flow::shortest_delay).chain(comes));
        }
        if self.warmup == SimTime::ZERO {
            self.warm_up();
        } else {
            self.net.schedule(self.warmup, Kind::Warm, 0);
        }
        if let StopRule::At(end) = self.net.stop {
            self.net.schedule(end, Kind::Stop, 0);
        }
        for flow in self.flows.iter_mut() {
            self.net.open(flow);
        }
        for group in 0..self.groups.len() as u32 {
            self.schedule_arrival(group, self.groups[group as usize].config.start);
        }
    }

    fn schedule_arrival(&mut self, group: u32, after: SimTime) {
        let Group { config, times, .. } = &mut self.groups[group as usize];
        let gap = Distribution::Exponential { mean: 1.0 / config.rate_per_s }.sample(times);
        self.net.schedule(after.saturating_add(SimTime::from_secs_f64(gap)), Kind::Arrival, group);
    }

    /// Starts a flow of arrival process `group`, and schedules the next arrival.
    #[inline(never)]
    fn on_arrival(&mut self, group: u32) {
        let place = self.free.pop().unwrap_or(self.flows.len() as u32);
        let Group { config, ways, sizes, statistics, seed, .. } = &mut self.groups[group as usize];
        let (mut tcp, mss) = (config.tcp.clone(), config.mss);
        let bytes = (config.sizes.sample(sizes).ceil() as u64).max(1);
        let (segments, last_short_by) = whole_segments(&tcp.config, bytes, mss);
        tcp.config = tcp.config.with_segments(segments);
        let (name, id) = (&config.name, self.next_id);
        let config = FlowConfig {
            name: String::new(),
            source: Source::Tcp(tcp),
            path: FlowPath { last_short_by, ..config.path },
            start: self.net.now,
        };
        let stream = |what: &str| seed.stream(&format!("{what}.{name}.{id}"));
        let mut flow = Flow::new(&config, place, *ways, self.net.measures_delays, stream);
        (flow.id, flow.arrivals) = (self.next_id, Some(group));
        if let Some(capture) = self.net.watch.capture() {
            capture.arrival(flow.id, segments * u64::from(mss) - u64::from(last_short_by));
        }
        self.next_id = self.next_id.wrapping_add(1);
        statistics.started += u64::from(self.net.now >= self.warmup);
        if let Some(earlier) = self.warm.as_mut().and_then(|warm| warm.flows.get_mut(place as usize)) {
            *earlier = FlowStatistics::default();
        }
        match self.flows.get_mut(place as usize) {
            Some(left) => *left = flow,
            None => self.flows.extend([flow]),
        }
        self.net.open(&mut self.flows[place as usize]);
        self.schedule_arrival(group, self.net.now);
    }

    /// Frees the places of flows that have ended.
    #[inline]
    fn release(&mut self) {
        if !L::IS_SINGLE && !self.net.ended.is_empty() {
            self.release_all();
        }
    }

    #[inline(never)]
    fn release_all(&mut self) {
        while let Some(place) = self.net.ended.pop() {
            self.net.settle(&mut self.flows);
            let flow = &self.flows[place as usize];
            // A flow may be listed twice.
            if flow.arrivals.is_some() && flow.has_ended() {
                self.flows[place as usize].unsent = 0;
                self.account(place);
                self.free.push(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Many;
    use crate::{Distribution, Tcp, Topology};
    use crossfade_channel::Lossless;
    use crossfade_link::HopConfig;
    use crossfade_transport::{Flavour, RtoConfig, TcpConfig, Variant};

    const MS: SimTime = SimTime::from_millis(1);

    /// Network of short files that arrive at random, about ten thousand in all.
    fn files() -> Network {
        let link =
            || HopConfig { rate_bps: Some(10e6), delay: MS, queue_limit: None, loss: Box::new(Lossless) };
        let config = TcpConfig {
            initial_window: 1.0,
            rto: RtoConfig::estimated(MS * 200, MS * 1000, MS),
            ..TcpConfig::new(Flavour::Rfc, Variant::Sack, 20)
        };
        let topology = Topology::path(vec![link().into()], vec![link().into()]);
        Network {
            arrivals: vec![Arrivals {
                name: "files".to_owned(),
                tcp: Tcp { config: config.into(), congestion: None },
                path: FlowPath::default(),
                start: SimTime::ZERO,
                rate_per_s: 100.0,
                sizes: Distribution::Exponential { mean: 3.0 },
                mss: 1,
            }],
            ..Network::new(Vec::new(), topology, StopRule::At(MS * 100_000), RunSeed { seed: 1, run: 0 })
        }
    }

    #[test]
    fn places_are_used_again() {
        let mut engine = EventLoop::<(), Many>::new(files(), ());
        while engine.run(SimTime::MAX, u32::MAX) {}
        assert!(engine.next_id > 9_000);
        assert!(engine.flows.len() < 200, "{} places", engine.flows.len());
        let statistics = engine.measured();
        let arrivals = &statistics.arrivals[0];
        // With acknowledgements delayed by 200 ms a file takes half a second.
        assert!(arrivals.started - arrivals.completions.len() as u64 <= 100);
        assert_eq!(arrivals.total.segments_transmitted, statistics.links[0].counts.transmissions);
    }
}
