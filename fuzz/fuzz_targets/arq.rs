//! Fuzz target: any sequence of frames into every ARQ receiver must not panic, and no payload may be delivered twice.
#![no_main]

use crossfade_core::SimTime;
use crossfade_link::arq::{
    ArqReceiver, Content, Delivery, GoBackNReceiver, Outcome, Pdu, Reading, Release, RlpIs99Receiver,
    RlpNackConfig, RlpNackReceiver, SelectiveRepeatConfig, SelectiveRepeatReceiver, StopAndWaitReceiver,
};
use libfuzzer_sys::fuzz_target;
use std::collections::HashSet;

const SLOT: SimTime = SimTime::from_millis(20);

/// Feeds frames of four bytes each to a receiver: kind and outcome of the reception, frame number, lower edge of the
/// sender's window, time since the previous frame in ms.
fn feed(receiver: &mut dyn ArqReceiver, data: &[u8]) {
    let (mut now, mut passed) = (SimTime::ZERO, HashSet::new());
    for (i, frame) in data.chunks_exact(4).enumerate() {
        now += SimTime::from_millis(u64::from(frame[3]));
        // The byte 255 stands for a number far away.
        let number = |byte: u8| if byte == 255 { u64::MAX - i as u64 } else { u64::from(byte) };
        let content = match frame[0] & 7 {
            0 => Content::Idle,
            1 => Content::Skip,
            _ => Content::Data(i as u64),
        };
        let pdu = Pdu { seq: number(frame[1]), oldest: number(frame[2]), content, attempt: 0 };
        receiver.on_pdu(
            now,
            match frame[0] >> 6 {
                0 => Outcome::Erased,
                1 => Outcome::Corrupt(pdu),
                _ => Outcome::Good(pdu),
            },
        );
        while receiver.poll_feedback(now).is_some() {}
        while let Some(delivery) = receiver.poll_delivery() {
            if let Delivery::Frame { sdu, .. } = delivery {
                assert!(passed.insert(sdu), "{sdu} twice");
            }
        }
        assert!(receiver.next_timeout().is_none_or(|at| at > now));
    }
}

fuzz_target!(|data: &[u8]| {
    for reading in Reading::ALL {
        feed(&mut RlpIs99Receiver::new(&reading.config(3)), data);
    }
    feed(&mut RlpNackReceiver::new(&RlpNackConfig::new(3, SLOT)), data);
    for release in [Release::InOrder, Release::Immediate] {
        let config = SelectiveRepeatConfig { window: 64, timeout: SLOT, max_retransmissions: None, release };
        feed(&mut SelectiveRepeatReceiver::new(&config), data);
    }
    feed(&mut GoBackNReceiver::new(), data);
    feed(&mut StopAndWaitReceiver::new(), data);
});
