//! Exchange of a full aggregate, and closed forms for stations that always have one to send.

use super::airtime::Sharing;
use super::ampdu::Ampdu;
use super::config::{StationConfig, WlanConfig, mpdu_overhead};
use super::edca::{ANSWER_BYTES, BlockAckFrame, Category, RTS_BYTES, SLOT};
use super::emlsr::EmlsrConfig;
use super::modes::{Durations, Mode};
use super::saturation::Saturated;
use crossfade_core::SimTime;

/// Exchange of a full aggregate: optional RTS and CTS, the aggregate, and its acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchange {
    /// Number of packets in the aggregate.
    pub packets: u32,
    /// Bytes of each packet.
    pub bytes: u32,
    /// Duration of the aggregate.
    pub data: SimTime,
    /// Duration of RTS, CTS and their interframe spaces; zero without RTS.
    before: SimTime,
    /// Duration of SIFS and the acknowledgement.
    after: SimTime,
    /// Time that other stations wait after a collision in addition to AIFS.
    extended: SimTime,
    rts: SimTime,
    mode: Mode,
    category: Category,
}

impl Exchange {
    /// Exchange with `station` in `mode` of as many packets of `bytes` as an aggregate holds.
    pub fn of(station: &StationConfig, mode: Mode, category: Category, rts: bool, bytes: u32) -> Self {
        let (band, control) = (mode.band(), mode.control());
        let overhead = mpdu_overhead(mode.standard());
        let mut ampdu = Ampdu::new(mode, &station.limits, None);
        while ampdu.push(bytes + overhead) {}
        let answer_bytes = match station.limits.window {
            1 => ANSWER_BYTES,
            window => BlockAckFrame::of_window(window).bytes,
        };
        let ppdu = |bytes| control.ppdu(bytes, Durations::Standard);
        let before = ppdu(RTS_BYTES) + ppdu(ANSWER_BYTES) + band.sifs() * 2;
        Self {
            packets: ampdu.mpdus(),
            bytes,
            data: ampdu.duration(),
            before: if rts { before } else { SimTime::ZERO },
            after: band.sifs() + ppdu(answer_bytes),
            extended: band.sifs() + mode.slowest_control().ppdu(ANSWER_BYTES, Durations::Standard),
            rts: ppdu(RTS_BYTES),
            mode,
            category,
        }
    }

    /// Bits of all packets of the aggregate.
    pub fn bits(&self) -> f64 {
        f64::from(self.packets) * f64::from(self.bytes) * 8.0
    }

    /// Time from the first frame of the exchange to the end of its answer.
    pub fn airtime(&self) -> SimTime {
        self.before + self.data + self.after
    }

    /// Mean wait in seconds before the exchange on an otherwise idle channel: AIFS and half of the first contention
    /// window.
    fn wait_s(&self) -> f64 {
        let backoff = SLOT * u64::from(self.category.windows[0]);
        self.category.aifs(self.mode.band()).as_secs_f64() + backoff.as_secs_f64() / 2.0
    }

    /// Throughput in bit/s of whole packets of one station alone with an endless backlog.
    pub fn alone_bps(&self) -> f64 {
        self.bits() / (self.airtime().as_secs_f64() + self.wait_s())
    }

    /// Throughput in bit/s of whole packets if one station of a network alone has an endless backlog, with EMLSR if the
    /// station has it.
    pub fn alone_in_bps(&self, config: &WlanConfig, station: usize) -> f64 {
        let single = config.emlsr.get(station).copied().flatten();
        single.map_or_else(|| self.alone_bps(), |emlsr| self.by_single_radio_bps(emlsr))
    }

    /// Throughput in bit/s of whole packets to an EMLSR station alone, on equal links. The contention of the access
    /// point ends during the transition delay, so it begins at the first slot boundary of any link at which the station
    /// listens, on average half a slot later.
    pub fn by_single_radio_bps(&self, emlsr: EmlsrConfig) -> f64 {
        let band = self.mode.band();
        let [initial, cts] = emlsr.initial(self.mode);
        let cycle = initial + cts + band.sifs() * 2 + self.airtime() + emlsr.silence(band);
        self.bits() / (cycle.as_secs_f64() + SLOT.as_secs_f64() / 2.0)
    }

