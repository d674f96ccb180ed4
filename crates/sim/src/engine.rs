//! The engine: one clock, one queue of events, any number of flows over one path.

use crate::capture::Capture;
use crate::flow::{Flow, Hosts, Lines};
use crate::layout::{Layout, Many, Single};
use crate::net::{Data, Kind, Net};
use crate::network::{Arrivals, Carriage, FlowConfig, Network, NetworkError, Source, StopRule};
use crate::path::{LineTable, LinkBooks, Path, PathLink};
use crate::statistics::{ArrivalStatistics, Completion, FlowStatistics, LinkReport, NetworkStatistics};
use crate::workload::Distribution;
use crossfade_core::{EventQueue, Observer, SimTime, Stream};
use crossfade_transport::Ack;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;

/// So many transmissions in a row without a delivery end a run that would wait for a number of segments.
pub const STALL: u64 = 1_000_000;

/// The run was cancelled before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Why a simulation has no result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SimulationError {
    /// It was cancelled before its end.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// There is no such network.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

const EVENTS_BETWEEN_CANCEL_CHECKS: u32 = 4096;

/// Simulates `network` to its end. An observer sees what happens, a capture the packets at the senders'
/// interfaces; `()` is neither.
///
/// # Errors
/// A network that cannot be ([`Network::check`], or a queue out of its range); `cancel` became true.
pub fn simulate<O: Observer, C: Capture>(
    network: Network,
    observer: O,
    capture: C,
    cancel: &AtomicBool,
) -> Result<NetworkStatistics, SimulationError> {
    network.check()?;
    if network.is_single_hop() {
        Engine::<O, C, Single>::new(network, observer, capture)?.run(cancel)
    } else {
        Engine::<O, C, Many>::new(network, observer, capture)?.run(cancel)
    }
}

/// Arrivals at work.
struct Group {
    config: Arrivals,
    lines: Lines,
    times: Stream,
    sizes: Stream,
    statistics: ArrivalStatistics,
}

/// The books at the end of the warm-up.
struct Warm {
    at: SimTime,
    flows: Vec<FlowStatistics>,
    forward: Vec<LinkBooks>,
    reverse: Vec<LinkBooks>,
}

struct Engine<O, C, L: Layout> {
    flows: L::Flows,
    /// How many flows of the table are there from the start.
    permanent: usize,
    /// Places in the table that flows have left.
    free: Vec<u32>,
    next_id: u32,
    groups: Vec<Group>,
    net: Net<O, C, L>,
    measures_delays: bool,
    warmup: SimTime,
    /// Once the warm-up has ended.
    warm: Option<Warm>,
}

impl<O: Observer, C: Capture, L: Layout> Engine<O, C, L> {
    fn new(network: Network, observer: O, capture: C) -> Result<Self, NetworkError> {
        let Network { flows, arrivals, forward, reverse, gate, measures_delays, warmup, stop, seed } =
            network;
        let (mut senders, mut receivers) = (LineTable::default(), LineTable::default());
        let mut lines = |carriage: &Carriage| Lines {
            sender: senders.line(carriage.sender_access),
            receiver: receivers.line(carriage.receiver_access),
        };
        let flows: Vec<Flow> = (0..)
            .zip(&flows)
            .map(|(i, config)| {
                let stream = || seed.stream(&format!("workload.on-off.{}", config.name));
                Flow::new(config, i, lines(&config.carriage), measures_delays, stream)
            })
            .collect();
        let groups = arrivals
            .into_iter()
            .map(|config| Group {
                lines: lines(&config.carriage),
                times: seed.stream(&format!("workload.arrivals.{}", config.name)),
                sizes: seed.stream(&format!("workload.segments.{}", config.name)),
                config,
                statistics: ArrivalStatistics::default(),
            })
            .collect();
        Ok(Self {
            permanent: flows.len(),
            next_id: flows.len() as u32,
            flows: flows.into(),
            free: Vec::new(),
            groups,
            net: Net {
                forward: Path::new(senders.delays(), forward, receivers.delays())?,
                reverse: Path::new(receivers.delays(), reverse, senders.delays())?,
                gate,
                stop,
                now: SimTime::ZERO,
                queue: EventQueue::default(),
                slot_at: None,
                segments_in_order: 0,
                enough_segments: u64::MAX,
                sent_since_delivery: 0,
                ended: Vec::new(),
                is_over: false,
                observer,
                capture,
            },
            warmup,
            warm: None,
            measures_delays,
        })
    }

    fn run(mut self, cancel: &AtomicBool) -> Result<NetworkStatistics, SimulationError> {
        self.run_to_end(cancel)?;
        Ok(self.measured())
    }

