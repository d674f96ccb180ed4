//! PPDUs of several stations (multi-user, MU): downlink OFDMA, and uplink OFDMA solicited by a trigger frame (IEEE
//! 802.11ax-2021 clauses 26.5.1, 26.5.2 and 27.3.4).
//!
//! ```text
//!  downlink   HE MU PPDU, SIFS, MU-BAR, SIFS, block acknowledgements in an HE TB PPDU
//!             HE MU PPDU with a trigger for each station, SIFS, the same
//!  uplink     basic trigger, SIFS, HE TB PPDU, SIFS, one block acknowledgement for all
//! ```
//!
//! All parts of a PPDU have one preamble and are padded to the longest of them.

use super::ampdu::{Ampdu, AmpduLimits, LONGEST_PPDU, subframe_bytes};
use super::config::{RateConfig, StationConfig, WlanConfig, mpdu_overhead};
use super::edca::{ANSWER_BYTES, BlockAckFrame, SLOT};
use super::modes::{Durations, Mode, Standard, sig_bits_per_symbol};
use super::ofdma::{BAR_USER, BASIC_USER, MuAck, OfdmaConfig, RTS_USER, trigger_bytes};
use super::ru::{Layout, RuPlace};
use crossfade_core::SimTime;

/// Maximum number of bytes of a PSDU at an 802.11a rate, by the length field of its header (IEEE 802.11-2020 table
/// 17-1).
const LONGEST_OF_OFDM: u32 = 4095;

/// Mode of a station in its resource unit (RU).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RuMode {
    /// Mode, with the width of the whole PPDU.
    pub mode: Mode,
    /// RU of the station, and its position in the band.
    pub place: RuPlace,
}

impl RuMode {
    fn bits_per_symbol(self) -> (u64, u64) {
        self.mode.bits_per_symbol_of(self.place.ru.subcarriers())
    }

    /// Number of symbols of a PSDU of `bytes`, with 16 service and 6 tail bits.
    pub fn symbols(self, bytes: u32) -> u64 {
        let (per_symbol, of) = self.bits_per_symbol();
        ((16 + 8 * u64::from(bytes) + 6) * of).div_ceil(per_symbol)
    }

    /// Maximum number of bytes of a PSDU of `symbols` symbols.
    pub fn bytes_within(self, symbols: u64) -> u64 {
        let (per_symbol, of) = self.bits_per_symbol();
        (symbols * per_symbol / of).saturating_sub(22) / 8
    }

    /// Bit rate in bit/s in a PPDU with the symbol interval of `ppdu`.
    pub fn rate_bps(self, ppdu: &MuPpdu) -> f64 {
        let (bits, of) = self.bits_per_symbol();
        bits as f64 / of as f64 / ppdu.symbol_ns as f64 * 1e9
    }

    /// Mode of the station's acknowledgement in this RU: MCS 0, 1 or 3 with one stream, by the modulation of the data,
    /// like control frames outside RUs.
    #[must_use]
    pub(super) fn response(self) -> Self {
        Self { mode: self.mode.response(), ..self }
    }
}

/// Parameters common to all parts of a multi-user PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MuPpdu {
    /// Duration of preamble and signalling fields.
    pub preamble: SimTime,
    /// Symbol interval in nanoseconds, guard interval included.
    pub symbol_ns: u64,
    /// Signal extension after the PPDU, at 2.4 GHz.
    extension: SimTime,
}

impl MuPpdu {
    /// Downlink PPDU to several stations: the preamble of one user and HE-SIG-B, or the part of EHT-SIG that ns-3
    /// counts instead.
    pub fn downlink(layout: &Layout, modes: &[RuMode]) -> Self {
        let mcs = modes.iter().map(|one| one.mode.mcs()).min().unwrap_or(0);
        let width = modes.first().map_or(20, |one| one.mode.width_mhz());
        let signalled = SimTime::from_micros(4 * sig_b_symbols(width, layout.user_fields(), mcs));
        Self::new(modes, SimTime::from_micros(36) + signalled, 800)
    }

    /// Triggered uplink PPDU from several stations: a short training field of 8 us, no HE-SIG-B, and a guard interval
    /// of at least 1.6 us (table 27-13).
    pub(super) fn triggered(modes: &[RuMode]) -> Self {
        Self::new(modes, SimTime::from_micros(40), 1600)
    }

