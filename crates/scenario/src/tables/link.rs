//! Keys of links in both directions: tables `link`, `reverse` and `wired`.

use super::aggregation::Aggregation;
use super::arq::Arq;
use super::base::{LONGEST_SLOT, absent, json, time};
use super::channel::{Channel, ChannelModel};
use super::combining::refuse_combining;
use super::frames::{FrameKeys, FramedLink, Framing, Headers};
use super::jitter::Jitter;
use super::phy::{Layers, Phy};
use super::policer::Policer;
use super::queue::{Discipline, Packets, Queue};
use super::satellite::{Satellite, SatelliteSetup};
use super::shaper::Shaper;
use super::trace::{Trace, TraceSetup};
use crate::error::{ScenarioError, join};
use crate::files::Files;
use crate::hop::{Carrier, FrameErrors, HopSetup};
use crate::quantity::{Rate, Size, Span};
use crossfade_channel::LossConfig;
use crossfade_core::SimTime;
use crossfade_link::QueueConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Defines the table of a wireless link from the keys common to both directions, and its own keys.
macro_rules! wireless {
    ($(#[$attribute:meta])* $table:ident, rate { $(#[$rate:meta])+ } $($own:tt)*) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default)]
        pub struct $table {
            $(#[$rate])+
            #[serde(skip_serializing_if = "Option::is_none")]
            pub rate: Option<Rate>,

            /// One-way propagation delay of the link.
            #[schemars(extend("default" = "0 s"))]
            #[serde(skip_serializing_if = "Option::is_none")]
            pub delay: Option<Span>,

            /// Queue of packets in front of the link.
            pub queue: Queue,

            /// Size of a frame on the air in bytes, with overhead; packets travel as frames of this size.
            #[schemars(extend("x-default" = "none: packets are not cut"))]
            #[serde(skip_serializing_if = "Option::is_none")]
            pub frame_size: Option<Size>,

            /// Framing: how packets become frames. Needs frame_size.
            #[serde(skip_serializing_if = "Framing::is_absent")]
            pub framing: Framing,

            /// Header sizes of packets on this link. Needs frame_size.
            #[serde(skip_serializing_if = "Headers::is_absent")]
            pub headers: Headers,

            /// ARQ protocol of the link. Needs frame_size.
            #[serde(skip_serializing_if = "Arq::is_absent")]
            pub arq: Arq,

            /// Recorded capacity that the link follows, in place of a rate.
            #[serde(skip_serializing_if = "Trace::is_absent")]
            pub trace: Trace,

            /// Token bucket in front of the link, in which packets wait.
            #[serde(skip_serializing_if = "Shaper::is_absent")]
            pub shaper: Shaper,

            /// Random delay of each packet behind the link.
            #[serde(skip_serializing_if = "Jitter::is_absent")]
            pub jitter: Jitter,
            /// Token bucket in front of the link and its queue, which drops packets that do not conform.
            #[serde(skip_serializing_if = "Policer::is_absent")]
            pub policer: Policer,

            $($own)*
        }

        impl $table {
            /// Keys for the resolution that both directions share.
            fn keys(&mut self) -> WirelessKeys<'_> {
                let Self { rate, delay, queue, frame_size, framing, headers, arq, shaper, policer, jitter, .. } = self;
                let frames = FrameKeys { frame_size: *frame_size, framing, headers, arq };
                WirelessKeys { rate: *rate, delay, queue, frames, shaper, policer, jitter }
            }
        }
    };
}

wireless! {
    /// Link that carries the data packets. A slot is packet_size / rate; with a trace, packet_size over the mean
    /// rate.
    Link, rate {
        /// Bit rate of the link. Required without a trace or a satellite.
        #[schemars(extend("x-default" = "none: required without link.trace and link.satellite"))]
    }
    /// Size of a data packet on the wire in bytes, with headers.
    #[schemars(extend("x-default" = "tcp.mss + tcp.headers, where tcp.mss is given"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<Size>,

    /// Satellite link in place of a rate, in both directions.
    #[serde(skip_serializing_if = "Satellite::is_absent")]
    pub satellite: Satellite,
}

wireless! {
    /// Link that carries the acknowledgements.
    Reverse, rate {
        /// Bit rate of the reverse link.
        #[schemars(extend("x-default" = "none: acknowledgements take no time to transmit"))]
    }
    /// Channel of the acknowledgements: which of them are lost.
    pub channel: Channel,

    /// ACK aggregation in front of the reverse link.
    #[serde(skip_serializing_if = "Aggregation::is_absent")]
    pub aggregation: Aggregation,
}

/// Wired segment between the sender and the wireless link, in both directions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Wired {
    /// Bit rate of the wired segment.
    #[schemars(extend("x-default" = "none: packets take no time to transmit"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,

    /// One-way propagation delay of the wired segment.
    #[schemars(extend("x-default" = "0 s"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_way_delay: Option<Span>,

    /// Propagation delay there and back; an alternative to one_way_delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Span>,

    /// Queue of the wired segment on the path of the data. In a Wi-Fi network, whose data go both ways, each direction
    /// has one; elsewhere the reverse path drops nothing.
    #[serde(skip_serializing_if = "Queue::is_absent")]
    pub queue: Queue,
}

