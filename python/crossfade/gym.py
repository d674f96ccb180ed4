"""Congestion control as an environment of gymnasium, which is a separate package: ``pip install
'crossfade[gym]'``.

An episode is a run of a scenario, and the seed of ``reset`` is the seed of the run, so the same actions give
the same episode. A trained policy controls any run as a class derived from
:class:`crossfade.teaching.Policy`, with the observations and actions of the environment. Time is simulated:
it does not pass while a policy computes an action.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from crossfade import plans, teaching
from crossfade.errors import CrossfadeError, ScenarioError
from crossfade.files import controls
from crossfade.plans import Plan
from crossfade.plans.options import Options, ScenarioLike, Values
from crossfade.results.cache import open_cache
from crossfade.results.results import Results
from crossfade.sweeps.engines import Threads
from crossfade.sweeps.stored import StoredRows

try:
    import gymnasium
except ImportError:
    raise ImportError("crossfade.gym needs gymnasium: pip install 'crossfade[gym]'") from None

__all__ = ["CongestionEnv", "reward"]

# File name that stands for the environment's policy in its scenario (``tcp.congestion``).
AGENT = "agent.py"


def reward(step: teaching.Step) -> float:
    """Default reward, an arbitrary choice: ``share - 0.1 (queueing - 1) - 10 loss``, all terms of a
    :class:`crossfade.teaching.Step`.
    """
    return step.share - 0.1 * (step.queueing - 1.0) - 10.0 * step.loss


class CongestionEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """One connection of a scenario as an environment; a step is a round trip, or with ``period`` the time
    until the first acknowledgement after ``period`` seconds.

    Observations and actions are those of :class:`crossfade.teaching.Policy`. ``scenario`` must have one point
    after ``set`` is applied. If it has several flows, ``flow`` names the controlled one, which must be a
    single connection. ``reward`` maps a :class:`crossfade.teaching.Step` to a number. An episode is
    terminated when the transfer is complete and truncated at the end of the run; ``info`` then has the
    ``metrics`` of the run.
    """

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        scenario: ScenarioLike = "quickstart",
        *,
        set: Values | None = None,
        flow: str | None = None,
        period: float | None = None,
        acts_on: Literal["cwnd", "pacing_rate"] = "cwnd",
        reward: Callable[[teaching.Step], float] = reward,
    ) -> None:
        self._plan = plans.load(scenario, Options(set=set, methods=["simulation"], runs=1))
        if (points := len(self._plan.description["points"])) != 1:
            raise ScenarioError(
                f"an environment is one point, not {points}: take the sweep out (set={{'sweep': None}})"
            )
        self._key = f"flows.{flow}.tcp.congestion" if flow else "tcp.congestion"
        self._reward = reward
        self._period, self._acts_on = period, acts_on
        least, most = zip(*teaching.Policy.OBSERVED, strict=True)
        self.observation_space = gymnasium.spaces.Box(
            np.array(least, np.float32), np.array(most, np.float32), dtype=np.float32
        )
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self._episode: _Episode | None = None
        self._with(self._agent(), None)  # an error in the scenario is raised here

    def _agent(self) -> _Agent:
        return _Agent(self._period, self._acts_on)

    def _with(self, agent: _Agent, seed: int | None) -> Plan:
        """The plan of an episode with an agent as its congestion control; raises :class:`ScenarioError` for a
        wrong scenario.
        """
        plan, hand_out = self._plan, _HandOut(agent)
        overrides = {**plan.overrides, "set": [*plan.overrides["set"], [self._key, AGENT]], "seed": seed}

        def read(name: str) -> str:
            return "" if name == AGENT else plan.files[name]

        def control(name: str, class_name: str | None, text: str) -> object:
            return hand_out if name == AGENT else controls.control(name, class_name, text)

        return plans.read(plan.name, plan.text, overrides, read, control=control)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode: a run with ``seed``, or with a seed drawn from the generator that the last given
        seed initialised.
        """
        super().reset(seed=seed)
        self.close()
        run_seed = int(self.np_random.integers(2**32)) if seed is None else seed
        agent = self._agent()
        self._episode = _Episode(self._with(agent, run_seed), agent)
        first = self._episode.go_on(None)
        if first is None:
            raise ScenarioError(
                "the run ended before there was anything to decide: make it longer, or the period shorter"
            )
        return first[0], {"seed": run_seed}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Apply an action, and simulate until the next one is needed or the episode ends."""
        if self._episode is None or self._episode.is_over:
            raise CrossfadeError("the episode is over: reset the environment")
        seen = self._episode.go_on(float(np.asarray(action, float).reshape(-1)[0]))
        if seen is not None:
            observation, step = seen
            return observation, float(self._reward(step)), False, False, {"time_s": step.now}
        agent, results = self._episode.agent, self._episode.results
        assert results is not None
        assert agent.step is not None
        metrics = {name: value.value for name, value in results.points[0].metrics.items()}
        is_done = bool(metrics.get("flows_completed")) and not metrics.get("flows_unfinished")
        info = {"time_s": agent.step.now, "metrics": metrics}
        return agent.observation(), float(self._reward(agent.step)), is_done, not is_done, info

    def close(self) -> None:
        """Stop the current run, if there is one."""
        if self._episode is not None:
            self._episode.stop()
            self._episode = None


class _Stopped(Exception):  # noqa: N818
    """Raised in a run to stop it before its end."""


class _Agent(teaching.Policy):
    """Policy whose actions come from another thread, for which it waits."""

    def __init__(self, period: float | None, acts_on: Literal["cwnd", "pacing_rate"]) -> None:
        self.period, self.acts_on = period, acts_on
        self.seen: queue.SimpleQueue[tuple[np.ndarray, teaching.Step] | None] = queue.SimpleQueue()
        self.actions: queue.SimpleQueue[float | None] = queue.SimpleQueue()

    def act(self, observation: np.ndarray) -> float:
        assert self.step is not None
        self.seen.put((observation, self.step))
        action = self.actions.get()
        if action is None:
            raise _Stopped
        return action


class _HandOut:
    """Factory that hands the agent to the first connection that needs it; a second connection is an error."""

    def __init__(self, agent: _Agent) -> None:
        self._agents = [agent]

    def __call__(self) -> _Agent:
        if not self._agents:
            raise ScenarioError(
                "several connections have the agent: name a flow of one connection (flow=...)"
            )
        return self._agents.pop()

    def problem(self, error: BaseException, *_where: object) -> str:
        """One-line message for an exception in the agent."""
        return str(error) or type(error).__name__


class _Episode:
    """A run on its own thread, which blocks while it waits for an action."""

    def __init__(self, plan: Plan, agent: _Agent) -> None:
        self.agent = agent
        self.results: Results | None = None
        self._plan = plan
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="crossfade.gym", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            with open_cache(enabled=False) as store:
                rows = StoredRows(self._plan, store)
                self.results = rows.results(rows.make(Threads(1)))
        except BaseException as error:  # raised again by go_on()
            self._error = error
        finally:
            self.agent.seen.put(None)

    def go_on(self, action: float | None) -> tuple[np.ndarray, teaching.Step] | None:
        """Pass an action to the agent if given; returns the agent's next observation and step, or None after
        the run.
        """
        if action is not None:
            self.agent.actions.put(action)
        seen = self.agent.seen.get()
        if seen is None:
            self._thread.join()
            if self._error is not None:
                raise self._error
        return seen

    @property
    def is_over(self) -> bool:
        """True if the run has ended."""
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Stop the run, and wait until its thread has ended."""
        self.agent.actions.put(None)
        self._thread.join()
