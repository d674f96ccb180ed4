use super::{NaksPerRound, Persistence, Reading, RlpIs99Config, RlpIs99Receiver, RlpIs99Sender, TimerClock};
use crate::arq::testing::{Fate, Ladder, SLOT, data, hears, idle};
use crate::arq::{ArqReceiver, ArqSender, Feedback, Outcome, Pdu};
use crossfade_core::SimTime;
use proptest::prelude::*;

const NOW: SimTime = SimTime::ZERO;

fn ladder(config: &RlpIs99Config) -> Ladder<RlpIs99Sender, RlpIs99Receiver> {
    Ladder::new(RlpIs99Sender::new(config), RlpIs99Receiver::new(config))
}

fn receiver(config: &RlpIs99Config) -> RlpIs99Receiver {
    RlpIs99Receiver::new(config)
}

#[test]
fn without_losses_nothing_is_said() {
    let mut ladder = ladder(&RlpIs99Config::default());
    ladder.run("ooooOO");
    assert_eq!(ladder.sent(), "+0 +1 +2 +3 . .");
    assert_eq!(ladder.up, [0, 1, 2, 3]);
}

#[test]
fn a_single_loss_is_seen_with_the_next_frame_and_repaired() {
    let mut ladder = ladder(&RlpIs99Config::default());
    ladder.run("oxooooo");
    // Frame 2 shows in slot 2 that 1 is missing; the NAK takes slot 3, the retransmission slot 4.
    assert_eq!(ladder.sent(), "+0 +1 +2 +3 *1 +4 +5");
    assert_eq!(ladder.up, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn the_loss_of_a_last_frame_is_seen_only_if_idle_frames_carry_v_s() {
    let mut with = ladder(&RlpIs99Config::default());
    with.run("oxOOOO");
    assert_eq!((with.sent().as_str(), &with.up[..]), ("+0 +1 . . *1 .", &[0, 1][..]));
    let mut without = ladder(&RlpIs99Config { idle_frames_carry_v_s: false, ..RlpIs99Config::default() });
    without.run("oxOOOOo");
    assert_eq!((without.sent().as_str(), &without.up[..]), ("+0 +1 . . . . +2", &[0][..]));
    without.run("OOO");
    assert_eq!(without.up, [0, 1, 2]);
}

#[test]
fn a_burst_is_asked_for_at_once_and_goes_before_new_frames() {
    let mut ladder = ladder(&RlpIs99Config::default());
    ladder.run("oxxxoooooo");
    assert_eq!(ladder.sent(), "+0 +1 +2 +3 +4 +5 *1 *2 *3 +6");
    assert_eq!(ladder.up, [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn round_r_sends_r_naks_and_each_brings_a_copy() {
    // Reading e: the timer runs by good new frames; 7 of them end a round.
    let mut ladder = ladder(&Reading::E.config(3));
    ladder.run("xoo");
    ladder.run("x"); // The retransmission of the first round.
    assert_eq!(ladder.sent(), "+0 +1 +2 *0");
    // 2 is the first good new frame after the NAK; after 3 .. 8 the second round begins.
    ladder.run("oooooo");
    ladder.run("oxx");
    assert_eq!(ladder.sent[4..].join(" "), "+3 +4 +5 +6 +7 +8 +9 *0 *0");
    // 9 was the first of the second wait.
    ladder.run("oooooo");
    ladder.run("oxxx");
    assert_eq!(ladder.sent[13..].join(" "), "+10 +11 +12 +13 +14 +15 +16 *0 *0 *0");
    assert_eq!(ladder.up, []);
    // The third expiry is the last: the frame is given up, and what waited for it goes up.
    ladder.run("oooooo");
    assert_eq!(ladder.up[..3], [-1, 1, 2]);
    assert_eq!(ladder.up.len(), 23);
}

#[test]
fn the_default_counts_retransmissions_over_all_rounds() {
    for (n, copies) in
        [(1, vec![1]), (2, vec![1, 1]), (3, vec![1, 2]), (4, vec![1, 2, 1]), (10, vec![1, 2, 3, 4])]
    {
        let mut receiver = receiver(&Reading::F.config(n));
        let mut rounds = Vec::new();
        let mut lost_at = None;
        for seq in 1..100 {
            let (up, naks) = hears(&mut receiver, NOW, data(seq, seq));
            if !naks.is_empty() {
                assert!(naks.iter().all(|&seq| seq == 0));
                rounds.push(naks.len());
            }
            if up.first() == Some(&-1) {
                lost_at = Some(seq);
            }
        }
        assert_eq!(rounds, copies, "n {n}");
        // Detected with frame 1; every round waits for 7 frames.
        assert_eq!(lost_at, Some(1 + 7 * copies.len() as u64), "n {n}");
    }
}

#[test]
fn with_n_zero_a_loss_is_final_at_once() {
    for reading in Reading::ALL {
        let mut receiver = receiver(&reading.config(0));
        assert_eq!(hears(&mut receiver, NOW, data(2, 2)), (vec![-1, -2, 2], vec![]), "{reading}");
        assert!(receiver.is_in_sequence());
    }
}

#[test]
fn a_lost_nak_is_sent_again_after_the_timeout() {
    let mut ladder = ladder(&RlpIs99Config::default());
    ladder.feedback_fates = [Fate::Lost].into();
    ladder.run("xo");
    ladder.run("ooooooo");
    ladder.run("ooo");
    // The first NAK is lost; the second round of two comes 7 good frames later.
    assert_eq!(ladder.sent(), "+0 +1 +2 +3 +4 +5 +6 +7 +8 +9 *0 *0");
    // One of the copies is a duplicate.
    assert_eq!(ladder.up, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn numbers_wrap_at_255() {
    let mut ladder = ladder(&RlpIs99Config::default());
    ladder.run(&"o".repeat(254));
    ladder.run("xxxoooooooo"); // 254, 255 and 0 are lost.
    assert_eq!(ladder.sent[254..].join(" "), "+254 +255 +0 +1 +2 *254 *255 *0 +3 +4 +5");
    assert_eq!(ladder.up, (0..262).collect::<Vec<i64>>());
    // Many times round.
    for _ in 0..50 {
        ladder.run("oxooxxooooooooooooooooooooooooooooooooooooooo");
    }
    assert!(ladder.up.iter().copied().eq((0..).take(ladder.up.len())));
}

#[test]
fn duplicates_and_old_frames_are_discarded() {
    let mut receiver = receiver(&RlpIs99Config::default());
    assert_eq!(hears(&mut receiver, NOW, data(0, 0)).0, [0]);
    assert_eq!(hears(&mut receiver, NOW, data(0, 0)), (vec![], vec![]));
    assert_eq!(hears(&mut receiver, NOW, data(2, 2)), (vec![], vec![1]));
    assert_eq!(hears(&mut receiver, NOW, data(2, 2)), (vec![], vec![]));
    assert_eq!(hears(&mut receiver, NOW, data(1, 1)).0, [1, 2]);
    assert_eq!(hears(&mut receiver, NOW, data(1, 1)), (vec![], vec![]));
    // As far behind as the window rule can tell: 128.
    for seq in 3..130 {
        assert_eq!(hears(&mut receiver, NOW, data(seq, seq)).0, [seq.cast_signed()]);
    }
    assert_eq!(hears(&mut receiver, NOW, data(2, 2)), (vec![], vec![]));
}

#[test]
fn an_overflowing_buffer_passes_its_head_up_good_and_lost_frames() {
    let config = RlpIs99Config { buffer: 8, ..RlpIs99Config::default() };
    let overflow = |overflow: u32| {
        let mut receiver = receiver(&RlpIs99Config { overflow, ..config });
        // 0 and 3 are missing; 1, 2, 4, 5, 6, 7 wait.
        let mut up = Vec::new();
        for seq in [1, 2, 4, 5, 6, 7, 8] {
            up.extend(hears(&mut receiver, NOW, data(seq, seq)).0);
        }
        (up, receiver)
    };
    // Frame 8 needs one place: 0 is passed as lost, and 1 and 2 follow.
    let (up, mut receiver) = overflow(1);
    assert_eq!(up, [-1, 1, 2]);
    assert!(!receiver.is_in_sequence());
    assert_eq!(hears(&mut receiver, NOW, data(0, 0)), (vec![], vec![]), "too late");
    assert_eq!(hears(&mut receiver, NOW, data(3, 3)).0, [3, 4, 5, 6, 7, 8]);
    // Half of the buffer: 0 to 3, and what follows.
    let (up, receiver) = overflow(4);
    assert_eq!(up, [-1, 1, 2, -4, 4, 5, 6, 7, 8]);
    assert!(receiver.is_in_sequence());
}

#[test]
fn a_burst_of_a_whole_buffer_overflows_it() {
    let config = RlpIs99Config::default();
    let mut receiver = receiver(&config);
    assert_eq!(hears(&mut receiver, NOW, data(0, 0)).0, [0]);
    // 1 to 127 are lost: 127 ahead is the farthest that can be told from old.
    let (up, naks) = hears(&mut receiver, NOW, data(128, 128));
    assert_eq!((up, naks.len()), (vec![], 127));
    // Now 1 to 128 fill the buffer of 128: another frame pushes the head out.
    assert_eq!(hears(&mut receiver, NOW, data(129, 129)).0, [-2]);
    let (up, _) = hears(&mut receiver, NOW, data(0, 256));
    // 129 + 127 = 256: 130 to 255 are missing too, and 127 more places are needed.
    assert_eq!(up.len(), 128);
    assert_eq!(up[..2], [-3, -4]);
    assert_eq!(up[125..], [-128, 128, 129]);
    assert!(!receiver.is_in_sequence());
}

#[test]
fn what_follows_a_burst_longer_than_half_the_numbers_looks_old_unless_it_is_flagged() {
    for (retransmissions_are_flagged, lost) in [(false, 200), (true, 200), (true, 255)] {
        let config = RlpIs99Config { retransmissions_are_flagged, ..RlpIs99Config::default() };
        let mut ladder = ladder(&config);
        ladder.run("o");
        ladder.run(&"x".repeat(lost));
        ladder.run("o");
        let first_is_seen = ladder.up.len() > 1;
        assert_eq!(first_is_seen, retransmissions_are_flagged);
        // An idle frame tells in any case: V(S) never lies behind V(R).
        ladder.run("O");
        // What the buffer of 128 frames does not hold is lost; the rest is retransmitted.
        let told: Vec<i64> = [0].into_iter().chain((1..).map(|n| -1 - n).take(lost + 1 - 128)).collect();
        assert_eq!(ladder.up, told);
        ladder.run(&"O".repeat(300));
        assert!(ladder.up[told.len()..].iter().copied().eq((0..).take(lost + 2).skip(told.len())));
    }
}

#[test]
fn the_sender_ignores_requests_for_what_it_does_not_have() {
    let config = RlpIs99Config { buffer: 4, ..RlpIs99Config::default() };
    let mut sender = RlpIs99Sender::new(&config);
    sender.on_feedback(NOW, Feedback::Nak { seq: 0 });
    for sdu in 0..6 {
        sender.on_sdu(NOW, sdu);
        sender.poll_transmit(NOW);
    }
    for seq in [0, 1, 6, 7, 200, u64::MAX] {
        sender.on_feedback(NOW, Feedback::Nak { seq });
        sender.on_feedback(NOW, Feedback::Ack { next: seq, last: seq });
        assert!(sender.wants_sdu(NOW), "{seq}");
    }
    sender.on_feedback(NOW, Feedback::Nak { seq: 2 });
    assert!(!sender.wants_sdu(NOW));
    assert_eq!(sender.poll_transmit(NOW).map(|pdu: Pdu| (pdu.seq, pdu.attempt)), Some((2, 1)));
}

/// Number of frames after a NAK until the round ends with another NAK, if frame number n is received as `outcome(n)`.
fn waits(config: &RlpIs99Config, mut outcome: impl FnMut(u64) -> Outcome) -> Option<u64> {
    let mut receiver = receiver(config);
    assert_eq!(hears(&mut receiver, NOW, data(1, 1)).1, [0]);
    (1..50).find(|&frame| !hears(&mut receiver, SLOT * frame, outcome(frame)).1.is_empty())
}

#[test]
fn the_readings_differ_in_what_makes_the_timers_run() {
    let wait = |reading: Reading| {
        let config = reading.config(3);
        [
            waits(&config, |frame| data(1 + frame, 1 + frame)),
            waits(&config, |_| idle(2)),
            // Duplicates of frame 1, which look like retransmissions; at last a new frame.
            waits(&config, |frame| if frame < 20 { data(1, 1) } else { data(frame - 18, 0) }),
            // Nothing is received until frame 20.
            waits(&config, |frame| if frame < 20 { Outcome::Erased } else { idle(2) }),
        ]
        .map(Option::unwrap)
    };
    assert_eq!(wait(Reading::A), [7, 7, 7, 20]);
    assert_eq!(wait(Reading::B), [7, 7, 26, 20]);
    assert_eq!(wait(Reading::C), [7, 7, 26, 20]);
    assert_eq!(wait(Reading::D), [7, 7, 26, 7]);
    for reading in [Reading::E, Reading::F, Reading::G] {
        assert_eq!(wait(reading), [7, 7, 26, 26], "{reading}");
    }
}

#[test]
fn readings_have_names_and_f_is_the_default() {
    for reading in Reading::ALL {
        assert_eq!(reading.name().parse(), Ok(reading));
    }
    let error = "h".parse::<Reading>().unwrap_err().to_string();
    assert_eq!(error, "reading = \"h\": must be a, b, c, d, e, f or g");
    let f = RlpIs99Config::default();
    assert_eq!(f, Reading::default().config(3));
    assert_eq!((f.persistence, f.naks_per_round), (Persistence::Retransmissions, NaksPerRound::Growing));
    assert_eq!((f.timer_clock, f.round_trip + f.guard), (TimerClock::GoodNewFrames, 7));
}

proptest! {
    /// For any frames, the receiver waits for no more frames than its buffer holds, each of them between V(N) and V(R).
    #[test]
    fn the_buffer_is_bounded(
        frames in prop::collection::vec((any::<u8>(), 0_u8..4), 1..300), reading in 0_usize..7,
        buffer in 1_u32..129, overflow in 1_u32..200,
    ) {
        let mut receiver = receiver(&RlpIs99Config { buffer, overflow, ..Reading::ALL[reading].config(3) });
        for (seq, kind) in frames {
            let seq = u64::from(seq);
            receiver.on_pdu(NOW, match kind {
                0 => Outcome::Erased,
                1 => idle(seq),
                _ => data(seq, seq),
            });
            let waits = receiver.waits_for();
            prop_assert!(waits.len() <= buffer as usize && waits.is_sorted());
            prop_assert_eq!(waits.is_empty(), receiver.is_in_sequence());
        }
    }
}