absent!(Wired);

impl Link {
    /// True if the link has a constant rate and delay and a drop-tail queue.
    pub(crate) fn is_plain(&self) -> bool {
        let constant_rate = self.trace.is_absent()
            && self.satellite.is_absent()
            && self.shaper.is_absent()
            && self.policer.is_absent();
        let is_drop_tail = matches!(self.queue.discipline, None | Some(Discipline::DropTail));
        constant_rate && self.jitter.is_absent() && is_drop_tail
    }

    pub(crate) fn resolve(
        &mut self,
        channel: &mut Channel,
        radio: Option<(&mut Phy, Layers)>,
        varying: Option<Varying>,
        packets: Packets,
        slot: SimTime,
        files: &Files<'_>,
    ) -> Result<HopSetup, ScenarioError> {
        let hop = Hop { table: "link", channel_table: "channel", keys: self.keys(), channel, radio };
        hop.resolve(varying, packets, slot, files)
    }
}

impl Reverse {
    pub(crate) fn resolve(
        &mut self,
        satellite: Option<SatelliteSetup>,
        acks: Packets,
        slot: SimTime,
        files: &Files<'_>,
    ) -> Result<HopSetup, ScenarioError> {
        let varying = Varying::of("reverse.trace", self.trace.resolve("reverse.trace", files)?, satellite)?;
        if let (Some(varying), Some(_)) = (&varying, self.rate) {
            return Err(varying.refuse_rate("reverse.rate"));
        }
        if let Some(rate) = self.rate
            && SimTime::to_transmit(acks.largest, rate.0) > LONGEST_SLOT
        {
            let problem = "too slow: an acknowledgement would take more than 1 h";
            return Err(ScenarioError::value("reverse.rate", &json(rate), problem));
        }
        let aggregation = self.aggregation.resolve("reverse.aggregation", slot)?;
        self.channel.model.get_or_insert(ChannelModel::None);
        // The table lends its keys and its channel at once.
        let mut channel = std::mem::take(&mut self.channel);
        let keys = self.keys();
        let channel_table = "reverse.channel";
        let hop = Hop { table: "reverse", channel_table, keys, channel: &mut channel, radio: None };
        let setup = hop.resolve(varying, acks, slot, files);
        self.channel = channel;
        Ok(HopSetup { aggregation, ..setup? })
    }
}

/// Capacity of a link that varies over time, in place of a rate.
pub(crate) enum Varying {
    /// Capacity of a recording or a table.
    Trace(TraceSetup),
    /// Capacity of one direction of a satellite link.
    Satellite(Box<SatelliteSetup>),
}

impl Varying {
    /// Varying capacity of a link: its trace or its satellite; `None` if neither is given.
    ///
    /// # Errors
    /// Both are given.
    pub(crate) fn of(
        trace_key: &str,
        trace: Option<TraceSetup>,
        satellite: Option<SatelliteSetup>,
    ) -> Result<Option<Self>, ScenarioError> {
        match (trace, satellite) {
            (None, None) => Ok(None),
            (Some(trace), None) => Ok(Some(Self::Trace(trace))),
            (None, Some(satellite)) => Ok(Some(Self::Satellite(Box::new(satellite)))),
            (Some(_), Some(_)) => {
                let reason = "the satellite has the capacity of both ways";
                Err(ScenarioError::contradiction(trace_key, SatelliteSetup::KEY, reason))
            }
        }
    }

    /// Mean rate of the varying capacity in bit/s.
    pub(crate) fn mean_rate_bps(&self) -> f64 {
        match self {
            Self::Trace(trace) => trace.mean_rate_bps,
            Self::Satellite(satellite) => satellite.closed_forms.capacity_bps,
        }
    }

