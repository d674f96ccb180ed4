//! The bytes of the packets that are inside a link.

/// Keeps the bytes of a bounded number of packets, each under an id.
pub(crate) struct Store {
    packets: Vec<Option<Vec<u8>>>,
    /// Ids that are free.
    free: Vec<u32>,
    /// Kept for their memory.
    spare: Vec<Vec<u8>>,
    capacity: usize,
}

impl Store {
    /// An empty store for `capacity` packets.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { packets: Vec::new(), free: Vec::new(), spare: Vec::new(), capacity }
    }

    /// How many packets it keeps.
    pub(crate) fn len(&self) -> usize {
        self.packets.len() - self.free.len()
    }

    /// Keeps a copy of a packet; `None` if it is full.
    pub(crate) fn insert(&mut self, bytes: &[u8]) -> Option<u32> {
        if self.len() >= self.capacity {
            return None;
        }
        let mut packet = self.spare.pop().unwrap_or_default();
        packet.clear();
        packet.extend_from_slice(bytes);
        let id = self.free.pop().unwrap_or_else(|| {
            self.packets.push(None);
            (self.packets.len() - 1) as u32
        });
        self.packets[id as usize] = Some(packet);
        Some(id)
    }

    /// Gives a packet up, after `with` has seen its bytes.
    ///
    /// # Panics
    /// There is no such packet: a link has returned it twice.
    pub(crate) fn remove<T>(&mut self, id: u32, with: impl FnOnce(&mut [u8]) -> T) -> T {
        let mut packet = self.packets[id as usize].take().expect("a packet leaves a link once");
        let result = with(&mut packet);
        self.spare.push(packet);
        self.free.push(id);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_keep_their_bytes_and_leave_once() {
        let mut store = Store::new(3);
        let ids: Vec<u32> = [&b"one"[..], b"three", b""].map(|bytes| store.insert(bytes).unwrap()).into();
        assert_eq!((store.insert(b"four"), store.len()), (None, 3));
        assert_eq!(store.remove(ids[1], |bytes| bytes.to_vec()), b"three");
        let reused = store.insert(b"six").unwrap();
        assert_eq!(store.remove(reused, |bytes| bytes.to_vec()), b"six");
        assert_eq!(store.remove(ids[0], |bytes| bytes.to_vec()), b"one");
        assert_eq!((store.len(), store.packets.len()), (1, 3));
    }

    #[test]
    #[should_panic(expected = "a packet leaves a link once")]
    fn a_link_that_returns_a_packet_twice_is_found_out() {
        let mut store = Store::new(3);
        let id = store.insert(b"one").unwrap();
        store.remove(id, |_| ());
        store.remove(id, |_| ());
    }
}
