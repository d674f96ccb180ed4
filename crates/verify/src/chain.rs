//! Comparison with throughputs of TCP over chains of 802.11 stations that ns-2 simulated.

use crate::case::CaseReport;
use crate::parse::GoldenError;
use crossfade_core::{RunSeed, SimTime};
use crossfade_mac::{DcfConfig, Mac, Mesh, MeshConfig, Position, Reception, Routing};
use crossfade_sim::{FlowConfig, FlowPath, Leg, Medium, Network, Source, StopRule, Tcp, Topology, simulate};
use crossfade_transport::{Flavour, TcpConfig, Variant};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

const PACKET_BYTES: u32 = 2312;
const ACK_BYTES: u32 = 40;
const OFFERED_BPS: f64 = 3e6;
const SPACING_M: f64 = 200.0;
const RANGE_M: f64 = 250.0;

/// Relative tolerance for a window of one packet. It is small because exchanges follow one another, so that only the
/// mean backoff is random.
const WINDOW_ONE_TOLERANCE: f64 = 0.005;

/// Simulation effort for each cell of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Number of runs over which the throughput is averaged.
    pub runs: u64,
    /// Duration of each run in seconds, after a warm-up of 2 s.
    pub seconds: u64,
}

impl Default for Effort {
    /// Effort for a standard error of about 0.6 % of the throughput.
    fn default() -> Self {
        Self { runs: 4, seconds: 40 }
    }
}

/// Table of TCP throughputs over numbers of hops and window limits, as ns-2 simulated them.
pub struct GoldenChain {
    name: String,
    interference_m: f64,
    tolerance: f64,
    cells: Vec<Cell>,
}

#[derive(Clone, Copy)]
struct Cell {
    hops: usize,
    window: u32,
    mbps: f64,
}

const HEADER: &str = "hops,cwl,mbps_mean,mbps_se,n";

impl GoldenChain {
    /// File names of tables in the layout of [`GoldenChain`].
    pub const NAMES: [&str; 2] = ["equal.csv", "wider.csv"];

    /// Reads a table. `name` is the file's name, which determines the interference range; `csv` is its text.
    ///
    /// # Errors
    /// Another name, or a text that does not follow the layout.
    pub fn parse(name: &str, csv: &str) -> Result<Self, GoldenError> {
        let (interference_m, tolerance) = match name {
            "equal.csv" => (250.0, 0.04),
            "wider.csv" => (450.0, 0.05),
            _ => return Err(GoldenError::new(name, "the name must be equal.csv or wider.csv")),
        };
        let mut lines = (1..).zip(csv.lines()).filter(|(_, line)| !line.trim().is_empty());
        if lines.next().is_none_or(|(_, header)| header.trim() != HEADER) {
            return Err(GoldenError::new(format!("{name}:1"), format!("the header must be {HEADER}")));
        }
        let cells = lines.map(|(number, line)| cell(line).ok_or_else(|| refuse(name, number, line)));
        Ok(Self { name: name.to_owned(), interference_m, tolerance, cells: cells.collect::<Result<_, _>>()? })
    }

    /// Simulates every cell of the table, on all processors, and compares its throughput with that of ns-2.
    pub fn verify(&self, effort: Effort) -> Vec<CaseReport> {
        let next = AtomicUsize::new(0);
        let found = Mutex::new(vec![None; self.cells.len()]);
        let work = || {
            while let Some(cell) = self.cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                let report = self.verify_cell(*cell, effort);
                let place = self.cells.iter().position(|other| std::ptr::eq(other, cell));
                if let Some(place) = place {
                    found.lock().unwrap_or_else(PoisonError::into_inner)[place] = Some(report);
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(work);
            }
        });
        found.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
    }

    fn verify_cell(&self, cell: Cell, Effort { runs, seconds }: Effort) -> CaseReport {
        let Cell { hops, window, mbps } = cell;
        let ours = (0..runs).map(|run| self.simulate(cell, RunSeed { seed: 1, run }, seconds)).sum::<f64>()
            / runs as f64;
        let tolerance = if window == 1 { WINDOW_ONE_TOLERANCE } else { self.tolerance };
        let apart = ours / mbps - 1.0;
        let found = format!(
            "{ours:.4} Mbit/s, ns-2 {mbps:.4}: {:+.2} % ({} % allowed)",
            100.0 * apart,
            100.0 * tolerance
        );
        CaseReport {
            case: format!("{}/{hops} hops, window {window}", self.name),
            rows: 1,
            difference: (apart.abs() > tolerance).then(|| found.clone()),
            found: Some(found),
        }
    }

    /// Simulated goodput in Mbit/s, of whole IP packets at their first arrival.
    fn simulate(&self, Cell { hops, window, .. }: Cell, seed: RunSeed, seconds: u64) -> f64 {
        let config = MeshConfig {
            positions: (0..=hops).map(|i| Position { x_m: SPACING_M * i as f64, y_m: 0.0 }).collect(),
            routing: Routing::Static(vec![(0..=hops).collect()]),
            range_m: RANGE_M,
            interference_m: self.interference_m,
            reception: Reception::Range,
            sinr_threshold_db: 10.0,
            dcf: DcfConfig::default(),
            mac: Mac::Plain,
            queue: 25,
        };
        let mesh = Mesh::new(config, seed).expect("a chain");
        let last = hops as u32;
        let tcp = Tcp { config: newreno(window).into(), congestion: None };
        let path = FlowPath { packet_size: PACKET_BYTES, ack_size: ACK_BYTES, ..FlowPath::default() };
        let warmup = SimTime::from_millis(2000);
        let source = Source::PacedTcp { tcp, rate_bps: OFFERED_BPS };
        let flows = vec![FlowConfig { name: String::new(), source, path, start: SimTime::ZERO }];
        let topology = Topology {
            media: vec![Medium::Fabric(Box::new(mesh)).named("mesh")],
            routes: [(0, last), (last, 0)].map(|(from, to)| vec![Leg { medium: 0, from, to }]).into(),
        };
        let stop = StopRule::At(warmup + SimTime::from_millis(1000 * seconds));
        let network = Network { warmup, ..Network::new(flows, topology, stop, seed) };
        let statistics = simulate(network, None, None, &AtomicBool::new(false)).expect("nothing cancels it");
        let delivered = statistics.flows[0].segments_delivered;
        delivered as f64 * f64::from(PACKET_BYTES) * 8.0 / statistics.duration.as_secs_f64() / 1e6
    }
}

