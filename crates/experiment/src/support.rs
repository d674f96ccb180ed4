//! Certain bounds of the means of metrics on a path of links, from its delays, rates and queues.

use crate::experiment::Experiment;
use crate::impossible::{most_of_queues, packet_ns};
use crate::parts::{FLOW, Part};
use crossfade_scenario::{Carrier, FlowSetup, HopSetup, LinksSetup, Point, Setup};

/// Lower and upper bounds of the means of metrics, by the metrics' keys in rows.
///
/// A confidence interval is cut at such a bound, or at the most extreme run if that is beyond it: data that waited at
/// the receiver when the measured time began may lift a short run a little above the rate of the link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Support {
    least: Vec<(String, f64)>,
    most: Vec<(String, f64)>,
}

impl Support {
    /// Bounds of the metrics at `point`; empty if parameters are drawn per run, since each run then has other bounds.
    pub fn of_point(experiment: &Experiment, point: &Point) -> Self {
        if experiment.points.may_have_draws() { Self::default() } else { Self::of(&point.setup) }
    }

    /// Bounds of a scenario. Links of changing rate, and networks other than a path of links, have no bound on
    /// goodputs.
    fn of(setup: &Setup) -> Self {
        let queues = most_of_queues(setup).into_iter().map(|(metric, most, _)| (metric.to_owned(), most));
        Self { least: delays(setup), most: carried(setup).into_iter().chain(queues).collect() }
    }

    /// Lower and upper bound of the mean of the metric `key`: 0 and infinity if nothing is certain.
    pub fn range(&self, key: &str) -> [f64; 2] {
        let of =
            |bounds: &[(String, f64)]| bounds.iter().find(|(known, _)| known == key).map(|(_, bound)| *bound);
        [of(&self.least).unwrap_or(0.0), of(&self.most).unwrap_or(f64::INFINITY)]
    }
}

