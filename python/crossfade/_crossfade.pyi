"""The compiled core. Structured things cross as JSON text, rows as tuples; ``crossfade.api`` is its face."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias, TypedDict, final

import numpy as np
from numpy.typing import NDArray

from crossfade.results.rows import Row
from crossfade.teaching import CongestionControl

__version__: Final[str]
RESULTS_VERSION: Final[int]
"""Rises whenever the same scenario and seed give other numbers than before."""
USUAL_METRIC: Final[str]
"""The metric that a stop rule, a figure or a comparison is about where none is named."""
MAIN_METRICS: Final[list[str]]
MAIN_METRICS_OF_SECONDS: Final[list[str]]
"""The metrics of a sweep that a person sees first, in this order."""
MOST_JOBS: Final[int]
"""The most threads that ``Plan.execute`` starts."""
CONTROL_CRATE: list[tuple[str, str]]
"""The files of the crate that a control in Rust is compiled with: names and texts."""
CONTROL_SYMBOL: str
"""The name of the table that a library of such a control exports."""
SOURCE_HASH: Final[str]
"""Hex SHA-256 of the Rust sources that the extension was built from."""

PackedRow: TypeAlias = tuple[str, str, str, int, int, str, bytes, str | None, float]
"""The fields of a ``crossfade.results.rows.Row``."""
Task: TypeAlias = tuple[int, str, int]
"""A run to be made: the number of its point in the plan, its method, its number."""

class ScenarioError(Exception):
    """A scenario, a key or a value is wrong. The message is one line: key, value, what is allowed."""

class GoldenError(Exception):
    """A golden trace cannot be read. The message is one line: file, place, what is wrong."""

class ImpossibleResultError(Exception):
    """A run gave what cannot be: a bug. The message is one line: metric, value, what it must be."""

class PanicException(BaseException):
    """A panic: a bug. Its text is what the panic said."""

def keep_panics() -> None:
    """From now on panics print nothing; :func:`panic_said` gives the first."""

def panic_said() -> str | None:
    """Place and message of the first panic since the last call; None without one."""

class TraceError(Exception):
    """A trace cannot be read, fitted or converted. One line: place, what is there, what is allowed."""

class MarkovParameters(TypedDict):
    """Rayleigh fading under a threshold, and the two-state Markov chain that stands for it."""

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
    """Meaning, values and default of a dotted key; of a table, its keys; ``""`` is the scenario.

    Raises ScenarioError for an unknown key, naming the nearest.
    """

def metrics() -> str:
    """The published metrics in the order of tables, as a JSON list.

    Each is ``{"name", "unit", "words", "meaning"}``: words stand on an axis, the meaning is in sentences.
    """

def methods() -> str:
    """The methods, as a JSON list of ``{"name", "alias", "words", "look", "random", "repeatable"}``.

    They stand in the order of drawing. ``alias`` is another name, or null; ``words`` are those of figures,
    ``look`` is "line", "dots", "dashes", "dash-dots", "band", "marks" or "crosses". Of a random method
    several runs are averaged. Rows of one that is not repeatable are never kept or merged.
    """

def parts() -> str:
    """Kinds of parts and links of networks, as JSON ``{"kinds", "links"}``, in the order of results.

    A kind of part is ``{"name", "list", "prefix", "is_numbered", "shown"}``: what one is called and what the
    list of them, what stands before a part's name in the keys of rows, whether parts have numbers in place of
    names, and the metrics that a person sees first. A link is ``{"name", "is_forward", "table", "queue",
    "channel"}``: its name in results, whether it carries data, and the keys of its tables in a scenario
    (null: none of its own).
    """

def parse_value(text: str) -> str:
    """A value as written on the command line, as JSON text.

    A TOML number, string, truth value, array or inline table; anything else is a string by itself.
    """

def markov_from_rayleigh(
    fd_t: float, *, p_e: float | None = None, fading_margin_db: float | None = None
) -> MarkovParameters:
    """The two-state Markov chain of Rayleigh fading with normalised Doppler frequency ``fd_t``.

    Exactly one of ``p_e`` (share of packets lost) and ``fading_margin_db``. ``mean_burst`` is in steps;
    ``rho``, J0(2 pi fd_t), may be negative. Source: Chockalingam and Bao (2000), eqs 3-6, with |rho|.

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
        """Read a scenario in TOML; ``name`` stands in messages about its syntax.

        ``overrides`` is JSON: ``{"set": [[key, value], ...], "over": [[key, values], ...], "runs": n,
        "precision": x, "seed": n, "methods": [...]}``, each may be absent or null. In ``set``, a table is
        merged and null removes; in ``over``, text is ``a,b,c``, ``start:stop:step`` or
        ``log:start:stop:points``. ``read`` gives the text of a file that the scenario names (``link.trace``,
        ``channel.file``), or raises an exception whose text is one line. ``on_points`` gets how many points
        were read, and of how many, at first and every 256 points. Ctrl-C ends it in between. ``control``
        makes a congestion control (:func:`crossfade.files.controls.control`) of a file's name, a class in it
        (or None) and its text.

        Raises ScenarioError.
        """

    def describe(self) -> str:
        """JSON: scenario (of the first point, defaults filled in), methods, seed, stop, axes, steps, points,
        units, warnings.

        ``stop`` is ``{"runs": n}`` or ``{"precision": x, "max_runs": n}``; ``axes`` are the keys that vary,
        ``steps`` the length of each axis (``{"tcp.w_max,tcp.dupthresh": 2}`` where keys vary together);
        a point is ``{"axes": {key: value}, "id": ...}``; ``units`` are those of all metrics, by name.
        """

    def known(self) -> Known:
        """Index of finished rows, empty at first."""

    def keys(self) -> list[str]:
        """The keys of all rows that may be needed, each once; with a precision up to ``max_runs`` a point."""

    def ranges(self, points: list[int], names: list[str]) -> list[list[list[float]]]:
        """The least and largest means that metrics can have at each point, by their names in rows.

        0 and infinite where nothing is certain.
        """

    def rows(self) -> int:
        """Upper bound of the number of rows, equal points counted each."""

    def execute(
        self,
        known: Known,
        jobs: int | None,
        shard: tuple[int, int],
        on_rows: Callable[[list[PackedRow]], object],
        on_progress: Callable[[float, int], object],
    ) -> bool:
        """Make the rows that are not among the known ones, on ``jobs`` threads (default: all processors).

        ``shard`` (k, n) is the k-th of n parts of the plan; (1, 1) is the whole. Every 50 ms at the most, on
        the calling thread, ``on_rows`` gets new rows and ``on_progress`` the runs at hand (with what is done
        of those under way) and the runs there will be. With a precision a row comes once it is clear that it
        counts: which rows come does not depend on timing.

        Returns whether the plan is complete. On Ctrl-C it stops the runs under way, hands over what is
        finished and returns False. An error of a callback stops the runs too, and is raised.

        Raises ScenarioError for a shard that there is not.
        """

    def make(
        self, tasks: Sequence[Task], on_progress: Callable[[float], object] | None = None
    ) -> list[PackedRow]:
        """Make the rows of tasks, one after the other. Raises KeyboardInterrupt on Ctrl-C.

        ``on_progress`` gets what is done of the run under way, from 0 to 1, every 50 ms.
        """

    def summarise_groups(self, rows: Sequence[Sequence[Row]], take: Callable[[str], object]) -> None:
        """Hand the results of all points to ``take`` as JSON lists; see ``Known.results``.

        They are made from rows that are known to belong together, whatever their keys. A group has the rows
        of a point by a method, in the order of their runs and without a gap; groups stand in the order of
        points, and of methods at each. Ctrl-C ends it in between. Raises ScenarioError unless there are as
        many.
        """

    def events(self, write: Callable[[int, str], object], run: int = 0) -> None:
        """Hand the events of a run of each point to ``write``: the number of a point, and lines of its CSV.

        The header comes first. What ``write`` raises is raised here.
        Raises ScenarioError if there are more than 20 points, KeyboardInterrupt on Ctrl-C.
        """

    def transfers(self, write: Callable[[int, str], object]) -> None:
        """The same of each transfer that came to its end, in every run of each point (100 at the most).

        Columns: run, flow, start_s, segments, completion_time_s. Raises as :meth:`events` does.
        """

    def delays(self, write: Callable[[int, str], object]) -> None:
        """The same of how delays are distributed in every run.

        Columns: run, flow, delay (``rtt_s``, ``one_way_delay_s``), share, value_s: that part of the delays is
        no longer than the value. Raises as :meth:`events` does.
        """

    def samples(self, write: Callable[[int, str], object], run: int = 0) -> None:
        """The same of samples of flows and links alone, every ``run.sample``.

        Columns: those of events, then link, goodput_bps, rtt_mean_s, queue_packets, capacity_bps,
        retransmissions. Raises ScenarioError also without ``run.sample``.
        """

    def link_events(self, write: Callable[[int, str], object], run: int = 0) -> None:
        """The same of what happened inside links.

        Columns: time_s, link, event (frame, slot, air, queue), user, node, frame, attempt, scheme, snr_db,
        verdict, bin, end_s, nulls, change, packets, bytes. Raises as :meth:`events` does.
        """

    def reuse(self) -> str:
        """The largest set of exchanges at one time at each point, over the flows' routes, as a JSON list.

        Each is ``{"point", "links", "antennas", "exchanges", "is_exact", "set": [[a, b], ...]}``. Raises
        ScenarioError for a point without a mesh.
        """

    def pcap(self, ipv6: bool, snaplen: int | None, write: Callable[[bytes], object], run: int = 0) -> None:
        """Hand what the senders' network interfaces saw in a run of the only point to ``write``: a pcap file.

        What ``write`` raises is raised here.
        Raises ScenarioError if there are several points or no TCP, KeyboardInterrupt on Ctrl-C.
        """

    def air_pcap(
        self, ipv6: bool, snaplen: int | None, write: Callable[[bytes], object], run: int = 0
    ) -> None:
        """Hand what a radio would have heard of the stations in a run of the only point to ``write``: pcap.

        What ``write`` raises is raised here.
        Raises ScenarioError if there are several points or no air, KeyboardInterrupt on Ctrl-C.
        """

    def opportunities(self, number: int, run: int = 0) -> str:
        """Times at which a flow was delivered each 1500 bytes, in a run of the only point, a line each.

        Raises ScenarioError if there are several points or no such flow, KeyboardInterrupt on Ctrl-C.
        """

    def memory(self) -> tuple[float, int | None]:
        """Estimated bytes of memory of a run, and the limit of the scenario (``run.memory``)."""

    def events_with_congestion_control(self, control: CongestionControl) -> str:
        """Those of the only point with a Python object for a congestion control, whose exceptions are raised.

        Raises ScenarioError if there are several points, or ``control`` has a window that none can use;
        KeyboardInterrupt on Ctrl-C.
        """

