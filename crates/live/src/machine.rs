//! Load of the machine, which affects the accuracy of an emulation's timing.

use std::fs::read_to_string;

/// Load of the machine, and counters of its processor time, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Machine {
    /// Load average of the machine over the last minute (`/proc/loadavg`).
    pub load: f64,
    /// Number of processors of the machine.
    pub processors: usize,
    /// Time of all processors since system start, in clock ticks.
    total: u64,
    /// Time that the hypervisor gave to other machines since system start, in clock ticks.
    stolen: u64,
}

impl Machine {
    /// Reads the current load counters; zeros if the system does not provide them.
    pub fn now() -> Self {
        let read = |path| read_to_string(path).unwrap_or_default();
        let stat = read("/proc/stat");
        // proc_stat(5): user nice system idle iowait irq softirq steal, then guest times, which user includes.
        let ticks: Vec<u64> = stat
            .lines()
            .next()
            .unwrap_or("")
            .split_whitespace()
            .skip(1)
            .take(8)
            .flat_map(str::parse)
            .collect();
        Self {
            load: read("/proc/loadavg").split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(0.0),
            processors: std::thread::available_parallelism().map_or(1, Into::into),
            total: ticks.iter().sum(),
            stolen: ticks.get(7).copied().unwrap_or(0),
        }
    }

    /// Share of processor time since `earlier` that the hypervisor gave to other machines.
    pub fn stolen_since(&self, earlier: &Self) -> f64 {
        (self.stolen - earlier.stolen) as f64 / (self.total - earlier.total).max(1) as f64
    }
}
