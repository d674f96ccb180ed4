//! How busy the machine was, which decides how well time was kept.

use std::fs::read_to_string;

/// What a machine had to do at some time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Machine {
    /// The load average of the last minute.
    pub load: f64,
    /// Number of processors of the machine.
    pub processors: usize,
    /// Time of all processors since it started, in ticks.
    total: u64,
    /// Time that the hypervisor gave to other machines.
    stolen: u64,
}

impl Machine {
    /// As it is now; zeros where the system does not tell.
    pub fn now() -> Self {
        let read = |path| read_to_string(path).unwrap_or_default();
        let stat = read("/proc/stat");
        // proc_stat(5): user nice system idle iowait irq softirq steal, then guests, who are users too.
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

    /// The share of processor time since `earlier` that the hypervisor gave to others.
    pub fn stolen_since(&self, earlier: &Self) -> f64 {
        (self.stolen - earlier.stolen) as f64 / (self.total - earlier.total).max(1) as f64
    }
}