@final
class Known:
    """Index of a plan's finished rows, without their content: some 50 bytes each."""

    def __len__(self) -> int: ...
    def add(self, rows: Sequence[Row]) -> list[int | None]:
        """Take in rows; gives the number of the point of each, None of those that the plan does not ask for.

        Of equal points it is the first.
        """

    def entries(self) -> list[tuple[int, str, int, float]]:
        """All that is known, for another process."""

    def put(self, entries: Sequence[tuple[int, str, int, float]]) -> None:
        """Take in entries of the same plan."""

    def counts(self) -> list[int]:
        """Number of rows of each point of the plan."""

    def keys(self, points: Sequence[int]) -> list[str]:
        """The keys of the rows of some points."""

    def missing(self, shard: tuple[int, int]) -> tuple[list[tuple[int, str, int, int, int]], int]:
        """Runs of a shard that are needed in any case, and the number of finished ones.

        For each point and method with something to do: its number, the method, the first and the last run
        that is missing and how many are. Raises ScenarioError for a shard that there is not.
        """

    def results(self, points: Sequence[int], parts: Iterable[Sequence[Row]]) -> str:
        """The results of some points by each method, as a JSON list, from parts of their rows in any order.

        With a precision only the first runs that suffice count. A result has point, axes, scenario (all
        defaults filled in), method, runs (0 where solved), complete, loss_windows (by exact analysis),
        rows (the keys of those that count, in order of runs), metrics ``{name: {"value", "ci95", "unit"}}``,
        warnings, flows ``[{"name", "count", metric: ...}]`` and links ``[{"name": "forward", metric:
        ...}, ...]``, of a mesh also nodes ``[{"node", metric: ...}]``. A metric that no run defines is
        absent; ``ci95`` is null from a single run.
        """

