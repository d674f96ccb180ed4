"""The compiled core. Structured values are passed as JSON text, rows as tuples; ``crossfade.api`` wraps
it.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias, TypedDict, final

import numpy as np
from numpy.typing import NDArray

from crossfade.results.rows import Row
from crossfade.teaching import CongestionControl

__version__: Final[str]
RESULTS_VERSION: Final[int]
"""Version of results: it increases whenever the same scenario and seed give other numbers than before."""
USUAL_METRIC: Final[str]
"""Default metric of a stop rule, a figure or a comparison."""
MAIN_METRICS: Final[list[str]]
MAIN_METRICS_OF_SECONDS: Final[list[str]]
"""Metrics that tables show first, in this order: of scenarios in slots, and of scenarios in seconds."""
MOST_JOBS: Final[int]
"""Largest number of threads that ``Plan.execute`` starts."""
CONTROL_CRATE: list[tuple[str, str]]
"""Files of the crate with which a congestion control in Rust is compiled: names and texts."""
CONTROL_SYMBOL: str
"""Name of the table of functions that the library of a control in Rust exports."""
SOURCE_HASH: Final[str]
"""Hex SHA-256 of the Rust sources that the extension was built from."""

PackedRow: TypeAlias = tuple[str, str, str, int, int, str, bytes, str | None, float]
"""The fields of a ``crossfade.results.rows.Row``."""
Task: TypeAlias = tuple[int, str, int]
"""A run to make: number of its point in the plan, method, number of the run."""

class ScenarioError(Exception):
    """Error for a wrong scenario, key or value. The message is one line: key, value, allowed values."""

class GoldenError(Exception):
    """Error for golden data that cannot be read. The message is one line: file, place, problem."""

class ImpossibleResultError(Exception):
    """Error for a run with an impossible result, a bug. The message is one line: metric, value, allowed
    range.
    """

class PanicException(BaseException):
    """A panic of the core, a bug; its text is the panic's message."""

def keep_panics() -> None:
    """Make panics print nothing from now on; :func:`panic_said` returns the first."""

def panic_said() -> str | None:
    """Place and message of the first panic since the last call; None if there was none."""

class TraceError(Exception):
    """Error for a trace that cannot be read, fitted or converted. One line: place, what is there, what is
    allowed.
    """

class MarkovParameters(TypedDict):
    """Rayleigh fading under a threshold, and the two-state Markov chain that models it."""

    fd_t: float
    p_e: float
    fading_margin_db: float
    p_gg: float
    p_bb: float
    mean_burst: float
    rho: float

def schema() -> str:
    """The JSON Schema of a scenario (draft 2020-12), as JSON text."""

def explain(key: str) -> str:
    """Meaning, values and default of a dotted key; for a table, its keys; ``""`` is the whole scenario.

    Raises ScenarioError for an unknown key, naming the nearest.
    """

def metrics() -> str:
    """The published metrics in the order of tables, as a JSON list.

    Each is ``{"name", "unit", "words", "meaning"}``: ``words`` label an axis, ``meaning`` is in sentences.
    """

def methods() -> str:
    """The methods in the order of drawing, as a JSON list of ``{"name", "alias", "words", "look", "random",
    "repeatable"}``.

    ``alias`` is another name, or null; ``words`` are the label in figures, ``look`` is "line", "dots",
    "dashes", "dash-dots", "band", "marks" or "crosses". Several runs of a random method are averaged. Rows of
    a method that is not repeatable are never stored or merged.
    """

def parts() -> str:
    """Kinds of parts and links of networks in the order of results, as JSON ``{"kinds", "links"}``.

    A kind of part is ``{"name", "list", "prefix", "is_numbered", "shown"}``: the name of one part, the name
    of the list of parts, the prefix of a part in keys of rows, whether parts have numbers in place of names,
    and the metrics shown first. A link is ``{"name", "is_forward", "table", "queue", "channel"}``: its name
    in results, whether it carries data, and the keys of its tables in a scenario (null if it has none).
    """