    /// Key that gives the varying capacity, for messages.
    fn key(&self) -> &str {
        match self {
            Self::Trace(trace) => &trace.key,
            Self::Satellite(_) => SatelliteSetup::KEY,
        }
    }

    /// Error of a key that contradicts the varying capacity.
    fn refuse(&self, key: &str, reason: &str) -> ScenarioError {
        ScenarioError::contradiction(key, self.key(), reason)
    }

    /// Error of a rate in `key`, given beside the varying capacity.
    pub(crate) fn refuse_rate(&self, key: &str) -> ScenarioError {
        let reason = match self {
            Self::Trace(_) => "the trace has the rates",
            Self::Satellite(_) => "the satellite has the rates",
        };
        self.refuse(key, reason)
    }

    /// Error of losses in the table `channel`, given beside a trace (table `trace`) or satellite with losses of its
    /// own.
    fn refuse_losses(&self, channel: &str, trace: &str) -> ScenarioError {
        let (of, reason) = match self {
            Self::Trace(_) => (trace, "the table has losses of its own"),
            Self::Satellite(_) => (SatelliteSetup::KEY, "the satellite has the losses"),
        };
        ScenarioError::contradiction(&join(channel, "model"), of, reason)
    }

    /// True if the varying capacity has losses of its own, used unless a channel is given.
    fn has_losses(&self) -> bool {
        match self {
            Self::Trace(trace) => trace.table().is_some(),
            Self::Satellite(_) => true,
        }
    }

    /// True if the varying capacity has no losses, so that a channel may be given beside it.
    fn is_lossless(&self) -> bool {
        match self {
            Self::Trace(trace) => {
                trace.table().is_none_or(|table| table.rows().iter().all(|row| row.loss == 0.0))
            }
            Self::Satellite(_) => false,
        }
    }
}

/// Keys that the wireless links of both directions have.
struct WirelessKeys<'a> {
    rate: Option<Rate>,
    delay: &'a mut Option<Span>,
    queue: &'a mut Queue,
    frames: FrameKeys<'a>,
    shaper: &'a Shaper,
    policer: &'a Policer,
    jitter: &'a mut Jitter,
}

/// Wireless link of one direction, with the names of its table and its channel's table.
struct Hop<'a> {
    table: &'a str,
    channel_table: &'a str,
    keys: WirelessKeys<'a>,
    channel: &'a mut Channel,
    /// Physical layer of the link's frames, if the channel has one.
    radio: Option<(&'a mut Phy, Layers)>,
}

