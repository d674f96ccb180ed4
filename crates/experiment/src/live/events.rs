//! Samples of the kernel's TCP sockets as CSV, in the columns of a simulation's events.

use super::view::HOSTS;
use super::watch::{LinkSample, Sample};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const HEADER: &str = "time_s,event,flow,seq,cwnd,ssthresh,dupacks,backoff,flight_size,srtt_s,delivery_rate_bps,\
                      pacing_rate_bps,retransmissions,lost,host,port,congestion,link_inside,link_arrived,\
                      link_lost,link_dropped\n";

/// Congestion state (`tcp_ca_state`) of a kernel socket in recovery without a timeout.
const RECOVERY: u8 = 3;

/// Writes each sample of the kernel's TCP sockets as a line of CSV.
///
/// The event is `timeout` or `fast_retransmit` if one has begun since the last sample, otherwise `sample`; `seq` is the
/// first segment that is not acknowledged. Flows are numbered in order of appearance, without sockets that send no
/// data. The columns of the link are for the direction of the flow's data at the time of the sample: packets inside,
/// and packets that came out, were lost and were dropped since the start.
pub(super) fn events_csv(samples: &[Sample], links: &[LinkSample]) -> String {
    let mut csv = HEADER.to_owned();
    let mut links = links.iter().peekable();
    let mut link = LinkSample::default();
    let mut flows: BTreeMap<(usize, u16, u16), (usize, u16, u8)> = BTreeMap::new();
    for Sample { at, host, tcp } in samples {
        if tcp.data_segments_out == 0 {
            continue;
        }
        while let Some(next) = links.next_if(|next| next.at <= *at) {
            link = *next;
        }
        let way = link.ways[*host];
        let number = flows.len();
        let place = (*host, tcp.port, tcp.remote_port);
        let (flow, timeouts, state) = flows.entry(place).or_insert((number, 0, 0));
        let event = if tcp.timeouts > *timeouts {
            "timeout"
        } else if tcp.state == RECOVERY && *state != RECOVERY {
            "fast_retransmit"
        } else {
            "sample"
        };
        (*timeouts, *state) = (tcp.timeouts, tcp.state);
        // Writing to a string cannot fail.
        let _ = writeln!(
            csv,
            "{},{event},{flow},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            at.as_secs_f64(),
            tcp.bytes_acked / u64::from(tcp.mss.max(1)),
            tcp.cwnd,
            // The kernel reports "no sample yet" as the largest number.
            if tcp.ssthresh < 0x7fff_ffff { tcp.ssthresh.to_string() } else { String::new() },
            tcp.sacked,
            tcp.backoff,
            tcp.unacked,
            f64::from(tcp.srtt_us) / 1e6,
            tcp.delivery_rate * 8,
            // The kernel reports "no limit" as the largest number.
            tcp.pacing_rate.checked_mul(8).map_or_else(String::new, |rate| rate.to_string()),
            tcp.retransmissions,
            tcp.lost,
            HOSTS[*host],
            tcp.port,
            tcp.congestion,
            way.inside(),
            way.arrived,
            way.lost,
            way.dropped,
        );
    }
    csv
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::SimTime;
    use crossfade_live::{Passed, TcpSample};

    #[test]
    fn what_happened_between_samples_is_told_once() {
        let sample = |millis, state, timeouts| Sample {
            at: SimTime::from_millis(millis),
            host: 0,
            tcp: TcpSample {
                state,
                timeouts,
                cwnd: 10,
                mss: 1000,
                data_segments_out: 5,
                ..TcpSample::default()
            },
        };
        let silent = Sample { host: 1, tcp: TcpSample::default(), ..sample(0, 0, 0) };
        let samples =
            [silent, sample(0, 0, 0), sample(10, 3, 0), sample(20, 3, 0), sample(30, 4, 1), sample(40, 4, 1)];
        let passed = |packets| Passed { packets, arrived: 7, lost: 2, ..Passed::default() };
        let links = [(0, 10), (10, 12), (30, 20)].map(|(millis, packets)| LinkSample {
            at: SimTime::from_millis(millis),
            ways: [passed(packets), Passed::default()],
        });
        let csv = events_csv(&samples, &links);
        let events: Vec<&str> = csv.lines().skip(1).map(|line| line.split(',').nth(1).unwrap()).collect();
        assert_eq!(events, ["sample", "fast_retransmit", "sample", "timeout", "sample"]);
        let inside: Vec<&str> = csv.lines().skip(1).map(|line| line.rsplit(',').nth(3).unwrap()).collect();
        assert_eq!(inside, ["1", "3", "3", "11", "11"], "of the last look at the link");
        assert!(csv.lines().nth(2).unwrap().starts_with("0.01,fast_retransmit,0,0,10,0,"), "{csv}");
    }
}
