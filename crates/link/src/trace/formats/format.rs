//! The formats that there are.

/// A format of recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Delivery opportunities of mahimahi.
    Mahimahi,
    /// Delivery opportunities of 1400 bytes: told from mahimahi's by who names it alone.
    CellReplayHeavy,
    /// Short trains of CellReplay.
    CellReplayLight,
    /// Delays of LeoReplayer.
    LeoDelays,
    /// Tables of TheaterQ.
    TheaterQ,
    /// The table of rates of this program.
    Rates,
    /// The table of delays of this program.
    Delays,
}

impl Format {
    /// All of them, in the order of the page about them.
    pub const ALL: [Self; 7] = [
        Self::Mahimahi,
        Self::LeoDelays,
        Self::CellReplayHeavy,
        Self::CellReplayLight,
        Self::TheaterQ,
        Self::Rates,
        Self::Delays,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// What it is, in a few words.
    pub fn title(self) -> &'static str {
        self.row().1
    }

    /// Whether it is written too.
    pub fn is_written(self) -> bool {
        self.row().2
    }

    /// The format of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Name, title, and whether it is written too.
    fn row(self) -> (&'static str, &'static str, bool) {
        match self {
            Self::Mahimahi => {
                ("mahimahi", "delivery opportunities of mahimahi (and LeoReplayer's capacity)", true)
            }
            Self::LeoDelays => ("leoreplayer-delays", "delays of LeoReplayer", true),
            Self::CellReplayHeavy => ("cellreplay-heavy", "delivery opportunities of CellReplay", false),
            Self::CellReplayLight => ("cellreplay-light", "short trains of CellReplay", false),
            Self::TheaterQ => ("theaterq", "table of TheaterQ", true),
            Self::Rates => ("rates", "table of rates, delays and losses of this program", true),
            Self::Delays => ("delays", "table of delays of this program", true),
        }
    }
}
