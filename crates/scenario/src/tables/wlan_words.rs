//! Words for the keys of a Wi-Fi network: standards, bands, rate control and others.

use crossfade_mac::wlan::{Backoff, Band, Form, Standard};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Preset of a Wi-Fi network, whose values are the defaults of other keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WlanPreset {
    /// 802.11n at 2.4 GHz: 20 MHz, two streams, 0.4 us, 144.4 Mbit/s.
    #[serde(rename = "wifi-4")]
    Wifi4,
    /// 802.11ac at 5 GHz: 80 MHz, two streams, 0.4 us, 866.7 Mbit/s.
    #[serde(rename = "wifi-5")]
    Wifi5,
    /// 802.11ax at 5 GHz: 80 MHz, two streams, 0.8 us, 1201 Mbit/s.
    #[serde(rename = "wifi-6")]
    Wifi6,
    /// 802.11be at 6 GHz: 160 MHz, two streams, 0.8 us, 2882.4 Mbit/s.
    #[serde(rename = "wifi-7")]
    Wifi7,
    /// Queues of Linux's mac80211: FQ-CoDel for each station, airtime fairness, AQL of 5 to 12 ms.
    Linux,
    /// Access point with one FIFO of 1000 packets, as Linux had it before 4.11.
    OldBox,
    /// Testbed of Ending the Anomaly (USENIX ATC 2017): 802.11n, 20 MHz, two streams, aggregates of 4 ms by ath9k.
    #[serde(rename = "atc-2017")]
    Atc2017,
    /// Defaults of ns-3: 802.11ax, one stream, 3.2 us, aggregates of 65535 bytes, one FIFO of 500 packets.
    #[serde(rename = "ns-3")]
    Ns3,
    /// Wi-Fi of RFC 8869: 802.11n at 20 MHz and MCS 11, 52 Mbit/s, without aggregates.
    #[serde(rename = "rfc-8869")]
    Rfc8869,
}

/// Use of several links by a multi-link device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WlanMultiLink {
    /// Simultaneous transmit and receive: all links at once.
    Str,
    /// Enhanced multi-link single radio: stations listen on all links, and exchange data on one at a time.
    Emlsr,
}

/// Amendment of IEEE 802.11.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WlanStandard {
    /// 802.11a: OFDM in the 5 GHz band, up to 54 Mbit/s.
    A,
    /// 802.11g: OFDM in the 2.4 GHz band, up to 54 Mbit/s.
    G,
    /// 802.11n: high throughput (HT), Wi-Fi 4.
    N,
    /// 802.11ac: very high throughput (VHT), Wi-Fi 5.
    Ac,
    /// 802.11ax: high efficiency (HE), Wi-Fi 6.
    Ax,
    /// 802.11be: extremely high throughput (EHT), Wi-Fi 7.
    Be,
}

impl From<WlanStandard> for Standard {
    fn from(word: WlanStandard) -> Self {
        match word {
            WlanStandard::A => Self::A,
            WlanStandard::G => Self::G,
            WlanStandard::N => Self::N,
            WlanStandard::Ac => Self::Ac,
            WlanStandard::Ax => Self::Ax,
            WlanStandard::Be => Self::Be,
        }
    }
}

/// Frequency band of a Wi-Fi channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WlanBand {
    /// Band at 2.4 GHz.
    #[serde(rename = "2.4 GHz")]
    Ghz2,
    /// Band at 5 GHz.
    #[serde(rename = "5 GHz")]
    Ghz5,
    /// Band at 6 GHz.
    #[serde(rename = "6 GHz")]
    Ghz6,
}

impl From<WlanBand> for Band {
    fn from(word: WlanBand) -> Self {
        match word {
            WlanBand::Ghz2 => Self::Ghz2,
            WlanBand::Ghz5 => Self::Ghz5,
            WlanBand::Ghz6 => Self::Ghz6,
        }
    }
}

/// Rate control of a Wi-Fi network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WlanRate {
    /// Constant mode, that of wlan.mcs.
    Constant,
    /// Fastest mode whose error rate at the present SNR is at most target_error_rate.
    Ideal,
    /// Minstrel-HT of Linux, which counts the acknowledged MPDUs of each mode.
    Minstrel,
}

/// Power delay profile of Wi-Fi channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WlanProfile {
    /// Constant channels: white Gaussian noise alone.
    Awgn,
    /// Independent Rayleigh paths whose power falls exponentially, spread by wlan.delay_spread.
    Exponential,
}

/// Backoff rule of a Wi-Fi network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WlanBackoff {
    /// Enhanced distributed channel access (802.11n to be): the counter also decreases at the end of the interframe
    /// space, so that a busy period counts as one backoff slot.
    Edca,
    /// Distributed coordination function (802.11a, g): the counter decreases after idle backoff slots alone.
    Dcf,
}

impl From<WlanBackoff> for Backoff {
    fn from(word: WlanBackoff) -> Self {
        match word {
            WlanBackoff::Edca => Self::Edca,
            WlanBackoff::Dcf => Self::Dcf,
        }
    }
}

/// Frame that follows a missing block acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WlanAsks {
    /// Data: the MPDUs are retransmitted.
    Data,
    /// Block acknowledgement request (BAR).
    Request,
}

/// Form of Bianchi's model of contention, by what follows a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WlanForm {
    /// Bianchi's model of 2000, which also holds under EDCA: a busy period counts as one backoff slot.
    Plain,
    /// An empty backoff slot follows a success, as in ns-3's reference for 802.11ax.
    Slot,
    /// An empty backoff slot follows a success unless the winner draws 0 and sends its next frame, as in ns-3's
    /// reference for 802.11a.
    SlotOrAgain,
}

impl From<WlanForm> for Form {
    fn from(word: WlanForm) -> Self {
        match word {
            WlanForm::Plain => Self::Plain,
            WlanForm::Slot => Self::Slot,
            WlanForm::SlotOrAgain => Self::SlotOrAgain,
        }
    }
}
