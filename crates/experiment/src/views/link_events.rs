//! What happens inside links, as CSV.

use super::sink::{PORTION_BYTES, TextSink};
use crossfade_link::LinkEvent;
use crossfade_sim::{Engine, Network};
use std::sync::atomic::{AtomicBool, Ordering};

/// Events of the engine between two looks at what links have kept.
const PORTION: u32 = 4096;

/// Hands the link events of a run of `network` to `sink`, in order of time; `None` once `cancel` is true.
pub(super) fn link_events(network: Network, sink: &mut TextSink<'_>, cancel: &AtomicBool) -> Option<()> {
    let mut engine =
        Engine::new(network, (), ()).unwrap_or_else(|error| panic!("a checked network: {error}"));
    engine.trace_links(true);
    let names = engine.link_names().to_vec();
    let mut csv = LinkEvent::HEADER.to_owned();
    loop {
        let goes_on = engine.step(PORTION);
        for (link, event) in engine.link_events() {
            event.write_csv(&names[link as usize], &mut csv);
        }
        if cancel.load(Ordering::Relaxed) {
            return None;
        }
        if !goes_on || csv.len() >= PORTION_BYTES {
            sink(&csv);
            csv.clear();
        }
        if !goes_on {
            return Some(());
        }
    }
}
