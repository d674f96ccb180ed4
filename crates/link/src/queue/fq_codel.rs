//! Fair queueing with controlled delay (`FQ-CoDel`).

use super::codel::Control;
use super::{Backlog, CoDelConfig, QueueDiscipline, Waiting};
use crate::limit::QueueLimit;
use crate::parcel::Parcel;
use crossfade_core::{OutOfRange, SimTime};
use std::collections::VecDeque;

/// Parameters of `FQ-CoDel` (RFC 8290 section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqCoDelConfig {
    /// Parameters of `CoDel` in the queue of each flow.
    pub codel: CoDelConfig,
    /// Limit of all queues together, in packets or bytes.
    pub limit: QueueLimit,
    /// Number of bytes that a queue may send in its turn.
    pub quantum: u32,
    /// Number of queues to which flows are mapped.
    pub queues: u32,
    /// Salt of the hash that maps flows to queues, by which two flows may share a queue. `None`: flow n has queue n
    /// modulo [`queues`](Self::queues), so flows share no queue as long as there are enough queues.
    pub perturbation: Option<u64>,
}

impl Default for FqCoDelConfig {
    /// Defaults of RFC 8290 section 5.2: limit 10240 packets, 1024 queues, quantum 1514 bytes, ECN marks.
    fn default() -> Self {
        Self {
            codel: CoDelConfig { ecn: true, ..CoDelConfig::default() },
            limit: QueueLimit::Packets(10240),
            quantum: 1514,
            queues: 1024,
            perturbation: None,
        }
    }
}

/// `FQ-CoDel` (RFC 8290): a queue for each flow, served in turn by bytes (deficit round robin), each under `CoDel`.
///
/// ```text
///    inactive --packet--> new flows --credits spent, or empty--> old flows --empty--> inactive
///                                                                 ^      |
///                                                                 +------+ credits spent
/// ```
///
/// New flows are served first, so that packets of a flow that sends less than its share never wait for those of others.
#[derive(Clone, Debug)]
pub struct FqCoDel {
    config: FqCoDelConfig,
    /// Queues up to the highest index used so far.
    flows: Vec<FlowQueue>,
    new_flows: VecDeque<usize>,
    old_flows: VecDeque<usize>,
    packets: usize,
    bytes: u64,
    ecn_marks: u64,
}

#[derive(Clone, Debug)]
struct FlowQueue {
    backlog: Backlog,
    control: Control,
    /// Number of bytes that the queue may still send in its turn.
    credits: i64,
    /// True if the queue is in the list of new or of old flows.
    is_active: bool,
}

/// Greatest number of packets dropped at once when the limit is exceeded (RFC 8290 section 4.1).
const DROP_BATCH: usize = 64;

impl FqCoDel {
    /// Creates empty queues.
    ///
    /// # Errors
    /// If the limit is below one packet, the number of queues is 0, the quantum is below 256 bytes, or the parameters
    /// of `CoDel` contradict each other.
    pub fn new(config: FqCoDelConfig) -> Result<Self, OutOfRange> {
        config.codel.check()?;
        config.limit.check()?;
        OutOfRange::unless(config.queues > 0, "queues", config.queues, "at least 1")?;
        OutOfRange::unless(
            config.quantum >= 256,
            "quantum",
            format!("{} B", config.quantum),
            "at least 256 B",
        )?;
        let (new_flows, old_flows) = (VecDeque::new(), VecDeque::new());
        Ok(Self { config, flows: Vec::new(), new_flows, old_flows, packets: 0, bytes: 0, ecn_marks: 0 })
    }

    /// Index of the queue of a flow.
    fn classify(&self, flow: u32) -> usize {
        let number = self.config.perturbation.map_or(flow, |by| (mix(u64::from(flow) ^ by) >> 32) as u32);
        (number % self.config.queues) as usize
    }
}