@final
class Schedule:
    """The work on a plan that something else than ``Plan.execute`` carries out.

    It says which runs come next (as many as ``jobs`` may be made ahead of a stop rule) and which rows count.
    """

    def __new__(cls, plan: Plan, known: Known, jobs: int, shard: tuple[int, int]) -> Schedule: ...
    def take(self, most: int) -> list[Task]:
        """The next runs to make, at most ``most``. None while none is under way: the plan is complete."""

    def finish(self, rows: Sequence[Row]) -> list[PackedRow]:
        """The rows that count now that these are there. A row that comes a second time is ignored."""

    def under_way(self) -> int:
        """Number of runs handed out and not finished."""

    def progress(self) -> tuple[int, int]:
        """The runs at hand, and how many there will be."""

@final
class AckSample:
    """Acknowledgement of new segments, as a congestion control sees it. Sequence numbers count segments."""

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
        """Whether the congestion window limited the sender, not the application or the receiver."""

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
        """Whether no segment is outstanding: the connection starts, or was idle."""

    @property
    def app_limited(self) -> bool:
        """Whether the application limits the sender."""

    @property
    def srtt(self) -> float | None:
        """Smoothed round-trip time in seconds; None before the first measurement."""

@final
class LostSegment:
    """A segment marked as lost."""

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
        """Whether the application limited the sender when the lost segment was sent."""

