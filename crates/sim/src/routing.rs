//! Routes in the form in which the engine follows them.
//!
//! A link that only data or only acknowledgements use is in the table of its direction. Every other medium is in the
//! table of fabrics, where the kind of each packet is looked up.

use crate::medium::AnyLink;
use crate::medium::{Medium, NamedMedium};
use crate::topology::{Leg, Route, Topology};
use crossfade_link::{Fabric, Port};
use std::collections::BTreeSet;

/// Next step of a packet on its route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// Over the link with this index in the table of its direction.
    Link(u32),
    /// Through a fabric: an index of [`Routing::legs`].
    Fabric(u32),
}

/// Next step of all packets that have come over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// All packets leave the route for their hosts.
    Exit,
    /// All packets go over this link of the direction.
    Link(u32),
    /// Each packet follows its own route.
    ByRoute,
}

/// Leg of a route through a fabric of the engine's table, from port to port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FabricLeg {
    pub(crate) fabric: u32,
    pub(crate) from: Port,
    pub(crate) to: Port,
}

/// Place of a medium in the engine's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Forward(u32),
    Reverse(u32),
    Fabric(u32),
}

/// Kind of the packets that take a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Data,
    Acks,
    /// Packets from outside the simulation.
    Outside,
}

/// Routes of a network, in the form in which the engine follows them.
pub(crate) struct Routing {
    /// Names of media in results, including names of other directions.
    pub(crate) names: Vec<String>,
    /// For each medium, true if its other direction has a name.
    pub(crate) have_back: Vec<bool>,
    /// Place of each medium in the engine's tables.
    pub(crate) places: Vec<Place>,
    routes: Vec<Vec<Step>>,
    legs: Vec<FabricLeg>,
}

/// Media of a network, sorted into the engine's tables.
pub(crate) struct Tables {
    pub(crate) forward: Vec<(AnyLink, Next)>,
    pub(crate) reverse: Vec<(AnyLink, Next)>,
    pub(crate) fabrics: Vec<Box<dyn Fabric + Send>>,
}

impl Routing {
    /// Creates the tables and routes of `topology`; `uses` gives the kind of packets and the route of each use.
    pub(crate) fn new(topology: Topology, uses: &[(Use, usize)]) -> (Self, Tables) {
        let Topology { media, routes } = topology;
        let is_used = |medium: usize, by: Use| {
            let passes = |route: &Route| route.iter().any(|leg| leg.medium == medium);
            uses.iter().any(|&(user, route)| user == by && passes(&routes[route]))
        };
        let names = media.iter().flat_map(NamedMedium::names).cloned().collect();
        let have_back = media.iter().map(|medium| medium.back.is_some()).collect();
        let mut places = Vec::new();
        let (mut forward, mut reverse, mut fabrics) = (Vec::new(), Vec::new(), Vec::new());
        for (i, NamedMedium { medium, .. }) in media.into_iter().enumerate() {
            let users = [Use::Data, Use::Acks, Use::Outside].map(|user| is_used(i, user));
            places.push(match (medium, users) {
                (Medium::Link(link), [true, false, false]) => {
                    forward.push(link);
                    Place::Forward(forward.len() as u32 - 1)
                }
                (Medium::Link(link), [false, true, false]) => {
                    reverse.push(link);
                    Place::Reverse(reverse.len() as u32 - 1)
                }
                (medium, _) => {
                    fabrics.push(medium.into_fabric());
                    Place::Fabric(fabrics.len() as u32 - 1)
                }
            });
        }
        let mut legs = Vec::new();
        let mut step = |&Leg { medium, from, to }: &Leg| match places[medium] {
            Place::Forward(link) | Place::Reverse(link) => Step::Link(link),
            Place::Fabric(fabric) => {
                legs.push(FabricLeg { fabric, from, to });
                Step::Fabric(legs.len() as u32 - 1)
            }
        };
        let routes: Vec<Vec<Step>> =
            routes.iter().map(|route| route.iter().map(&mut step).collect()).collect();
        let next = |by: Use, link: u32| {
            let of_route = |&(user, route): &(Use, usize)| {
                let steps = &routes[route];
                let at = steps.iter().position(|step| *step == Step::Link(link)).filter(|_| user == by)?;
                Some(steps.get(at + 1).copied())
            };
            let all: BTreeSet<Option<Step>> = uses.iter().filter_map(of_route).collect();
            match (all.first(), all.len()) {
                (Some(None), 1) => Next::Exit,
                (Some(Some(Step::Link(link))), 1) => Next::Link(*link),
                _ => Next::ByRoute,
            }
        };
        let with_next = |links: Vec<AnyLink>, by: Use| {
            let links = (0..).zip(links);
            links.map(|(i, link)| (link, next(by, i))).collect()
        };
        let (forward, reverse) = (with_next(forward, Use::Data), with_next(reverse, Use::Acks));
        (Self { names, have_back, places, routes, legs }, Tables { forward, reverse, fabrics })
    }

    /// The first step of a route.
    #[inline]
    pub(crate) fn first(&self, route: u32) -> Step {
        self.routes[route as usize][0]
    }

    /// True if route `route`, of data, ends with the medium at `place`.
    pub(crate) fn ends_at(&self, route: u32, place: Place) -> bool {
        match self.routes[route as usize].last() {
            Some(Step::Link(link)) => place == Place::Forward(*link),
            Some(Step::Fabric(leg)) => place == Place::Fabric(self.leg(*leg).fabric),
            None => false,
        }
    }

    /// Leg with index `leg` through a fabric.
    #[inline]
    pub(crate) fn leg(&self, leg: u32) -> FabricLeg {
        self.legs[leg as usize]
    }

    /// Next step after link `link` of route `route`; `None` at the route's end.
    pub(crate) fn after_link(&self, route: u32, link: u32) -> Option<Step> {
        self.after(route, |step| step == Step::Link(link))
    }

    /// Next step of a packet of route `route` that has left fabric `fabric` at `port`; `None` at the route's end.
    pub(crate) fn after_fabric(&self, route: u32, fabric: u32, port: Port) -> Option<Step> {
        self.after(route, |step| match step {
            Step::Link(_) => false,
            Step::Fabric(leg) => {
                let leg = self.leg(leg);
                (leg.fabric, leg.to) == (fabric, port)
            }
        })
    }

    fn after(&self, route: u32, is_here: impl Fn(Step) -> bool) -> Option<Step> {
        let steps = &self.routes[route as usize];
        let at = steps.iter().position(|&step| is_here(step)).expect("a packet is on its route");
        steps.get(at + 1).copied()
    }
}
