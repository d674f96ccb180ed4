//! Statistics of a run: at the end of the warm-up, at the end of the run, and in snapshots.

use super::EventLoop;
use super::warm_up::WarmUp;
use crate::flow::{Endpoints, Flow};
use crate::layout::Layout;
use crate::line::DelayLine;
use crate::link_summary::LinkSummary;
use crate::network::StopRule;
use crate::packets::Content;
use crate::statistics::{Completion, FlowSnapshot, FlowStatistics, NetworkStatistics, Snapshot};
use crate::watch::Watch;
use crossfade_core::SimTime;
use crossfade_link::{LinkReport, LinkStatistics, Occupancy};

impl<W: Watch, L: Layout> EventLoop<W, L> {
    /// Statistics since the start of the run, after all events up to `now`.
    pub(crate) fn snapshot(&mut self, now: SimTime) -> Snapshot {
        let links = self.reports_by(now);
        let flows = self.flows.iter().take(self.permanent);
        let flows = flows.map(|flow| FlowSnapshot { counts: flow.totals(), tcp: flow.snapshot() }).collect();
        Snapshot { flows, links }
    }

    /// Reports of all links and fabrics at the time of the last event, in the order of their names.
    pub(super) fn reports(&mut self) -> Vec<LinkReport> {
        self.reports_by(self.net.now)
    }

    /// Reports of all links and fabrics at `now`, after all events up to `now`. Also updates, for each flow, the number
    /// of its segments that the last link of its route has not sent.
    fn reports_by(&mut self, now: SimTime) -> Vec<LinkReport> {
        let net = &mut self.net;
        // After the end of the run no packet is sent.
        let now = if net.is_over { net.now } else { now };
        let media = 0..net.routing.places.len();
        let reports: Vec<_> = media.map(|medium| net.report(net.routing.places[medium], now)).collect();
        self.flows.iter_mut().for_each(|flow| flow.unsent = 0);
        let on_lines = self.net.forward.entries.iter().flat_map(DelayLine::parcels);
        let unsent = reports
            .iter()
            .flat_map(|report| report.unsent.iter().chain(report.back.iter().flat_map(|back| &back.unsent)));
        for parcel in unsent.chain(on_lines) {
            if Content::of(*parcel) == Content::Data {
                self.flows[parcel.flow() as usize].unsent += 1;
            }
        }
        let routing = &self.net.routing;
        for (report, &place) in reports.iter().zip(&routing.places) {
            for parcel in report.sent.iter().filter(|parcel| Content::of(**parcel) == Content::Data) {
                let flow = &mut self.flows[parcel.flow() as usize];
                // Packets between two links have not been sent by the last one yet.
                flow.unsent += u32::from(!routing.ends_at(flow.data.route, place));
            }
        }
        let named = reports.into_iter().zip(&routing.have_back).flat_map(|(mut report, &has_back)| {
            let nothing = || LinkReport::new(now, LinkStatistics::default(), Occupancy::None);
            let back = report.back.take();
            let back = has_back.then(|| back.map_or_else(nothing, |back| *back));
            [Some(report), back].into_iter().flatten()
        });
        named.collect()
    }

    /// Ends the warm-up: the measured period begins.
    #[inline(never)]
    pub(super) fn warm_up(&mut self) {
        self.net.settle(&mut self.flows);
        if let StopRule::Delivered(segments) = self.net.stop {
            self.net.enough_segments = self.net.segments_in_order.saturating_add(segments);
        }
        self.warm = Some(self.totals());
        // A timeout in the warm-up does not count as spurious later.
        for flow in self.flows.iter_mut() {
            if let Endpoints::Tcp(tcp) = &mut flow.endpoints {
                tcp.doubts.clear();
            }
        }
        self.net.count_harmless(&self.flows);
    }

    /// Adds the counts of the flow at `place`, if it belongs to [`Arrivals`](crate::Arrivals), to their statistics, and
    /// detaches the flow from them.
    pub(super) fn account(&mut self, place: u32) {
        let Some(group) = self.flows[place as usize].arrivals.take() else { return };
        let counted = self.counted(place);
        let statistics = &mut self.groups[group as usize].statistics;
        statistics.total.add(&counted);
        match counted.completion_time {
            _ if counted.start < self.warmup => {}
            Some(completion_time) => {
                let segments = counted.segments_in_order;
                statistics.completions.push(Completion { start: counted.start, segments, completion_time });
            }
            None => statistics.unfinished.push(counted.start),
        }
    }

    /// Counts of all flows and links since the start of the run.
    fn totals(&mut self) -> WarmUp {
        let links = self.reports();
        WarmUp { at: self.net.now, flows: self.flows.iter().map(Flow::totals).collect(), links }
    }

    /// Counts of the flow at `place` since the end of the warm-up.
    fn counted(&self, place: u32) -> FlowStatistics {
        let end = self.flows[place as usize].totals();
        match &self.warm {
            // A flow that began later has no counts at the end of the warm-up.
            Some(warm) => warm.flows.get(place as usize).map_or_else(|| end.clone(), |warm| end.since(warm)),
            // A run that ended in its warm-up has no counts.
            None => end.since(&end),
        }
    }

    /// Statistics of the network since the end of the warm-up.
    pub(crate) fn measured(mut self) -> NetworkStatistics {
        self.net.settle(&mut self.flows);
        let ends = self.reports();
        for place in 0..self.flows.len() as u32 {
            self.account(place);
        }
        let flows = (0..self.permanent as u32).map(|place| self.counted(place)).collect();
        let stalled = self.net.has_stalled();
        let warm = self.warm.take().unwrap_or_else(|| self.totals());
        let begin = if let StopRule::At(_) = self.net.stop { self.warmup } else { warm.at };
        let duration = self.net.now.saturating_sub(begin);
        let links = self.names().iter().zip(warm.links.iter().zip(&ends));
        NetworkStatistics {
            duration,
            end: self.net.now,
            flows,
            links: links.map(|(name, (warm, end))| LinkSummary::between(name, warm, end, duration)).collect(),
            arrivals: self.groups.into_iter().map(|group| group.statistics).collect(),
            stalled,
        }
    }
}
