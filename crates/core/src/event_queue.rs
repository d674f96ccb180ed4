//! Time-ordered event queue of the simulation (a calendar queue), with a defined order of simultaneous events.

use crate::SimTime;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Time-ordered event queue in which simultaneous events have a defined order.
///
/// Events leave by time, at equal times by `rank` (lowest first), and at equal rank in the order in which they were
/// scheduled: equal calls give the same order on every machine.
///
/// It is a calendar queue (Brown 1988): a wheel of days, each with an unsorted list of its events. Only the day that
/// has begun is sorted. As long as a day is about as long as the time between two events, the cost of an event does not
/// depend on the number of scheduled events; the queue adapts the length of a day and the number of days to the
/// observed events.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    /// Remaining events of the current day in reverse order: the next event is the last item.
    today: Vec<Item<E>>,
    /// Number of the current day, counted from time zero.
    day: u64,
    /// Binary logarithm of the length of a day in nanoseconds.
    day_bits: u32,
    /// Index in `items` of the first event of each day on the wheel, or [`NONE`].
    wheel: Vec<u32>,
    /// Bitmap of the days of the wheel: a bit is set if the day has events.
    busy: Vec<u64>,
    /// Storage of the linked lists of all days on the wheel.
    items: Vec<Listed<E>>,
    /// Index in `items` of the first unused entry; unused entries form a linked list.
    unused: u32,
    /// Events after the last day of the wheel, mostly timers.
    far: BinaryHeap<Item<E>>,
    /// Day of the earliest event in `far`, or [`NEVER`] if there is none.
    far_day: u64,
    len: usize,
    scheduled: u64,
    now: u64,
    watch: Watch,
}

#[derive(Clone, Copy, Debug)]
struct Item<E> {
    time: u64,
    /// Rank (8 most significant bits) and scheduling number: unique among all events.
    order: u64,
    event: E,
}

const RANK_SHIFT: u32 = 56;

impl<E> Item<E> {
    /// Time and order as one number, so that one comparison orders two items.
    fn key(&self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.order)
    }
}

/// Reversed order of time, since [`BinaryHeap`] returns the greatest item first.
impl<E> Ord for Item<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl<E> PartialOrd for Item<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Item<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for Item<E> {}

#[derive(Clone, Copy, Debug)]
struct Listed<E> {
    item: Item<E>,
    next: u32,
}

/// Index that marks the end of a linked list.
const NONE: u32 = u32::MAX;

/// Day number that stands for no day.
const NEVER: u64 = u64::MAX;

/// Counters since the last review, from which the queue decides if its days have the right length.
#[derive(Clone, Copy, Debug, Default)]
struct Watch {
    since: u64,
    events: u32,
    days: u32,
    /// Number of words of the bitmap `busy` that were searched.
    words: u32,
    /// Number of events scheduled beyond the last day of the wheel.
    far: u32,
}

/// Binary logarithm of a day of 292 years in nanoseconds: the queue is then one sorted list.
const EVERLASTING: u32 = 63;
/// Number of events up to which one sorted list is the fastest queue (the days are then switched off).
const FEW: usize = 8;
/// Number of events in today's list from which on sorting it is too slow, so that days are shortened.
const CROWDED: usize = 32;

/// Number of events that are observed before the queue may change the length and number of days.
const WATCHED: u32 = 1024;
const MIN_DAYS: usize = 256;
const MAX_DAYS: usize = 1 << 16;

impl<E: Copy> Default for EventQueue<E> {
    fn default() -> Self {
        Self {
            today: Vec::new(),
            day: 0,
            day_bits: EVERLASTING,
            wheel: vec![NONE; MIN_DAYS],
            busy: vec![0; MIN_DAYS / 64],
            items: Vec::new(),
            unused: NONE,
            far: BinaryHeap::new(),
            far_day: NEVER,
            len: 0,
            scheduled: 0,
            now: 0,
            watch: Watch::default(),
        }
    }
}

impl<E: Copy> EventQueue<E> {
    /// Schedules `event` for time `at`; among events of equal time the lowest `rank` leaves first.
    pub fn schedule(&mut self, at: SimTime, rank: u8, event: E) {
        if self.today.len() == self.today.capacity() {
            return self.schedule_after_growth(at, rank, event);
        }
        let order = u64::from(rank) << RANK_SHIFT | self.scheduled;
        self.scheduled += 1;
        self.len += 1;
        self.enter(at.as_nanos(), order, event);
        if self.today.len() >= CROWDED {
            self.divide_today();
        }
    }

