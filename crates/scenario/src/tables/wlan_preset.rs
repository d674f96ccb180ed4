//! Presets of Wi-Fi networks: defaults of several keys of `wlan` together, each with its source.

use super::base::take;
use super::queue::Discipline;
use super::wlan::Wlan;
use super::wlan_air::WlanQueues;
use super::wlan_words::{WlanAsks, WlanBand, WlanPreset, WlanRate, WlanStandard};
use crate::quantity::{Bytes, Frequency, Limit, Room, Size, Span};
use crossfade_core::SimTime;
use crossfade_link::QueueLimit;

impl Wlan {
    /// Fills in the values of the preset for keys that the scenario does not give.
    pub(super) fn apply_preset(&mut self) {
        let Some(preset) = self.preset else { return };
        let fill = preset.keys();
        take(&mut self.standard, fill.standard);
        take(&mut self.band, fill.band);
        take(&mut self.width, fill.width);
        take(&mut self.streams, fill.streams);
        take(&mut self.guard_interval, fill.guard_interval);
        // Rate control other than a constant MCS chooses the MCS itself.
        if self.rate.is_none_or(|rate| rate == WlanRate::Constant) {
            take(&mut self.mcs, fill.mcs);
        }
        take(&mut self.ampdu.window, fill.ampdu.window);
        take(&mut self.ampdu.bytes, fill.ampdu.bytes);
        take(&mut self.ampdu.duration, fill.ampdu.duration);
        take(&mut self.transmissions, fill.transmissions);
        take(&mut self.after_missed_ack, fill.after_missed_ack);
        take(&mut self.reorder_timeout, fill.reorder_timeout);
        // The preset's other keys of queues apply only with its discipline and its queues of the access point.
        take(&mut self.queue.discipline, fill.queue.discipline);
        if self.queue.discipline == fill.queue.discipline {
            take(&mut self.queue.limit, fill.queue.limit);
            take(&mut self.queue.target, fill.queue.target);
            take(&mut self.queue.interval, fill.queue.interval);
            take(&mut self.queue.quantum, fill.queue.quantum);
        }
        take(&mut self.access_point.queues, fill.access_point.queues);
        if self.access_point.queues == fill.access_point.queues {
            take(&mut self.access_point.limit, fill.access_point.limit);
            take(&mut self.access_point.airtime_fairness, fill.access_point.airtime_fairness);
            take(&mut self.access_point.aql, fill.access_point.aql);
            take(&mut self.access_point.aql_low, fill.access_point.aql_low);
            take(&mut self.access_point.aql_high, fill.access_point.aql_high);
            take(&mut self.access_point.aql_threshold, fill.access_point.aql_threshold);
        }
    }
}

impl WlanPreset {
    /// Keys of the network with the values of the preset.
    fn keys(self) -> Wlan {
        match self {
            // Widths are OpenWrt's defaults, 20 MHz at 2.4 GHz and 80 MHz elsewhere (wifi-scripts,
            // lib/wifi/mac80211.uc); 160 MHz, two streams and guard intervals are what Intel's driver for Linux announces
            // (iwlwifi, iwl-nvm-parse.c).
            Self::Wifi4 => modes(WlanStandard::N, WlanBand::Ghz2, 20, 2, 400),
            Self::Wifi5 => modes(WlanStandard::Ac, WlanBand::Ghz5, 80, 2, 400),
            Self::Wifi6 => modes(WlanStandard::Ax, WlanBand::Ghz5, 80, 2, 800),
            Self::Wifi7 => modes(WlanStandard::Be, WlanBand::Ghz6, 160, 2, 800),
            Self::Linux => linux(),
            Self::OldBox => one_fifo(Wlan::default(), 1000),
            Self::Atc2017 => {
                // Table 1: 144.4 Mbit/s, which are two streams at 20 MHz with the short guard interval. ath9k's xmit.c
                // ends aggregates at 4 ms. The band is the default.
                let mut fill = modes(WlanStandard::N, WlanBand::Ghz5, 20, 2, 400);
                fill.ampdu.duration = Some(Span::millis(4));
                fill
            }
            Self::Ns3 => ns_3(),
            Self::Rfc8869 => {
                // Cisco's ns3-rmcat: rmcat-wifi-test-case.cc (80211n_5GHZ, HtMcs11, two streams of MCS 3), wifi-topo.cc
                // (20 MHz, long guard interval; packets leave after 300 ms, which are 500 at 20 Mbit/s). The RFC's
                // section 4 says that applications get about 20 of 52 Mbit/s: nothing is aggregated.
                let mut fill = modes(WlanStandard::N, WlanBand::Ghz5, 20, 2, 800);
                fill.mcs = Some(3);
                fill.ampdu.window = Some(1);
                one_fifo(fill, 500)
            }
        }
    }
}

