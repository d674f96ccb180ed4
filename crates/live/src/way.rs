//! One direction through a medium: from the device of one host to that of the other.

use crate::disturbance::Translator;
use crate::header::{self, Kind};
use crate::meter::{Meter, Passed};
use crate::offload::VirtioHeader;
use crate::recording::Recorder;
use crate::report::PumpReport;
use crate::store::{Place, Store};
use crate::tun::Tun;
use crate::window::ReceiveWindow;
use crossfade_core::{DelayHistogram, SimTime};
use crossfade_link::{Departure, LinkReport, Parcel, Port};
use std::sync::Arc;

pub(crate) struct Way {
    pub(crate) from: Arc<Tun>,
    to: Arc<Tun>,
    /// Ports of the medium at which packets of this direction enter and leave.
    pub(crate) ports: [Port; 2],
    /// Kinds of packets that are exempt from losses.
    pub(crate) spared: &'static [Kind],
    /// Limit of the receive windows that packets of this direction advertise; `None`: no limit.
    pub(crate) window: Option<ReceiveWindow>,
    /// NAT that packets pass before they enter the medium, and true if they come from the host behind it; `None`: no
    /// NAT.
    translator: Option<(Translator, bool)>,
    meter: Meter,
    /// Counts that the meter shows at its next update; `refused` of the drops never reached the link.
    pub(crate) passed: Passed,
    pub(crate) refused: u64,
    undeliverable: u64,
    lateness: DelayHistogram,
    late: u64,
    transit: DelayHistogram,
    transit_sum_s: f64,
}

/// Packets that have left a medium and are handed over together: one packet, or consecutive ones of one read.
#[derive(Default)]
pub(crate) struct Run {
    /// Departure time, parcel and entry time of each packet.
    packets: Vec<(SimTime, Parcel, SimTime)>,
    /// Index of the direction of the packets.
    way: usize,
    /// Location of the first packet; `None` if there are no packets.
    first: Option<Place>,
    /// Buffer for the headers of the packet being written.
    headers: Vec<u8>,
}

impl Run {
    /// True if a packet follows the last one in the same read, so both can be handed over together. A marked packet is
    /// handed over alone, since the mark is in its header.
    pub(crate) fn goes_on_with(&self, way: usize, place: Place, parcel: Parcel) -> bool {
        let Some(first) = self.first else { return true };
        self.way == way
            && place.read == first.read
            && place.segment == first.segment + self.packets.len() as u32
            && !parcel.is_ce()
            && !self.packets[0].1.is_ce()
    }

    /// Adds a packet that left the medium at `at` and had entered it at `entered`.
    pub(crate) fn add(&mut self, way: usize, place: Place, parcel: Parcel, [at, entered]: [SimTime; 2]) {
        self.first.get_or_insert(place);
        self.way = way;
        self.packets.push((at, parcel, entered));
    }

    /// Index of the packets' direction; `None` if there are no packets.
    pub(crate) fn way(&self) -> Option<usize> {
        self.first.map(|_| self.way)
    }
}

impl Way {
    pub(crate) fn new(
        [from, to]: [Arc<Tun>; 2],
        ports: [Port; 2],
        spared: &'static [Kind],
        meter: Meter,
    ) -> Self {
        Self {
            from,
            to,
            ports,
            spared,
            window: None,
            translator: None,
            meter,
            passed: Passed::default(),
            refused: 0,
            undeliverable: 0,
            lateness: DelayHistogram::default(),
            late: 0,
            transit: DelayHistogram::default(),
            transit_sum_s: 0.0,
        }
    }

    /// Limits the receive windows that packets advertise to `bytes`; `None`: no limit.
    pub(crate) fn with_receive_window(self, bytes: Option<u32>) -> Self {
        Self { window: bytes.map(ReceiveWindow::new), ..self }
    }

    /// Lets packets pass a NAT before they enter the medium; `is_outward` if they come from the host behind it.
    pub(crate) fn with_translator(self, translator: Option<Translator>, is_outward: bool) -> Self {
        Self { translator: translator.map(|translator| (translator, is_outward)), ..self }
    }