def parse_value(text: str) -> str:
    """A value as written on the command line, as JSON text.

    A TOML number, string, truth value, array or inline table is parsed; any other text is a string.
    """

def markov_from_rayleigh(
    fd_t: float, *, p_e: float | None = None, fading_margin_db: float | None = None
) -> MarkovParameters:
    """The two-state Markov chain of Rayleigh fading with normalised Doppler frequency ``fd_t``.

    Exactly one of ``p_e`` (share of packets lost) and ``fading_margin_db`` is given. ``mean_burst`` is in
    steps; ``rho``, J0(2 pi fd_t), may be negative. Source: Chockalingam and Bao (2000), eqs 3-6, with |rho|.

    Raises ScenarioError for values out of range.
    """

@final
class Plan:
    """Runs that a scenario requests: its points, and the stop rule of each."""

    @staticmethod
    def load(
        text: str,
        name: str,
        overrides: str,
        read: Callable[[str], str] | None = None,
        on_points: Callable[[int, int], object] | None = None,
        control: Callable[[str, str | None, str], object] | None = None,
    ) -> Plan:
        """Read a scenario in TOML; ``name`` appears in messages about its syntax.

        ``overrides`` is JSON: ``{"set": [[key, value], ...], "over": [[key, values], ...], "runs": n,
        "precision": x, "seed": n, "methods": [...]}``, each may be absent or null. In ``set``, a table is
        merged and null removes a key; in ``over``, text is ``a,b,c``, ``start:stop:step`` or
        ``log:start:stop:points``. ``read`` returns the text of a file that the scenario names
        (``link.trace``, ``channel.file``), or raises an exception whose text is one line. ``on_points`` gets
        the number of points read and of all points, first and every 256 points. Ctrl-C ends the reading.
        ``control`` makes a congestion control (:func:`crossfade.files.controls.control`) from the name of a
        file, a class in it (or None) and its text.

        Raises ScenarioError.
        """

    def describe(self) -> str:
        """Description of the plan as JSON: scenario (of the first point, with defaults), methods, seed, stop,
        axes, steps, points, units, warnings.

        ``stop`` is ``{"runs": n}`` or ``{"precision": x, "max_runs": n}``; ``axes`` are the keys that vary,
        ``steps`` the length of each axis (``{"tcp.w_max,tcp.dupthresh": 2}`` for keys that vary together); a
        point is ``{"axes": {key: value}, "id": ...}``; ``units`` are those of all metrics, by name.
        """

    def known(self) -> Known:
        """Index of finished rows of this plan, empty at first."""

    def keys(self) -> list[str]:
        """Keys of all rows that may be needed, without duplicates; with a precision, ``max_runs`` rows per
        point.
        """

    def ranges(self, points: list[int], names: list[str]) -> list[list[list[float]]]:
        """Smallest and largest possible mean of each metric at each point, by the metrics' names in rows.

        0 and infinity if no bound is known.
        """

    def rows(self) -> int:
        """Upper bound of the number of rows; equal points count separately."""

    def execute(
        self,
        known: Known,
        jobs: int | None,
        shard: tuple[int, int],
        on_rows: Callable[[list[PackedRow]], object],
        on_progress: Callable[[float, int], object],
    ) -> bool:
        """Make the rows that are not known yet, on ``jobs`` threads (default: all processors).

        ``shard`` (k, n) is the k-th of n parts of the plan; (1, 1) is the whole plan. At most every 50 ms, on
        the calling thread, ``on_rows`` gets new rows, and ``on_progress`` the number of finished runs (with
        fractions for those under way) and the expected number of all runs. With a precision, a row is passed
        on once it certainly counts, so the set of rows does not depend on timing.

        Returns whether the plan is complete. On Ctrl-C it stops the runs under way, passes on finished rows
        and returns False. An exception of a callback also stops the runs, and is raised here.

        Raises ScenarioError for an impossible shard.
        """

    def make(
        self, tasks: Sequence[Task], on_progress: Callable[[float], object] | None = None
    ) -> list[PackedRow]:
        """Make the rows of tasks, one after the other. Raises KeyboardInterrupt on Ctrl-C.

        ``on_progress`` gets the finished share of the current run, from 0 to 1, every 50 ms.
        """

    def summarise_groups(self, rows: Sequence[Sequence[Row]], take: Callable[[str], object]) -> None:
        """Pass the results of all points to ``take`` as JSON lists; see ``Known.results``.

        Rows are grouped by the caller, and their keys are ignored. A group has the rows of a point by one
        method, in the order of runs without a gap; groups are in the order of points, and of methods at each
        point. Ctrl-C ends it. Raises ScenarioError if the number of groups is wrong.
        """

    def events(self, write: Callable[[int, str], object], run: int = 0) -> None:
        """Pass the events of one run of each point to ``write``: number of the point, and lines of CSV with a
        header first.

        An exception of ``write`` is raised here. Raises ScenarioError if there are more than 20 points,
        KeyboardInterrupt on Ctrl-C.
        """

    def transfers(self, write: Callable[[int, str], object]) -> None:
        """Pass a row for each transfer in every run of each point (at most 100 runs) to ``write``, as CSV
        like :meth:`events`.

        Columns: run, flow, start_s, segments, completion_time_s, unfinished_s. Raises as :meth:`events` does.
        """

    def delays(self, write: Callable[[int, str], object]) -> None:
        """Pass quantiles of the delays in every run of each point to ``write``, as CSV like :meth:`events`.

        Columns: run, flow, delay (``rtt_s``, ``one_way_delay_s``), share, value_s: the quantile at ``share``.
        Raises as :meth:`events` does.
        """

    def samples(self, write: Callable[[int, str], object], run: int = 0) -> None:
        """Pass samples of flows and links, one every ``run.sample``, to ``write``, as CSV like
        :meth:`events`.

        Columns: those of events, then link, goodput_bps, rtt_mean_s, queue_packets, capacity_bps,
        retransmissions. Raises ScenarioError also without ``run.sample``.
        """

    def link_events(self, write: Callable[[int, str], object], run: int = 0) -> None:
        """Pass the events inside links to ``write``, as CSV like :meth:`events`.

        The columns are those of :func:`crossfade.runs.link_events`. Raises as :meth:`events` does.
        """

    def reuse(self) -> str:
        """Largest set of simultaneous exchanges on the flows' routes at each point, as a JSON list.

        Each is ``{"point", "links", "antennas", "exchanges", "is_exact", "set": [[a, b], ...]}``. Raises
        ScenarioError for a point without a mesh.
        """

    def pcap(self, ipv6: bool, snaplen: int | None, write: Callable[[bytes], object], run: int = 0) -> None:
        """Pass a pcap file of the packets at the senders' network interfaces, in a run of the only point, to
        ``write``.

        An exception of ``write`` is raised here. Raises ScenarioError if there are several points or no TCP,
        KeyboardInterrupt on Ctrl-C.
        """

    def air_pcap(
        self, ipv6: bool, snaplen: int | None, write: Callable[[bytes], object], run: int = 0
    ) -> None:
        """Pass a pcap file of all frames on the air, in a run of the only point, to ``write``.

        An exception of ``write`` is raised here. Raises ScenarioError if there are several points or no
        stations, KeyboardInterrupt on Ctrl-C.
        """

    def opportunities(self, number: int, run: int = 0) -> str:
        """Delivery opportunities of a flow in a run of the only point: one line with the time in ms for each
        1500 bytes delivered.

        Raises ScenarioError if there are several points or no such flow, KeyboardInterrupt on Ctrl-C.
        """

    def memory(self) -> tuple[float, int | None]:
        """Estimated memory of a run in bytes, and the limit of the scenario (``run.memory``) in bytes, if
        there is one.
        """

    def events_with_congestion_control(self, control: CongestionControl) -> str:
        """Events of run 0 of the only point as CSV, with a Python object as congestion control; its
        exceptions are raised here.

        Raises ScenarioError if there are several points, or ``control`` has an unusable window;
        KeyboardInterrupt on Ctrl-C.
        """