    fn new(modes: &[RuMode], before_training: SimTime, shortest_guard_ns: u64) -> Self {
        let streams = modes.iter().map(|one| u64::from(one.mode.streams())).max().unwrap_or(1);
        let training = if streams <= 2 { streams } else { streams.next_multiple_of(2) };
        let first = modes.first().map(|one| one.mode);
        let guard_ns = first.map_or(800, |mode| u64::from(mode.guard_interval_ns())).max(shortest_guard_ns);
        Self {
            preamble: before_training + SimTime::from_micros(8 * training),
            symbol_ns: 12_800 + guard_ns,
            extension: first.map_or(SimTime::ZERO, |mode| mode.band().extension()),
        }
    }

    /// Duration of the PPDU with `symbols` symbols.
    pub fn lasts(&self, symbols: u64) -> SimTime {
        self.preamble + SimTime::from_nanos(symbols * self.symbol_ns) + self.extension
    }

    /// Maximum number of symbols of a PPDU that lasts at most `time`.
    pub fn symbols_within(&self, time: SimTime) -> u64 {
        time.saturating_sub(self.preamble + self.extension).as_nanos() / self.symbol_ns
    }
}

/// Number of symbols of HE-SIG-B with these user fields in its two content channels (clause 27.3.11.8): allocation
/// fields of 8 bits, one more bit from 80 MHz on, and user fields of 21 bits, two per block; each part has 10 bits of
/// CRC and tail. Its MCS is the lowest of the data, at most 5.
fn sig_b_symbols(width_mhz: u16, fields: [u64; 2], lowest_mcs: u8) -> u64 {
    let width = u64::from(width_mhz);
    let common = 10 + if width <= 40 { 8 } else { 8 * (width / 40) + 1 };
    let users = |fields: u64| 52 * (fields / 2) + 31 * (fields % 2);
    (common + users(fields[0].max(fields[1]))).div_ceil(sig_bits_per_symbol(lowest_mcs))
}

/// Direction of the data of a multi-user exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MuWay {
    /// Downlink, to the stations.
    Down,
    /// Uplink, from the stations.
    Up,
}

/// Durations and modes of an exchange with several stations, independent of the data.
#[derive(Clone, Debug, PartialEq)]
pub struct MuExchange {
    /// Mode and RU of each station.
    pub modes: Vec<RuMode>,
    /// Parameters of the PPDU of the data.
    pub ppdu: MuPpdu,
    /// Duration of the trigger frame or MU-RTS before the data; `None` without one.
    pub(super) first: Option<SimTime>,
    /// Time from the start of the exchange to that of the data.
    pub before: SimTime,
    /// Duration of the MU-BAR after the data; `None` without one.
    pub(super) asked: Option<SimTime>,
    /// Time from the end of the data to the start of the answer.
    pub(super) answer_at: SimTime,
    /// Time from the end of the data to the end of the answer.
    pub after: SimTime,
    /// Bytes of each PSDU that are not data: a trigger frame in the aggregate.
    pub(super) extra: u32,
    /// Bytes of the block acknowledgement for all stations; 0 if each has its own.
    common_answer: u32,
    /// Mode of control frames, which all stations can decode.
    pub(super) control: Mode,
    /// Mode of each station's acknowledgement, in its RU.
    pub(super) responses: Vec<RuMode>,
}