    /// Slow path of [`Self::schedule`] if the list of today must grow. It is a function of its own so that the fast
    /// path makes no calls and saves no registers.
    #[cold]
    #[inline(never)]
    fn schedule_after_growth(&mut self, at: SimTime, rank: u8, event: E) {
        self.today.reserve(CROWDED);
        self.schedule(at, rank, event);
    }

    /// Removes and returns the next event with its time; `None` if the queue is empty.
    #[inline]
    pub fn pop(&mut self) -> Option<(SimTime, E)> {
        self.pop_by(SimTime::MAX)
    }

    /// Removes and returns the next event if its time is at most `until`.
    #[inline]
    pub fn pop_by(&mut self, until: SimTime) -> Option<(SimTime, E)> {
        let Item { time, event, .. } = match self.today.pop_if(|item| item.time <= until.as_nanos()) {
            Some(item) => item,
            None => self.begin_day_by(until)?,
        };
        self.len -= 1;
        self.now = time;
        self.watch.events += 1;
        if self.watch.events == WATCHED {
            self.review();
        }
        Some((SimTime::from_nanos(time), event))
    }

    /// True if, after an event of time `at` has left, the next event has the same time and this rank.
    #[inline]
    pub fn has_another(&self, at: SimTime, rank: u8) -> bool {
        // All that happens at one time is on one day.
        let is_such = |item: &Item<E>| item.time == at.as_nanos() && item.order >> RANK_SHIFT == rank.into();
        self.today.last().is_some_and(is_such)
    }

    /// Time of the next event; `None` if the queue is empty.
    pub fn next_time(&self) -> Option<SimTime> {
        if let Some(item) = self.today.last() {
            return Some(SimTime::from_nanos(item.time));
        }
        let (busy, _) = self.next_busy_day();
        let mut next = self.far.peek().map_or(NEVER, |item| item.time);
        if busy != NEVER {
            let mut at = self.wheel[busy as usize & (self.wheel.len() - 1)];
            while let Some(listed) = self.items.get(at as usize) {
                next = next.min(listed.item.time);
                at = listed.next;
            }
        }
        (self.len > 0).then_some(SimTime::from_nanos(next))
    }

    /// Number of scheduled events.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if no event is scheduled.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts an event into its day. The fields are separate arguments because an item written in parts and read as a
    /// whole would stall store forwarding.
    #[inline]
    fn enter(&mut self, time: u64, order: u64, event: E) {
        let day = time >> self.day_bits;
        if day <= self.day {
            self.insert_today(Item { time, order, event });
        } else {
            self.enter_later(day, time, order, event);
        }
    }

    #[inline(never)]
    fn enter_later(&mut self, day: u64, time: u64, order: u64, event: E) {
        let item = Item { time, order, event };
        if day - self.day >= self.wheel.len() as u64 {
            self.watch.far += 1;
            self.far_day = self.far_day.min(day);
            self.far.push(item);
            return;
        }
        let place = day as usize & (self.wheel.len() - 1);
        self.busy[place / 64] |= 1 << (place % 64);
        let first = &mut self.wheel[place];
        let listed = Listed { item, next: *first };
        if let Some(unused) = self.items.get_mut(self.unused as usize) {
            *first = self.unused;
            self.unused = unused.next;
            *unused = listed;
        } else {
            *first = self.items.len() as u32;
            self.items.push(listed);
        }
    }

    /// Begins the next day with events and removes its first event, if today's list is empty and that event's time is
    /// at most `until`.
    #[inline(never)]
    fn begin_day_by(&mut self, until: SimTime) -> Option<Item<E>> {
        if !self.today.is_empty() || (until < SimTime::MAX && self.next_time()? > until) {
            return None;
        }
        self.begin_day()
    }