@final
class Known:
    """Index of a plan's finished rows, without their content: about 50 bytes each."""

    def __len__(self) -> int: ...
    def add(self, rows: Sequence[Row]) -> list[int | None]:
        """Add rows; returns the number of the point of each, None for a row that the plan does not need.

        If points are equal, it is the number of the first.
        """

    def entries(self) -> list[tuple[int, str, int, float]]:
        """All entries of the index, to copy them to another process."""

    def put(self, entries: Sequence[tuple[int, str, int, float]]) -> None:
        """Add entries of another index of the same plan."""

    def counts(self) -> list[int]:
        """Number of known rows of each point of the plan."""

    def keys(self, points: Sequence[int]) -> list[str]:
        """Keys of the known rows of some points."""

    def missing(self, shard: tuple[int, int]) -> tuple[list[tuple[int, str, int, int, int]], int]:
        """Runs of a shard that are certainly needed, and the number of finished ones.

        Each entry has, for a point and method with missing runs, the number of the point, the method, the
        first and the last missing run, and their count. Raises ScenarioError for an impossible shard.
        """

    def results(self, points: Sequence[int], parts: Iterable[Sequence[Row]]) -> str:
        """Results of some points by each method, as a JSON list, from parts of their rows in any order.

        With a precision only the first runs that suffice count. A result has point, axes, scenario (with
        defaults), method, runs (0 if solved), complete, loss_windows (by exact analysis), rows (keys of those
        that count, in order of runs), metrics ``{name: {"value", "ci95", "unit"}}``, warnings, flows
        ``[{"name", "count", metric: ...}]`` and links ``[{"name": "forward", metric: ...}, ...]``, and for a
        mesh nodes ``[{"node", metric: ...}]``. A metric that no run defines is absent; ``ci95`` is null for a
        single run.
        """