@final
class RateSample:
    """Delivery rate sample of an acknowledgement; counts are of segments, times in seconds."""

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
        """Whether the application limited the sender when the newest acknowledged segment was sent."""

    @property
    def ce(self) -> int:
        """Delivered segments with a congestion mark (CE)."""

    @property
    def answers_probe(self) -> bool:
        """Whether it covers a segment that a tail loss probe retransmitted, and none beyond."""

    @property
    def phase(self) -> str:
        """State of loss recovery after it: "open", "recovery" or "loss"."""

    @property
    def departure(self) -> float:
        """Time at which the pacer releases the next segment."""

@final
class Live:
    """Two hosts joined by the links of a scenario (Linux).

    The process has one thread again when it is made, and may fork; from ``start`` on it has several.
    """

    def __new__(cls, plan: Plan, asked: str) -> Live:
        """The hosts of the plan's only point. ``asked`` is JSON: ``{"bulk": bool, "congestion": str | null,
        "mtu": n | null, "ipv6": bool, "large_segments": bool, "data_only": bool,
        "rebind": [first, every] in seconds | null, "corrupt": bool,
        "awake": "never" | "while-passing" | "always", "run": n, "journal": path | null,
        "captures": [far, near] | null, "packets": [file, bytes of each] | null, "version": str,
        "watch": bool, "source": {"name", "text", "overrides", "files"}}``.

        Raises ScenarioError for what the system refuses, and what the kernel's TCP has not.
        """

    def addresses(self) -> tuple[str, str]:
        """The addresses of the far host and of the near one."""

    def enter(self, host: int) -> None:
        """Move the calling process to the far host (0) or the near one (1), for good."""

    def far_namespace(self) -> str:
        """A path at which other processes find the network namespace of the far host."""

    def lead_on(self, device: str) -> None:
        """Let the near host reach what is beyond a device that somebody has put on the far one."""

    def start(self) -> None:
        """Begin, with the built-in transfers where they were asked for."""

    def duration(self) -> float | None:
        """Duration of the scenario in seconds; None if it ends with its segments."""

    def elapsed(self) -> float:
        """Seconds since it began."""

    def inside(self) -> int:
        """Number of packets between the hosts."""

    def is_running(self) -> bool:
        """Whether it goes on: no device was taken away, no disk is full."""

    def is_finished(self) -> bool:
        """Whether all built-in transfers have come to their end."""

    def delivered(self) -> list[int]:
        """Bytes that each of the built-in transfers has delivered."""

    def seen(self, since: tuple[int, int]) -> str:
        """Samples of sockets and links by ``watch`` from the given indices on, as JSON.

        ``{"sockets": [{"time_s", "host", "port", "remote_port", "congestion", "cwnd", "srtt_s",
        "delivery_rate_bps", "retransmissions"}], "links": [{"time_s", "arrived_bytes": [there, back], "lost",
        "dropped", "inside"}], "next": [n, n]}``.
        """

    def stop(self) -> tuple[str, str]:
        """Stop. Gives the report as JSON, and what was seen of TCP as CSV (empty without ``watch``)."""

