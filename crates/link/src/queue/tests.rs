//! Guarantees that every queue discipline gives.

use super::*;
use crate::limit::QueueLimit;
use crate::parcel::{Ecn, Parcel};
use crossfade_core::RunSeed;
use proptest::prelude::*;
use std::collections::HashMap;

/// Operation on a queue in a property test.
#[derive(Clone, Debug)]
pub(super) enum Op {
    Enqueue { flow: u32, bytes: u32, ecn_capable: bool },
    Dequeue,
    TimePasses { micros: u64 },
}

impl Op {
    /// The arriving packet of an `Enqueue`, with identity `id`. All packets of a flow are either scalable (ECT(1)) or
    /// classic.
    pub(super) fn packet(&self, id: u32) -> Parcel {
        let Self::Enqueue { flow, bytes, ecn_capable } = *self else { unreachable!("no packet comes") };
        let ecn = if flow >= 4 { Ecn::Ect1 } else { [Ecn::NotEct, Ecn::Ect0][usize::from(ecn_capable)] };
        Parcel::new(id, flow, bytes).with_ecn(ecn)
    }
}

pub(super) fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        5 => (0_u32..6, 40_u32..1500, any::<bool>())
            .prop_map(|(flow, bytes, ecn_capable)| Op::Enqueue { flow, bytes, ecn_capable }),
        4 => Just(Op::Dequeue),
        2 => (0_u64..60_000).prop_map(|micros| Op::TimePasses { micros }),
    ];
    prop::collection::vec(op, 1..600)
}

pub(super) fn limits() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![(1_usize..40).prop_map(QueueLimit::Packets), (1_u64..30_000).prop_map(QueueLimit::Bytes)]
}

pub(super) fn disciplines(
    limit: QueueLimit,
    ecn: bool,
) -> Vec<(&'static str, Box<dyn QueueDiscipline + Send>)> {
    let codel = CoDelConfig { ecn, ..CoDelConfig::default() };
    let fq_codel = FqCoDelConfig { codel, limit, ..FqCoDelConfig::default() };
    // Two queues for six flows.
    let colliding = FqCoDelConfig { queues: 2, perturbation: Some(1), ..fq_codel };
    let red = RedConfig { ecn, w_q: 0.1, min_th: 1.0, max_th: 4.0, ..RedConfig::new(limit, 1000, 8e6) };
    let stream = || RunSeed { seed: 1, run: 0 }.stream("queue.dl");
    let ms = SimTime::from_millis;
    let dual_pi2 = |usual: DualPi2Config| DualPi2Config { alpha: 100.0, t_update: ms(5), ..usual };
    let pie = PieConfig { ecn, t_update: ms(5), max_burst: ms(10), ..PieConfig::new(limit, 100) };
    vec![
        ("drop-tail", Box::new(DropTail::new(limit).unwrap())),
        ("red", Box::new(Red::new(red, stream()).unwrap())),
        ("codel", Box::new(CoDel::new(codel, limit).unwrap())),
        ("fq-codel", Box::new(FqCoDel::new(fq_codel).unwrap())),
        ("pie", Box::new(Pie::new(PieConfig { alpha: 100.0, ..pie }, stream()).unwrap())),
        ("dualpi2", Box::new(DualPi2::new(dual_pi2(DualPi2Config::rfc(limit, 1500)), stream()).unwrap())),
        (
            "dualpi2 of linux",
            Box::new(DualPi2::new(dual_pi2(DualPi2Config::linux(limit, 1500)), stream()).unwrap()),
        ),
        ("fq-codel with collisions", Box::new(FqCoDel::new(colliding).unwrap())),
    ]
}

/// Expected content of a queue, in order of arrival, and the last packet of each flow that was sent.
#[derive(Default)]
pub(super) struct Ledger {
    pub(super) held: Vec<Waiting>,
    last_sent: HashMap<u32, u32>,
    pub(super) marked: u64,
}

impl Ledger {
    pub(super) fn came(&mut self, now: SimTime, packet: Parcel) {
        self.held.push(Waiting { since: now, packet });
    }

    /// Removes a packet that leaves the queue, and checks that it is unchanged except for a mark.
    pub(super) fn leaves(&mut self, waiting: &Waiting) -> Result<(), TestCaseError> {
        let at = self.held.iter().position(|held| held.packet.id() == waiting.packet.id());
        let Some(at) = at else { return Err(TestCaseError::fail(format!("{waiting:?} was not there"))) };
        let held = self.held.remove(at);
        self.marked += u64::from(waiting.packet.is_ce());
        prop_assert_eq!(Waiting { packet: waiting.packet.with_ecn(held.packet.ecn()), ..*waiting }, held);
        Ok(())
    }

    pub(super) fn is_sent(&mut self, head: &Waiting) -> Result<(), TestCaseError> {
        let before = self.last_sent.insert(head.packet.flow(), head.packet.id());
        prop_assert!(
            before.is_none_or(|before| before < head.packet.id()),
            "flow {} out of order",
            head.packet.flow()
        );
        self.leaves(head)
    }
}

fn check(queue: &mut dyn QueueDiscipline, limit: QueueLimit, ops: &[Op]) -> Result<(), TestCaseError> {
    let (mut now, mut id, mut ledger) = (SimTime::ZERO, 0, Ledger::default());
    // In the end the queue is emptied.
    let drain = [Op::Dequeue, Op::TimePasses { micros: 500 }];
    for op in ops.iter().chain(std::iter::repeat_n(&drain, 700).flatten()) {
        let mut dropped = Vec::new();
        match *op {
            Op::Enqueue { .. } => {
                let packet = op.packet(id);
                id += 1;
                match queue.enqueue(now, packet, &mut dropped) {
                    Ok(()) => ledger.came(now, packet),
                    Err(refused) => prop_assert_eq!(refused, packet),
                }
            }
            Op::Dequeue => {
                let head = queue.dequeue(now, &mut dropped);
                prop_assert!(head.is_some() || queue.packets() == 0, "a queue that waits sends");
                if let Some(head) = head {
                    ledger.is_sent(&head)?;
                }
            }
            Op::TimePasses { micros } => now += SimTime::from_micros(micros),
        }
        for waiting in &dropped {
            prop_assert!(!waiting.packet.is_ce(), "dropped after it was marked");
            ledger.leaves(waiting)?;
        }
        let bytes: u64 = ledger.held.iter().map(|waiting| u64::from(waiting.packet.bytes())).sum();
        prop_assert_eq!((queue.packets(), queue.bytes()), (ledger.held.len(), bytes));
        match limit {
            QueueLimit::Packets(limit) => prop_assert!(queue.packets() <= limit),
            QueueLimit::Bytes(limit) => prop_assert!(queue.bytes() <= limit),
        }
    }
    prop_assert_eq!(queue.packets(), 0);
    prop_assert_eq!(queue.ecn_marks(), ledger.marked);
    Ok(())
}

proptest! {
    /// Every packet leaves exactly once, in order within its flow and unchanged except for a mark; counts are right and
    /// the limit holds.
    #[test]
    fn every_packet_is_accounted_for(
        ops in ops(),
        limit in limits(),
        ecn: bool,
    ) {
        for (name, mut queue) in disciplines(limit, ecn) {
            check(&mut *queue, limit, &ops).map_err(|error| TestCaseError::fail(format!("{name}: {error}")))?;
        }
    }
}
