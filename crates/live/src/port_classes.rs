//! Classes of packets by TCP or UDP port.

use crate::header;
use crossfade_link::{OutsideClass, Parcel};
use std::sync::Arc;

/// Table of traffic classes by TCP or UDP port, at either end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortClasses {
    /// Class of packets with other ports, or without ports, such as later fragments.
    usual: OutsideClass,
    by_port: Arc<[(u16, OutsideClass)]>,
}

impl PortClasses {
    /// Creates a table from the classes of some ports and the class `usual` of all other packets.
    pub fn new(usual: OutsideClass, by_port: impl IntoIterator<Item = (u16, OutsideClass)>) -> Self {
        Self { usual, by_port: by_port.into_iter().collect() }
    }

    /// Returns the parcel of `packet` with its class in the flow number. If several ports of the table match, the first
    /// in the table decides.
    pub(crate) fn mark(&self, parcel: Parcel, packet: &[u8]) -> Parcel {
        let ports = header::ports(packet);
        let found = self.by_port.iter().find(|(port, _)| ports.is_some_and(|ports| ports.contains(port)));
        let class = found.map_or(self.usual, |(_, class)| *class);
        parcel.renamed(parcel.id(), class.flow(parcel.flow()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates an IPv4 packet of `protocol` between two ports; `fragment` is the word of flags and fragment offset.
    fn packet(protocol: u8, ports: [u16; 2], fragment: u16) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2];
        packet[6..8].copy_from_slice(&fragment.to_be_bytes());
        packet.extend(ports.into_iter().flat_map(u16::to_be_bytes));
        packet.extend([0; 4]);
        packet
    }

    #[test]
    fn the_ports_of_either_end_decide_and_all_else_is_usual() {
        let [usual, voice, video] = [0, 1, 2].map(|number| OutsideClass::new(number).unwrap());
        let classes = PortClasses::new(usual, [(5004, voice), (443, video)]);
        let class = |packet: &[u8]| {
            let parcel = classes.mark(header::parcel(7, packet), packet);
            assert_eq!((parcel.id(), parcel.bytes()), (7, packet.len() as u32));
            OutsideClass::of(parcel.flow()).unwrap()
        };
        for (protocol, ports, fragment, expected) in [
            (17, [5004, 40_000], 0, voice),
            (17, [40_000, 5004], 0, voice),
            (6, [40_000, 443], 0, video),
            (6, [40_000, 80], 0, usual),
            // Both: the first of the list.
            (6, [443, 5004], 0, voice),
            // A later fragment, and a protocol without ports.
            (17, [5004, 40_000], 1, usual),
            (1, [5004, 5004], 0, usual),
        ] {
            assert_eq!(
                class(&packet(protocol, ports, fragment)),
                expected,
                "{protocol} {ports:?} {fragment}"
            );
        }
        assert_eq!(class(&[0x60; 3]), usual);
        let [one, other] = [40_000, 40_001].map(|port| packet(17, [port, 5004], 0));
        let flow = |packet: &[u8]| classes.mark(header::parcel(0, packet), packet).flow();
        assert_ne!(flow(&one), flow(&other), "flows of a class stay apart");
    }
}