def replay(journal: bytes) -> str:
    """Put the arrivals of a journal through its scenario's links once more; JSON.

    ``{"header": {...}, "lanes": [{"link", "packets", "arrived", "lost", "dropped",
    "difference": str | null}], "warnings": [...]}``. Raises ScenarioError where the journal is damaged or its
    scenario cannot be read.
    """

def journal_events(journal: bytes) -> str:
    """Events of the kernel's TCP in a journal, as CSV; raises ScenarioError as ``replay``."""

def journal_link_events(journal: bytes) -> str:
    """Events inside the links of a journal, as CSV; raises ScenarioError as ``replay``."""

def journal_air_pcap(journal: bytes, packets: str, snaplen: int, write: Callable[[bytes], object]) -> None:
    """Hand what was in the air of the Wi-Fi network of a journal to ``write``: a pcap file.

    ``packets`` names the file of what entered. Raises as ``replay``, and what ``write`` raises.
    """

def journal_opportunities(journal: bytes) -> list[str]:
    """Delivery opportunities from the far host and to it; raises as ``replay``."""

def journal_packets(journal: bytes) -> dict[str, Any]:
    """The packets of the flow that carried most, as columns of ``read_capture``; raises as ``replay``."""

def journal_simulated(journal: bytes) -> str | None:
    """The events of the simulation of a journal's scenario, seed and run as CSV.

    None where it was not the scenario's transfers that ran. Raises ScenarioError as ``replay``.
    """

def gain_privileges() -> None:
    """Enter a user namespace in which this process, which has one thread, may make hosts."""

def new_process_namespace() -> None:
    """The next process that is forked is the first of a new process namespace; no threads from here on."""

def die_with_parent() -> None:
    """This process is killed when the thread that forked it ends."""

def new_mount_namespace() -> None:
    """Private mounts from here on, seen by this process and its children alone."""

def cover(path: str, by: str) -> None:
    """Put one file in the place of another, in the process's mount namespace."""

def mount_proc() -> None:
    """A ``/proc`` of the process namespace, for this process and those that it forks."""

def become_user() -> None:
    """Be the user again who called ``gain_privileges``."""

def verify(files: list[tuple[str, str]], patterns: str | None = None) -> str:
    """Repeat golden data: name and text of each file, and of traces the text of patterns.json.

    JSON list of ``{"case": "sends_base_reno.csv/c1_single", "rows": n, "found": str | null,
    "difference": str | null}``; the difference is one line about the first that is too large. Raises
    GoldenError for what cannot be read.
    """

def nr_error_table(counted: str, remark: str) -> str:
    """Table for ``nr.error_table`` of counted transport blocks, its first line the remark.

    ``counted`` is a JSON list of ``{"block": {...}, "transmissions": n, "snr_db": x, "frames": n,
    "failures": n}``. Raises ScenarioError for what makes no table.
    """

