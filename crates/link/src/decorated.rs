//! Decorators of links: mechanisms placed before or behind a link.

use crate::event::LinkEvent;
use crate::link::{Departure, Link, Push};
use crate::parcel::Parcel;
use crate::report::LinkReport;
use crossfade_core::SimTime;

/// A mechanism before or behind a link, such as a policer, that delays, drops or releases its packets. It has its own
/// state and receives the link as an argument; each method has the contract of the method of that name in [`Link`]. By
/// default packets pass unchanged, so a decorator overrides only the methods that it changes.
pub trait Decorator {
    /// Takes a packet at time `now`, as [`Link::push`]; by default passes it to `link`.
    fn push(&mut self, link: &mut impl Link, now: SimTime, parcel: Parcel) -> Push {
        link.push(now, parcel)
    }

    /// Time at which [`advance`](Self::advance) has something to do next, as [`Link::next_event`]; by default that of
    /// `link`.
    fn next_event(&self, link: &impl Link) -> Option<SimTime> {
        link.next_event()
    }

    /// Returns the next packet that has left by `now`, as [`Link::advance`]; by default that of `link`.
    fn advance(&mut self, link: &mut impl Link, now: SimTime) -> Option<Departure> {
        link.advance(now)
    }

    /// Statistics of link and decorator at `now`, as [`Link::report`]; by default those of `link`.
    fn report(&mut self, link: &mut impl Link, now: SimTime) -> LinkReport {
        link.report(now)
    }

    /// Puts this decorator around a link, which gives a new link.
    fn around<L: Link>(self, link: L) -> Decorated<L, Self>
    where
        Self: Sized,
    {
        Decorated { link, decorator: self }
    }
}

/// Link with a decorator, made by [`Decorator::around`]. Its link events are those of the inner link.
#[derive(Clone, Debug)]
pub struct Decorated<L, D> {
    link: L,
    decorator: D,
}

impl<L: Link, D: Decorator> Link for Decorated<L, D> {
    fn push(&mut self, now: SimTime, parcel: Parcel) -> Push {
        self.decorator.push(&mut self.link, now, parcel)
    }

    fn next_event(&self) -> Option<SimTime> {
        self.decorator.next_event(&self.link)
    }

    fn advance(&mut self, now: SimTime) -> Option<Departure> {
        self.decorator.advance(&mut self.link, now)
    }

    fn report(&mut self, now: SimTime) -> LinkReport {
        self.decorator.report(&mut self.link, now)
    }

    fn trace(&mut self, keep: bool) {
        self.link.trace(keep);
    }

    fn next_trace(&mut self) -> Option<LinkEvent> {
        self.link.next_trace()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop::{Hop, HopConfig};
    use crate::testing::{EveryThird, plain};

    struct Nothing;
    impl Decorator for Nothing {}

    /// A decorator that changes nothing adds no events and loses no packets.
    #[test]
    fn a_decorator_without_methods_is_the_link() {
        let hop = || {
            let loss = Box::new(EveryThird(Vec::new()));
            Hop::new(HopConfig {
                rate_bps: Some(8e6),
                delay: SimTime::from_millis(3),
                queue_limit: None,
                loss,
            })
        };
        let mut links: [Box<dyn Link>; 2] = [Box::new(hop()), Box::new(Nothing.around(hop()))];
        let stories = links.each_mut().map(|link| {
            link.trace(true);
            let mut story = Vec::new();
            for id in 0..5 {
                let pushed = link.push(SimTime::ZERO, plain(id, 1000));
                story.push(format!("{pushed:?} {:?}", link.next_event()));
            }
            while let Some(at) = link.next_event() {
                story.push(format!("{at} {:?}", link.advance(at)));
            }
            let report = link.report(SimTime::from_millis(10));
            story.push(format!("{:?} {:?} {:?}", report.statistics, report.sent, report.unsent));
            story.extend(std::iter::from_fn(|| link.next_trace()).map(|event| format!("{event:?}")));
            story
        });
        let told = |what: &str| stories[0].iter().any(|line| line.contains(what));
        assert!(told("Lost") && told("Arrived") && told("Frame"), "{:?}", stories[0]);
        assert_eq!(stories[0], stories[1]);
    }
}