    /// Translates the port of a packet, if there is a NAT; returns false if the NAT drops the packet.
    pub(crate) fn translate(&self, now: SimTime, packet: &mut [u8], is_partial: bool) -> bool {
        match &self.translator {
            None => true,
            Some((translator, false)) => translator.inward(now, packet, is_partial),
            Some((translator, true)) => {
                translator.outward(now, packet, is_partial);
                true
            }
        }
    }

    /// Hands a packet to the receiving host without counting it as arrived.
    pub(crate) fn deliver(&self, packet: &[u8]) {
        // A host that is going down refuses packets; of these none is missed.
        let _ = self.to.write(&VirtioHeader::default(), [&[], packet]);
    }

    /// Copies the counts to the meter.
    pub(crate) fn show(&self) {
        self.meter.write(&self.passed);
    }

    /// Restarts the measurement of transit times, at the end of the warm-up.
    pub(crate) fn begin_delays(&mut self) {
        (self.transit, self.transit_sum_s) = Default::default();
    }

    /// Hands the packets of `run` to the receiving host and removes them from the store. A packet counts as late if its
    /// lateness exceeds `late`.
    pub(crate) fn hand_over(
        &mut self,
        run: &mut Run,
        store: &mut Store,
        recorder: &mut Recorder,
        clock: impl Fn() -> SimTime,
        late: SimTime,
    ) {
        let Some(Place { read, segment }) = run.first.take() else { return };
        let segments = segment..segment + run.packets.len() as u32;
        let is_marked = run.packets[0].1.is_ce();
        // Read the clock before writing: the kernel then processes the packet at once, and may wake and run its reader.
        let now = clock();
        let (packet, cut) = store.read(read);
        if segments.len() as u32 == cut.count() {
            let virtio = *cut.virtio();
            let packet = store.bytes_mut(read);
            if is_marked {
                header::mark_ce(packet);
            }
            self.undeliverable += self.write(&virtio, [&[], packet], segments.len());
        } else {
            let (virtio, payload) = cut.join(packet, segments.clone(), &mut run.headers);
            if is_marked {
                header::mark_ce(&mut run.headers);
            }
            self.undeliverable += self.write(&virtio, [&run.headers, &packet[payload]], segments.len());
        }
        for ((at, parcel, entered), segment) in run.packets.drain(..).zip(segments) {
            self.passed.arrived += 1;
            self.passed.arrived_bytes += u64::from(parcel.bytes());
            let mut wire = if recorder.captures() {
                let (packet, cut) = store.read(read);
                cut.on_wire(packet, segment)
            } else {
                Vec::new()
            };
            if is_marked {
                header::mark_ce(&mut wire);
            }
            recorder.departure(at, now, self.ports[1], Departure::Arrived(parcel), &wire);
            store.remove(parcel.id());
            let transit = now - entered;
            self.transit.record(transit);
            self.transit_sum_s += transit.as_secs_f64();
            let lateness = now.saturating_sub(at);
            self.lateness.record(lateness);
            self.late += u64::from(lateness > late);
        }
    }

    /// Writes `packets` packets to the receiving host's device; returns the number that it refused: all or none.
    fn write(&self, virtio: &VirtioHeader, parts: [&[u8]; 2], packets: usize) -> u64 {
        if self.to.write(virtio, parts).is_err() { packets as u64 } else { 0 }
    }

    /// Report of this direction after `duration`; `left` packets are still in the medium, whose statistics are
    /// `report`.
    pub(crate) fn report(self, [duration, cpu]: [SimTime; 2], left: u64, report: &LinkReport) -> PumpReport {
        PumpReport {
            duration,
            cpu,
            packets: self.passed.packets,
            refused: self.refused,
            left,
            lost: self.passed.lost,
            dropped: self.passed.dropped - self.refused,
            arrived_bytes: self.passed.arrived_bytes,
            undeliverable: self.undeliverable,
            ring_drops: 0,
            link: report.statistics.clone(),
            arq: report.frames.clone(),
            lateness: self.lateness,
            late: self.late,
            transit: self.transit,
            transit_sum_s: self.transit_sum_s,
        }
    }
}