@final
class Schedule:
    """The work on a plan that something other than ``Plan.execute`` carries out, such as a cluster.

    It tells which runs come next (up to ``jobs`` may be made ahead of a stop rule), and which rows count.
    """

    def __new__(cls, plan: Plan, known: Known, jobs: int, shard: tuple[int, int]) -> Schedule: ...
    def take(self, most: int) -> list[Task]:
        """The next runs to make, at most ``most``. An empty list while no run is under way means that the
        plan is complete.
        """

    def finish(self, rows: Sequence[Row]) -> list[PackedRow]:
        """Take finished rows, and return those that now certainly count. A row that comes a second time is
        ignored.
        """

    def under_way(self) -> int:
        """Number of runs handed out and not finished."""

    def progress(self) -> tuple[int, int]:
        """Number of finished runs, and the expected number of all runs."""

@final
class AckSample:
    """Acknowledgement of new segments, as a congestion control gets it. Sequence numbers count segments."""

    def __new__(
        cls,
        now: float,
        acked: int,
        *,
        rtt: float | None = None,
        next_expected: int = 0,
        snd_max: int = 0,
        cwnd_limited: bool = True,
    ) -> AckSample: ...
    @property
    def now(self) -> float:
        """Arrival time of the acknowledgement in seconds."""

    @property
    def acked(self) -> int:
        """Number of newly acknowledged segments, cumulatively or by SACK."""

    @property
    def rtt(self) -> float | None:
        """Measured round-trip time in seconds; None without a measurement."""

    @property
    def next_expected(self) -> int:
        """Cumulative acknowledgement: the next segment that the receiver expects."""

    @property
    def snd_max(self) -> int:
        """Next segment to send for the first time (SND.MAX)."""

    @property
    def cwnd_limited(self) -> bool:
        """True if the congestion window limited the sender, not the application or the receiver."""

