//! What results call links.

/// The links of a scenario, as results name them, in the order in which packets take them.
pub(crate) const LINKS: [&str; 4] = ["wired", "forward", "reverse", "wired_reverse"];

/// What results call the mesh.
pub(crate) const MESH: &str = "mesh";
