//! Any bytes as a packet that a program behind a live link has sent: what the link is told of it, and the mark that
//! it may write into it.
#![no_main]

use crossfade_link::Ecn;
use crossfade_live::{Kind, kind, mark_ce, parcel};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let of = parcel(7, bytes);
    assert_eq!((of.id(), of.bytes() as usize), (7, bytes.len()));
    let is_ip = bytes.first().is_some_and(|first| matches!(first >> 4, 4 | 6));
    assert!(is_ip || (kind(bytes) == Kind::Data && of.flow() == 0));
    let mut marked = bytes.to_vec();
    mark_ce(&mut marked);
    assert_eq!(marked.len(), bytes.len());
    if marked != bytes {
        let again = parcel(7, &marked);
        assert_eq!((again.flow(), again.ecn(), kind(&marked)), (of.flow(), Ecn::Ce, kind(bytes)));
    }
});
