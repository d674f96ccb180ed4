//! What networks have parts of, as data: what each kind is called, and how rows name what they have of a part.

use serde::Serialize;

/// A kind of part, of which a network has any number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PartKind {
    /// What one is called.
    pub name: &'static str,
    /// What results call the list of them.
    pub list: &'static str,
    /// What stands before a part's name in the keys of rows.
    pub prefix: &'static str,
    /// Whether parts have numbers, counted from 0, in place of names: then there may be too many for tables.
    pub is_numbered: bool,
}

/// Flows by the names that the scenario gives them; empty where it names none.
pub const FLOW: PartKind = PartKind { name: "flow", list: "flows", prefix: "flow:", is_numbered: false };
/// The links of a network, or the medium in their place: some of [`LINKS`].
pub const LINK: PartKind = PartKind { name: "link", list: "links", prefix: "", is_numbered: false };
/// The nodes of a mesh.
pub const NODE: PartKind = PartKind { name: "node", list: "nodes", prefix: "node:", is_numbered: true };
/// The users of a cell.
pub const USER: PartKind = PartKind { name: "user", list: "users", prefix: "user:", is_numbered: true };

/// All kinds, in the order of results.
pub static PARTS: [PartKind; 4] = [FLOW, LINK, NODE, USER];

/// What results call the links of a path, in the order in which packets take them.
pub(crate) const PATH: [&str; 4] = ["wired", "forward", "reverse", "wired_reverse"];
/// What results call the mesh.
pub(crate) const MESH: &str = "mesh";

/// All that results may call links.
pub static LINKS: [&str; 5] = {
    let [wired, forward, reverse, wired_reverse] = PATH;
    [wired, forward, reverse, wired_reverse, MESH]
};

/// What carries the data of a network, which has one of them: metrics of the whole are those of this link.
const CARRIERS: [&str; 2] = [PATH[1], MESH];

/// A part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Of which kind.
    pub kind: PartKind,
    /// Its name, or its number.
    pub name: String,
}

impl Part {
    /// The part of that name, or number.
    pub fn new(kind: PartKind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into() }
    }

    /// So many numbered parts.
    pub(crate) fn numbered(kind: PartKind, count: usize) -> impl Iterator<Item = Self> {
        (0..count).map(move |number| Self::new(kind, number.to_string()))
    }

    /// Whether metrics of the whole are its own.
    pub(crate) fn is_carrier(&self) -> bool {
        self.kind == LINK && CARRIERS.contains(&&*self.name)
    }

    /// The key in a row of what is called `name` and belongs to this part alone.
    pub(crate) fn key(&self, name: &str) -> String {
        format!("{}{}.{name}", self.kind.prefix, self.name)
    }
}
