//! What the engine leaves out because it changes no result.

/// Which events, and which code, the engine spares where the network lets it. No result depends on any of them
/// (`docs/engine.md#shortcuts`): a test runs a network with and without.
///
/// All need [`fates`](Self::fates); [`foreseen`](Self::foreseen) needs [`direct`](Self::direct), and
/// [`late_receivers`](Self::late_receivers) needs both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "switches")]
pub struct Shortcuts {
    /// A drop-tail hop knows each packet's fate as it takes the packet, and has no event as a transmission begins. Off, its
    /// queue decides as packets leave it, like any other; but where a sender waits for its slots.
    pub fates: bool,
    /// One flow over one hop each way has tables of one place, which the compiler knows.
    pub single_hop: bool,
    /// The only hop of a direction and the line behind it are passed with one event.
    pub direct: bool,
    /// The line before that hop is passed with the same event, where the hop loses and drops nothing.
    pub foreseen: bool,
    /// Receivers are told of many segments with one event, where acknowledgements are foreseen.
    pub late_receivers: bool,
}

impl Shortcuts {
    /// What one runs with.
    pub const ALL: Self =
        Self { fates: true, single_hop: true, direct: true, foreseen: true, late_receivers: true };
    /// An event for everything.
    pub const NONE: Self =
        Self { fates: false, single_hop: false, direct: false, foreseen: false, late_receivers: false };

    /// All but one, for each of them, and none: what a test compares with [`ALL`](Self::ALL).
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
