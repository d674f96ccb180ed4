//! Sizes of packets and acknowledgements on the wire, and windows, which count segments.

use super::{Flavour, Tcp};
use crate::error::ScenarioError;
use crate::quantity::{Size, Window, WindowLimit};
use crate::tables::base::json;
use crossfade_transport::AccEcn;

/// Number of bytes around the frames of a QUIC packet: IP 20, UDP 8, short header 1, connection id 8, packet number 2,
/// tag 16.
const QUIC_PACKET: u32 = 55;

impl Tcp {
    /// Size of a data packet in bytes, from the segment size; `None` if this is not given.
    pub(crate) fn packet_size(&self) -> Option<Result<Size, ScenarioError>> {
        let mss = self.mss?;
        let headers = self.headers.unwrap_or(self.usual_headers(self.flavour.unwrap_or(Flavour::Rfc)));
        let packet = mss.0 + headers.0;
        Some(if packet <= 65535 {
            Ok(Size(packet))
        } else {
            let problem = format!("with tcp.headers = \"{headers}\" must be at most 65535 B");
            Err(ScenarioError::value("tcp.mss", &json(mss), problem))
        })
    }

    /// Default number of header bytes in a data packet.
    fn usual_headers(&self, flavour: Flavour) -> Size {
        Size(match flavour {
            Flavour::Ns2 => 0,
            // The datagram and packet headers, and the header of the STREAM frame.
            Flavour::Quic => QUIC_PACKET + 8,
            _ => 40 + self.timestamp_bytes(flavour),
        })
    }

    /// Default sizes in bytes of an acknowledgement, and of each SACK block or further range.
    pub(super) fn usual_ack_sizes(&self, flavour: Flavour) -> [Size; 2] {
        if flavour != Flavour::Quic {
            let option = if self.rfc.accurate_ecn_option == Some(true) { AccEcn::OPTION_BYTES } else { 0 };
            return [Size(40 + self.timestamp_bytes(flavour) + option), Size(8)];
        }
        // RFC 9000 section 19.3: type, largest (4), delay (2), number of ranges, the first (2); three counts of two
        // bytes.
        let counts = if self.quic.ecn == Some(true) { 6 } else { 0 };
        [Size(QUIC_PACKET + 10 + counts), Size(4)]
    }

    /// Bytes of the timestamps option (RFC 7323 section 3.2): ten, padded to twelve, or 0 if it is off.
    fn timestamp_bytes(&self, flavour: Flavour) -> u32 {
        if flavour == Flavour::Rfc && self.rfc.timestamps != Some(false) { 12 } else { 0 }
    }

    /// Fills in the segment size in bytes: the packet size less the headers.
    pub(super) fn resolve_mss(&mut self, flavour: Flavour, packet_size: u32) -> Result<u32, ScenarioError> {
        let usual = self.usual_headers(flavour);
        let headers = *self.headers.get_or_insert(usual);
        let payload = packet_size.saturating_sub(headers.0);
        if payload == 0 {
            let problem = format!("leaves no data in link.packet_size = \"{packet_size} B\"");
            return Err(ScenarioError::value("tcp.headers", &json(headers), problem));
        }
        let mss = *self.mss.get_or_insert(Size(payload));
        if mss.0 != payload {
            let problem =
                format!("with tcp.headers = \"{headers}\" must fill link.packet_size = \"{packet_size} B\"");
            return Err(ScenarioError::value("tcp.mss", &json(mss), problem));
        }
        Ok(payload)
    }

    /// Fills in the receive window, and returns it in segments.
    pub(super) fn resolve_w_max(&mut self, flavour: Flavour, packet_size: u32) -> Result<u32, ScenarioError> {
        if let Some(Window::Segments(segments)) = self.w_max {
            return Ok(segments);
        }
        let window = self.w_max.unwrap_or(Window::Bytes(64 * 1024));
        let mss = self.resolve_mss(flavour, packet_size)?;
        let segments = window.segments(mss).ok_or_else(|| {
            let problem = format!("must be at most 1000000 segments of {mss} B");
            ScenarioError::value("tcp.w_max", &json(window), problem)
        })?;
        self.w_max = Some(Window::Segments(segments));
        Ok(segments)
    }

    /// Removes keys whose value is "no limit", so that equal senders give equal runs.
    pub(crate) fn forget_unlimited(&mut self) {
        self.cwnd_limit = self.cwnd_limit.filter(|limit| *limit != WindowLimit::Unlimited);
    }

    /// Window in segments: the smaller of `w_max` and the limit of the congestion window.
    pub(super) fn limited(&mut self, w_max: u32, round_trip_hops: Option<u32>) -> Result<u32, ScenarioError> {
        self.forget_unlimited();
        match (self.cwnd_limit, round_trip_hops) {
            (None, _) => Ok(w_max),
            (Some(limit @ WindowLimit::PerHop(_)), None) => {
                let problem = "needs a mesh, and flows over as many hops as each other";
                Err(ScenarioError::value("tcp.cwnd_limit", &json(limit), problem))
            }
            (Some(limit), hops) => Ok(w_max.min(limit.segments(hops.unwrap_or_default()))),
        }
    }
}