@final
class SendEvent:
    """State of the sender as it is about to send a segment."""

    @property
    def now(self) -> float:
        """Time in seconds."""

    @property
    def in_flight(self) -> int:
        """Estimated number of segments in flight, without the new one."""

    @property
    def after_idle(self) -> bool:
        """True if no segment is outstanding: the connection starts, or was idle."""

    @property
    def app_limited(self) -> bool:
        """True if the application limits the sender."""

    @property
    def srtt(self) -> float | None:
        """Smoothed round-trip time in seconds; None before the first measurement."""

@final
class LostSegment:
    """A segment marked as lost, as a congestion control gets it; counts are of segments."""

    @property
    def now(self) -> float:
        """Time of the detection in seconds."""

    @property
    def tx_in_flight(self) -> int:
        """Segments in flight when the lost segment was sent, itself included."""

    @property
    def lost_since_sent(self) -> int:
        """Segments marked as lost since the lost segment was sent, itself included."""

    @property
    def prior_delivered(self) -> int:
        """Segments delivered when the lost segment was sent."""

    @property
    def app_limited(self) -> bool:
        """True if the application limited the sender when the lost segment was sent."""

@final
class RateSample:
    """Delivery-rate sample of an acknowledgement; counts are of segments, times in seconds."""

    @property
    def now(self) -> float:
        """Arrival time of the acknowledgement."""

    @property
    def delivered(self) -> int:
        """Segments delivered since the connection began."""

    @property
    def prior_delivered(self) -> int | None:
        """Segments delivered when the newest acknowledged segment was sent."""

    @property
    def interval(self) -> float:
        """Time over which ``delivered - prior_delivered`` was sent or acknowledged, whichever is longer."""

    @property
    def rate(self) -> float | None:
        """Delivery rate in segments a second; None without deliveries or a plausible interval."""

    @property
    def rtt(self) -> float | None:
        """Round-trip time of the newest acknowledged segment that was not retransmitted."""

    @property
    def srtt(self) -> float | None:
        """Smoothed round-trip time."""

    @property
    def newly_acked(self) -> int:
        """Newly acknowledged segments."""

    @property
    def newly_lost(self) -> int:
        """Segments newly marked as lost."""

    @property
    def lost(self) -> int:
        """Segments marked as lost since the connection began."""

    @property
    def lost_since_sent(self) -> int:
        """Segments marked as lost since the newest acknowledged segment was sent."""

    @property
    def tx_in_flight(self) -> int:
        """Segments in flight when the newest acknowledged segment was sent, itself included."""

    @property
    def in_flight(self) -> int:
        """Segments in flight after the acknowledgement."""

    @property
    def prior_in_flight(self) -> int:
        """Segments in flight before the acknowledgement."""

    @property
    def app_limited(self) -> bool:
        """True if the application limited the sender when the newest acknowledged segment was sent."""

    @property
    def ce(self) -> int:
        """Delivered segments with a congestion mark (CE)."""

    @property
    def answers_probe(self) -> bool:
        """True if the acknowledgement covers a segment that a tail loss probe retransmitted, and none
        beyond.
        """

    @property
    def phase(self) -> str:
        """State of loss recovery after the acknowledgement: "open", "recovery" or "loss"."""

    @property
    def departure(self) -> float:
        """Time at which the pacer releases the next segment."""