impl MuExchange {
    /// Exchange with stations in these modes, the one with the largest RU first; `answer_bytes` has the length of each
    /// one's block acknowledgement.
    pub fn new(ofdma: &OfdmaConfig, way: MuWay, modes: &[Mode], answer_bytes: &[u32], rts: bool) -> Self {
        let width = modes.first().map_or(20, |mode| mode.width_mhz());
        let layout = ofdma.layout(width, modes.len());
        let modes: Vec<RuMode> =
            modes.iter().zip(layout.rus()).map(|(&mode, &place)| RuMode { mode, place }).collect();
        let (standard, sifs) = (modes[0].mode.standard(), modes[0].mode.band().sifs());
        let slowest = |a: &Mode, b: &Mode| a.rate_bps().total_cmp(&b.rate_bps());
        let control = modes.iter().map(|one| one.mode.control()).min_by(slowest);
        let control = control.unwrap_or_else(|| modes[0].mode.slowest_control());
        let of = |bytes: u32| control.ppdu(bytes, Durations::Standard);
        let trigger = |each: u32| of(trigger_bytes(standard, modes.len(), each));
        let responses: Vec<RuMode> = modes.iter().map(|one| one.response()).collect();
        match way {
            MuWay::Down => {
                let ppdu = MuPpdu::downlink(&layout, &modes);
                let first = rts.then(|| trigger(RTS_USER));
                let answers = MuPpdu::triggered(&responses);
                let symbols = responses.iter().zip(answer_bytes);
                let symbols = symbols.map(|(one, &bytes)| one.symbols(subframe_bytes(bytes))).max();
                let asked = (ofdma.ack == MuAck::MuBar).then(|| trigger(BAR_USER));
                let answer_at = asked.map_or(SimTime::ZERO, |bar| sifs + bar) + sifs;
                let extra = match ofdma.ack {
                    MuAck::MuBar => 0,
                    MuAck::Aggregated => subframe_bytes(trigger_bytes(standard, 1, BAR_USER)),
                };
                Self {
                    ppdu,
                    before: first.map_or(SimTime::ZERO, |rts| rts + of(ANSWER_BYTES) + sifs * 2),
                    first,
                    asked,
                    answer_at,
                    after: answer_at + answers.lasts(symbols.unwrap_or(0)),
                    extra,
                    common_answer: 0,
                    control,
                    responses,
                    modes,
                }
            }
            MuWay::Up => {
                let trigger = trigger(BASIC_USER);
                // Addresses, control field and FCS, and for each station its identifier, starting sequence control and
                // bitmap.
                let answer: u32 = 22 + answer_bytes.iter().map(|bytes| 4 + bytes - 24).sum::<u32>();
                Self {
                    ppdu: MuPpdu::triggered(&modes),
                    first: Some(trigger),
                    before: trigger + sifs,
                    asked: None,
                    answer_at: sifs,
                    after: sifs + of(answer),
                    extra: 0,
                    common_answer: answer,
                    control,
                    responses,
                    modes,
                }
            }
        }
    }

    /// True if the answer is within the limits of the standard: a PPDU of 5.484 ms, and 4095 bytes of a frame at an
    /// 802.11a rate.
    pub(super) fn is_answerable(&self) -> bool {
        self.after - self.answer_at <= LONGEST_PPDU && self.common_answer <= LONGEST_OF_OFDM
    }

    /// True if a PPDU with this number of symbols is not longer than the standard allows.
    pub(super) fn is_within_longest(&self, symbols: u64) -> bool {
        symbols <= self.ppdu.symbols_within(LONGEST_PPDU)
    }

    /// Empty aggregate of a station in a PPDU of at most `symbols` symbols. Its first MPDU may need more, up to the
    /// longest PPDU of the standard.
    pub(super) fn ampdu(&self, station: usize, limits: &AmpduLimits, symbols: u64) -> Ampdu {
        let one = self.modes[station];
        let most = u64::from(limits.bytes).min(one.bytes_within(symbols));
        let longest =
            one.bytes_within(self.ppdu.symbols_within(LONGEST_PPDU)).min(u64::from(u32::MAX)) as u32;
        let of_data = most.saturating_sub(u64::from(self.extra));
        Ampdu::of_bytes(one.mode, of_data, longest.saturating_sub(self.extra), limits.window)
    }

    /// Number of symbols of a station's PSDU with `bytes` of data.
    pub(super) fn symbols(&self, station: usize, bytes: u32) -> u64 {
        self.modes[station].symbols(bytes + self.extra)
    }
}

