//! Live emulation on Linux: hosts for programs, and functions that a forked process needs to enter them.

use crate::error::scenario_error;
use crate::plan::{Plan, to_json};
use crossfade_core::{RunSeed, SimTime};
use crossfade_experiment::CaptureConfig;
use crossfade_experiment::live::{Options, RecordedPacket, Session, Source, StayAwake};
use crossfade_live::{LiveError, Packets, Rebinding};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::Deserialize;
use std::fs::{File, OpenOptions};

/// Options of a live session as JSON; `null` for an absent one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of a command")]
struct Asked {
    bulk: bool,
    #[serde(deserialize_with = "Option::deserialize")]
    congestion: Option<String>,
    #[serde(deserialize_with = "Option::deserialize")]
    mtu: Option<u32>,
    ipv6: bool,
    large_segments: bool,
    data_only: bool,
    #[serde(deserialize_with = "Option::deserialize")]
    rebind: Option<[f64; 2]>,
    corrupt: bool,
    awake: StayAwake,
    run: u64,
    #[serde(deserialize_with = "Option::deserialize")]
    journal: Option<String>,
    #[serde(deserialize_with = "Option::deserialize")]
    captures: Option<[String; 2]>,
    #[serde(deserialize_with = "Option::deserialize")]
    packets: Option<(String, u32)>,
    version: String,
    watch: bool,
    source: Source,
}

/// Two hosts joined by the links of a scenario, between which real packets pass.
#[pyclass(module = "crossfade._crossfade", unsendable)]
pub(crate) struct Live(Session);

#[pymethods]
impl Live {
    /// Creates the hosts for the only point of a plan.
    #[new]
    fn new(plan: &Plan, asked: &str) -> PyResult<Self> {
        let asked: Asked = crate::plan::from_json("asked", asked)?;
        let points = &plan.experiment().points;
        if points.len() > 1 {
            let many = points.len();
            return Err(scenario_error(format!("sweep: a live run has one point; the scenario has {many}")));
        }
        let open = |path: &String| {
            let opened = OpenOptions::new().write(true).create(true).truncate(true).open(path);
            opened.map_err(|error| scenario_error(format!("{path}: cannot be written ({error})")))
        };
        let captures =
            asked.captures.as_ref().map(|[far, near]| Ok::<[File; 2], PyErr>([open(far)?, open(near)?]));
        let journal = asked.journal.as_ref().map(open).transpose()?;
        let packets = asked.packets.as_ref().map(|(path, snaplen)| Ok::<_, PyErr>((open(path)?, *snaplen)));
        let options = Options {
            bulk: asked.bulk,
            congestion: asked.congestion,
            mtu: asked.mtu,
            ipv6: asked.ipv6,
            large_segments: asked.large_segments,
            data_only: asked.data_only,
            rebinding: asked.rebind.map(|[first, every]| Rebinding {
                first: SimTime::from_secs_f64(first),
                every: SimTime::from_secs_f64(every),
            }),
            corrupts: asked.corrupt,
            awake: asked.awake,
            journal: journal.map(|file| (file, asked.source)),
            captures: captures.transpose()?,
            packets: packets.transpose()?,
            version: Some(asked.version),
            watch: asked.watch,
        };
        let seed = RunSeed { seed: plan.experiment().seed, run: asked.run };
        Session::new(points.at(0), seed, options).map(Self).map_err(scenario_error)
    }

    /// IPv4 addresses of the far host and of the near one.
    fn addresses(&self) -> [String; 2] {
        self.0.hosts().each_ref().map(|host| host.address().to_string())
    }

    /// Moves the calling process, which must have one thread, to the far host (0) or the near one (1) until it ends.
    fn enter(&self, host: usize) -> PyResult<()> {
        refused(self.0.hosts()[host].enter())
    }

    /// Path of the far host's network namespace, by which other processes can enter it.
    fn far_namespace(&self) -> String {
        self.0.hosts()[0].path()
    }

    /// Routes the near host to the network beyond a device of the far host.
    fn lead_on(&self, device: &str) -> PyResult<()> {
        self.0.lead_on(device).map_err(scenario_error)
    }

