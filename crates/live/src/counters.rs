//! TCP counters of a host's kernel.

use crate::error::{LiveError, Trying};
use crate::host::Host;
use std::fs::read_to_string;

/// TCP counters of a host since its creation (`/proc/net/snmp`, `/proc/net/netstat`); 0 if the kernel lacks one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpCounters {
    /// Number of segments retransmitted (`RetransSegs`).
    pub retransmissions: u64,
    /// Number of expiries of retransmission timers (`TCPTimeouts`).
    pub timeouts: u64,
    /// Number of timeouts that F-RTO found to be spurious (`TCPSpuriousRTOs`).
    pub spurious_timeouts: u64,
    /// Number of recoveries started without a timeout (`TCPSackRecovery`, `TCPRenoRecovery`).
    pub recoveries: u64,
    /// Number of tail loss probes sent (`TCPLossProbes`).
    pub tail_loss_probes: u64,
    /// Number of segments dropped on arrival because of a bad checksum or length (`InErrs`).
    pub errors: u64,
}

impl TcpCounters {
    /// Reads the counters of a host.
    ///
    /// # Errors
    /// The system does not provide them.
    pub fn of(host: &Host) -> Result<Self, LiveError> {
        let read = |path| read_to_string(path).trying_to("read the counters of TCP");
        let (snmp, netstat) =
            host.run(|| (read("/proc/thread-self/net/snmp"), read("/proc/thread-self/net/netstat")))?;
        let text = snmp? + &netstat?;
        let get = |table, name| counter(&text, table, name).unwrap_or(0);
        Ok(Self {
            retransmissions: get("Tcp:", "RetransSegs"),
            timeouts: get("TcpExt:", "TCPTimeouts"),
            spurious_timeouts: get("TcpExt:", "TCPSpuriousRTOs"),
            recoveries: get("TcpExt:", "TCPSackRecovery") + get("TcpExt:", "TCPRenoRecovery"),
            tail_loss_probes: get("TcpExt:", "TCPLossProbes"),
            errors: get("Tcp:", "InErrs"),
        })
    }
}

/// Value of counter `name` of `table`. Each table has a line of names and a line of values, both prefixed by the
/// table's name.
fn counter(text: &str, table: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.split(' ').next() == Some(table));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split(' ').position(|found| found == name)?;
    values.split(' ').nth(place)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_stand_below_their_names() {
        let text = "Tcp: RtoMin InErrs RetransSegs\nTcp: 200 0 17\nTcpExt: A TCPTimeouts\nTcpExt: 5 6\n";
        assert_eq!(counter(text, "Tcp:", "RetransSegs"), Some(17));
        assert_eq!(counter(text, "TcpExt:", "TCPTimeouts"), Some(6));
        assert_eq!(counter(text, "TcpExt:", "RetransSegs"), None);
        assert_eq!(counter("", "Tcp:", "InErrs"), None);
    }
}
