//! Store for the bytes of the packets inside a link.

use crate::offload::Segments;

/// Size in bytes from which a packet stays in its read buffer, and the reader gets another buffer, which is cheaper
/// than a copy.
const LARGE: usize = 4096;

/// Store for the bytes of a bounded number of packets, each under an id. Packets read as one large segment share its
/// buffer.
pub(crate) struct Store {
    places: Slab<Place>,
    segments: Slab<Kept>,
    /// Unused buffers: first those for copied packets, then those for large packets.
    spare: [Vec<Vec<u8>>; 2],
    capacity: usize,
}

/// Location of a packet in the store: a read, and a segment of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Number of the read that contains the packet.
    pub(crate) read: u32,
    /// Index of the packet's segment in the read.
    pub(crate) segment: u32,
}

/// Bytes of one read from a device, at the start of their buffer.
struct Kept {
    memory: Vec<u8>,
    length: usize,
    segments: Segments,
    /// Number of packets in the read that are still inside, plus one while packets are added.
    used: u32,
}

impl Store {
    /// Creates an empty store for `capacity` packets.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { places: Slab::new(), segments: Slab::new(), spare: Default::default(), capacity }
    }

    /// Number of packets in the store.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Stores a read: the first `length` bytes of `buffer`, which keeps its length but has arbitrary content
    /// afterwards. Returns the number of the read, whose bytes are kept until [`close`](Self::close), and for as long
    /// as a packet of it is inside.
    pub(crate) fn open(&mut self, buffer: &mut Vec<u8>, length: usize, segments: Segments) -> u32 {
        let is_large = length >= LARGE;
        let mut memory = self.spare[usize::from(is_large)].pop().unwrap_or_default();
        if is_large {
            memory.resize(buffer.len(), 0);
            std::mem::swap(buffer, &mut memory);
        } else {
            memory.clear();
            memory.extend_from_slice(&buffer[..length]);
        }
        self.segments.insert(Kept { memory, length, segments, used: 1 })
    }

    /// Assigns an id to the packet at `place`; `None` if the store is full.
    pub(crate) fn insert(&mut self, place: Place) -> Option<u32> {
        if self.len() >= self.capacity {
            return None;
        }
        self.segments.get_mut(place.read).used += 1;
        Some(self.places.insert(place))
    }

    /// Ends one use of read number `read`: its reader's, after all packets were added, or a removed packet's. The last
    /// use frees the buffer.
    pub(crate) fn close(&mut self, read: u32) {
        let kept = self.segments.get_mut(read);
        kept.used -= 1;
        if kept.used == 0 {
            let Kept { memory, length, .. } = self.segments.remove(read);
            self.spare[usize::from(length >= LARGE)].push(memory);
        }
    }

    /// Location of packet `id`.
    ///
    /// # Panics
    /// There is no such packet.
    pub(crate) fn place(&self, id: u32) -> Place {
        *self.places.get(id)
    }

    /// Bytes of read number `read`, and the packets in it.
    ///
    /// # Panics
    /// There is no such read.
    pub(crate) fn read(&self, read: u32) -> (&[u8], &Segments) {
        let Kept { memory, length, segments, .. } = self.segments.get(read);
        (&memory[..*length], segments)
    }

    /// Mutable bytes of read number `read`.
    ///
    /// # Panics
    /// There is no such read.
    pub(crate) fn bytes_mut(&mut self, read: u32) -> &mut [u8] {
        let Kept { memory, length, .. } = self.segments.get_mut(read);
        &mut memory[..*length]
    }

    /// Removes packet `id`, and its read with the read's last packet.
    ///
    /// # Panics
    /// There is no such packet: a link has returned it twice.
    pub(crate) fn remove(&mut self, id: u32) {
        let Place { read, .. } = self.places.remove(id);
        self.close(read);
    }
}

/// Items under numbers, which are reused after an item is removed.
struct Slab<T> {
    things: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    fn new() -> Self {
        Self { things: Vec::new(), free: Vec::new() }
    }

    fn len(&self) -> usize {
        self.things.len() - self.free.len()
    }

    fn insert(&mut self, thing: T) -> u32 {
        let id = self.free.pop().unwrap_or_else(|| {
            self.things.push(None);
            (self.things.len() - 1) as u32
        });
        self.things[id as usize] = Some(thing);
        id
    }

    fn get(&self, id: u32) -> &T {
        self.things[id as usize].as_ref().expect("a packet that is kept")
    }

    fn get_mut(&mut self, id: u32) -> &mut T {
        self.things[id as usize].as_mut().expect("a packet that is kept")
    }

    fn remove(&mut self, id: u32) -> T {
        let thing = self.things[id as usize].take().expect("a packet leaves a link once");
        self.free.push(id);
        thing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(store: &mut Store, bytes: &[u8]) -> Option<u32> {
        let mut buffer = bytes.to_vec();
        buffer.resize(2 * LARGE, 0);
        let read = store.open(&mut buffer, bytes.len(), Segments::default());
        assert_eq!(buffer.len(), 2 * LARGE);
        let id = store.insert(Place { read, segment: 0 });
        store.close(read);
        id
    }

    fn bytes(store: &Store, id: u32) -> &[u8] {
        store.read(store.place(id).read).0
    }

    #[test]
    fn packets_keep_their_bytes_and_leave_once() {
        let large = [7; LARGE + 1];
        let mut store = Store::new(3);
        let ids: Vec<u32> = [&b"one"[..], &large, b""].map(|bytes| insert(&mut store, bytes).unwrap()).into();
        assert_eq!((insert(&mut store, b"four"), store.len()), (None, 3));
        assert_eq!(bytes(&store, ids[1]), large);
        store.remove(ids[1]);
        let reused = insert(&mut store, b"six").unwrap();
        assert_eq!(bytes(&store, reused), b"six");
        store.remove(reused);
        let reused = insert(&mut store, &large[1..]).unwrap();
        assert_eq!(bytes(&store, reused), &large[1..]);
        assert_eq!(bytes(&store, ids[0]), b"one");
        store.remove(ids[0]);
        assert_eq!((store.len(), store.places.things.len()), (2, 3));
        assert_eq!(store.spare.each_ref().map(Vec::len), [2, 0], "memory is used again");
    }

    #[test]
    fn what_was_read_stays_until_its_last_packet_has_left() {
        let mut store = Store::new(9);
        let read = store.open(&mut vec![5; 2 * LARGE], LARGE, Segments::default());
        let ids: Vec<u32> = (0..3).map(|segment| store.insert(Place { read, segment }).unwrap()).collect();
        store.close(read);
        for id in ids {
            assert_eq!(store.read(read).0, [5; LARGE]);
            store.remove(id);
        }
        assert_eq!((store.len(), store.segments.len(), store.spare[1].len()), (0, 0, 1));
    }

    #[test]
    #[should_panic(expected = "a packet leaves a link once")]
    fn a_link_that_returns_a_packet_twice_is_found_out() {
        let mut store = Store::new(3);
        let id = insert(&mut store, b"one").unwrap();
        store.remove(id);
        store.remove(id);
    }
}