    /// Starts the emulation: packets pass between the hosts from now on.
    fn start(&mut self) -> PyResult<()> {
        self.0.start().map_err(scenario_error)
    }

    /// Duration of the scenario in seconds; `None` if it ends with a count of segments.
    fn duration(&self) -> Option<f64> {
        self.0.duration().map(SimTime::as_secs_f64)
    }

    /// Seconds since the start.
    fn elapsed(&self) -> f64 {
        SimTime::as_secs_f64(self.0.elapsed())
    }

    /// Number of packets between the hosts at present.
    fn inside(&self) -> u64 {
        self.0.inside()
    }

    /// True while the emulation goes on.
    fn is_running(&self) -> bool {
        self.0.is_running()
    }

    /// True if all built-in transfers have ended.
    fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// Bytes delivered so far by each built-in transfer.
    fn delivered(&self) -> Vec<u64> {
        self.0.delivered()
    }

    /// Samples of sockets and links from these indices on, as JSON text.
    fn seen(&self, since: [usize; 2]) -> PyResult<String> {
        to_json(&self.0.seen(since))
    }

    /// Stops the emulation. Returns its report as JSON text, and samples of the kernel's TCP as CSV.
    fn stop(&mut self) -> PyResult<(String, String)> {
        let (report, events) = self.0.stop().map_err(scenario_error)?;
        Ok((to_json(&report)?, events))
    }
}

/// Replays a journal; returns counts and differences as JSON text.
#[pyfunction]
pub(crate) fn replay(py: Python<'_>, journal: &[u8]) -> PyResult<String> {
    let found = py.detach(|| crossfade_experiment::live::replay(journal)).map_err(scenario_error)?;
    to_json(&found)
}

/// Samples of the kernel's TCP in a journal, as CSV.
#[pyfunction]
pub(crate) fn journal_events(journal: &[u8]) -> PyResult<String> {
    crossfade_live::Journal::parse(journal).map(|journal| journal.events).map_err(scenario_error)
}

/// Events inside the links of a journal's run, as CSV.
#[pyfunction]
pub(crate) fn journal_link_events(py: Python<'_>, journal: &[u8]) -> PyResult<String> {
    py.detach(|| crossfade_experiment::live::link_events(journal)).map_err(scenario_error)
}

/// Passes the frames on the air of a journal's Wi-Fi network to `write`, as a pcap file in portions; `packets` names
/// the file with the first bytes of the packets that entered.
#[pyfunction]
pub(crate) fn journal_air_pcap(
    py: Python<'_>,
    journal: &[u8],
    packets: &str,
    snaplen: u32,
    write: Py<PyAny>,
) -> PyResult<()> {
    let failed = |error: std::io::Error| scenario_error(format!("{packets}: cannot be read ({error})"));
    let mut packets = Packets::new(File::open(packets).map_err(failed)?).map_err(failed)?;
    let mut raised = None;
    let mut sink = |bytes: &[u8]| {
        if raised.is_none() {
            raised = Python::attach(|py| write.call1(py, (PyBytes::new(py, bytes),)).err());
        }
    };
    let config = CaptureConfig { snaplen, ..CaptureConfig::default() };
    let work = || crossfade_experiment::live::air_pcap(journal, &mut packets, config, &mut sink);
    py.detach(work).map_err(scenario_error)?;
    raised.map_or(Ok(()), Err)
}

/// Traces of delivery opportunities of a journal, one for each direction.
#[pyfunction]
pub(crate) fn journal_opportunities(py: Python<'_>, journal: &[u8]) -> PyResult<[String; 2]> {
    py.detach(|| crossfade_experiment::live::opportunities(journal)).map_err(scenario_error)
}

