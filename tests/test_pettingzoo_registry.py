"""PettingZoo's registry, which there is from 1.27 on."""

import importlib
import subprocess
import sys
from typing import Any

import numpy as np
import pettingzoo
import pytest

from settebello import bazzica_v0, registration, tressette_v0
from settebello.aec import AECEnv
from settebello.errors import OptionError

pytestmark = [
    pytest.mark.border,
    pytest.mark.skipif(not hasattr(pettingzoo, "register"), reason="PettingZoo has a registry from 1.27 on"),
]

IDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "settebello/tressette_2p_v0": (tressette_v0, {"players": 2}),
    "settebello/tressette_4p_v0": (tressette_v0, {"players": 4}),
    "settebello/bazzica_v0": (bazzica_v0, {}),
}


@pytest.mark.parametrize("name", IDS)
def test_make(name: str) -> None:
    """The bare environment, with the options given."""
    module, options = IDS[name]
    env = pettingzoo.make("aec", name, episode="deal", reward="points", mask_in="info")
    other = module.env(**options, episode="deal", reward="points", mask_in="info")
    assert isinstance(env, AECEnv)
    assert env.unwrapped is env
    assert str(env) == name.removeprefix("settebello/")
    env.reset(seed=7)
    other.reset(seed=7)
    for agent in env.agent_iter():
        observation, reward, termination, truncation, info = env.last()
        expected = other.last()
        assert agent == other.agent_selection
        np.testing.assert_array_equal(observation, expected[0])
        assert (reward, termination, truncation) == expected[1:4]
        action = None if termination or truncation else int(np.flatnonzero(info["action_mask"])[-1])
        env.step(action)
        other.step(action)
    assert not other.agents


@pytest.mark.parametrize("name", IDS)
def test_make_passes_options_on(name: str) -> None:
    env = pettingzoo.make("aec", name, target=5, render_mode="ansi")
    env.reset(seed=0)
    assert isinstance(env.render(), str)
    assert env.information(0).options.target == 5
    with pytest.raises(OptionError, match="unknown option 'taget'"):
        pettingzoo.make("aec", name, taget=5)


@pytest.mark.parametrize("name", IDS)
def test_each_make_is_another_environment(name: str) -> None:
    first, second = pettingzoo.make("aec", name), pettingzoo.make("aec", name)
    first.reset(seed=1)
    assert not hasattr(second, "agents")
    assert first.observation_space("player_0") is not second.observation_space("player_0")


def test_turn_by_turn_only() -> None:
    """They are no parallel environments, and not registered as such."""
    for name in IDS:
        with pytest.raises(Exception, match=r"(?i)not found"):
            pettingzoo.make("parallel", name)


def test_importing_registers_without_a_warning() -> None:
    """In a new process, and only what is ours."""
    code = (
        "import pettingzoo.env_registry.registration as registry; import pettingzoo.env_registry; "
        "before = set(registry.aec_registry); import settebello; "
        "print(*sorted(set(registry.aec_registry) - before))"
    )
    result = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == sorted(pettingzoo.spec("aec", name).id for name in IDS)


def test_registering_again_is_silent(recwarn: pytest.WarningsRecorder) -> None:
    importlib.reload(registration)
    assert not [str(warning.message) for warning in recwarn]
    assert isinstance(pettingzoo.make("aec", next(iter(IDS))), AECEnv)
