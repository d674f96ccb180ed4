//! Classes of packets from real programs, by which live emulation selects their bearers.

/// Class of a packet from a real program, by which its bearer is selected. The flow number of such a packet holds the
/// class, above 28 bits that distinguish flows; simulated flows have smaller numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutsideClass(u8);

impl OutsideClass {
    /// Number of classes, which are numbered from 0.
    pub const COUNT: u8 = 8;
    const SHIFT: u32 = 28;
    const MARK: u32 = 1 << 31;

    /// Class with the given number; `None` for [`Self::COUNT`] and above.
    pub fn new(number: u8) -> Option<Self> {
        (number < Self::COUNT).then_some(Self(number))
    }

    /// Flow number that holds this class, for a packet whose flow has the number `flow` without classes.
    pub fn flow(self, flow: u32) -> u32 {
        Self::MARK | u32::from(self.0) << Self::SHIFT | flow & ((1 << Self::SHIFT) - 1)
    }

    /// Class that a flow number holds; `None` for a simulated flow.
    pub fn of(flow: u32) -> Option<Self> {
        (flow & Self::MARK != 0).then_some(Self((flow >> Self::SHIFT) as u8 & (Self::COUNT - 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_number_holds_its_class_and_tells_flows_apart() {
        for number in 0..OutsideClass::COUNT {
            let class = OutsideClass::new(number).unwrap();
            for flow in [0, 1, 0x0fff_ffff, 0xffff_ffff] {
                assert_eq!(OutsideClass::of(class.flow(flow)), Some(class), "{number} {flow}");
            }
            assert_ne!(class.flow(1), class.flow(2));
        }
        assert_eq!(OutsideClass::new(OutsideClass::COUNT), None);
        // The greatest number of a simulated flow.
        assert_eq!(OutsideClass::of(0x7fff_ffff), None);
    }
}
