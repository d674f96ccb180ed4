//! Measures of the bearers of an NR cell: delays by part, and counts of RLC, PDCP and the link.

use super::cell::{UsersMeasured, of_some};
use crate::metric::{MetricOf, count};
use crate::parts::USER;

/// The mean of a part of the delays, in seconds.
fn part(users: &UsersMeasured, part: usize) -> f64 {
    let bearer = &users.counts.bearer;
    if bearer.delays == 0 { f64::NAN } else { bearer.delay_parts_s[part] / bearer.delays as f64 }
}

/// Segments retransmitted for each packet that arrives.
fn retransmissions(users: &UsersMeasured) -> f64 {
    of_some(users.counts.bearer.retransmissions, users.counts.packets.arrivals)
}

/// The published metrics of downlinks, in the order of tables.
#[rustfmt::skip]
pub(super) static BEARER_METRICS: &[MetricOf<UsersMeasured>] = &[
    MetricOf::each(USER, "delay_queue_mean_s", "s", "Mean delay behind other packets", "Part of the mean delay of packets in an NR cell: from their arrival until all earlier packets of the user have begun.", |users| part(users, 0)),
    MetricOf::each(USER, "delay_grant_mean_s", "s", "Mean delay until the first byte is sent", "Part of the mean delay of packets in an NR cell: from the front of the queue to the first byte: a slot, a grant, DRX, a gap of the link.", |users| part(users, 1)),
    MetricOf::each(USER, "delay_air_mean_s", "s", "Mean delay on the air", "Part of the mean delay of packets in an NR cell: from the first byte to the end of the slot of the last one, and the propagation delay.", |users| part(users, 2)),
    MetricOf::each(USER, "delay_harq_mean_s", "s", "Mean delay of HARQ", "Part of the mean delay of packets in an NR cell: retransmissions of hybrid ARQ.", |users| part(users, 3)),
    MetricOf::each(USER, "delay_rlc_mean_s", "s", "Mean delay of RLC", "Part of the mean delay of packets in an NR cell: until RLC has retransmitted what hybrid ARQ lost.", |users| part(users, 4)),
    MetricOf::each(USER, "delay_reordering_mean_s", "s", "Mean delay of PDCP reordering", "Part of the mean delay of packets in an NR cell: from the arrival of the whole packet until all earlier ones were there or given up.", |users| part(users, 5)),
    MetricOf::each(USER, "rlc_retransmissions_per_packet", "1", "RLC retransmissions per packet", "Segments that RLC retransmitted on the downlink, for each packet that arrived.", retransmissions),
    MetricOf::each(USER, "rlc_status_pdus", "1", "RLC status reports", "Reports of RLC about the downlink.", |users| count(users.counts.bearer.reports)),
    MetricOf::each(USER, "radio_link_failures", "1", "Radio link failures", "Times that RLC had retransmitted a packet of either direction as often as it may.", |users| count(users.counts.bearer.failures)),
    MetricOf::each(USER, "pdcp_discards", "packets", "PDCP discards", "Packets of the downlink that waited too long to be sent.", |users| count(users.counts.bearer.discards)),
];

/// Additional counts in rows.
#[rustfmt::skip]
pub(super) static BEARER_KEPT: &[MetricOf<UsersMeasured>] = &[
    MetricOf::each(USER, "bearer_delays", "1", "", "", |users| count(users.counts.bearer.delays)),
    MetricOf::each(USER, "bearer_packets", "1", "", "", |users| count(users.counts.packets.arrivals)),
];

/// The published metrics of uplinks, in the order of tables.
#[rustfmt::skip]
pub(super) static UPLINK_BEARER_METRICS: &[MetricOf<UsersMeasured>] = &[
    MetricOf::each(USER, "uplink_delay_queue_mean_s", "s", "Mean uplink delay behind other packets", "Like delay_queue_mean_s, but of the uplink.", |users| part(users, 0)),
    MetricOf::each(USER, "uplink_delay_grant_mean_s", "s", "Mean uplink delay until the first byte is sent", "Like delay_grant_mean_s, but of the uplink: an occasion of a scheduling request, its grant, and a slot.", |users| part(users, 1)),
    MetricOf::each(USER, "uplink_delay_air_mean_s", "s", "Mean uplink delay on the air", "Like delay_air_mean_s, but of the uplink.", |users| part(users, 2)),
    MetricOf::each(USER, "uplink_delay_harq_mean_s", "s", "Mean uplink delay of HARQ", "Like delay_harq_mean_s, but of the uplink.", |users| part(users, 3)),
    MetricOf::each(USER, "uplink_delay_rlc_mean_s", "s", "Mean uplink delay of RLC", "Like delay_rlc_mean_s, but of the uplink.", |users| part(users, 4)),
    MetricOf::each(USER, "uplink_delay_reordering_mean_s", "s", "Mean uplink delay of PDCP reordering", "Like delay_reordering_mean_s, but of the uplink.", |users| part(users, 5)),
    MetricOf::each(USER, "scheduling_requests", "1", "Scheduling requests", "Scheduling requests that users sent.", |users| count(users.counts.bearer.requests)),
];

/// Additional counts in rows.
#[rustfmt::skip]
pub(super) static UPLINK_BEARER_KEPT: &[MetricOf<UsersMeasured>] = &[
    MetricOf::each(USER, "uplink_bearer_delays", "1", "", "", |users| count(users.counts.bearer.delays)),
];