@final
class Live:
    """Two hosts joined by the links of a scenario (Linux).

    After construction the process still has one thread, and may fork; from ``start`` on it has several.
    """

    def __new__(cls, plan: Plan, asked: str) -> Live:
        """The hosts of the plan's only point. ``asked`` is JSON: ``{"bulk": bool, "congestion": str | null,
        "mtu": n | null, "ipv6": bool, "large_segments": bool, "data_only": bool,
        "rebind": [first, every] in seconds | null, "corrupt": bool,
        "awake": "never" | "while-passing" | "always", "run": n, "journal": path | null,
        "captures": [far, near] | null, "packets": [file, bytes of each] | null, "version": str,
        "watch": bool, "source": {"name", "text", "overrides", "files"}}``.

        Raises ScenarioError for anything that the system refuses or the kernel's TCP lacks.
        """

    def addresses(self) -> tuple[str, str]:
        """Addresses of the far host and of the near host."""

    def enter(self, host: int) -> None:
        """Move the calling process to the network namespace of the far host (0) or the near host (1), for
        good.
        """

    def far_namespace(self) -> str:
        """Path of the far host's network namespace, for other processes."""

    def lead_on(self, device: str) -> None:
        """Route traffic of the near host through a device that another program added to the far host."""

    def start(self) -> None:
        """Start the emulation, with the built-in transfers if they were requested."""

    def duration(self) -> float | None:
        """Duration of the scenario in seconds; None if it ends with its segments."""

    def elapsed(self) -> float:
        """Seconds since the start."""

    def inside(self) -> int:
        """Number of packets that have entered the links and not left them."""

    def is_running(self) -> bool:
        """True if the emulation goes on; False once a device was removed or a disk is full."""

    def is_finished(self) -> bool:
        """True if all built-in transfers are complete."""

    def delivered(self) -> list[int]:
        """Bytes delivered by each built-in transfer."""

    def seen(self, since: tuple[int, int]) -> str:
        """Samples of sockets and links by ``watch`` from the given indices on, as JSON.

        ``{"sockets": [{"time_s", "host", "port", "remote_port", "congestion", "cwnd", "srtt_s",
        "delivery_rate_bps", "retransmissions"}], "links": [{"time_s", "arrived_bytes": [there, back], "lost",
        "dropped", "inside"}], "next": [n, n]}``.
        """

    def stop(self) -> tuple[str, str]:
        """Stop the emulation; returns the report as JSON, and the recorded TCP events as CSV (empty without
        ``watch``).
        """

def replay(journal: bytes) -> str:
    """Replay a journal: simulate its scenario's links with the recorded arrivals; returns JSON.

    ``{"header": {...}, "lanes": [{"link", "packets", "arrived", "lost", "dropped", "difference": str |
    null}], "warnings": [...]}``. Raises ScenarioError if the journal is damaged or its scenario cannot be
    read.
    """

def journal_events(journal: bytes) -> str:
    """Events of the kernel's TCP in a journal, as CSV; raises ScenarioError as ``replay``."""

def journal_link_events(journal: bytes) -> str:
    """Events inside the links of a journal, as CSV; raises ScenarioError as ``replay``."""

def journal_air_pcap(journal: bytes, packets: str, snaplen: int, write: Callable[[bytes], object]) -> None:
    """Pass a pcap file of the frames on the air of a journal's Wi-Fi network to ``write``.

    ``packets`` names the file of the packets that entered the links. Raises as ``replay``, and what ``write``
    raises.
    """

def journal_opportunities(journal: bytes) -> list[str]:
    """Delivery opportunities of a journal, from the far host and to it, as text; raises as ``replay``."""

def journal_packets(journal: bytes) -> dict[str, Any]:
    """Packets of the flow of a journal that carried most, as columns of ``read_capture``; raises as
    ``replay``.
    """

def journal_simulated(journal: bytes) -> str | None:
    """Events of a simulation of a journal's scenario, seed and run, as CSV.

    None if other programs ran in place of the scenario's transfers. Raises ScenarioError as ``replay``.
    """

def gain_privileges() -> None:
    """Enter a user namespace in which this process, which must have one thread, may create hosts."""

def new_process_namespace() -> None:
    """Make the next forked process the first of a new process namespace; no thread may be started
    afterwards.
    """

def die_with_parent() -> None:
    """Have this process killed when the thread that forked it ends."""

def new_mount_namespace() -> None:
    """Enter a private mount namespace: later mounts are visible only to this process and its children."""

def cover(path: str, by: str) -> None:
    """Mount file ``by`` over file ``path`` in the process's mount namespace."""

def mount_proc() -> None:
    """Mount a ``/proc`` of the process namespace, for this process and its children."""

def become_user() -> None:
    """Return to the user who called ``gain_privileges``."""