def student_quantile(degrees: int, coverage: float = 0.95) -> float:
    """The t that Student's distribution exceeds in absolute value with probability 1 - ``coverage``."""

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

    ``values`` has a row a run and a column for each of ``names``, NaN where a metric is undefined; the runs
    of a point stand together, in order, and point i begins at row ``starts[i]``. ``columns`` are those asked
    for. ``precision`` or ``count`` are those of the plan's stop rule, with the column of the metric that it
    is about: then only the first runs that suffice count. ``most`` is the largest mean that each metric of
    each point can have (:meth:`Plan.most`).

    Gives means, half-widths of the two-sided 95 % Student intervals, lower and upper ends of the intervals
    that also cover rare events and skewed runs (points x columns, NaN where there are none), the number of
    runs that count, and whether they suffice (true where there is no such rule).

    Raises IndexError where ``starts``, ``names`` or a column does not fit the values.
    """

def antenna_correlations() -> str:
    """The correlation of neighbouring antennas, urban and rural, as JSON text: a row an end."""

def printed_codes_judged() -> str:
    """Decisions of the printed space-time matrices without noise, as JSON text: a row for each pair."""

def fit_markov(text: str, format: str = "auto", packets: int | None = None) -> str:
    """A two-state Markov chain fitted to a loss trace, as JSON text.

    ``format`` is ``bits`` (a digit a packet, 1 lost), ``lost`` (numbers of lost packets) or ``auto``;
    ``packets`` is their total, where the text does not say.

    An object with format, packets, packets_assumed, losses; p_gg, p_bb, p_e, mean_burst
    ``{"value", "low", "high"}``; log_likelihood; independence, first_order ``{"statistic", "freedom",
    "p_value"} | null``; good_runs, bad_runs ``{"lengths", "counts", "survival", "fitted", "distance":
    {"length", "observed", "fitted"}, "test"}``; verdict and explanation.

    Raises TraceError.
    """

def trace_formats() -> str:
    """The formats of recordings of links, as JSON text: a row ``{"name", "title", "written"}`` each."""

def detect_trace(chunks: Iterable[bytes]) -> str:
    """The name of the format of a text that comes in chunks. Raises TraceError for a text of none."""

def describe_trace(format: str, chunks: Iterable[bytes], delay_interval_s: float | None = None) -> str:
    """Summary of a recording, as JSON text: lasts_s, at_end, notes and ways.

    ``ways`` has a row for each direction: its facts, and ``{"mean", "min", "p5", "p50", "p95", "max"}`` of
    rate_bps, delay_s, loss, sent_bps and arrived_bps, or null. Raises TraceError for a wrong line.
    """

def trace_columns(
    format: str, chunks: Iterable[bytes], delay_interval_s: float | None = None
) -> dict[str, Any]:
    """The facts of a text as arrays, a column each; ``kind`` and ``direction`` are places in the lists
    ``kinds`` and ``directions``. Raises TraceError for a wrong line."""

def trace_curves(format: str, chunks: Iterable[bytes], delay_interval_s: float, most: int) -> str:
    """Series of a recording, as JSON text: for each direction, quantities with times in s and values, at
    most ``most`` points each. Raises TraceError for a wrong line."""

def read_capture(
    first: Iterable[bytes],
    again: Iterable[bytes],
    receiver: Iterable[bytes] | None = None,
    receiver_again: Iterable[bytes] | None = None,
) -> dict[str, Any]:
    """The packets of the largest flow of a capture as arrays.

    These are ``sent_s``, ``bytes``, ``seen_s`` (not a number where it is not known) and ``fate`` (0 arrived,
    1 lost, 2 not known); beside them ``flow``, ``is_round_trip``, ``offloads``, ``is_cut``, ``ends_early``
    and ``share``. Of encrypted QUIC at one end it has what ``read_log`` has of stretches. Each file is handed
    over twice. Raises TraceError.
    """

def fit_stretches(
    rows: Sequence[tuple[float, float, float, float, float, float, bool]],
    is_udp: bool,
    packet_bytes: float,
    lost_share: float | None,
    least_rtt_s: float | None,
    seed: int,
) -> str:
    """A link fitted to stretches as ``read_log`` has them, as JSON text. Raises TraceError."""

def detect_log(head: bytes) -> str | None:
    """Tool that wrote a log with this beginning: qlog, iperf3, irtt, ping, ss, events or link; else None."""

def read_log(chunks: Iterable[bytes]) -> dict[str, Any]:
    """A log: ``kind`` is ``packets`` (columns as of ``read_capture``) or ``stretches``. Raises TraceError."""

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
    """A link fitted to columns as ``read_capture`` has them, as JSON text. Raises TraceError."""

class TraceConversion:
    """A conversion of texts about one way (up, down or both): each is looked at, then all are read again."""

    def __init__(self, to: str, direction: str) -> None: ...
    def look(self, format: str, chunks: Iterable[bytes], delay_interval_s: float | None = None) -> None:
        """Looks at a text to its end. Raises TraceError for a wrong line."""

    def losses(self) -> list[str]:
        """Losses of the conversion, in words. Raises TraceError if the format cannot hold the recording."""

    def parts(self) -> list[str]:
        """The names of the files that the format takes for this; a single one has an empty name."""

    def write(
        self,
        part: str,
        texts: Sequence[tuple[str, Iterable[bytes]]],
        take: Callable[[str], object],
        delay_interval_s: float | None = None,
    ) -> None:
        """Reads the texts side by side, each a format and its chunks, and hands a part to ``take``."""

def fit_rayleigh(p_e: float, fd_t: float) -> str:
    """A chain fitted to sampled Rayleigh fading, as JSON text: see ``fit_markov``.

    Also closed_form ``{"p_gg", "p_bb"}``, and precision: the relative half-width of the wider 95 % interval
    of the probabilities to leave a state, over independent realisations. Raises ScenarioError.
    """
