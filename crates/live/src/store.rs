//! The bytes of the packets that are inside a link.

/// From this length on a packet is kept where it was read, and the reader gets other memory: cheaper than a copy.
const LARGE: usize = 4096;

/// Keeps the bytes of a bounded number of packets, each under an id.
pub(crate) struct Store {
    packets: Vec<Option<Packet>>,
    /// Ids that are free.
    free: Vec<u32>,
    /// Kept for their memory: of packets that were copied, and of others.
    spare: [Vec<Vec<u8>>; 2],
    capacity: usize,
}

/// A packet is at the beginning of its memory.
struct Packet {
    memory: Vec<u8>,
    length: usize,
}

impl Store {
    /// An empty store for `capacity` packets.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { packets: Vec::new(), free: Vec::new(), spare: Default::default(), capacity }
    }

    /// How many packets it keeps.
    pub(crate) fn len(&self) -> usize {
        self.packets.len() - self.free.len()
    }

    /// Keeps the packet that is the first `length` bytes of `buffer`, which has the same length after it but any
    /// content; `None` if it is full.
    pub(crate) fn insert(&mut self, buffer: &mut Vec<u8>, length: usize) -> Option<u32> {
        if self.len() >= self.capacity {
            return None;
        }
        let is_large = length >= LARGE;
        let mut memory = self.spare[usize::from(is_large)].pop().unwrap_or_default();
        if is_large {
            memory.resize(buffer.len(), 0);
            std::mem::swap(buffer, &mut memory);
        } else {
            memory.clear();
            memory.extend_from_slice(&buffer[..length]);
        }
        let id = self.free.pop().unwrap_or_else(|| {
            self.packets.push(None);
            (self.packets.len() - 1) as u32
        });
        self.packets[id as usize] = Some(Packet { memory, length });
        Some(id)
    }

    /// A packet that is kept.
    ///
    /// # Panics
    /// There is no such packet.
    pub(crate) fn bytes(&self, id: u32) -> &[u8] {
        let Packet { memory, length } = self.packets[id as usize].as_ref().expect("a packet that is kept");
        &memory[..*length]
    }

    /// Gives a packet up, after `with` has seen its bytes.
    ///
    /// # Panics
    /// There is no such packet: a link has returned it twice.
    pub(crate) fn remove<T>(&mut self, id: u32, with: impl FnOnce(&mut [u8]) -> T) -> T {
        let mut packet = self.packets[id as usize].take().expect("a packet leaves a link once");
        let result = with(&mut packet.memory[..packet.length]);
        self.spare[usize::from(packet.length >= LARGE)].push(packet.memory);
        self.free.push(id);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(store: &mut Store, bytes: &[u8]) -> Option<u32> {
        let mut buffer = bytes.to_vec();
        buffer.resize(2 * LARGE, 0);
        let id = store.insert(&mut buffer, bytes.len());
        assert_eq!(buffer.len(), 2 * LARGE);
        id
    }

    #[test]
    fn packets_keep_their_bytes_and_leave_once() {
        let large = [7; LARGE + 1];
        let mut store = Store::new(3);
        let ids: Vec<u32> = [&b"one"[..], &large, b""].map(|bytes| insert(&mut store, bytes).unwrap()).into();
        assert_eq!((insert(&mut store, b"four"), store.len()), (None, 3));
        assert_eq!(store.bytes(ids[1]), large);
        assert_eq!(store.remove(ids[1], |bytes| bytes.to_vec()), large);
        let reused = insert(&mut store, b"six").unwrap();
        assert_eq!(store.remove(reused, |bytes| bytes.to_vec()), b"six");
        let reused = insert(&mut store, &large[1..]).unwrap();
        assert_eq!(store.remove(reused, |bytes| bytes.to_vec()), large[1..]);
        assert_eq!(store.remove(ids[0], |bytes| bytes.to_vec()), b"one");
        assert_eq!((store.len(), store.packets.len()), (1, 3));
        assert_eq!(store.spare.each_ref().map(Vec::len), [2, 1], "memory is used again");
    }

    #[test]
    #[should_panic(expected = "a packet leaves a link once")]
    fn a_link_that_returns_a_packet_twice_is_found_out() {
        let mut store = Store::new(3);
        let id = insert(&mut store, b"one").unwrap();
        store.remove(id, |_| ());
        store.remove(id, |_| ());
    }
}
