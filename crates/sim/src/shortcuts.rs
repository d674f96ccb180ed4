//! Shortcuts of the engine that change no result.

/// Shortcuts by which the engine saves events and code if the network allows it. No result depends on any of them
/// (`docs/engine.md#shortcuts`); tests run networks with and without each.
///
/// All need [`fates`](Self::fates); [`foreseen`](Self::foreseen) needs [`direct`](Self::direct), and
/// [`late_receivers`](Self::late_receivers) needs both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "switches")]
pub struct Shortcuts {
    /// True if a drop-tail hop decides each packet's fate when the packet enters, without an event at the start of a
    /// transmission. If false, its queue decides when packets leave it, like any other queue; a gated sender always has
    /// a hop.
    pub fates: bool,
    /// True if networks of one flow over one hop in each direction use tables of one entry, a size known to the
    /// compiler.
    pub single_hop: bool,
    /// True if packets pass the only hop of a direction and the access line behind it with one event.
    pub direct: bool,
    /// True if that event also covers the access line before the hop, if the hop neither loses nor drops packets.
    pub foreseen: bool,
    /// True if receivers process many segments with one event, when departures of acknowledgements are foreseen.
    pub late_receivers: bool,
}

impl Shortcuts {
    /// All shortcuts on; this is the default of a network.
    pub const ALL: Self =
        Self { fates: true, single_hop: true, direct: true, foreseen: true, late_receivers: true };
    /// All shortcuts off, as in tests.
    pub const NONE: Self =
        Self { fates: false, single_hop: false, direct: false, foreseen: false, late_receivers: false };

    /// Sets of shortcuts for tests against [`ALL`](Self::ALL): all shortcuts but one, for each of the five, and none.
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