    /// Advances to the next day with an event, and removes its first event.
    #[inline]
    fn begin_day(&mut self) -> Option<Item<E>> {
        let (busy, words) = self.next_busy_day();
        self.watch.words += words;
        if busy.min(self.far_day) == NEVER {
            return None;
        }
        self.watch.days += 1;
        if busy >= self.far_day {
            return self.begin_far_day(busy == self.far_day);
        }
        self.day = busy;
        let place = busy as usize & (self.wheel.len() - 1);
        self.busy[place / 64] &= !(1 << (place % 64));
        let first = std::mem::replace(&mut self.wheel[place], NONE);
        let listed = self.items.get_mut(first as usize)?;
        let item = listed.item;
        let others = std::mem::replace(&mut listed.next, self.unused);
        self.unused = first;
        if others == NONE {
            return Some(item);
        }
        self.today.push(item);
        self.gather_sorted(others);
        self.today.pop()
    }

    /// Advances to the day of the earliest event beyond the wheel, and removes its first event. `is_busy` says that the
    /// wheel holds events of this day as well.
    #[cold]
    fn begin_far_day(&mut self, is_busy: bool) -> Option<Item<E>> {
        self.day = self.far_day;
        if is_busy {
            let place = self.day as usize & (self.wheel.len() - 1);
            self.busy[place / 64] &= !(1 << (place % 64));
            let first = std::mem::replace(&mut self.wheel[place], NONE);
            self.gather(first);
        }
        while self.far_day == self.day {
            self.today.extend(self.far.pop());
            self.far_day = self.far.peek().map_or(NEVER, |item| item.time >> self.day_bits);
        }
        self.today.sort_unstable();
        self.today.pop()
    }

    /// Moves the linked list that begins at `at` to the end of today's list, unsorted.
    fn gather(&mut self, mut at: u32) {
        while let Some(listed) = self.items.get_mut(at as usize) {
            self.today.push(listed.item);
            (at, listed.next, self.unused) = (listed.next, self.unused, at);
        }
    }

    /// Like [`Self::gather`], but keeps today's list sorted by insertion, which is fast for the usual list of few
    /// events.
    fn gather_sorted(&mut self, mut at: u32) {
        while let Some(listed) = self.items.get_mut(at as usize) {
            let item = listed.item;
            (at, listed.next, self.unused) = (listed.next, self.unused, at);
            self.insert_today(item);
            if self.today.len() == FEW {
                self.gather(at);
                return self.today.sort_unstable();
            }
        }
    }

    /// Inserts an item into today's sorted list.
    #[inline]
    fn insert_today(&mut self, item: Item<E>) {
        let mut at = self.today.len();
        self.today.push(item);
        // The event is nearly always the next one, or soon after it.
        while at > 0 && self.today[at - 1].key() < item.key() {
            self.today[at] = self.today[at - 1];
            at -= 1;
        }
        self.today[at] = item;
    }

    /// Next day of the wheel with events, or [`NEVER`], and the number of further words of `busy` that were searched
    /// for it.
    #[inline]
    fn next_busy_day(&self) -> (u64, u32) {
        let mask = self.wheel.len() - 1;
        let first = (self.day as usize + 1) & mask;
        let word = first / 64;
        let ahead = self.busy[word] >> (first % 64);
        if ahead != 0 {
            return (self.day + 1 + u64::from(ahead.trailing_zeros()), 0);
        }
        // All other words come next, and last the days of the first word that are nearly a turn ahead.
        let words = self.busy.len();
        for turned in 1..=words {
            let word = (word + turned) & (words - 1);
            if self.busy[word] != 0 {
                let place = word * 64 + self.busy[word].trailing_zeros() as usize;
                return (self.day + 1 + (place.wrapping_sub(first) & mask) as u64, turned as u32);
            }
        }
        (NEVER, 0)
    }

    /// Rebuilds the calendar with other days if the counters of the last [`WATCHED`] events show a bad fit.
    #[cold]
    fn review(&mut self) {
        let Watch { since, events, days, words, far } = self.watch;
        self.watch = Watch { since: self.now, ..Watch::default() };
        if self.len <= FEW {
            self.change(EVERLASTING, MIN_DAYS);
        } else if self.day_bits == EVERLASTING || days < events / 4 || words > events || far > events / 16 {
            let day_bits = fitting_day((self.now - since) / u64::from(events));
            // Enlarge the wheel until most events are scheduled on it.
            let wheel = (self.wheel.len() * if far > events / 16 { 4 } else { 1 }).min(MAX_DAYS);
            // Events of equal time share a day of any length, so only a clearly different calendar helps.
            if day_bits.abs_diff(self.day_bits) > 1 || wheel > self.wheel.len() {
                self.change(day_bits, wheel);
            }
        }
    }

