//! Events inside the links of a run as CSV, and the frames of a mesh as a pcap file.

use super::sink::{PORTION_BYTES, TextSink};
use crossfade_capture::{AirConfig, AirFrame, AirKind, air_pcap};
use crossfade_link::LinkEvent;
use crossfade_scenario::MeshSetup;
use crossfade_sim::{Engine, Network};
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of engine events between two collections of link events.
const PORTION: u32 = 4096;

/// Writes the link events of a run of `network` to `sink` as CSV, in order of time; `None` once `cancel` is true.
pub(super) fn link_events(network: Network, sink: &mut TextSink<'_>, cancel: &AtomicBool) -> Option<()> {
    let mut csv = LinkEvent::HEADER.to_owned();
    let finished = traced(network, cancel, |link, event| {
        event.write_csv(link, &mut csv);
        if csv.len() >= PORTION_BYTES {
            sink(&csv);
            csv.clear();
        }
    });
    sink(&csv);
    finished
}

/// Frames on the air in a run of `network`, the mesh of `setup`, as a pcap file; `None` once `cancel` is true.
pub(super) fn air(
    network: Network,
    setup: &MeshSetup,
    snaplen: Option<u32>,
    cancel: &AtomicBool,
) -> Option<Vec<u8>> {
    let mut frames = Vec::new();
    traced(network, cancel, |_, event| frames.extend(air_frame(event)))?;
    let (dcf, timing) = (&setup.config.dcf, &setup.timing);
    let config = AirConfig {
        data_rate_bps: dcf.data_rate_bps,
        basic_rate_bps: dcf.basic_rate_bps,
        preamble: dcf.preamble,
        sifs: timing.sifs,
        cts: timing.cts,
        ack: timing.ack,
    };
    Some(air_pcap(&config, snaplen, &frames))
}

fn air_frame(event: &LinkEvent) -> Option<AirFrame> {
    let LinkEvent::Air { at, end, node, frame, kind, to, .. } = *event else { return None };
    let kind = match kind {
        "rts" => AirKind::Rts,
        "cts" => AirKind::Cts,
        "data" => AirKind::Data,
        "ack" => AirKind::Ack,
        _ => return None,
    };
    Some(AirFrame { at, end, kind, from: node, to, number: frame })
}

/// Calls `each` with every link event of a run and the name of its link; `None` once `cancel` is true.
fn traced(network: Network, cancel: &AtomicBool, mut each: impl FnMut(&str, &LinkEvent)) -> Option<()> {
    let mut engine =
        Engine::new(network, None, None).unwrap_or_else(|error| panic!("a checked network: {error}"));
    engine.trace_links(true);
    let names = engine.link_names().to_vec();
    loop {
        let goes_on = engine.step(PORTION);
        for (link, event) in engine.link_events() {
            each(&names[link as usize], &event);
        }
        if cancel.load(Ordering::Relaxed) {
            return None;
        }
        if !goes_on {
            return Some(());
        }
    }
}
