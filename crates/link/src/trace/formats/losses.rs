//! Information that a conversion between formats loses.

use super::item::{AtEnd, Extra, Item, Room, Step};
use std::collections::BTreeSet;

/// Quantities of a link that a format may be able to hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantity {
    Opportunities,
    /// Rates in bit/s, rather than delivery opportunities.
    Rate,
    Delay,
    Loss,
    /// Queue limits in packets.
    Packets,
}

/// Kinds of facts that a format can hold.
#[derive(Clone, Copy)]
pub(super) struct Carries {
    pub(super) quantities: &'static [Quantity],
    pub(super) extras: &'static [Extra],
}

impl Carries {
    pub(super) const OPPORTUNITIES: Self = Self { quantities: &[Quantity::Opportunities], extras: &[] };
    pub(super) const DELAY: Self = Self { quantities: &[Quantity::Delay], extras: &[] };
    pub(super) const OPPORTUNITIES_DELAY: Self =
        Self { quantities: &[Quantity::Opportunities, Quantity::Delay], extras: &[] };
    pub(super) const RATE_DELAY_LOSS: Self =
        Self { quantities: &[Quantity::Rate, Quantity::Delay, Quantity::Loss], extras: &[] };

    fn has(self, quantity: Quantity) -> bool {
        self.quantities.contains(&quantity)
    }
}

/// Information that a conversion loses, each once, in alphabetical order.
#[derive(Clone, Debug, Default)]
pub struct Losses(BTreeSet<String>);

impl Losses {
    /// The losses one by one, in words that follow "loses".
    pub fn each(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// True if no information is lost.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn add(&mut self, what: impl Into<String>) {
        self.0.insert(what.into());
    }

    /// Adds the loss `what` if `lost` is true.
    pub(super) fn when(&mut self, lost: bool, what: &str) {
        if lost && !self.0.contains(what) {
            self.add(what);
        }
    }

    /// Records the parts of `item` that the format cannot hold. Values without effect, such as a loss rate of 0, do not
    /// count.
    pub(super) fn look(&mut self, item: &Item, carries: Carries) {
        match item {
            Item::Opportunity { bytes, .. } => {
                self.when(
                    !carries.has(Quantity::Opportunities) && !carries.has(Quantity::Rate),
                    "the capacity",
                );
                if carries.has(Quantity::Opportunities) {
                    self.when(
                        *bytes != super::mahimahi::BYTES,
                        "opportunities of another size than 1500 bytes",
                    );
                } else if carries.has(Quantity::Rate) {
                    self.when(true, "when within a millisecond bytes may leave (it becomes a rate)");
                }
            }
            Item::Step(step) => self.look_at_step(step, carries),
            Item::Train { offsets, .. } => {
                self.when(!carries.has(Quantity::Delay), "delays");
                self.when(
                    carries.has(Quantity::Delay),
                    "the straight line of delays between two trains (they become steps)",
                );
                self.when(offsets.len() > 1, "trains");
            }
            Item::Sent { .. } | Item::Arrived { .. } => self.when(true, "packets"),
        }
    }

    fn look_at_step(&mut self, step: &Step, carries: Carries) {
        if step.rate_bps.is_some_and(f64::is_finite) {
            self.when(!carries.has(Quantity::Rate) && !carries.has(Quantity::Opportunities), "rates");
            self.when(
                carries.has(Quantity::Opportunities),
                "rates (they become opportunities in whole milliseconds)",
            );
        }
        self.when(
            !carries.has(Quantity::Delay) && step.delay.is_some_and(|delay| delay.as_nanos() > 0),
            "delays",
        );
        self.when(!carries.has(Quantity::Loss) && step.loss.is_some_and(|loss| loss > 0.0), "losses");
        match step.queue {
            Some(Room::Packets(_)) => self.when(!carries.has(Quantity::Packets), "queue limits"),
            Some(Room::Bytes(_) | Room::Time(_)) if carries.has(Quantity::Packets) => {
                self.when(true, "queue limits that are not in packets");
            }
            Some(_) => self.when(true, "queue limits"),
            None => {}
        }
        for (extra, _) in &step.extras {
            if !carries.extras.contains(extra) {
                self.when(true, extra.name());
            }
        }
    }

    /// Adds the loss of the behaviour at the end if the target format has another one.
    pub(super) fn look_at_end(&mut self, said: AtEnd, written: AtEnd) {
        if said == written || said == AtEnd::Unsaid || written == AtEnd::Unsaid {
            return;
        }
        match said {
            AtEnd::Loop => self.add("that it begins again"),
            AtEnd::Rounds(rounds) => self.add(format!("that it is played {rounds} times")),
            AtEnd::Hold => self.add("that its last values hold"),
            AtEnd::Unsaid => {}
        }
    }
}
