//! Fuzz target: any bytes as a log of another tool, in chunks of two sizes, must give an error of one line, or packets
//! none of which was seen before it was sent.
#![no_main]

use crossfade_capture::read::{LogError, LogKind, LogReader, Told};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(kind) = LogKind::of(bytes) else { return };
    let [whole, pieces] = [bytes.len().max(1), 7].map(|chunk| read(kind, bytes, chunk));
    assert_eq!(whole, pieces);
    match whole {
        Err(error) => assert!(!error.to_string().contains('\n')),
        Ok(Told::Packets(log)) => {
            assert!(log.packets.iter().all(|of| of.seen_ns.is_none_or(|seen| seen >= of.sent_ns)));
        }
        Ok(Told::Stretches(log)) => assert!(log.stretches.iter().all(|of| of.to_s > of.from_s)),
    }
});

fn read(kind: LogKind, bytes: &[u8], chunk: usize) -> Result<Told, LogError> {
    let mut reader = LogReader::new(kind);
    for part in bytes.chunks(chunk) {
        reader.push(part)?;
    }
    reader.finish()
}
