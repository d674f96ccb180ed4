//! Fuzz target: any bytes as a recording of a link in the formats of other tools, in chunks of two sizes, must give an
//! error of one line, or data whose times do not depend on the size of chunks.
#![no_main]

use crossfade_link::trace::TraceError;
use crossfade_link::trace::formats::{Detector, Format, Reader, Told, Whole};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let [whole, pieces] = [bytes.len().max(1), 7].map(|chunk| detected(bytes, chunk));
    assert_eq!(whole, pieces);
    let Ok(format) = whole.map_err(|error| assert!(!error.to_string().contains('\n'))) else { return };
    let [whole, pieces] = [bytes.len().max(1), 7].map(|chunk| read(format, bytes, chunk));
    assert_eq!(whole, pieces);
    if let Err(error) = whole {
        assert!(!error.to_string().contains('\n'));
    }
});

fn detected(bytes: &[u8], chunk: usize) -> Result<Format, TraceError> {
    let mut detector = Detector::default();
    for part in bytes.chunks(chunk) {
        if detector.push(part)? {
            break;
        }
    }
    detector.finish()
}

fn read(format: Format, bytes: &[u8], chunk: usize) -> Result<(Vec<Told>, Option<Whole>), TraceError> {
    let mut reader = Reader::new(format, bytes.chunks(chunk).map(Ok::<_, TraceError>));
    let told = reader.by_ref().collect::<Result<Vec<Told>, TraceError>>()?;
    Ok((told, reader.whole().cloned()))
}