    fn run_to_end(&mut self, cancel: &AtomicBool) -> Result<(), Interrupted> {
        self.begin();
        let mut until_check = EVENTS_BETWEEN_CANCEL_CHECKS;
        while let Some((now, event)) = self.net.queue.pop() {
            self.net.now = now;
            let (net, flows, index) = (&mut self.net, &mut self.flows[..], event.index);
            match event.kind {
                Kind::ForwardEntry => net.on_entry::<Data>(flows, index),
                Kind::ForwardLink => net.on_link::<Data>(flows, index),
                Kind::ForwardExit => net.on_exit::<Data>(flows, index),
                Kind::ReverseEntry => net.on_entry::<Ack>(flows, index),
                Kind::ReverseLink => {
                    net.on_link::<Ack>(flows, index);
                    self.release();
                }
                Kind::ReverseExit => {
                    net.on_exit::<Ack>(flows, index);
                    self.release();
                }
                Kind::Timer => net.on_timer(&mut flows[index as usize]),
                Kind::DelayedAck => net.on_ack_timer(&mut flows[index as usize]),
                Kind::Warm => self.warm_up(),
                Kind::Stop => break,
                Kind::Start => net.start(&mut flows[index as usize]),
                Kind::Datagram => net.send_datagram(&mut flows[index as usize]),
                Kind::Arrival => self.on_arrival(index),
                Kind::SlotStart => net.on_slot(&mut flows[index as usize]),
            }
            if self.net.is_over {
                break;
            }
            until_check -= 1;
            if until_check == 0 {
                until_check = EVENTS_BETWEEN_CANCEL_CHECKS;
                if cancel.load(Ordering::Relaxed) {
                    return Err(Interrupted);
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self) {
        if self.warmup == SimTime::ZERO {
            self.warm_up();
        } else {
            self.net.schedule(self.warmup, Kind::Warm, 0);
        }
        if let StopRule::At(end) = self.net.stop {
            self.net.schedule(end, Kind::Stop, 0);
        }
        for flow in self.flows.iter_mut() {
            match flow.counts.start {
                SimTime::ZERO => self.net.start(flow),
                start => self.net.schedule(start, Kind::Start, flow.place),
            }
        }
        for group in 0..self.groups.len() as u32 {
            self.schedule_arrival(group, self.groups[group as usize].config.start);
        }
    }

    /// What is counted begins.
    fn warm_up(&mut self) {
        if let StopRule::Delivered(segments) = self.net.stop {
            self.net.enough_segments = self.net.segments_in_order.saturating_add(segments);
        }
        self.warm = Some(self.books());
        // A timeout that was not counted is not counted as spurious.
        for flow in self.flows.iter_mut() {
            if let Hosts::Tcp(tcp) = &mut flow.hosts {
                tcp.doubts.clear();
            }
        }
    }

    fn schedule_arrival(&mut self, group: u32, after: SimTime) {
        let Group { config, times, .. } = &mut self.groups[group as usize];
        let gap = Distribution::Exponential { mean: 1.0 / config.rate_per_s }.sample(times);
        self.net.schedule(after.saturating_add(SimTime::from_secs_f64(gap)), Kind::Arrival, group);
    }

    /// A flow comes.
    fn on_arrival(&mut self, group: u32) {
        let place = self.free.pop().unwrap_or(self.flows.len() as u32);
        let Group { config, lines, sizes, statistics, .. } = &mut self.groups[group as usize];
        let mut tcp = config.tcp.clone();
        tcp.config.segments = Some((config.segments.sample(sizes).ceil() as u64).max(1));
        let config = FlowConfig {
            name: String::new(),
            source: Source::Tcp(tcp),
            carriage: config.carriage,
            start: self.net.now,
        };
        let stream = || unreachable!("arrivals are TCP");
        let mut flow = Flow::new(&config, place, *lines, self.measures_delays, stream);
        (flow.id, flow.arrivals) = (self.next_id, Some(group));
        self.next_id = self.next_id.wrapping_add(1);
        statistics.started += u64::from(self.net.now >= self.warmup);
        if let Some(earlier) = self.warm.as_mut().and_then(|warm| warm.flows.get_mut(place as usize)) {
            *earlier = FlowStatistics::default();
        }
        match self.flows.get_mut(place as usize) {
            Some(left) => *left = flow,
            None => self.flows.extend([flow]),
        }
        self.net.start(&mut self.flows[place as usize]);
        self.schedule_arrival(group, self.net.now);
    }

    /// Flows that have ended leave their places.
    #[inline]
    fn release(&mut self) {
        while let Some(place) = self.net.ended.pop() {
            self.account(place);
            self.free.push(place);
        }
    }

    /// Enters a flow that came into the books of its arrivals; it is no longer theirs.
    fn account(&mut self, place: u32) {
        let Some(group) = self.flows[place as usize].arrivals.take() else { return };
        let counted = self.counted(place);
        let statistics = &mut self.groups[group as usize].statistics;
        statistics.total.add(&counted);
        if let Some(completion_time) = counted.completion_time.filter(|_| counted.start >= self.warmup) {
            let segments = counted.segments_in_order;
            statistics.completions.push(Completion { start: counted.start, segments, completion_time });
        }
    }

    /// The books since the start.
    fn books(&mut self) -> Warm {
        Warm {
            at: self.net.now,
            flows: self.flows.iter().map(Flow::totals).collect(),
            forward: self.net.forward.books(self.net.now),
            reverse: self.net.reverse.books(self.net.now),
        }
    }

    /// What was counted of a flow since the warm-up.
    fn counted(&self, place: u32) -> FlowStatistics {
        let end = self.flows[place as usize].totals();
        match &self.warm {
            // Who came later has no books of the end of the warm-up.
            Some(warm) => warm.flows.get(place as usize).map_or_else(|| end.clone(), |warm| end.since(warm)),
            // A run that ended in its warm-up has nothing to count.
            None => end.since(&end),
        }
    }

    /// The books since the warm-up.
    fn measured(mut self) -> NetworkStatistics {
        for place in 0..self.flows.len() as u32 {
            self.account(place);
        }
        let flows = (0..self.permanent as u32).map(|place| self.counted(place)).collect();
        let stalled = self.net.has_stalled();
        let warm = self.warm.take().unwrap_or_else(|| self.books());
        let duration = match self.net.stop {
            // A finished transfer leaves the rest of the time idle.
            StopRule::At(end) => end.saturating_sub(self.warmup),
            StopRule::Delivered(_) => self.net.now.saturating_sub(warm.at),
        };
        let now = self.net.now;
        NetworkStatistics {
            duration,
            flows,
            arrivals: self.groups.into_iter().map(|group| group.statistics).collect(),
            forward: link_reports(&mut self.net.forward, &warm.forward, now, duration),
            reverse: link_reports(&mut self.net.reverse, &warm.reverse, now, duration),
            stalled,
        }
    }
}

/// What each link did in `duration` since `warm`.
fn link_reports<P, L: Layout>(
    path: &mut Path<P, L>,
    warm: &[LinkBooks],
    now: SimTime,
    duration: SimTime,
) -> Vec<LinkReport> {
    let report = |(link, warm): (&mut PathLink<L::Link>, &LinkBooks)| {
        LinkReport::new(&link.books(now), warm, link.occupancy(), duration)
    };
    path.links.iter_mut().zip(warm).map(report).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Carriage, Distribution, SenderGate, Tcp};
    use crossfade_channel::Lossless;
    use crossfade_core::RunSeed;
    use crossfade_link::{LinkConfig, Queue};
    use crossfade_transport::{Flavour, RfcConfig, RtoConfig, RtoRule, TcpConfig, Variant};

    const MS: SimTime = SimTime::from_millis(1);

    /// Ten thousand short files, one after the other.
    fn files() -> Network {
        let link = || LinkConfig {
            rate_bps: Some(10e6),
            delay: MS,
            queue: Queue::DropTail(None),
            loss: Box::new(Lossless),
        };
        let rule = RtoRule::Estimated { min: MS * 200, initial: MS * 1000, granularity: MS };
        let config = TcpConfig {
            flavour: Flavour::Rfc,
            variant: Variant::Sack,
            w_max: 20,
            initial_window: 1.0,
            initial_ssthresh: 20.0,
            dupthresh: 3,
            limited_transmit: true,
            rto: RtoConfig { rule, backoff: true, max: MS * 60_000 },
            segments: None,
            rfc: RfcConfig::default(),
        };
        let access = SimTime::ZERO;
        Network {
            flows: Vec::new(),
            arrivals: vec![Arrivals {
                name: "files".to_owned(),
                tcp: Tcp { config, congestion: None },
                carriage: Carriage {
                    packet_size: 1000,
                    ack_size: 40,
                    sack_block_size: 8,
                    sender_access: access,
                    receiver_access: access,
                },
                start: SimTime::ZERO,
                rate_per_s: 100.0,
                segments: Distribution::Exponential { mean: 3.0 },
            }],
            forward: vec![link().into()],
            reverse: vec![link().into()],
            gate: SenderGate::Queue,
            measures_delays: false,
            warmup: SimTime::ZERO,
            stop: StopRule::At(MS * 100_000),
            seed: RunSeed { seed: 1, run: 0 },
        }
    }

    #[test]
    fn places_are_used_again() {
        let mut engine = Engine::<(), (), Many>::new(files(), (), ()).unwrap();
        engine.run_to_end(&AtomicBool::new(false)).unwrap();
        assert!(engine.next_id > 9_000);
        assert!(engine.flows.len() < 200, "{} places", engine.flows.len());
        let statistics = engine.measured();
        let arrivals = &statistics.arrivals[0];
        // With acknowledgements delayed by 200 ms a file takes half a second.
        assert!(arrivals.started - arrivals.completions.len() as u64 <= 100);
        assert_eq!(arrivals.total.segments_sent, statistics.forward[0].counts.transmissions);
    }
}