/// Finaliser of `SplitMix64`: every bit of the result depends on every bit of `x`.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl FqCoDel {
    fn is_over_limit(&self) -> bool {
        match self.config.limit {
            QueueLimit::Packets(limit) => self.packets > limit,
            QueueLimit::Bytes(limit) => self.bytes > limit,
        }
    }

    /// Drops half the packets of the queue with the most bytes, up to [`DROP_BATCH`], from its head (RFC 8290 section
    /// 4.1). Searching all queues is slow, which is why several packets are dropped at once.
    fn drop_from_the_fattest(&mut self, dropped: &mut Vec<Waiting>) {
        let mut fattest = 0;
        for index in 1..self.flows.len() {
            if self.flows[index].backlog.bytes > self.flows[fattest].backlog.bytes {
                fattest = index;
            }
        }
        let backlog = &mut self.flows[fattest].backlog;
        for _ in 0..(backlog.packets() / 2).clamp(1, DROP_BATCH) {
            let Some(head) = backlog.pop() else { break };
            self.packets -= 1;
            self.bytes -= u64::from(head.packet.bytes());
            dropped.push(head);
        }
    }
}

impl QueueDiscipline for FqCoDel {
    /// Takes every packet; if the limit is exceeded, older packets are dropped, possibly of other flows (RFC 8290
    /// section 4.1).
    fn enqueue(&mut self, now: SimTime, packet: Parcel, dropped: &mut Vec<Waiting>) -> Result<(), Parcel> {
        let index = self.classify(packet.flow());
        if index >= self.flows.len() {
            self.flows.resize_with(index + 1, || FlowQueue {
                backlog: Backlog::default(),
                control: Control::default(),
                credits: 0,
                is_active: false,
            });
        }
        self.packets += 1;
        self.bytes += u64::from(packet.bytes());
        let flow = &mut self.flows[index];
        flow.backlog.push(now, packet);
        if !flow.is_active {
            flow.is_active = true;
            flow.credits = self.config.quantum.into();
            self.new_flows.push_back(index);
        }
        while self.is_over_limit() {
            self.drop_from_the_fattest(dropped);
        }
        Ok(())
    }

    /// Serves new flows before old ones, each within its credits (RFC 8290 section 4.2).
    fn dequeue(&mut self, now: SimTime, dropped: &mut Vec<Waiting>) -> Option<Waiting> {
        loop {
            let is_new = !self.new_flows.is_empty();
            let list = if is_new { &mut self.new_flows } else { &mut self.old_flows };
            let index = *list.front()?;
            let flow = &mut self.flows[index];
            // RFC 8290 says "negative", but explains "has already dequeued at least a quantum of bytes".
            if flow.credits <= 0 {
                flow.credits += i64::from(self.config.quantum);
                list.pop_front();
                self.old_flows.push_back(index);
                continue;
            }
            // CoDel looks at the bytes of the flow's own queue.
            let before = (flow.backlog.packets(), flow.backlog.bytes);
            let config = &self.config.codel;
            let head = flow.control.dequeue(config, now, &mut flow.backlog, dropped, &mut self.ecn_marks);
            self.packets -= before.0 - flow.backlog.packets();
            self.bytes -= before.1 - flow.backlog.bytes;
            if let Some(head) = head {
                flow.credits -= i64::from(head.packet.bytes());
                return Some(head);
            }
            list.pop_front();
            if is_new {
                // Otherwise a flow could return as new at once and starve the old ones.
                self.old_flows.push_back(index);
            } else {
                flow.is_active = false;
            }
        }
    }

    fn discard(&mut self, _now: SimTime, until: SimTime, dropped: &mut Vec<Waiting>) {
        let before = dropped.len();
        for flow in &mut self.flows {
            flow.backlog.discard(until, dropped);
        }
        self.packets -= dropped.len() - before;
        self.bytes -= dropped[before..].iter().map(|waiting| u64::from(waiting.packet.bytes())).sum::<u64>();
    }

    fn oldest(&self) -> Option<SimTime> {
        self.flows.iter().filter_map(|flow| flow.backlog.oldest()).min()
    }

    fn each(&self, visit: &mut dyn FnMut(&Waiting)) {
        self.flows.iter().for_each(|flow| flow.backlog.each(visit));
    }