/// Keys that select modes: amendment, band, width in MHz, streams, guard interval in ns.
fn modes(standard: WlanStandard, band: WlanBand, mhz: u32, streams: u32, guard_ns: u64) -> Wlan {
    Wlan {
        standard: Some(standard),
        band: Some(band),
        width: Some(Frequency(f64::from(mhz) * 1e6)),
        streams: Some(streams),
        guard_interval: Some(Span::exactly(SimTime::from_nanos(guard_ns))),
        ..Wlan::default()
    }
}

/// Adds one FIFO of `packets` packets at the access point and at each station to these keys.
///
/// Linux's `DEFAULT_TX_QUEUE_LEN` is 1000 packets (include/net/pkt_sched.h).
fn one_fifo(mut fill: Wlan, packets: usize) -> Wlan {
    let limit = Some(Limit(Room::Of(QueueLimit::Packets(packets))));
    (fill.queue.discipline, fill.queue.limit) = (Some(Discipline::DropTail), limit);
    (fill.access_point.queues, fill.access_point.limit) = (Some(WlanQueues::Fifo), limit);
    fill
}

/// Keys with the values of mac80211 in Linux.
fn linux() -> Wlan {
    let ms = |count| Some(Span::millis(count));
    let mut fill = Wlan::default();
    // net/mac80211/tx.c, ieee80211_txq_setup_flows: target and interval; include/net/fq_impl.h: quantum and limit.
    fill.queue.discipline = Some(Discipline::FqCodel);
    (fill.queue.target, fill.queue.interval) = (ms(20), ms(100));
    fill.queue.quantum = Some(Size(300));
    fill.queue.limit = Some(Limit(Room::Of(QueueLimit::Packets(8192))));
    // include/net/cfg80211.h: IEEE80211_DEFAULT_AQL_TXQ_LIMIT_L and _H, IEEE80211_AQL_THRESHOLD.
    let access_point = &mut fill.access_point;
    access_point.queues = Some(WlanQueues::PerStation);
    (access_point.airtime_fairness, access_point.aql) = (Some(true), Some(true));
    (access_point.aql_low, access_point.aql_high) = (ms(5), ms(12));
    access_point.aql_threshold = ms(24);
    // net/mac80211/rx.c, HT_RX_REORDER_BUF_TIMEOUT: a tenth of a second.
    fill.reorder_timeout = ms(100);
    fill
}

/// Keys with the values of ns-3 3.48 (src/wifi).
fn ns_3() -> Wlan {
    // helper/wifi-helper.cc (802.11ax), model/wifi-standards.h (5 GHz, 80 MHz), model/wifi-phy.cc (one antenna),
    // model/he/he-configuration.cc (3200 ns).
    let mut fill = modes(WlanStandard::Ax, WlanBand::Ghz5, 80, 1, 3200);
    // model/wifi-mac.cc, BE_MaxAmpduSize.
    fill.ampdu.bytes = Some(Bytes(65_535));
    // model/wifi-remote-station-manager.cc, IncrementRetryCountUnderBa: false. MPDUs under a block acknowledgement
    // agreement are not given up.
    fill.transmissions = Some(0);
    // model/qos-txop.cc, UseExplicitBarAfterMissedBlockAck: true. Recipients have no timeout.
    fill.after_missed_ack = Some(WlanAsks::Request);
    fill.reorder_timeout = Some(Span::exactly(SimTime::ZERO));
    // model/wifi-mac-queue.cc, MaxSize; helper/wifi-mac-helper.cc, FcfsWifiQueueScheduler: first come, first served.
    one_fifo(fill, 500)
}