def verify(files: list[tuple[str, str]], patterns: str | None = None) -> str:
    """Repeat golden data, given the name and text of each file, and for TCP traces the text of patterns.json.

    Returns a JSON list of ``{"case": "sends_base_reno.csv/c1_single", "rows": n, "found": str | null,
    "difference": str | null}``; ``difference`` is one line about the first difference that is too large.
    Raises GoldenError for files that cannot be read.
    """

def nr_error_table(counted: str, remark: str) -> str:
    """Table for ``nr.error_table`` fitted to counted transport blocks; ``remark`` is its first line.

    ``counted`` is a JSON list of ``{"block": {...}, "transmissions": n, "snr_db": x, "frames": n, "failures":
    n}``. Raises ScenarioError if no table can be fitted.
    """

def student_quantile(degrees: int, coverage: float = 0.95) -> float:
    """Value that a Student-distributed variable exceeds in magnitude with probability 1 - ``coverage``."""

def estimates(
    values: NDArray[np.float64],
    starts: NDArray[np.int64],
    names: list[str],
    columns: list[int],
    precision: tuple[float, int] | None = None,
    count: tuple[int, int] | None = None,
    distributions: list[bytes] | None = None,
    ranges: NDArray[np.float64] | None = None,
) -> tuple[
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.bool_],
    NDArray[np.int64],
    NDArray[np.bool_],
]:
    """Means over the runs of many points, by the code that summarises a plan: equal to the last bit.

    ``values`` has one row per run and one column for each of ``names``, NaN if a metric is undefined; the
    runs of a point are consecutive, in order, and point i begins at row ``starts[i]``. ``columns`` are the
    indices of the requested metrics. ``precision`` or ``count`` are those of the plan's stop rule, with the
    column of its metric: then only the first runs that suffice count. ``distributions`` are the packed
    distributions of each row. ``ranges`` (points x columns x 2) has the smallest and largest possible mean
    (:meth:`Plan.ranges`; default: 0 and infinity).

    Returns, as arrays of points x columns: means, half-widths of the two-sided 95 % Student intervals, lower
    and upper ends of the intervals that also cover rare events and skewed runs (NaN if there are none),
    numbers of runs in which the metric is defined, and whether the mean is a lower bound. Then for each
    point: the number of runs that count, and whether they suffice (true without a stop rule).

    Raises IndexError if ``starts``, ``names`` or a column does not fit the values.
    """

def antenna_correlations() -> str:
    """Correlation of neighbouring antennas, urban and rural, as JSON text: one row per end of the link."""

def printed_codes_judged() -> str:
    """Errors of a noiseless receiver with four antennas for the space-time matrices as printed in papers, as
    JSON text: one row per printed pair of code and equivalent channel.
    """

def fit_markov(text: str, format: str = "auto", packets: int | None = None) -> str:
    """A two-state Markov chain fitted to a loss trace, as JSON text.

    ``format`` is ``bits`` (one digit per packet, 1 lost), ``lost`` (numbers of lost packets) or ``auto``;
    ``packets`` is the total number, if the text does not contain it.

    Returns an object with format, packets, packets_assumed, losses; p_gg, p_bb, p_e, mean_burst ``{"value",
    "low", "high"}``; log_likelihood; independence, first_order ``{"statistic", "freedom", "p_value"} |
    null``; good_runs, bad_runs ``{"lengths", "counts", "survival", "fitted", "distance": {"length",
    "observed", "fitted"}, "test"}``; verdict and explanation.

    Raises TraceError.
    """

def trace_formats() -> str:
    """Supported formats of recordings of links, as JSON text: a list of ``{"name", "title", "written"}``."""

def detect_trace(chunks: Iterable[bytes]) -> str:
    """Name of the format of a text given in chunks. Raises TraceError if it has none of the formats."""

