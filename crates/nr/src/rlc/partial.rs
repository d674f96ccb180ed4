//! Received bytes of an SDU.

/// Received parts of an SDU; adjacent ones are joined.
#[derive(Clone, Debug, Default)]
pub(super) struct Partial {
    parts: Vec<(u32, u32)>,
    /// Length of the SDU in bytes, known once its last byte has been received.
    length: Option<u32>,
}

impl Partial {
    /// Adds a received segment; returns true if any of its bytes is new.
    pub(super) fn add(&mut self, start: u32, end: u32, is_end: bool) -> bool {
        if is_end {
            self.length = Some(end);
        }
        if self.parts.iter().any(|part| part.0 <= start && end <= part.1) {
            return false;
        }
        let (mut start, mut end) = (start, end);
        self.parts.retain(|part| {
            let touches = part.0 <= end && start <= part.1;
            if touches {
                (start, end) = (start.min(part.0), end.max(part.1));
            }
            !touches
        });
        let place = self.parts.partition_point(|part| part.0 < start);
        self.parts.insert(place, (start, end));
        true
    }

    pub(super) fn is_complete(&self) -> bool {
        self.length.is_some_and(|length| self.parts == [(0, length)])
    }

    /// True if a byte is missing before the last one received.
    pub(super) fn has_gap(&self) -> bool {
        self.parts.len() > 1 || self.parts.first().is_some_and(|part| part.0 > 0)
    }

    /// Missing segments; the end of a segment is `u32::MAX` if the SDU's last byte is missing.
    pub(super) fn missing(&self) -> Vec<(u32, u32)> {
        let mut missing = Vec::new();
        let mut at = 0;
        for part in &self.parts {
            if part.0 > at {
                missing.push((at, part.0));
            }
            at = part.1;
        }
        if self.length.is_none_or(|length| at < length) {
            missing.push((at, u32::MAX));
        }
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_join_and_gaps_are_known() {
        let mut sdu = Partial::default();
        assert!(sdu.add(10, 20, false) && sdu.has_gap());
        assert_eq!(sdu.missing(), [(0, 10), (20, u32::MAX)]);
        assert!(sdu.add(30, 40, true));
        assert_eq!(sdu.missing(), [(0, 10), (20, 30)]);
        assert!(!sdu.add(12, 18, false));
        assert!(sdu.add(15, 35, false));
        assert_eq!(sdu.missing(), [(0, 10)]);
        assert!(sdu.add(0, 10, false) && sdu.is_complete() && !sdu.has_gap() && sdu.missing().is_empty());
    }
}