    /// Parameters of Bianchi's model for `stations` stations with such exchanges.
    pub fn saturated(&self, stations: usize) -> Saturated {
        let aifs = self.category.aifs(self.mode.band());
        let lost = if self.before > SimTime::ZERO { self.rts } else { self.data };
        Saturated {
            stations,
            windows: self.category.windows,
            slot_s: SLOT.as_secs_f64(),
            success_s: (self.airtime() + aifs).as_secs_f64(),
            collision_s: (lost + self.extended + aifs).as_secs_f64(),
            packets: self.packets,
            bits: self.bits(),
        }
    }
}

/// Throughput in bit/s of each station that one sender serves, with equal turns or equal airtime: as T.
/// Høiland-Jørgensen et al., USENIX ATC 2017, equations 1 to 5, except that every exchange has its own wait before it,
/// and that acknowledgements count as airtime.
pub fn rates_in_turns(exchanges: &[Exchange], sharing: Sharing) -> Vec<f64> {
    let turns = |one: &Exchange| match sharing {
        Sharing::Turns => 1.0,
        Sharing::Airtime => 1.0 / one.airtime().as_secs_f64(),
    };
    let round: f64 =
        exchanges.iter().map(|one| turns(one) * (one.airtime().as_secs_f64() + one.wait_s())).sum();
    exchanges.iter().map(|one| turns(one) * one.bits() / round).collect()
}

/// Block acknowledgement window in MPDUs which links with such exchanges, one per link, never exhaust: while the MPDUs
/// of one link are in flight, each other link begins as many aggregates as its exchanges allow.
pub fn window_of_links(exchanges: &[Exchange]) -> u32 {
    let needs = |(slowest, of): (usize, &Exchange)| {
        let others = exchanges.iter().enumerate().filter(|(link, _)| *link != slowest);
        let begun = |(_, other): (usize, &Exchange)| {
            let from_one_to_the_next = other.airtime() + other.category.aifs(other.mode.band());
            other.packets * of.airtime().as_nanos().div_ceil(from_one_to_the_next.as_nanos()) as u32
        };
        of.packets + others.map(begun).sum::<u32>()
    };
    exchanges.iter().enumerate().map(needs).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::AmpduLimits;
    use super::super::config::{RateConfig, ReceptionConfig};
    use super::super::edca::{BEST_EFFORT, EDCA};
    use super::super::modes::{Band, Standard};
    use super::super::saturation::Form;
    use super::*;

    fn exchange(mcs: u8, window: u32, rts: bool) -> Exchange {
        let mode = Mode::new(Standard::Ax, Band::Ghz5, mcs, 1, 80, 800).unwrap();
        let station = StationConfig {
            modes: vec![mode],
            limits: AmpduLimits { window, ..AmpduLimits::of(Standard::Ax) },
            rate: RateConfig::Constant(0),
            reception: ReceptionConfig::ErrorRate(0.0),
        };
        Exchange::of(&station, mode, EDCA[BEST_EFFORT], rts, 1500)
    }

    /// For one station, the closed form, Bianchi's model and the airtime share agree.
    #[test]
    fn one_station_is_the_same_by_all_three() {
        for (mcs, window, mbps) in [(11, 64, 495.3), (4, 64, 195.2), (11, 256, 549.4)] {
            let one = exchange(mcs, window, false);
            let of_payload = one.alone_bps() * 1472.0 / 1500.0 / 1e6;
            assert!((of_payload - mbps).abs() < 0.051, "{of_payload} for {mbps}");
            let bianchi = one.saturated(1).throughput(Form::Plain).unwrap().throughput_bps;
            assert!((bianchi / one.alone_bps() - 1.0).abs() < 1e-9);
            let share = rates_in_turns(&[one], Sharing::Airtime)[0];
            assert!((share / one.alone_bps() - 1.0).abs() < 1e-12);
        }
        let with_rts = exchange(11, 64, true).alone_bps() * 1472.0 / 1500.0 / 1e6;
        assert!((with_rts - 468.2).abs() < 0.051, "{with_rts}");
    }

    /// With equal turns all stations have equal throughput; with airtime fairness, each has its throughput alone
    /// divided by their number.
    #[test]
    fn airtime_gives_each_its_part() {
        let all = [exchange(11, 16, false), exchange(0, 16, false)];
        let turns = rates_in_turns(&all, Sharing::Turns);
        assert!((turns[0] / turns[1] - f64::from(all[0].packets) / f64::from(all[1].packets)).abs() < 1e-9);
        let fair = rates_in_turns(&all, Sharing::Airtime);
        for (rate, one) in fair.iter().zip(&all) {
            assert!((rate / one.alone_bps() * 2.0 - 1.0).abs() < 0.2, "{rate}");
        }
    }
}