impl Hop<'_> {
    /// Fills in the defaults of a wireless link that carries these `packets`.
    fn resolve(
        self,
        varying: Option<Varying>,
        packets: Packets,
        slot: SimTime,
        files: &Files<'_>,
    ) -> Result<HopSetup, ScenarioError> {
        let Self { table, channel_table, keys, channel, radio } = self;
        let WirelessKeys { rate, delay, queue, frames, shaper, policer, jitter } = keys;
        let key = |name: &str| join(table, name);
        if let (Some(varying), true) = (&varying, frames.frame_size.is_some()) {
            return Err(varying.refuse(&key("frame_size"), "frames need a constant rate"));
        }
        let rate_bps = varying.as_ref().map(Varying::mean_rate_bps).or(rate.map(|rate| rate.0));
        let delay = time(&key("delay"), *delay.get_or_insert(Span::ZERO), slot)?;
        let slowest = radio.as_ref().zip(rate).map(|((_, layers), rate)| layers.slowest(rate));
        let framed = FramedLink { table, rate, slowest: slowest.or(rate), delay, packets, slot };
        let frames = frames.resolve(&framed)?;
        if let Some(Varying::Satellite(satellite)) = &varying
            && queue.limit.is_none()
            && matches!(queue.discipline, None | Some(Discipline::DropTail))
        {
            queue.limit = Some(satellite.usual_queue);
        }
        let limit_assumed = queue.limit.is_none();
        let waiting = queue.resolve(&key("queue"), rate_bps, packets, slot)?;
        let shaper = shaper.resolve(&key("shaper"), rate_bps, packets.largest)?;
        if varying.is_some() || shaper.is_some() {
            queue.check_room(&key("queue"), packets.usual)?;
        }
        let policer = policer.resolve(&key("policer"), rate_bps, packets.largest)?;
        let jitter = jitter.resolve(&key("jitter"), slot)?;
        if shaper.is_some() && (varying.is_some() || frames.is_some()) {
            let reason = "a shaped link sends whole packets at a constant rate";
            let of_frames = || ScenarioError::contradiction(&key("shaper"), &key("frame_size"), reason);
            return Err(varying.map_or_else(of_frames, |varying| varying.refuse(&key("shaper"), reason)));
        }
        let frame_time = frames.map(|frames| frames.frame_time);
        let doppler = channel.settle_speed(channel_table, frame_time.unwrap_or(slot))?;
        if channel.combines_copies() && frames.is_none() {
            let problem = format!("needs {}: whole packets are sent once", key("frame_size"));
            return Err(ScenarioError::value(join(channel_table, "combining"), &json("chase"), problem));
        }
        let mut has_losses = varying.as_ref().is_some_and(Varying::has_losses);
        if let Some(varying) = varying.as_ref().filter(|_| has_losses)
            && *channel.model.get_or_insert(ChannelModel::None) != ChannelModel::None
        {
            if !varying.is_lossless() {
                return Err(varying.refuse_losses(channel_table, &key("trace")));
            }
            has_losses = false;
        }
        let carrier = match (varying, frames, waiting) {
            (Some(Varying::Satellite(satellite)), _, queue) => {
                channel.resolve(channel_table, (slot, packets.usual), None, files)?;
                Carrier::Satellite { satellite, queue }
            }
            (Some(Varying::Trace(trace)), _, queue) => {
                let loss = channel.resolve(channel_table, (slot, packets.usual), None, files)?;
                Carrier::Schedule { trace, queue, loss: (!has_losses).then_some(loss) }
            }
            (None, Some(frames), queue) => {
                let errors = if let Some((phy, layers)) = radio {
                    let radio = phy.resolve_radio(layers, channel, &frames, slot, files)?;
                    FrameErrors::Radio(Box::new(radio))
                } else {
                    let bytes = frames.frame_size;
                    let loss = channel.resolve(channel_table, (slot, bytes), frame_time, files)?;
                    if channel.combines_copies() {
                        refuse_combining(&frames, &join(channel_table, "combining"))?;
                    }
                    FrameErrors::Lost(loss)
                };
                // Frames need a rate: their keys were refused without one.
                Carrier::Frames { rate_bps: rate_bps.unwrap_or_default(), queue, frames, errors }
            }
            (None, None, queue) => {
                let loss = channel.resolve(channel_table, (slot, packets.usual), None, files)?;
                match shaper {
                    Some(shaper) => Carrier::Shaped { rate_bps, shaper, queue, loss },
                    None => Carrier::Packets { rate_bps, queue, loss },
                }
            }
        };
        Ok(HopSetup { limit_assumed, doppler, policer, jitter, ..HopSetup::plain(delay, carrier) })
    }
}

impl Wired {
    /// Resolves the wired segment in both directions, for the data and the reverse path; `None` without the table.
    pub(crate) fn resolve(
        &mut self,
        packets: Packets,
        slot: SimTime,
    ) -> Result<Option<[HopSetup; 2]>, ScenarioError> {
        if self.is_absent() {
            return Ok(None);
        }
        if let Some(rate) = self.rate
            && SimTime::to_transmit(packets.largest, rate.0) > LONGEST_SLOT
        {
            let problem = "too slow: a packet would take more than 1 h";
            return Err(ScenarioError::value("wired.rate", &json(rate), problem));
        }
        let delay = match (self.one_way_delay, self.rtt) {
            (Some(_), Some(_)) => {
                let reason = "the round trip is twice the delay";
                return Err(ScenarioError::contradiction("wired.rtt", "wired.one_way_delay", reason));
            }
            (None, Some(rtt)) => SimTime::from_nanos(time("wired.rtt", rtt, slot)?.as_nanos() / 2),
            (one_way, None) => time("wired.one_way_delay", one_way.unwrap_or(Span::ZERO), slot)?,
        };
        // rtt and one_way_delay become one key, since equal scenarios are one run.
        (self.rtt, self.one_way_delay) = (None, Some(Span::exactly(delay)));
        let rate_bps = self.rate.map(|rate| rate.0);
        let limit_assumed = self.queue.limit.is_none();
        let queue = self.queue.resolve("wired.queue", rate_bps, packets, slot)?;
        let hop = |queue, limit_assumed| {
            let carrier = Carrier::Packets { rate_bps, queue, loss: LossConfig::Lossless };
            HopSetup { limit_assumed, ..HopSetup::plain(delay, carrier) }
        };
        Ok(Some([hop(queue, limit_assumed), hop(QueueConfig::DropTail(None), false)]))
    }
}