    /// Shortens the day when today has too many events for a sorted list.
    #[cold]
    fn divide_today(&mut self) {
        if let [last, .., first] = &self.today[..] {
            let day_bits = fitting_day((last.time - first.time) / self.today.len() as u64);
            if day_bits < self.day_bits {
                self.change(day_bits, self.wheel.len());
            }
        }
    }

    /// Rebuilds the calendar with days of 2^`day_bits` ns and a wheel of `wheel` days.
    fn change(&mut self, day_bits: u32, wheel: usize) {
        if day_bits == self.day_bits && wheel == self.wheel.len() {
            return;
        }
        let mut all = std::mem::take(&mut self.today);
        for mut at in std::mem::take(&mut self.wheel) {
            while let Some(listed) = self.items.get(at as usize) {
                all.push(listed.item);
                at = listed.next;
            }
        }
        all.extend(self.far.drain());
        self.items.clear();
        self.unused = NONE;
        self.day_bits = day_bits;
        self.day = self.now >> day_bits;
        self.wheel = vec![NONE; wheel];
        self.busy = vec![0; wheel / 64];
        self.far_day = NEVER;
        // The latest events first, because today's list keeps them at its beginning.
        all.sort_unstable();
        for Item { time, order, event } in all {
            self.enter(time, order, event);
        }
        self.watch.far = 0;
    }
}

/// Binary logarithm of the length of a day in nanoseconds for a mean gap between events: a gap spans two to four days,
/// so that few days have two events.
fn fitting_day(gap_nanos: u64) -> u32 {
    gap_nanos.max(4).ilog2() - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_times_leave_by_rank_then_by_order_of_scheduling() {
        let mut queue = EventQueue::default();
        let now = SimTime::from_millis(1);
        for (rank, event) in [(2, "c"), (0, "a"), (2, "d"), (1, "b")] {
            queue.schedule(now, rank, event);
        }
        queue.schedule(SimTime::ZERO, 9, "first");
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|(_, event)| event).collect();
        assert_eq!(order, ["first", "a", "b", "c", "d"]);
    }

    /// The order of events does not change when the calendar is rebuilt for other gaps: times from nanoseconds to hours
    /// apart, few and many events.
    #[test]
    fn order_does_not_depend_on_the_calendar() {
        let mut queue = EventQueue::default();
        let mut reference = BinaryHeap::new();
        let mut state = 1_u64;
        let mut now = 0;
        for (spread_bits, waiting) in [(4, 5), (10, 3000), (20, 30), (34, 20_000), (44, 2), (14, 400)] {
            for _ in 0..20_000 {
                while reference.len() < waiting {
                    // Knuth's MMIX generator.
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    let at = now + (state >> (64 - spread_bits));
                    let order = reference.len() as u64 + queue.scheduled;
                    reference.push(std::cmp::Reverse((at, queue.scheduled, order)));
                    queue.schedule(SimTime::from_nanos(at), 0, order);
                }
                let std::cmp::Reverse((at, _, order)) = reference.pop().unwrap();
                assert_eq!(queue.pop(), Some((SimTime::from_nanos(at), order)));
                assert_eq!(queue.len(), reference.len());
                now = at;
            }
        }
        assert!(queue.wheel.len() > MIN_DAYS);
    }

    proptest! {
        /// Events leave in the order of a stable sort by time and rank, also with pops between the pushes.
        #[test]
        fn order_equals_a_stable_sort(batches in prop::collection::vec(
            (prop::collection::vec((0u64..20, 0u8..3), 0..20), 0usize..20), 1..10)) {
            let mut queue = EventQueue::default();
            let mut reference: Vec<(u64, u8, usize)> = Vec::new();
            let mut count = 0;
            for (pushes, pops) in batches {
                for (at, rank) in pushes {
                    queue.schedule(SimTime::from_nanos(at), rank, count);
                    reference.push((at, rank, count));
                    count += 1;
                }
                reference.sort_unstable();
                for _ in 0..pops {
                    let expected = (!reference.is_empty()).then(|| reference.remove(0));
                    let got = queue.pop();
                    prop_assert_eq!(got.map(|(at, event)| (at.as_nanos(), event)),
                                    expected.map(|(at, _, event)| (at, event)));
                }
                prop_assert_eq!(queue.len(), reference.len());
            }
        }
    }
}
