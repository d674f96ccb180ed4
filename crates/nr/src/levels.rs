//! Bytes of a user that wait by priority of its bearers, as far as the cell's scheduler knows them.

/// Number of logical channel groups of a user (3GPP TS 38.321 section 5.4.5).
pub(crate) const GROUPS: usize = 8;

/// Waiting bytes by priority, the most urgent (lowest number) first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Levels(Vec<(u32, u64)>);

impl Levels {
    /// Removes all bytes.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds waiting bytes of a priority.
    pub(crate) fn add(&mut self, priority: u32, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let place = self.0.partition_point(|(of, _)| *of < priority);
        match self.0.get_mut(place).filter(|(of, _)| *of == priority) {
            Some((_, all)) => *all += bytes,
            None => self.0.insert(place, (priority, bytes)),
        }
    }

    /// Removes bytes, the most urgent first, as a user fills its blocks.
    pub(crate) fn take(&mut self, mut bytes: u64) {
        for (_, all) in &mut self.0 {
            let taken = bytes.min(*all);
            *all -= taken;
            bytes -= taken;
        }
        self.0.retain(|(_, all)| *all > 0);
    }

    /// Number of waiting bytes of a priority.
    pub(crate) fn of(&self, priority: u32) -> u64 {
        self.0.iter().find(|(of, _)| *of == priority).map_or(0, |(_, bytes)| *bytes)
    }

    /// Sum of bytes over all priorities.
    pub(crate) fn total(&self) -> u64 {
        self.0.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Most urgent priority with waiting bytes; `None` without any.
    pub(crate) fn first(&self) -> Option<u32> {
        self.0.first().map(|(priority, _)| *priority)
    }

    /// Priority of the next bit to be served if `left` bits remain and more urgent ones were served first; `None`
    /// without bytes.
    pub(crate) fn priority(&self, left: f64) -> Option<u32> {
        let mut behind = self.total();
        for (priority, bytes) in &self.0 {
            behind -= bytes;
            if left > behind as f64 * 8.0 {
                return Some(*priority);
            }
        }
        self.0.last().map(|(priority, _)| *priority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_urgent_goes_first() {
        let mut levels = Levels::default();
        assert_eq!((levels.priority(8.0), levels.first()), (None, None));
        for (priority, bytes) in [(90, 1000), (20, 60), (40, 0), (90, 500), (10, 5)] {
            levels.add(priority, bytes);
        }
        assert_eq!((levels.total(), levels.first()), (1565, Some(10)));
        assert_eq!((levels.of(90), levels.of(40)), (1500, 0));
        for (left, priority) in [(1565, 10), (1561, 10), (1560, 20), (1501, 20), (1500, 90), (1, 90), (0, 90)]
        {
            assert_eq!(levels.priority(f64::from(left) * 8.0), Some(priority), "{left}");
        }
        levels.take(30);
        assert_eq!((levels.total(), levels.first()), (1535, Some(20)));
        levels.take(36);
        assert_eq!((levels.total(), levels.first()), (1499, Some(90)));
        levels.take(5000);
        assert_eq!(levels, Levels::default());
    }
}