/// TCP configuration of the golden data: the window limit is also the slow-start threshold, and ns-2's `windowInit_`
/// has its default.
fn newreno(window: u32) -> TcpConfig {
    TcpConfig {
        initial_window: 2.0,
        limited_transmit: false,
        ..TcpConfig::new(Flavour::Ns2, Variant::NewReno, window)
    }
}

/// Parses a line `hops,cwl,mbps_mean,mbps_se,n`. The last two columns are the standard error and number of runs of
/// ns-2.
fn cell(line: &str) -> Option<Cell> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let [hops, window, mbps, _, _] = fields[..] else { return None };
    let (hops, window, mbps): (usize, u32, f64) =
        (hops.parse().ok()?, window.parse().ok()?, mbps.parse().ok()?);
    let is_cell =
        (1..=64).contains(&hops) && (1..=10_000).contains(&window) && mbps > 0.0 && mbps.is_finite();
    is_cell.then_some(Cell { hops, window, mbps })
}

fn refuse(name: &str, number: usize, line: &str) -> GoldenError {
    let line: String = line.chars().take(60).collect();
    let problem = format!(
        "\"{line}\": must be {HEADER}: 1 to 64 hops, a window of 1 to 10000 and a throughput above 0"
    );
    GoldenError::new(format!("{name}:{number}"), problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EQUAL: &str = include_str!("../../../tests/data/golden/ns2-chain/equal.csv");
    const SHORT: Effort = Effort { runs: 2, seconds: 10 };

    fn some(rows: &[&str]) -> String {
        let chosen = EQUAL.lines().filter(|line| rows.iter().any(|row| line.starts_with(row)));
        std::iter::once(HEADER).chain(chosen).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn cells_agree_and_an_altered_one_is_named() {
        let text = some(&["4,1,", "8,3,"]);
        let cases = GoldenChain::parse("equal.csv", &text).unwrap().verify(SHORT);
        let names: Vec<&str> = cases.iter().map(|case| case.case.as_str()).collect();
        assert_eq!(names, ["equal.csv/4 hops, window 1", "equal.csv/8 hops, window 3"]);
        assert!(cases.iter().all(|case| case.difference.is_none()), "{cases:?}");
        // A window of one is held to half a percent.
        let line = text.lines().nth(1).unwrap();
        let mbps: f64 = line.split(',').nth(2).unwrap().parse().unwrap();
        let altered = format!("{HEADER}\n4,1,{},0.001,4", mbps * 1.02);
        let case = GoldenChain::parse("equal.csv", &altered).unwrap().verify(SHORT).remove(0);
        assert!(case.difference.unwrap().contains("(0.5 % allowed)"));
    }

    #[test]
    fn a_text_that_breaks_the_layout_names_the_place() {
        let error = |name: &str, csv: &str| GoldenChain::parse(name, csv).err().unwrap().to_string();
        assert_eq!(error("other.csv", EQUAL), "other.csv: the name must be equal.csv or wider.csv");
        assert_eq!(error("equal.csv", "hops,cwl\n"), format!("equal.csv:1: the header must be {HEADER}"));
        for line in ["0,1,1,1,4", "2,0,1,1,4", "2,1,nan,1,4", "2,1,0,1,4", "2,1,1,4", "x,1,1,1,4"] {
            let message = error("wider.csv", &format!("{HEADER}\n{line}\n"));
            assert!(message.starts_with("wider.csv:2: \"") && message.contains(line), "{message}");
        }
        assert!(GoldenChain::parse("wider.csv", HEADER).unwrap().verify(SHORT).is_empty());
    }
}
