//! Shortcuts of the engine that change no result.

/// Shortcuts by which the engine saves events and code if the network allows it. No result depends on any of them
/// (`docs/engine.md#shortcuts`); tests run networks with and without each.
///
/// All need [`fates`](Self::fates); [`foreseen`](Self::foreseen) needs [`direct`](Self::direct), and
/// [`late_receivers`](Self::late_receivers) needs both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "switches")]
pub struct Shortcuts {
    /// A drop-tail hop knows each packet's fate when it takes the packet, and needs no event at the start of a
    /// transmission. If off, its queue decides when packets leave it, like any other queue; a gated sender always has a
    /// hop.
    pub fates: bool,
    /// Networks of one flow over one hop in each direction use tables whose size, one entry, is known to the compiler.
    pub single_hop: bool,
    /// Packets pass the only hop of a direction and the line behind it with one event.
    pub direct: bool,
    /// Packets pass the line before that hop with that event too, if the hop neither loses nor drops packets.
    pub foreseen: bool,
    /// Receivers process many segments with one event, where departures of acknowledgements are foreseen.
    pub late_receivers: bool,
}

impl Shortcuts {
    /// All shortcuts on, the default.
    pub const ALL: Self =
        Self { fates: true, single_hop: true, direct: true, foreseen: true, late_receivers: true };
    /// All shortcuts off.
    pub const NONE: Self =
        Self { fates: false, single_hop: false, direct: false, foreseen: false, late_receivers: false };

    /// All shortcuts but one, for each of them, and no shortcuts: the sets that tests compare with [`ALL`](Self::ALL).
    pub fn each_off() -> [Self; 6] {
        let all = Self::ALL;
        [
            Self { fates: false, ..all },
            Self { single_hop: false, ..all },
            Self { direct: false, ..all },
            Self { foreseen: false, ..all },
            Self { late_receivers: false, ..all },
            Self::NONE,
        ]
    }
}

impl Default for Shortcuts {
    fn default() -> Self {
        Self::ALL
    }
}
