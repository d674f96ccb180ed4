//! Fuzz target: any bytes as a capture, in chunks of two sizes, must give an error of one line, or a record without a
//! packet seen before it was sent, to which a link can be fitted.
#![no_main]

use crossfade_capture::read::{
    FileReader, FlowReader, FlowRecord, FlowTold, ReadError, Survey, Vantage, join,
};
use crossfade_fit::{Fate, Fit, Packet, Record};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let [whole, pieces] = [bytes.len().max(1), 7].map(|chunk| flow(bytes, chunk));
    for error in [whole.as_ref().err(), pieces.as_ref().err()].into_iter().flatten() {
        assert!(!error.to_string().contains('\n'));
    }
    assert_eq!(whole.is_ok(), pieces.is_ok());
    let (Ok(whole), Ok(pieces)) = (whole, pieces) else { return };
    let _ = join(whole.clone(), pieces.clone()).map(|record| fitted(&record));
    let found = whole.told();
    assert_eq!(found, pieces.told());
    match found {
        Ok(FlowTold::Packets(record)) => fitted(&record),
        Ok(FlowTold::Stretches(log)) => {
            assert!(log.stretches.iter().all(|of| of.to_s > of.from_s && of.bytes >= 0.0));
        }
        Err(_) => {}
    }
});

fn flow(bytes: &[u8], chunk: usize) -> Result<FlowReader, ReadError> {
    let (mut survey, mut reader) = (Survey::default(), FileReader::default());
    for part in bytes.chunks(chunk) {
        reader.push(part, |frame, packet| {
            survey.look(frame, packet);
            Ok(())
        })?;
    }
    reader.finish()?;
    let mut flow = FlowReader::new(survey.largest()?.0);
    let mut reader = FileReader::default();
    for part in bytes.chunks(chunk) {
        reader.push(part, |frame, packet| flow.look(frame, packet))?;
    }
    Ok(flow)
}

fn fitted(record: &FlowRecord) {
    let packets = record.packets.iter().map(|of| {
        let seen_s = of.seen_ns.map(|seen| seen as f64 / 1e9);
        if record.vantage == Vantage::Sender {
            assert!(of.seen_ns.is_none_or(|seen| seen >= of.sent_ns));
        }
        let fate = if of.seen_ns.is_some() { Fate::Arrived } else { Fate::Lost };
        Packet { sent_s: of.sent_ns as f64 / 1e9, bytes: of.bytes.max(1).into(), seen_s, fate }
    });
    if let Ok(record) = Record::new(packets.collect(), record.vantage != Vantage::BothEnds) {
        let fit = Fit::new(&record, 1);
        assert!(fit.rate.low <= fit.rate.high && fit.draws.iter().all(|draw| draw.rate_bps > 0.0));
    }
}