    fn packets(&self) -> usize {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn ecn_marks(&self) -> u64 {
        self.ecn_marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fq_codel(config: FqCoDelConfig) -> FqCoDel {
        FqCoDel::new(config).unwrap()
    }

    fn packets_limit(limit: usize) -> FqCoDelConfig {
        FqCoDelConfig { limit: QueueLimit::Packets(limit), ..FqCoDelConfig::default() }
    }

    fn push(queue: &mut FqCoDel, flow: u32, bytes: u32, count: u32) -> Vec<u32> {
        let mut dropped = Vec::new();
        for id in 0..count {
            let packet = Parcel::new(id, flow, bytes);
            queue.enqueue(SimTime::ZERO, packet, &mut dropped).unwrap();
        }
        dropped.into_iter().map(|waiting| waiting.packet.flow()).collect()
    }

    /// Flows of the next `count` packets, taken without passage of time, so that nothing is dropped.
    fn served(queue: &mut FqCoDel, count: usize) -> Vec<u32> {
        let mut dropped = Vec::new();
        let flows = (0..count)
            .map_while(|_| queue.dequeue(SimTime::ZERO, &mut dropped))
            .map(|w| w.packet.flow())
            .collect();
        assert_eq!(dropped, []);
        flows
    }

    #[test]
    fn a_quantum_is_spent_in_one_turn() {
        let mut queue = fq_codel(FqCoDelConfig::default());
        push(&mut queue, 7, 500, 10);
        push(&mut queue, 8, 1500, 10);
        // 1514 bytes of credit last for four packets of 500 bytes, overdrawn by 486, or two of 1500, by 1486;
        // then 1514 - 486 = 1028 for three, and 28 for one.
        assert_eq!(served(&mut queue, 12), [7, 7, 7, 7, 8, 8, 7, 7, 7, 8, 7, 7]);
    }

    #[test]
    fn a_sparse_flow_does_not_wait_for_a_bulk_flow() {
        let mut queue = fq_codel(FqCoDelConfig::default());
        push(&mut queue, 1, 500, 1000);
        // Each time the sparse flow has left the lists, its next packet is the first to go, whatever credits
        // flow 1 still has. A turn of flow 1 is four packets at most: after five, the sparse one was found
        // empty and left.
        for pause in 5..20 {
            assert_eq!(served(&mut queue, pause), vec![1; pause]);
            push(&mut queue, 2, 100, 1);
            assert_eq!(served(&mut queue, 1), [2]);
        }
    }

    #[test]
    fn a_flow_that_comes_back_at_once_is_not_new() {
        let mut queue = fq_codel(FqCoDelConfig::default());
        push(&mut queue, 1, 1514, 10);
        push(&mut queue, 2, 1514, 1);
        assert_eq!(served(&mut queue, 2), [1, 2]);
        // Flow 2 is empty and has spent its credits. What it sends now takes turns with flow 1.
        push(&mut queue, 2, 1514, 10);
        assert_eq!(served(&mut queue, 6), [1, 2, 1, 2, 1, 2]);

        let mut queue = fq_codel(FqCoDelConfig::default());
        push(&mut queue, 1, 500, 20);
        assert_eq!(served(&mut queue, 4), [1; 4]);
        push(&mut queue, 2, 100, 1);
        // Flow 2 has credits left, and when it is found empty it joins the old flows. There it waits for the
        // rest of flow 1's turn.
        assert_eq!(served(&mut queue, 2), [2, 1]);
        push(&mut queue, 2, 100, 1);
        assert_eq!(served(&mut queue, 3), [1, 1, 2]);
    }

    /// A flow that returns after leaving both lists starts with a full quantum, even if it had spent its credits before
    /// (RFC 8290 section 4.1).
    #[test]
    fn a_flow_that_comes_back_has_its_credits_renewed() {
        // Whatever is left of flow 1's own turn.
        for pause in 10..14 {
            let mut queue = fq_codel(FqCoDelConfig::default());
            push(&mut queue, 1, 500, 50);
            push(&mut queue, 2, 1000, 1);
            assert_eq!(served(&mut queue, pause).iter().filter(|&&flow| flow == 2).count(), 1);
            // 514 bytes were left, enough for one packet more; of 1514 there are two in its turn.
            push(&mut queue, 2, 1000, 3);
            assert_eq!(served(&mut queue, 2), [2, 2], "after {pause}");
        }
    }

    #[test]
    fn the_fattest_flow_pays_when_there_are_too_many() {
        let mut queue = fq_codel(packets_limit(100));
        assert_eq!(push(&mut queue, 1, 1500, 20), []);
        assert_eq!(push(&mut queue, 2, 100, 80), []);
        // Flow 1 has fewer packets and more bytes: half of it goes.
        assert_eq!(push(&mut queue, 3, 100, 1), [1; 10]);
        assert_eq!((queue.packets(), queue.bytes()), (91, 10 * 1500 + 80 * 100 + 100));
        // Of more than 128 packets at most 64 are dropped at once, the oldest first.
        let mut queue = fq_codel(packets_limit(200));
        assert_eq!(push(&mut queue, 1, 1500, 201), [1; 64]);
        assert_eq!(queue.dequeue(SimTime::ZERO, &mut Vec::new()).unwrap().packet.id(), 64);
        // A limit in bytes drops until everything fits.
        let limit = QueueLimit::Bytes(10_000);
        let mut queue = fq_codel(FqCoDelConfig { limit, ..FqCoDelConfig::default() });
        assert_eq!(push(&mut queue, 1, 1000, 10), []);
        assert_eq!(push(&mut queue, 2, 9000, 1), [1; 5].into_iter().chain([2]).collect::<Vec<_>>());
        assert_eq!((queue.packets(), queue.bytes()), (5, 5000));
    }

    #[test]
    fn each_flow_has_its_own_delay_control() {
        let mut queue = fq_codel(FqCoDelConfig::default());
        let (mut dropped, ms) = (Vec::new(), SimTime::from_millis(1));
        let mut sparse = 0;
        for now in 0..1000 {
            for id in 0..2 {
                queue.enqueue(ms * now, Parcel::new(id, 1, 1500), &mut dropped).unwrap();
            }
            if now % 10 == 0 {
                queue.enqueue(ms * now, Parcel::new(0, 2, 100), &mut dropped).unwrap();
            }
            let head = queue.dequeue(ms * now, &mut dropped).unwrap();
            if head.packet.flow() == 2 {
                // While both are new, flow 1 overdraws its quantum with a second packet.
                assert!(ms * now - head.since <= ms * 2, "waited since {:?}", head.since);
                sparse += 1;
            }
        }
        assert_eq!(sparse, 100);
        assert!(dropped.len() > 10 && dropped.iter().all(|waiting| waiting.packet.flow() == 1));
    }

    #[test]
    fn flows_are_scattered_as_the_perturbation_says() {
        let places = |perturbation| {
            let queue = fq_codel(FqCoDelConfig { perturbation, ..FqCoDelConfig::default() });
            (0..1024).map(|flow| queue.classify(flow)).collect::<Vec<_>>()
        };
        assert_eq!(places(None), (0..1024).collect::<Vec<_>>());
        assert_eq!(places(Some(1)), places(Some(1)));
        assert_ne!(places(Some(1)), places(Some(2)));
        // Of 1024 queues hit by 1024 flows at random, a share 1/e = 377 stays empty, +- 10 (one standard
        // deviation).
        let mut used = places(Some(1));
        used.sort_unstable();
        used.dedup();
        assert!((1024 - used.len()).abs_diff(377) < 40, "{} queues used", used.len());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refusal = |config| FqCoDel::new(config).unwrap_err().to_string();
        let good = FqCoDelConfig::default();
        assert_eq!(
            refusal(FqCoDelConfig { quantum: 255, ..good }),
            "quantum = 255 B: must be at least 256 B"
        );
        assert_eq!(refusal(FqCoDelConfig { queues: 0, ..good }), "queues = 0: must be at least 1");
        assert_eq!(refusal(packets_limit(0)), "limit = 0 packets: must be at least one packet");
    }

    proptest! {
        /// Deficit round robin: while all flows are backlogged, the bytes that they have sent differ by less than a
        /// quantum and a packet (Shreedhar and Varghese, 1995, Lemma 2 and Theorem 1, here with overdrawn credits).
        #[test]
        fn backlogged_flows_have_equal_shares_in_bytes(
            sizes in prop::collection::vec(40_u32..1500, 2..8),
            quantum in 256_u32..3000,
            served in 1_usize..400,
        ) {
            let mut queue = fq_codel(FqCoDelConfig { quantum, ..packets_limit(100_000) });
            for (flow, &bytes) in (0..).zip(&sizes) {
                push(&mut queue, flow, bytes, 1_000_000 / bytes / 2);
            }
            let mut sent = vec![0_u32; sizes.len()];
            for _ in 0..served {
                let packet = queue.dequeue(SimTime::ZERO, &mut Vec::new()).unwrap().packet;
                sent[packet.flow() as usize] += packet.bytes();
            }
            let spread = sent.iter().max().unwrap() - sent.iter().min().unwrap();
            prop_assert!(spread <= quantum + 1500, "{sent:?}");
        }
    }
}
