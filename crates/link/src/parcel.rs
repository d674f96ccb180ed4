//! Packets as links see them: identity, flow, user, length and ECN field.

use std::fmt;

/// The ECN field of an IP header (RFC 3168 section 5, RFC 8311 section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, PartialOrd, Ord, Hash)]
pub enum Ecn {
    /// Not ECN-capable: a queue drops such packets instead of marking them.
    #[default]
    NotEct = 0b00,
    /// ECN-capable, codepoint ECT(1), used by L4S.
    Ect1 = 0b01,
    /// ECN-capable, codepoint ECT(0).
    Ect0 = 0b10,
    /// Congestion experienced: a queue has marked the packet.
    Ce = 0b11,
}

impl Ecn {
    /// ECN codepoint of the lower two bits of `bits`; higher bits are ignored.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }
}

/// A packet in simulation, live emulation and replay, with the attributes that links and queues need. Its content stays
/// with the caller that pushed it, under [`id`](Self::id).
///
/// A parcel has two machine words, so that it is passed in registers through the half dozen functions that every packet
/// takes.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Parcel {
    /// Identity in the lower 32 bits, flow in the upper 32 bits.
    id_and_flow: u64,
    /// Length in bits 0 to 31, user in bits 32 to 47, ECN field in bits 48 and 49, and in bit 50 a flag: losses spare
    /// the packet.
    bytes_user_ecn: u64,
}

impl Parcel {
    const ECN_SHIFT: u32 = 48;
    const ECN: u64 = 0b11 << Self::ECN_SHIFT;
    const SPARED: u64 = 1 << 50;

    /// Creates a packet of `bytes` on the wire, for user 0, not ECN-capable.
    #[inline]
    pub const fn new(id: u32, flow: u32, bytes: u32) -> Self {
        Self { id_and_flow: (flow as u64) << 32 | id as u64, bytes_user_ecn: bytes as u64 }
    }

    /// A copy of the packet for another user.
    #[inline]
    #[must_use]
    pub const fn with_user(self, user: u16) -> Self {
        let rest = self.bytes_user_ecn & !(0xffff << 32);
        Self { bytes_user_ecn: rest | (user as u64) << 32, ..self }
    }

    /// A copy of the packet with another ECN field.
    #[inline]
    #[must_use]
    pub const fn with_ecn(self, ecn: Ecn) -> Self {
        let rest = self.bytes_user_ecn & !Self::ECN;
        Self { bytes_user_ecn: rest | (ecn as u64) << Self::ECN_SHIFT, ..self }
    }

    /// A copy of the packet that is spared by losses: the loss process of a link of whole packets neither loses it nor
    /// steps for it. Used for packets that a simulation does not send, such as those of a handshake, so that the other
    /// packets meet the losses of the simulation.
    #[inline]
    #[must_use]
    pub const fn spared(self) -> Self {
        Self { bytes_user_ecn: self.bytes_user_ecn | Self::SPARED, ..self }
    }

    /// A copy of the packet with another identity and flow, which engines use for their internal numbers.
    #[inline]
    #[must_use]
    pub const fn renamed(self, id: u32, flow: u32) -> Self {
        Self { id_and_flow: (flow as u64) << 32 | id as u64, ..self }
    }

    /// A copy of the packet with another identity.
    #[inline]
    #[must_use]
    pub const fn named(self, id: u32) -> Self {
        Self { id_and_flow: self.id_and_flow >> 32 << 32 | id as u64, ..self }
    }

    /// A copy of the packet with another length.
    #[inline]
    #[must_use]
    pub const fn sized(self, bytes: u32) -> Self {
        Self { bytes_user_ecn: self.bytes_user_ecn >> 32 << 32 | bytes as u64, ..self }
    }

    /// Identity of the packet, chosen by its sender.
    #[inline]
    pub const fn id(self) -> u32 {
        self.id_and_flow as u32
    }

    /// Flow of the packet; fair queueing shares the link among flows.
    #[inline]
    pub const fn flow(self) -> u32 {
        (self.id_and_flow >> 32) as u32
    }

    /// User of the packet, on a link that serves several users.
    #[inline]
    pub const fn user(self) -> u16 {
        (self.bytes_user_ecn >> 32) as u16
    }

    /// Length of the packet on the wire in bytes.
    #[inline]
    pub const fn bytes(self) -> u32 {
        self.bytes_user_ecn as u32
    }

    /// ECN field of the packet.
    #[inline]
    pub const fn ecn(self) -> Ecn {
        Ecn::from_bits((self.bytes_user_ecn >> Self::ECN_SHIFT) as u8)
    }

    /// True if a queue may mark the packet instead of dropping it; a marked packet may be marked again.
    #[inline]
    pub const fn is_ecn_capable(self) -> bool {
        self.bytes_user_ecn & Self::ECN != 0
    }

    /// True if the packet is marked "congestion experienced".
    #[inline]
    pub const fn is_ce(self) -> bool {
        self.bytes_user_ecn & Self::ECN == Self::ECN
    }

    /// True if the loss process spares the packet ([`spared`](Self::spared)).
    #[inline]
    pub const fn is_spared(self) -> bool {
        self.bytes_user_ecn & Self::SPARED != 0
    }

    /// Marks the packet "congestion experienced" (RFC 3168).
    ///
    /// # Panics
    /// With debug assertions, if the packet is not ECN-capable: a queue has to drop such a packet.
    #[inline]
    pub fn mark_ce(&mut self) {
        debug_assert!(self.is_ecn_capable(), "marked a packet that does not know marks");
        self.bytes_user_ecn |= Self::ECN;
    }
}

impl fmt::Debug for Parcel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parcel")
            .field("id", &self.id())
            .field("flow", &self.flow())
            .field("user", &self.user())
            .field("bytes", &self.bytes())
            .field("ecn", &self.ecn())
            .field("spared", &self.is_spared())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fields_do_not_touch_each_other(id: u32, flow: u32, bytes: u32, user: u16, ecn in 0_u8..4) {
            let mut parcel = Parcel::new(id, flow, bytes).with_user(user).with_ecn(Ecn::from_bits(ecn));
            for expected in [Ecn::from_bits(ecn), Ecn::Ce] {
                prop_assert_eq!((parcel.id(), parcel.flow()), (id, flow));
                prop_assert_eq!((parcel.bytes(), parcel.user(), parcel.ecn()), (bytes, user, expected));
                prop_assert!(!parcel.is_spared() && parcel.spared().is_spared());
                prop_assert_eq!((parcel.spared().ecn(), parcel.spared().user()), (expected, user));
                if !parcel.is_ecn_capable() {
                    break;
                }
                parcel.mark_ce();
                prop_assert!(parcel.is_ce());
            }
            let renamed = parcel.renamed(!id, !flow);
            prop_assert_eq!((renamed.id(), renamed.flow(), renamed.bytes()), (!id, !flow, bytes));
            prop_assert_eq!(renamed.renamed(id, flow).with_user(!user).with_user(user), parcel);
            let changed = parcel.named(!id).sized(!bytes);
            prop_assert_eq!((changed.id(), changed.flow(), changed.bytes()), (!id, flow, !bytes));
            prop_assert_eq!(changed.named(id).sized(bytes), parcel);
        }
    }
}