def describe_trace(format: str, chunks: Iterable[bytes], delay_interval_s: float | None = None) -> str:
    """Summary of a recording, as JSON text: lasts_s, at_end, notes and ways.

    ``ways`` has one row per direction: its facts, and ``{"mean", "min", "p5", "p50", "p95", "max"}`` of
    rate_bps, delay_s, loss, sent_bps and arrived_bps, or null. Raises TraceError for a wrong line.
    """

def trace_columns(
    format: str, chunks: Iterable[bytes], delay_interval_s: float | None = None
) -> dict[str, Any]:
    """Recorded values of a text as arrays, one per column; ``kind`` and ``direction`` are indices into the
    lists ``kinds`` and ``directions``. Raises TraceError for a wrong line.
    """

def trace_curves(format: str, chunks: Iterable[bytes], delay_interval_s: float, most: int) -> str:
    """Series of a recording, as JSON text: for each direction, quantities with times in s and values, at most
    ``most`` points each. Raises TraceError for a wrong line.
    """

def read_capture(
    first: Iterable[bytes],
    again: Iterable[bytes],
    receiver: Iterable[bytes] | None = None,
    receiver_again: Iterable[bytes] | None = None,
) -> dict[str, Any]:
    """The packets of the largest flow of a capture, as arrays.

    Columns are ``sent_s``, ``bytes``, ``seen_s`` (NaN if unknown) and ``fate`` (0 arrived, 1 lost, 2
    unknown); further entries are ``flow``, ``is_round_trip``, ``offloads``, ``is_cut``, ``ends_early`` and
    ``share``. For encrypted QUIC captured at one end, the result has the stretches of ``read_log``. Each file
    is passed twice. Raises TraceError.
    """

def fit_stretches(
    rows: Sequence[tuple[float, float, float, float, float, float, bool]],
    is_udp: bool,
    packet_bytes: float,
    lost_share: float | None,
    least_rtt_s: float | None,
    seed: int,
) -> str:
    """A link fitted to stretches, as ``read_log`` returns them; JSON text. Raises TraceError."""

def detect_log(head: bytes) -> str | None:
    """Tool that wrote a log with these first bytes: qlog, iperf3, irtt, ping, ss, events or link; None if
    unknown.
    """

def read_log(chunks: Iterable[bytes]) -> dict[str, Any]:
    """Content of a log: ``kind`` is ``packets`` (columns as of ``read_capture``) or ``stretches``. Raises
    TraceError.
    """

def fit_link(
    sent_s: Any,
    bytes: Any,
    seen_s: Any,
    fate: Any,
    is_round_trip: bool,
    seed: int,
    tick_s: float = 0.0,
    reverse: Sequence[tuple[float, float]] | None = None,
) -> str:
    """A link fitted to columns as ``read_capture`` returns them, as JSON text. Raises TraceError."""

class TraceConversion:
    """Conversion of recordings of one direction or both (``up``, ``down``, ``both``): each text is first
    scanned, then all are read again.
    """

    def __init__(self, to: str, direction: str) -> None: ...
    def look(self, format: str, chunks: Iterable[bytes], delay_interval_s: float | None = None) -> None:
        """Scan a text to its end. Raises TraceError for a wrong line."""

    def losses(self) -> list[str]:
        """Information that the conversion loses, in words. Raises TraceError if the format cannot hold the
        recording.
        """

    def parts(self) -> list[str]:
        """Names of the files that the target format needs; a single file has an empty name."""

    def write(
        self,
        part: str,
        texts: Sequence[tuple[str, Iterable[bytes]]],
        take: Callable[[str], object],
        delay_interval_s: float | None = None,
    ) -> None:
        """Read the texts side by side, each given as format and chunks, and pass the text of file ``part`` to
        ``take``.
        """

def fit_rayleigh(p_e: float, fd_t: float) -> str:
    """A chain fitted to sampled Rayleigh fading, as JSON text like that of ``fit_markov``.

    It also has closed_form ``{"p_gg", "p_bb"}``, and precision: the relative half-width of the wider 95 %
    interval of the probabilities to leave a state, over independent realisations. Raises ScenarioError.
    """
