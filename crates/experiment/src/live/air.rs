//! Captures of the frames of a Wi-Fi network in a live run.

use super::network::{opposite, whole};
use super::replay::{parse, point, wrong};
use crate::views::{Sink, WlanAir};
use crossfade_capture::CaptureConfig;
use crossfade_core::RunSeed;
use crossfade_link::Fabric;
use crossfade_live::Entry;
use crossfade_scenario::ScenarioError;
use crossfade_sim::Engine;
use std::sync::{Mutex, PoisonError};

/// Writes the PPDUs of a recorded run to `sink` as a pcap file, as a monitor captures them that hears every station.
/// `packets` is the file with the first bytes of each packet that entered the network, in the order of the journal.
///
/// The frames come from a replay of the journal, which equals the run to the nanosecond, so that a capture does not
/// slow the run.
///
/// # Errors
/// Those of [`replay`](super::replay()), and a scenario without a Wi-Fi network.
pub fn air_pcap(
    journal: &[u8],
    packets: &mut (dyn Iterator<Item = Vec<u8>> + Send),
    config: CaptureConfig,
    sink: &mut Sink<'_>,
) -> Result<(), ScenarioError> {
    let (header, journal) = parse(journal)?;
    let point = point(&header)?;
    let mut sink = |bytes: &[u8]| sink(bytes);
    let air = Mutex::new(WlanAir::new(&point.setup, config, &mut sink)?);
    let [entries] = &journal.lanes[..] else {
        return Err(wrong(format!("it has {} links, its scenario 1", journal.lanes.len())));
    };
    let network = whole(&point.setup, RunSeed { seed: header.seed, run: header.run });
    let mut capture = &air;
    let mut engine = Engine::new(network, None, Some(&mut capture))
        .map_err(|error| ScenarioError::key("live", error.to_string()))?;
    for entry in entries {
        while let Some(at) = Fabric::next_event(&engine).filter(|&at| at <= entry.at()) {
            while Fabric::advance(&mut engine, at).is_some() {}
        }
        if let Entry::Arrival { at, port, parcel, .. } = *entry {
            let bytes = packets.next().unwrap_or_default();
            air.lock().unwrap_or_else(PoisonError::into_inner).comes(parcel.id(), bytes);
            let port = u32::from(port);
            Fabric::push(&mut engine, at, port, opposite(port), parcel);
        }
    }
    drop(engine);
    air.into_inner().unwrap_or_else(PoisonError::into_inner).finish();
    Ok(())
}
