//! Formula for one user of an NR cell, by closed forms of hybrid ARQ: a cell that is always full, or idle between
//! packets.

use super::{assumptions, nr_blocks};
use crate::metrics::Metrics;
use crossfade_core::SimTime;
use crossfade_nr::{ClosedForms, Unmet};
use crossfade_scenario::{End, FlowSetup, Gaps, NrSetup, Point, ScenarioError, TrafficSetup};

/// Description of the formula in a warning of the result.
pub(crate) const FORM: &str =
    "formula is hybrid ARQ in closed form: copies, losses, goodput of a full cell, delays of an idle one";

/// Datagrams of equal size at equal intervals.
struct Packets {
    bytes: u32,
    gap: SimTime,
    start: SimTime,
    rate_bps: f64,
}

/// Goodput, transmissions and delays of one user of an NR cell with one flow of datagrams.
///
/// # Errors
/// The first assumption of the closed forms that the scenario violates.
pub(super) fn hybrid_arq(point: &Point, nr: &NrSetup) -> Result<Metrics, ScenarioError> {
    let setup = &point.setup;
    if setup.flows.is_empty() {
        return nr_blocks::expected(nr);
    }
    if nr.around.wired.is_some() {
        return unmet("wired", "no wired segment before the cell");
    }
    let packets = packets(&setup.flows)?;
    let refuse = |unmet: Unmet| -> ScenarioError {
        let key = if unmet.key == "rate" { "flows.rate".to_owned() } else { format!("nr.{}", unmet.key) };
        assumptions::unmet(&key, ASSUMES, unmet.assumed)
    };
    let mut forms = ClosedForms::new(&nr.model.config).map_err(refuse)?;
    let full = forms.saturated(packets.bytes);
    let bits = f64::from(packets.bytes) * 8.0;
    let values = match full {
        Ok(full) if packets.rate_bps > full.filled_from_bps => vec![
            ("goodput_bps", full.goodput_bps),
            ("initial_frame_error_rate", full.initial_error_rate),
            ("frame_transmissions_per_frame", full.transmissions),
            ("residual_frame_error_rate", full.lost),
        ],
        full => {
            let End::At(end) = setup.end else {
                return unmet("run.segments", "a run of a given duration");
            };
            let first =
                setup.warmup.saturating_sub(packets.start).as_nanos().div_ceil(packets.gap.as_nanos());
            // After so many packets every slot of the pattern has been met as often as in the whole run.
            let times = (first..).map(|number| packets.start + packets.gap * number);
            let times = times.take_while(|at| *at < end).take(MOST_PACKETS);
            // Above the peak rate the cell is full even if no block fails.
            let peak_bps = nr.model.config.peak_bps();
            // If neither form applies, the error tells why the cell cannot be idle, or else why it cannot be full.
            let idle = forms.idle(packets.bytes, packets.gap, times).map_err(|unmet| match &full {
                Err(full) if unmet.key == "rate" && packets.rate_bps > peak_bps => full.clone(),
                _ => unmet,
            });
            let idle = idle.map_err(refuse)?;
            vec![
                ("goodput_bps", packets.rate_bps * (1.0 - idle.lost)),
                ("one_way_delay_mean_s", idle.delay_mean_s),
                ("initial_frame_error_rate", idle.initial_error_rate),
                ("frame_transmissions_per_frame", idle.transmissions),
                ("residual_frame_error_rate", idle.lost),
            ]
        }
    };
    let mut metrics = Metrics::default();
    metrics.extend(values.iter().map(|(name, value)| ((*name).to_owned(), *value)));
    let goodput = values[0].1;
    let per_slot = goodput / bits * setup.slot.as_secs_f64();
    let more = [("ip_goodput_bps", goodput), ("throughput_per_slot", per_slot)];
    metrics.extend(more.map(|(name, value)| (name.to_owned(), value)));
    metrics.retain(|_, value| value.is_finite());
    Ok(metrics)
}

/// Greatest number of packets of a run that are evaluated; after so many, packet times have met all slots of the
/// pattern.
const MOST_PACKETS: usize = 200_000;

const ASSUMES: &str = "the closed forms of HARQ assume";

fn unmet<T>(key: &str, assumed: &str) -> Result<T, ScenarioError> {
    Err(assumptions::unmet(key, ASSUMES, assumed))
}

/// Packets of the only flow.
///
/// # Errors
/// If there are several flows, or the flow is not periodic UDP.
fn packets(flows: &[FlowSetup]) -> Result<Packets, ScenarioError> {
    let [flow] = flows else { return unmet("flows", "one flow") };
    let key =
        |key: &str| if flow.name.is_empty() { key.to_owned() } else { format!("flows.{}.{key}", flow.name) };
    let TrafficSetup::Udp { rate_bps, gaps, on_off } = &flow.traffic else {
        let assumed = "traffic = \"udp\": over a cell no exact chain of TCP is known, for blocks carry parts of packets and their \
                       retransmissions delay those behind them";
        return unmet(&key("traffic"), assumed);
    };
    if flow.count != 1 {
        return unmet(&key("count"), "one flow");
    }
    if *gaps != Gaps::Periodic || on_off.is_some() {
        return unmet(&key("gaps"), "packets at equal distances");
    }
    if flow.start_within > SimTime::ZERO || flow.access_delay > SimTime::ZERO {
        return unmet(&key("start"), "a start at a given time, without access delay");
    }
    let bytes = flow.packet_size;
    Ok(Packets { bytes, gap: SimTime::to_transmit(bytes, *rate_bps), start: flow.start, rate_bps: *rate_bps })
}
