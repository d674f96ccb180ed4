//! Topology of a network: media and routes over them.

use crate::error::NetworkError;
use crate::medium::{AnyLink, Medium, NamedMedium};
use crossfade_link::Port;

/// Leg of a route: through one medium, from one port to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leg {
    /// Index of the medium in [`Topology::media`].
    pub medium: usize,
    /// Port at which packets enter; 0 for a link.
    pub from: Port,
    /// Port at which packets leave; 1 for a link.
    pub to: Port,
}

impl Leg {
    /// Leg over the link with index `medium`, from port 0 to port 1.
    pub const fn link(medium: usize) -> Self {
        Self { medium, from: 0, to: 1 }
    }
}

/// Route through the network: one or more legs in order.
pub type Route = Vec<Leg>;

/// Passage for packets from outside, from one outer port of the network to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Outer port at which packets enter.
    pub from: Port,
    /// Outer port at which packets leave.
    pub to: Port,
    /// Route of the packets: an index of [`Topology::routes`].
    pub route: usize,
}

/// Links and fabrics of a network, and routes over them. Routes may share media, even routes of data with routes of
/// acknowledgements.
#[derive(Default)]
pub struct Topology {
    /// Links and fabrics, with their names.
    pub media: Vec<NamedMedium>,
    /// Routes; flows and passages refer to them by index.
    pub routes: Vec<Route>,
}

impl Topology {
    /// Index of the route of the data in the topology of [`path`](Self::path).
    pub const DATA: usize = 0;
    /// Index of the route of the acknowledgements in the topology of [`path`](Self::path).
    pub const ACKS: usize = 1;

    /// Creates a topology of links in series, forward and reverse, named `forward.0`, `reverse.0` and so on, or without
    /// a number if there is only one. Results list the links in this order.
    ///
    /// ```text
    ///  sender 0 --access--\                                                  /--access-- receiver 0
    ///  sender 1 --access---+== forward[0] == forward[1] == .. (the data) ==>+---access-- receiver 1
    ///  sender 2 --access--/ <= .. == reverse[0] (the acknowledgements) ===== \--access-- receiver 2
    /// ```
    pub fn path(forward: Vec<AnyLink>, reverse: Vec<AnyLink>) -> Self {
        let mut topology = Self::default();
        for (name, links) in [("forward", forward), ("reverse", reverse)] {
            let alone = links.len() == 1;
            let route = links.into_iter().enumerate().map(|(i, link)| {
                let name = if alone { name.to_owned() } else { format!("{name}.{i}") };
                topology.media.push(Medium::Link(link).named(name));
                Leg::link(topology.media.len() - 1)
            });
            let route = route.collect();
            topology.routes.push(route);
        }
        topology
    }

    /// Checks that all routes name existing media and ports, and leave no medium twice at one port.
    pub(crate) fn check(&self) -> Result<(), NetworkError> {
        for (i, route) in self.routes.iter().enumerate() {
            let refuse = |text: String| Err(NetworkError(format!("routes[{i}]{text}")));
            if route.is_empty() {
                return refuse(" is empty: a route has at least one leg".into());
            }
            for (j, leg) in route.iter().enumerate() {
                let Some(medium) = self.media.get(leg.medium) else {
                    let media = self.media.len();
                    return refuse(format!("[{j}].medium = {}: must be below {media}", leg.medium));
                };
                let ports = medium.medium.ports();
                for (key, port) in [("from", leg.from), ("to", leg.to)] {
                    if port >= ports {
                        let name = &medium.name;
                        return refuse(format!(
                            "[{j}].{key} = {port}: must be below {ports}, the ports of {name}"
                        ));
                    }
                }
                if matches!(medium.medium, Medium::Link(_)) && (leg.from, leg.to) != (0, 1) {
                    return refuse(format!(
                        "[{j}]: must go from port 0 to port 1, {} is a link",
                        medium.name
                    ));
                }
                if route[..j].iter().any(|before| (before.medium, before.to) == (leg.medium, leg.to)) {
                    return refuse(format!("[{j}]: must not leave {} at port {} twice", medium.name, leg.to));
                }
            }
        }
        Ok(())
    }
}
