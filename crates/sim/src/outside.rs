//! Packets from outside the simulation that enter a simulated network and leave it again.

use crate::capture::Entering;
use crate::guests::Guest;
use crate::layout::Layout;
use crate::packets::Content;
use crate::routing::{FabricLeg, Step};
use crate::state::NetworkState;
use crate::watch::Watch;
use crossfade_link::{Departure, Parcel, Port, Push};

impl<W: Watch, L: Layout> NetworkState<W, L> {
    /// Lets a packet enter from outside at port `from`; it is dropped if there is no passage to port `to`.
    pub(crate) fn outside_enters(&mut self, from: Port, to: Port, parcel: Parcel) -> Push {
        let passages = &self.outside.passages;
        let Some(passage) = passages.iter().find(|passage| (passage.from, passage.to) == (from, to)) else {
            self.outside.statistics.queue_drops += 1;
            return Push::QueueDrop;
        };
        let route = passage.route as u32;
        let place = self.outside.packets.keep(Guest { parcel, to, route });
        let inside = parcel.renamed(Content::Outside.name(place), parcel.flow());
        let statistics = &mut self.outside.statistics;
        statistics.transmissions += 1;
        statistics.transmitted_bytes += u64::from(parcel.bytes());
        let outcome = self.push_guest(self.routing.first(route), inside);
        let statistics = &mut self.outside.statistics;
        match outcome {
            Push::Accepted => return outcome,
            Push::Lost => statistics.losses += 1,
            Push::QueueDrop => statistics.queue_drops += 1,
        }
        self.outside.packets.forget(inside);
        outcome
    }

    /// Forwards a packet from outside that leaves a fabric at `port`, to its next medium or out of the network.
    pub(crate) fn outside_leaves(&mut self, fabric: u32, port: Port, departure: Departure) {
        let inside = departure.parcel();
        let route = self.outside.packets[inside].route;
        let departure = match departure {
            Departure::Arrived(_) => match self.routing.after_fabric(route, fabric, port) {
                None => departure,
                Some(step) => match self.push_guest(step, inside) {
                    Push::Accepted => return,
                    Push::Lost => Departure::Lost(inside),
                    Push::QueueDrop => Departure::QueueDrop(inside),
                },
            },
            gone => gone,
        };
        let Guest { parcel, to, .. } = self.outside.packets[inside];
        self.outside.packets.forget(inside);
        let statistics = &mut self.outside.statistics;
        match departure {
            Departure::Arrived(_) => {
                statistics.arrivals += 1;
                statistics.arrived_bytes += u64::from(parcel.bytes());
            }
            Departure::Lost(_) => statistics.losses += 1,
            Departure::QueueDrop(_) => statistics.queue_drops += 1,
        }
        self.outside.left.push_back((to, departure.map(|inside| parcel.with_ecn(inside.ecn()))));
    }

    fn push_guest(&mut self, step: Step, inside: Parcel) -> Push {
        let Step::Fabric(leg) = step else { unreachable!("media for packets from outside are fabrics") };
        let FabricLeg { fabric, from, to } = self.routing.leg(leg);
        if self.fabrics[fabric as usize].has_air
            && self.watch.hears()
            && let Some(capture) = self.watch.capture()
        {
            let parcel = self.outside.packets[inside].parcel;
            capture.enters(self.now, inside, Entering::Outside(parcel));
        }
        self.push_fabric(fabric, from, to, inside)
    }
}