/// Packets of the flow with the most bytes of a journal, as columns: `sent_s`, `bytes`, `seen_s` and `fate` as for
/// captures, and entry times and delays of packets of the other direction.
#[pyfunction]
pub(crate) fn journal_packets<'py>(py: Python<'py>, journal: &[u8]) -> PyResult<Bound<'py, PyDict>> {
    let found = py.detach(|| crossfade_experiment::live::packets(journal)).map_err(scenario_error)?;
    let start = found.packets.first().map_or(0, |packet| packet.sent_ns);
    let seconds = |time_ns: i64| (time_ns - start) as f64 / 1e9;
    let columns = PyDict::new(py);
    let column = |of: &dyn Fn(&RecordedPacket) -> f64| {
        found.packets.iter().map(of).collect::<Vec<f64>>().into_pyarray(py)
    };
    columns.set_item("sent_s", column(&|packet| seconds(packet.sent_ns)))?;
    columns.set_item("bytes", column(&|packet| packet.bytes.into()))?;
    columns.set_item("seen_s", column(&|packet| packet.arrived_ns.map_or(f64::NAN, seconds)))?;
    let fates = found.packets.iter().map(|packet| match (packet.arrived_ns, packet.is_lost) {
        (Some(_), _) => 0_i8,
        (None, true) => 1,
        (None, false) => 2,
    });
    columns.set_item("fate", fates.collect::<Vec<i8>>().into_pyarray(py))?;
    let reverse =
        |of: &dyn Fn(&(i64, i64)) -> f64| found.reverse.iter().map(of).collect::<Vec<f64>>().into_pyarray(py);
    columns.set_item("reverse_sent_s", reverse(&|of| seconds(of.0)))?;
    columns.set_item("reverse_delay_s", reverse(&|of| of.1 as f64 / 1e9))?;
    Ok(columns)
}

/// Sender events of a simulation of a journal's scenario, seed and run, as CSV; `None` if other traffic than the
/// scenario's transfers ran.
#[pyfunction]
pub(crate) fn journal_simulated(py: Python<'_>, journal: &[u8]) -> PyResult<Option<String>> {
    py.detach(|| crossfade_experiment::live::simulated_events(journal)).map_err(scenario_error)
}

/// Gives the calling process, which must have one thread and then forks, the privileges to create hosts.
#[pyfunction]
pub(crate) fn gain_privileges() -> PyResult<()> {
    refused(crossfade_live::gain_privileges())
}

#[pyfunction]
pub(crate) fn new_process_namespace() -> PyResult<()> {
    refused(crossfade_live::new_process_namespace())
}

#[pyfunction]
pub(crate) fn die_with_parent() -> PyResult<()> {
    refused(crossfade_live::die_with_parent())
}

#[pyfunction]
pub(crate) fn new_mount_namespace() -> PyResult<()> {
    refused(crossfade_live::new_mount_namespace())
}

#[pyfunction]
pub(crate) fn mount_proc() -> PyResult<()> {
    refused(crossfade_live::mount_proc())
}

#[pyfunction]
pub(crate) fn cover(path: &str, by: &str) -> PyResult<()> {
    refused(crossfade_live::cover(path, by))
}

#[pyfunction]
pub(crate) fn become_user() -> PyResult<()> {
    refused(crossfade_live::become_user())
}

fn refused(outcome: Result<(), LiveError>) -> PyResult<()> {
    outcome.map_err(scenario_error)
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Live>()?;
    module.add_function(wrap_pyfunction!(replay, module)?)?;
    module.add_function(wrap_pyfunction!(journal_events, module)?)?;
    module.add_function(wrap_pyfunction!(journal_link_events, module)?)?;
    module.add_function(wrap_pyfunction!(journal_air_pcap, module)?)?;
    module.add_function(wrap_pyfunction!(journal_opportunities, module)?)?;
    module.add_function(wrap_pyfunction!(journal_packets, module)?)?;
    module.add_function(wrap_pyfunction!(journal_simulated, module)?)?;
    module.add_function(wrap_pyfunction!(gain_privileges, module)?)?;
    module.add_function(wrap_pyfunction!(new_process_namespace, module)?)?;
    module.add_function(wrap_pyfunction!(die_with_parent, module)?)?;
    module.add_function(wrap_pyfunction!(new_mount_namespace, module)?)?;
    module.add_function(wrap_pyfunction!(mount_proc, module)?)?;
    module.add_function(wrap_pyfunction!(cover, module)?)?;
    module.add_function(wrap_pyfunction!(become_user, module)?)
}