/// Lower bounds of round trips and one-way delays in seconds, of each flow and of all: the propagation delays on their
/// routes.
fn delays(setup: &Setup) -> Vec<(String, f64)> {
    const ENDS: [&str; 4] = ["mean_s", "p50_s", "p95_s", "p99_s"];
    let Some(LinksSetup { forward, around, .. }) = setup.links() else { return Vec::new() };
    let [there, back] = [forward, &around.reverse].map(|hop| hop.delay.as_secs_f64());
    let wired =
        around.wired.as_ref().map_or([0.0; 2], |hops| [0, 1].map(|way: usize| hops[way].delay.as_secs_f64()));
    let [there, back] = [there + wired[0], back + wired[1]];
    let of_flow = |flow: &FlowSetup| {
        let access = flow.access_delay.as_secs_f64();
        // Data may take either direction, so the shorter one bounds the one-way delay.
        [("rtt", there + back + 2.0 * access), ("one_way_delay", there.min(back) + access)]
    };
    let named = |[rtt, one_way]: [(&'static str, f64); 2]| {
        [rtt, one_way]
            .into_iter()
            .flat_map(move |(name, least)| ENDS.map(|end| (format!("{name}_{end}"), least)))
    };
    let each = setup.flows.iter().filter(|flow| !flow.name.is_empty()).flat_map(|flow| {
        let part = Part::new(FLOW, &flow.name);
        named(of_flow(flow)).map(move |(name, least)| (part.key(&name), least))
    });
    let all =
        setup.flows.iter().map(of_flow).reduce(|one, other| {
            std::array::from_fn(|i| if one[i].1 <= other[i].1 { one[i] } else { other[i] })
        });
    each.chain(all.into_iter().flat_map(named)).collect()
}

/// Bounds of the rates of one flow: `goodput_bps`, `ip_goodput_bps`, `throughput_per_slot`.
type Rates = [f64; 3];

/// Upper bounds of the goodputs of each flow and of all, and of the link's goodput: the rate of the slowest link.
fn carried(setup: &Setup) -> Vec<(String, f64)> {
    const NAMES: [&str; 3] = ["goodput_bps", "ip_goodput_bps", "throughput_per_slot"];
    let Some(LinksSetup { forward, around, .. }) = setup.links() else { return Vec::new() };
    let hops: Vec<&HopSetup> =
        [forward].into_iter().chain(around.wired.iter().map(|[there, _]| there)).collect();
    let mut found = Vec::new();
    let mut all = Some([0.0_f64; 3]);
    for flow in &setup.flows {
        let of_flow = rates(setup, flow, &hops);
        all = all.zip(of_flow).map(|(all, of_flow)| std::array::from_fn(|i| all[i].max(of_flow[i])));
        if let Some(of_flow) = of_flow.filter(|_| !flow.name.is_empty()) {
            let part = Part::new(FLOW, &flow.name);
            found.extend(NAMES.iter().zip(of_flow).map(|(name, most)| (part.key(name), most)));
        }
    }
    if let Some(all) = all.filter(|_| !setup.flows.is_empty()) {
        found.extend(NAMES.iter().zip(all).map(|(name, most)| ((*name).to_owned(), most)));
        found.push(("link_goodput_bps".to_owned(), all[1]));
    }
    found
}

/// Rates of a flow that is alone and loses nothing; `None` if a link of its route has no constant rate.
fn rates(setup: &Setup, flow: &FlowSetup, hops: &[&HopSetup]) -> Option<Rates> {
    let headers = flow.tcp().map_or(0, |tcp| flow.packet_size - tcp.mss);
    let of_size = |bytes: u32| -> Option<Rates> {
        // The slowest link decides; without any rate nothing is certain.
        let times: Vec<f64> = hops.iter().map(|hop| constant_ns(hop, bytes)).collect::<Option<_>>()?;
        let seconds = times.into_iter().fold(0.0, f64::max) * 1e-9;
        let per_second = |bytes: u32| f64::from(bytes) * 8.0 / seconds;
        let slots = setup.slot.as_secs_f64() / seconds;
        (seconds > 0.0).then(|| [per_second(bytes.saturating_sub(headers)), per_second(bytes), slots])
    };
    // With packets of several sizes, the largest of the bounds of all sizes.
    let mut sizes = flow.packet_sizes().iter().map(|&bytes| of_size(bytes));
    sizes.try_fold([0.0_f64; 3], |best, of_size| {
        let of_size = of_size?;
        Some(std::array::from_fn(|i| best[i].max(of_size[i])))
    })
}

/// Time of a packet on a link of constant rate, in nanoseconds; 0 for a link without a rate, `None` for one whose rate
/// changes.
fn constant_ns(hop: &HopSetup, bytes: u32) -> Option<f64> {
    match &hop.carrier {
        Carrier::Packets { rate_bps: None, .. } => Some(0.0),
        Carrier::Packets { .. } | Carrier::Frames { .. } => packet_ns(hop, bytes),
        Carrier::Shaped { .. } | Carrier::Schedule { .. } | Carrier::Satellite { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn support(set: &str) -> Support {
        let text = format!(
            "schema = 2\nrun.duration = \"60 s\"\nchannel.model = \"none\"\n[link]\npacket_size = \"1500 B\"\n{set}"
        );
        let plan =
            crate::Experiment::load(&text, "test.toml", &crossfade_scenario::Overrides::default()).unwrap();
        Support::of(&plan.points.at(0).setup)
    }

    fn close(found: f64, expected: f64) -> bool {
        (found / expected - 1.0).abs() < 1e-9
    }

    /// A link of 1 Mbit/s bounds goodputs, with 1448 bytes of data in packets of 1500 bytes.
    #[test]
    fn no_flow_gets_more_than_the_link_carries() {
        let found = support("rate = \"1 Mbit/s\"\n[tcp]\nvariant = \"sack\"\n[flows.a]\n");
        for (key, most) in [
            ("goodput_bps", 1e6 * 1448.0 / 1500.0),
            ("flow:a.goodput_bps", 1e6 * 1448.0 / 1500.0),
            ("ip_goodput_bps", 1e6),
            ("link_goodput_bps", 1e6),
            ("throughput_per_slot", 1.0),
        ] {
            assert!(close(found.range(key)[1], most), "{key}: {}", found.range(key)[1]);
        }
        assert_eq!(found.range("rtt_mean_s")[1], f64::INFINITY);
        assert_eq!(found.range("reverse.link_goodput_bps")[1], f64::INFINITY);
    }

    /// Round trips include 30 ms there, 10 ms back and 2 ms on the wire each way; one of the flows has 5 ms more each
    /// way.
    #[test]
    fn no_delay_is_below_the_propagation() {
        let links = "rate = \"1 Mbit/s\"\ndelay = \"30 ms\"\n[reverse]\ndelay = \"10 ms\"\n[wired]\none_way_delay = \"2 ms\"\n\
                     [tcp]\nvariant = \"sack\"\n[flows.near]\n[flows.far]\naccess_delay = \"5 ms\"\n";
        let found = support(links);
        for (key, least) in [
            ("rtt_mean_s", 0.044),
            ("rtt_p95_s", 0.044),
            ("flow:near.rtt_p99_s", 0.044),
            ("flow:far.rtt_mean_s", 0.054),
            ("one_way_delay_p50_s", 0.012),
            ("flow:far.one_way_delay_mean_s", 0.017),
        ] {
            assert!(close(found.range(key)[0], least), "{key}: {}", found.range(key)[0]);
        }
        assert_eq!(found.range("goodput_bps")[0], 0.0);
    }

    /// The wired segment is slower than the link and bounds the goodput.
    #[test]
    fn the_slowest_link_decides() {
        let wired = "rate = \"1 Mbit/s\"\n[wired]\nrate = \"400 kbit/s\"\n[flows.f]\ntraffic = \"udp\"\nrate = \"2 Mbit/s\"\n";
        assert!(close(support(wired).range("flow:f.goodput_bps")[1], 4e5));
    }

    #[test]
    fn a_queue_holds_what_fits_into_it() {
        let found = support("rate = \"1 Mbit/s\"\nqueue.limit = \"10 packets\"\n[tcp]\nvariant = \"sack\"\n");
        assert_eq!(found.range("queue_mean_packets")[1], 10.0);
        // Ten packets of 12 ms each.
        assert!(close(found.range("forward.queueing_delay_mean_s")[1], 0.12));
    }

    /// A shaper has no upper bound of its goodput, since its bursts take no time.
    #[test]
    fn what_is_not_certain_is_left_open() {
        let shaped = "rate = \"10 Mbit/s\"\nshaper = { rate = \"1 Mbit/s\", burst = \"20000 B\" }\n[tcp]\nvariant = \"sack\"\n";
        assert_eq!(support(shaped).range("goodput_bps")[1], f64::INFINITY);
    }
}