/// Packets per aggregate and throughput in bit/s of each of several equal stations that share every PPDU of an access
/// point without other contenders, with an endless backlog of packets of `bytes` and no losses. `None` if their RUs
/// differ in size, if they cannot take part, or if a packet or the answer is too long for one PPDU.
///
/// Each exchange follows the last one after AIFS and half of the first contention window.
pub fn saturated_in_one_ppdu(
    config: &WlanConfig,
    ofdma: &OfdmaConfig,
    way: MuWay,
    stations: &[&StationConfig],
    bytes: u32,
) -> Option<(u32, f64)> {
    let (station, category) = (*stations.first()?, *config.categories.first()?);
    let RateConfig::Constant(place) = station.rate else { return None };
    let mode = station.modes[place];
    let limits = &station.limits;
    let most = OfdmaConfig::most_users(ofdma.ru, mode.width_mhz());
    if mode.standard() < Standard::Ax || limits.window == 1 || stations.len() > most {
        return None;
    }
    let answer = BlockAckFrame::of_window(limits.window).bytes;
    let count = stations.len();
    let exchange = MuExchange::new(ofdma, way, &vec![mode; count], &vec![answer; count], config.rts);
    if exchange.modes.iter().any(|one| one.place.ru != exchange.modes[0].place.ru) {
        return None;
    }
    let mut ampdu = exchange.ampdu(0, limits, exchange.ppdu.symbols_within(limits.duration));
    while ampdu.push(bytes + mpdu_overhead(mode.standard())) {}
    if ampdu.mpdus() == 0 || !exchange.is_answerable() {
        return None;
    }
    let data = exchange.ppdu.lasts(exchange.symbols(0, ampdu.bytes()));
    let wait =
        category.aifs(mode.band()).as_secs_f64() + SLOT.as_secs_f64() * f64::from(category.windows[0]) / 2.0;
    let cycle = wait + (exchange.before + data + exchange.after).as_secs_f64();
    Some((ampdu.mpdus(), f64::from(ampdu.mpdus() * bytes) * 8.0 / cycle))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wlan::network_tests::he;
    use crate::wlan::ru::Ru;
    use crate::wlan::shared_tests::OFDMA;
    use crate::wlan::{Band, BlockAckFrame};

    fn exchange(way: MuWay, mcs: u8, width: u16, stations: usize, window: u32) -> MuExchange {
        let bytes = BlockAckFrame::of_window(window).bytes;
        MuExchange::new(&OFDMA, way, &vec![he(mcs, width); stations], &vec![bytes; stations], false)
    }

    fn ns(time: SimTime) -> u64 {
        time.as_nanos()
    }

    /// Data bits per symbol, `N_SD` x bits x R, computed by hand: MCS 0 of 26 tones 24 / 2, MCS 7 of 52 tones 48 x 6 x
    /// 5 / 6, MCS 11 of 106 tones 102 x 10 x 5 / 6, MCS 5 of 242 tones 234 x 6 x 2 / 3, MCS 9 of 484 tones 468 x 8 x 5
    /// / 6, and MCS 4 of 996 tones 980 x 4 x 3 / 4.
    #[test]
    fn symbols_are_those_of_the_data_subcarriers() {
        let check = |ru: Ru, mcs, width, bits: u64| {
            let place = Layout::equal(width, ru, 1).rus()[0];
            let one = RuMode { mode: he(mcs, width), place };
            // The most bytes of n symbols are (n bits - 22) / 8, and one more takes a symbol more.
            for symbols in [3, 100] {
                let most = one.bytes_within(symbols);
                assert_eq!(most, (symbols * bits - 22) / 8, "{ru:?}, MCS {mcs}");
                assert_eq!(one.symbols(most as u32), symbols);
                assert_eq!(one.symbols(most as u32 + 1), symbols + 1);
            }
        };
        check(Ru::Tones26, 0, 20, 12);
        check(Ru::Tones52, 7, 20, 240);
        check(Ru::Tones106, 11, 80, 850);
        check(Ru::Tones242, 5, 40, 936);
        check(Ru::Tones484, 9, 80, 3120);
        check(Ru::Tones996, 4, 160, 2940);
    }

    /// HE-SIG-B has the number of symbols that ns-3's test expects for these user fields: 1 for 2 at 20 MHz and MCS 5,
    /// ...
    #[test]
    fn the_signalling_of_users_is_what_ns3_expects() {
        assert_eq!(sig_b_symbols(20, [2, 0], 10), 1);
        assert_eq!(sig_b_symbols(40, [2, 4], 4), 1);
        assert_eq!(sig_b_symbols(40, [2, 5], 3), 2);
        assert_eq!(sig_b_symbols(80, [3, 6], 1), 4);
        assert_eq!(sig_b_symbols(160, [4, 7], 1), 5);
    }

    /// Durations of multi-user PPDUs. Two stations with 20 of 40 MHz, MCS 0, 1536 bytes: 1493.6 us in ns-3's test.
    /// Eight with 106 tones of 80 MHz at MCS 11, 1544 bytes, by hand: 20 + 4 + 8 us, one symbol of HE-SIG-B (27 + 104
    /// bits of 208), 4 and 8 us of training, and 12374 / 850 symbols, 15 of 13.6 us. In the uplink 4 us less of
    /// HE-SIG-B, 4 us more of training, and symbols of 14.4 us.
    #[test]
    fn ppdus_of_several_stations_last_as_by_hand() {
        let two = exchange(MuWay::Down, 0, 40, 2, 64);
        assert_eq!(ns(two.ppdu.lasts(two.symbols(0, 1536))), 1_493_600);
        let eight = exchange(MuWay::Down, 11, 80, 8, 64);
        assert_eq!((eight.symbols(7, 1544), ns(eight.ppdu.preamble)), (15, 48_000));
        assert_eq!(ns(eight.ppdu.lasts(15)), 48_000 + 15 * 13_600);
        let up = exchange(MuWay::Up, 11, 80, 8, 64);
        assert_eq!(ns(up.ppdu.lasts(up.symbols(7, 1544))), 48_000 + 15 * 14_400);
        assert_eq!(up.ppdu.symbols_within(up.ppdu.lasts(15)), 15);
        assert_eq!(up.ppdu.symbols_within(up.ppdu.lasts(15) - SimTime::from_nanos(1)), 14);
        // At 2.4 GHz 6 us of signal extension follow; two streams need a second training field of 8 us.
        let mode = Mode::new(Standard::Ax, Band::Ghz2, 0, 2, 20, 3200).unwrap();
        let wide = MuExchange::new(&OFDMA, MuWay::Up, &[mode; 2], &[32; 2], false);
        assert_eq!(ns(wide.ppdu.lasts(1)), 40_000 + 16_000 + 16_000 + 6_000);
    }

    /// Durations of control frames of B bytes at 24 Mbit/s, 20 + 4 ceil((22 + 8 B) / 96) us, for eight stations by
    /// hand: a basic trigger of 28 + 8 x 6 bytes, 48 us, a MU-BAR of 28 + 8 x 9, 56 us, a MU-RTS of 28 + 8 x 5, 44 us,
    /// and a block acknowledgement for all of 22 + 8 x 12 bytes, 64 us, or with bitmaps of 256 22 + 8 x 36, 128 us. A
    /// block acknowledgement of 56 bytes and a delimiter in 106 tones at MCS 3, 102 x 4 / 2 bits per symbol, has 3
    /// symbols.
    #[test]
    fn frames_around_the_data_last_as_by_hand() {
        let down = exchange(MuWay::Down, 11, 80, 8, 256);
        assert_eq!((ns(down.before), ns(down.asked.unwrap())), (0, 56_000));
        assert_eq!(ns(down.after), 16_000 + 56_000 + 16_000 + 48_000 + 3 * 14_400);
        let of =
            |ofdma: &OfdmaConfig, rts| MuExchange::new(ofdma, MuWay::Down, &[he(11, 80); 8], &[56; 8], rts);
        let within = of(&OfdmaConfig { ack: MuAck::Aggregated, ..OFDMA }, false);
        // 28 + 9 bytes and a delimiter, padded to 44.
        assert_eq!((ns(within.after), within.extra), (16_000 + 48_000 + 3 * 14_400, 44));
        assert_eq!(within.symbols(0, 1500), down.symbols(0, 1544));
        assert_eq!(ns(of(&OFDMA, true).before), 44_000 + 16_000 + 28_000 + 16_000);
        for (window, answer) in [(64, 64_000), (256, 128_000)] {
            let up = exchange(MuWay::Up, 11, 80, 8, window);
            assert_eq!((ns(up.before), ns(up.after)), (48_000 + 16_000, 16_000 + answer));
        }
        // The slowest station decides the mode of common frames; a trigger of EHT has one user field more.
        let mixed = MuExchange::new(&OFDMA, MuWay::Up, &[he(11, 80), he(0, 80)], &[32; 2], false);
        assert_eq!(ns(mixed.before), 16_000 + 20_000 + 4_000 * (22 + 8 * 40_u64).div_ceil(24));
        assert_eq!(trigger_bytes(Standard::Be, 8, BASIC_USER), 28 + 5 + 48);
    }

    #[test]
    fn what_a_channel_does_not_have_is_refused() {
        let said =
            |ofdma: OfdmaConfig, standard, width| ofdma.check(standard, width).unwrap_err().to_string();
        assert_eq!(OFDMA.check(Standard::Ax, 40), Ok(()));
        assert_eq!(said(OFDMA, Standard::Ac, 80), "standard = \"ac\": must be ax or be with ofdma");
        assert_eq!(
            said(OFDMA, Standard::Ax, 20),
            "users = 16: must be between 1 and 9: 20 MHz have 9 RUs of 26 tones"
        );
        let ru = |ru| OfdmaConfig { ru: Some(ru), ..OFDMA };
        assert_eq!(
            said(ru(Ru::Tones484), Standard::Ax, 20),
            "ru = 484: must be one of 26, 52, 106, 242, the RUs of 20 MHz"
        );
        assert_eq!(
            said(ru(Ru::Tones106), Standard::Ax, 80),
            "users = 16: must be between 1 and 8: 80 MHz have 8 RUs of 106 tones"
        );
    }
}
