"""The gymnasium environment: an episode is a run, and a trained policy works in any run."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import crossfade as cf
from crossfade import teaching
from crossfade.gym import CongestionEnv
from tests.test_rules import FADING

ONE = FADING.replace('"sack"', '"sack", w_max = 500').replace("p_e = 0.02", "p_e = 0.005")
ACTIONS = [0.5, -0.25, 1.0, 0.0, -1.0, 0.25, 0.75, -0.5]


def play(env: CongestionEnv, seed: int) -> tuple[list[np.ndarray], list[float], dict[str, float]]:
    """An episode of actions that return."""
    seen, _ = env.reset(seed=seed)
    observations, rewards = [seen], []
    for number in range(100_000):
        action = np.array([ACTIONS[number % len(ACTIONS)]], np.float32)
        seen, reward, terminated, truncated, info = env.step(action)
        observations.append(seen)
        rewards.append(reward)
        if terminated or truncated:
            return observations, rewards, info["metrics"]
    raise AssertionError


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_gymnasium_finds_nothing_wrong() -> None:
    env = CongestionEnv(ONE)
    check_env(env, skip_render_check=True)
    env.close()


def test_the_seed_of_an_episode_is_that_of_a_run(tmp_path: Path) -> None:
    env = CongestionEnv(ONE)
    first, again, other = play(env, 3), play(env, 3), play(env, 4)
    assert all((a == b).all() for a, b in zip(first[0], again[0], strict=True))
    assert first[1:] == again[1:]
    assert first[2] != other[2]
    assert all(env.observation_space.contains(seen) for seen in first[0])
    # An episode of 5 s has steps of at least 46 ms.
    assert 20 < len(first[1]) < 5.0 / 0.046
    # An equal policy as a class gives the same run, to the last digit.
    (tmp_path / "agent.py").write_text(f"""
from crossfade.teaching import Policy


class Mine(Policy):
    number = 0

    def act(self, observation):
        assert observation.shape == (6,)
        action = {ACTIONS}[self.number % {len(ACTIONS)}]
        self.number += 1
        return action
""")
    (tmp_path / "a.toml").write_text(ONE)
    found = cf.run(
        tmp_path / "a.toml", set={"tcp.congestion": "agent.py"}, seed=3, runs=1, cache=False
    ).points[0]
    assert {name: value.value for name, value in found.metrics.items()} == pytest.approx(
        first[2], nan_ok=True
    )


@pytest.mark.parametrize("acts_on", ["cwnd", "pacing_rate"])
def test_actions_have_their_effect(acts_on: str) -> None:
    """An agent that only increases fills the queue; one that never increases gets little goodput."""
    found = []
    for action in (-0.5, 0.5):
        env = CongestionEnv(ONE, set={"channel.p_e": 0}, acts_on=acts_on, period=0.1)  # type: ignore[arg-type]
        env.reset(seed=1)
        while True:
            seen, _, terminated, truncated, info = env.step(np.array([action], np.float32))
            assert seen[-1] == action
            if terminated or truncated:
                break
        found.append(info["metrics"])
        assert truncated
    assert found[0]["goodput_bps"] < 0.5e6 < 0.9e6 < found[1]["goodput_bps"]
    assert found[0]["queue_mean_packets"] < 1.0 < found[1]["queue_mean_packets"]


def test_a_transfer_that_is_complete_terminates() -> None:
    transfer = {"flows": {"me": {"traffic": "transfer", "size": "300 kB"}}}
    env = CongestionEnv(ONE, set=transfer, flow=None)
    env.reset(seed=1)
    done = False
    while not done:
        _, _, done, truncated, info = env.step(np.zeros(1, np.float32))
        assert not truncated
    assert 1.0 < info["metrics"]["completion_time_s"] < 5.0
    with pytest.raises(cf.errors.CrossfadeError, match="reset the environment"):
        env.step(np.zeros(1, np.float32))


def test_the_reward_is_the_users(tmp_path: Path) -> None:
    def rate(step: teaching.Step) -> float:
        return step.rate

    rewards = play(CongestionEnv(ONE, reward=rate), 1)[1]
    assert 0.0 < max(rewards) < 1000.0


def test_an_episode_that_nobody_ends_leaves_no_thread() -> None:
    env = CongestionEnv(ONE)
    for seed in range(3):
        env.reset(seed=seed)
        env.step(np.zeros(1, np.float32))
    env.close()
    env.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "crossfade.gym"]


def test_what_is_wrong_is_one_line() -> None:
    with pytest.raises(cf.errors.ScenarioError, match="an environment is one point, not 27"):
        CongestionEnv("quickstart")
    with pytest.raises(cf.errors.ScenarioError, match="acts_on = 'rate': must be 'cwnd' or 'pacing_rate'"):
        CongestionEnv(ONE, acts_on="rate").reset(seed=1)  # type: ignore[arg-type]
    with pytest.raises(cf.errors.ScenarioError, match=r"period = 0.0: must be"):
        CongestionEnv(ONE, period=0.0).reset(seed=1)
    with pytest.raises(cf.errors.ScenarioError, match="several connections have the agent"):
        CongestionEnv(ONE, set={"flows": {"a": {}, "b": {}}}).reset(seed=1)
    env = CongestionEnv(ONE)
    env.reset(seed=1)
    with pytest.raises(cf.errors.ScenarioError, match=r"act gave 2.0: must be at least -1 and at most 1"):
        env.step(np.array([2.0], np.float32))
    with pytest.raises(cf.errors.CrossfadeError, match="reset the environment"):
        CongestionEnv(ONE).step(np.zeros(1, np.float32))


def test_without_gymnasium_all_else_works_and_a_line_says_what_to_do() -> None:
    program = """
import sys
sys.modules["gymnasium"] = None
import crossfade
try:
    import crossfade.gym
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "crossfade.gym needs gymnasium: pip install 'crossfade[gym]'\n"
