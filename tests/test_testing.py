"""`settebello.testing`: right environments pass, and each kind of mistake is found and named."""

import doctest
import re
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from pettingzoo.utils import wrappers

import settebello.testing
from settebello.aec import AECEnv
from settebello.errors import NotResetError
from settebello.gym import LearnerEnv
from settebello.testing import check_aec, check_gymnasium

GAME_IDS = ("tressette-2p", "tressette-4p", "bazzica")
SHOWN: list[dict[str, Any]] = [
    {},
    {"mask_in": "info", "illegal": "terminate", "reward": "points"},
    {"copy": False, "reward": "points"},
    {"copy": False, "mask_in": "info", "illegal": "terminate"},
]


@pytest.mark.border
def test_examples() -> None:
    result = doctest.testmod(settebello.testing)
    assert result.attempted >= 6
    assert result.failed == 0


# --- right ones pass -------------------------------------------------------------------------------------------------------


@pytest.mark.border
@pytest.mark.parametrize("options", SHOWN, ids=str)
@pytest.mark.parametrize("game", GAME_IDS)
def test_our_environments(game: str, options: dict[str, Any]) -> None:
    check_aec(lambda: AECEnv(game, **options), seed=3, fresh="copy" not in options)


@pytest.mark.parametrize("game", GAME_IDS)
def test_every_illegal_action(game: str) -> None:
    check_aec(lambda: AECEnv(game, episode="deal"), games=1, illegal_tries=None)
    check_aec(lambda: AECEnv(game, episode="deal", illegal="terminate"), games=1, illegal_tries=None)


def test_options_of_the_games() -> None:
    check_aec(lambda: AECEnv("tressette-2p", napoletana=True, reward="points"), seed=1)
    check_aec(lambda: AECEnv("tressette-2p", deck_cards=[*range(10), *range(20, 30)], hand_size=6, napoletana=True), seed=1)
    check_aec(lambda: AECEnv("bazzica", low_sum_max=30, last_card_scopa=True, reward="points"), seed=1)


WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "bounds": wrappers.AssertOutOfBoundsWrapper,
    "order": wrappers.OrderEnforcingWrapper,
    "illegal": lambda env: wrappers.TerminateIllegalWrapper(env, illegal_reward=-1),
    "usual": lambda env: wrappers.OrderEnforcingWrapper(
        wrappers.AssertOutOfBoundsWrapper(wrappers.TerminateIllegalWrapper(env, illegal_reward=-1))
    ),
}


@pytest.mark.border
@pytest.mark.parametrize("mask_in", ["obs", "info"])
@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("game", GAME_IDS)
def test_wrapped_environments(game: str, wrapper: str, mask_in: str, caplog: pytest.LogCaptureFixture) -> None:
    check_aec(lambda: WRAPPERS[wrapper](AECEnv(game, mask_in=mask_in, episode="deal")), seed=2)
    assert not caplog.records


class CopyingWrapper(wrappers.BaseWrapper):
    """Hands out observations of another type, as framework wrappers do."""

    def observe(self, agent: str) -> Any:
        return {key: value.copy() for key, value in super().observe(agent).items()}


class ShapingWrapper(wrappers.BaseWrapper):
    """Pays the agent that acted a little more."""

    def step(self, action: Any) -> None:
        agent = self.agent_selection
        super().step(action)
        if agent in self.agents:
            self.env.unwrapped.rewards[agent] += 0.5
            self.env.unwrapped._cumulative_rewards[agent] += 0.5


@pytest.mark.border
def test_wrappers_of_others() -> None:
    check_aec(lambda: CopyingWrapper(AECEnv("bazzica", episode="deal")))

    def shaped() -> Any:
        return ShapingWrapper(AECEnv("bazzica", episode="deal", reward="points"))

    check_aec(shaped, exact_rewards=False)
    with pytest.raises(AssertionError, match="the rewards are"):
        check_aec(shaped)


@pytest.mark.border
@pytest.mark.parametrize("options", SHOWN, ids=str)
@pytest.mark.parametrize("game", GAME_IDS)
def test_our_gymnasium_environments(game: str, options: dict[str, Any]) -> None:
    check_gymnasium(lambda: LearnerEnv(game, **options), seed=3, games=3, fresh="copy" not in options)


@pytest.mark.parametrize("game", GAME_IDS)
def test_every_illegal_action_of_gymnasium(game: str) -> None:
    check_gymnasium(lambda: LearnerEnv(game, seat=1, episode="deal"), illegal_tries=None)


@pytest.mark.border
def test_wrapped_gymnasium_environments() -> None:
    check_gymnasium(lambda: gymnasium.wrappers.OrderEnforcing(LearnerEnv("bazzica", episode="deal")))


# --- wrong ones are found --------------------------------------------------------------------------------------------------


class FloatMask(AECEnv):
    def _show(self) -> None:
        super()._show()
        mask = self._current["action_mask"].astype(np.float32)
        self._current["action_mask"] = self.infos[self.agent_selection]["action_mask"] = mask


class TwoMasks(AECEnv):
    def _show(self) -> None:
        super()._show()
        self._current["action_mask"] = self._current["action_mask"].copy()


class OtherMasks(AECEnv):
    def _show(self) -> None:
        super()._show()
        self._current["action_mask"] = self._current["action_mask"].copy()
        self._current["action_mask"][0] ^= 1


class EmptyMask(AECEnv):
    def _show(self) -> None:
        super()._show()
        self._current["action_mask"][:] = 0


class NoMask(AECEnv):
    def _show(self) -> None:
        super()._show()
        self._current = {"observation": self._current["observation"]}
        self.infos[self.agent_selection] = {}


class WideMask(AECEnv):
    """Says that everything is legal."""

    def _show(self) -> None:
        super()._show()
        if self._current["action_mask"].any():
            self._current["action_mask"][:] = 1


class NarrowMask(AECEnv):
    """Leaves the first of several legal actions out."""

    def _show(self) -> None:
        super()._show()
        legal = np.flatnonzero(self._current["action_mask"])
        if len(legal) > 1:
            self._current["action_mask"][legal[0]] = 0


class MaskForAll(AECEnv):
    """Shows the mask of the seat to move to every seat."""

    def observe(self, agent: str) -> Any:
        observation = super().observe(agent)
        if agent != self.agent_selection:
            observation["action_mask"][:] = self.infos[self.agent_selection]["action_mask"]
        return observation


class StaleInfoMask(AECEnv):
    """The seat that has acted keeps its mask."""

    def step(self, action: Any) -> None:
        agent, info = self.agent_selection, self.infos[self.agent_selection]
        super().step(action)
        if agent != self.agent_selection and agent in self.infos:
            self.infos[agent] = info


class MaskAfterTheEnd(AECEnv):
    def _show(self) -> None:
        super()._show()
        self._current["action_mask"][0] |= self.terminations[self.agent_selection]


class OutOfSpace(AECEnv):
    def observe(self, agent: str) -> Any:
        observation = super().observe(agent)
        observation["observation"][3] = 2
        return observation


class StateOutOfSpace(AECEnv):
    def state(self) -> Any:
        return super().state().astype(np.int16)


class ChangingObservation(AECEnv):
    def observe(self, agent: str) -> Any:
        observation = super().observe(agent)
        observation["observation"][3] ^= 1
        return observation


class ObservingMoves(AECEnv):
    """Looking advances the random generator of the game."""

    def observe(self, agent: str) -> Any:
        self._single.states["rng"] += 1
        return super().observe(agent)


class IllegalMovesOn(AECEnv):
    """An illegal action raises, but the random generator has moved."""

    def step(self, action: Any) -> None:
        try:
            super().step(action)
        except ValueError:
            self._single.states["rng"] += 1
            raise


class IllegalIsPassed(AECEnv):
    """An illegal action is taken for the first legal one."""

    def step(self, action: Any) -> None:
        if action is not None and not self.terminations.get(self.agent_selection, True) and 0 <= action < 40:
            mask = self.action_masks()
            action = action if mask[action] else int(np.flatnonzero(mask)[0])
        super().step(action)


class IllegalIsAKeyError(AECEnv):
    def step(self, action: Any) -> None:
        try:
            super().step(action)
        except ValueError as error:
            raise KeyError(action) from error


class IllegalCostsNothing(AECEnv):
    def _settle(self, mover: str) -> str:
        result = super()._settle(mover)
        if self._single.over and self.snapshot()["last_deal"] is None:
            self.rewards = dict.fromkeys(self.agents, 0)
        return result


class IllegalCostsAll(AECEnv):
    def _settle(self, mover: str) -> str:
        result = super()._settle(mover)
        if self._single.over and self.snapshot()["last_deal"] is None:
            self.rewards = dict.fromkeys(self.agents, -1)
        return result


class KeepsCumulative(AECEnv):
    """Does not start anew when the agent acts."""

    def step(self, action: Any) -> None:
        agent, owed = self.agent_selection, self._cumulative_rewards[self.agent_selection]
        super().step(action)
        if agent in self.agents:
            self._cumulative_rewards[agent] += owed


class LosesRewardsInARow(AECEnv):
    """Forgets the reward of an agent that acts twice in a row."""

    def step(self, action: Any) -> None:
        agent = self.agent_selection
        super().step(action)
        if agent == self.agent_selection and agent in self.agents:
            self._cumulative_rewards[agent] = 0


class KeepsRewards(AECEnv):
    """Leaves the rewards of the step before in place."""

    def step(self, action: Any) -> None:
        before = self.rewards
        super().step(action)
        if not any(self.rewards.values()) and list(before) == self.agents:
            self.rewards = before


class OneSidedRewards(AECEnv):
    """The losing side is not charged."""

    def _settle(self, mover: str) -> str:
        result = super()._settle(mover)
        for agent in self.agents:
            change = max(self.rewards[agent], 0) - self.rewards[agent]
            self.rewards[agent] += change
            self._cumulative_rewards[agent] += change
        return result


class LeavesBackwards(AECEnv):
    def _settle(self, mover: str) -> str:
        result = super()._settle(mover)
        return self.agents[-1] if self._single.over else result


class LeavesAllAtOnce(AECEnv):
    def _leave(self, agent: str, action: Any) -> None:
        super()._leave(agent, action)
        while self.agents:
            super()._leave(self.agent_selection, None)


class DeadMayAct(AECEnv):
    def _leave(self, agent: str, action: Any) -> None:
        super()._leave(agent, None)


class IgnoresTheSeed(AECEnv):
    def reset(self, seed: int | None = None, options: Any = None) -> None:
        super().reset(0, options)


class ForgetsTheSeed(AECEnv):
    """Without a seed, a new one from the system."""

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        super().reset(np.random.SeedSequence().entropy % 2**63 if seed is None else seed, options)  # type: ignore[operator]


class SeedsOnce(AECEnv):
    """The seed counts at the first reset only."""

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        super().reset(None if hasattr(self, "agents") else seed, options)


class ThereBeforeReset(AECEnv):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.agents = list(self.possible_agents)


class SilentBeforeReset(AECEnv):
    def last(self, observe: bool = True) -> Any:
        try:
            return super().last(observe)
        except NotResetError:
            return None, 0, False, False, {}


TERMINATE = {"illegal": "terminate"}
POINTS = {"reward": "points", "target": 30}
MISTAKES: list[tuple[type[AECEnv], dict[str, Any], str]] = [
    (FloatMask, {}, r"player_.: the mask in observation or info is float32 \(40,\), expected int8 \(40,\)"),
    (TwoMasks, {}, "equal masks that are not the same object"),
    (OtherMasks, {}, "different masks"),
    (EmptyMask, {}, "the mask of the agent to act is all zero"),
    (NoMask, {}, "there is no action_mask"),
    (WideMask, {}, r"the action \d+ is in the mask, and is refused: illegal action"),
    (WideMask, TERMINATE, r"the action \d+ is in the mask, and ends the game as if it were illegal"),
    (NarrowMask, {}, r"the illegal action \d+ is neither refused nor the end of the game"),
    (MaskForAll, {}, "the mask in observation is not all zero, though the agent may not act"),
    (StaleInfoMask, {}, "the mask in info is not all zero, though the agent may not act"),
    (MaskAfterTheEnd, {}, "the mask of an agent whose game is over is not all zero"),
    (OutOfSpace, {}, r"the observation is not in its space: 'observation' element 3 is 2, bounds 0\.\.1"),
    (StateOutOfSpace, {}, r"state\(\) is not in its space: int16 \(\d+,\), expected int8"),
    (ChangingObservation, {}, "observing twice gives two different observations"),
    (ObservingMoves, {}, "observing has changed the game"),
    (IllegalMovesOn, {}, r"the illegal action -?\d+ raises an error, as it should, but has changed something"),
    (IllegalIsPassed, {}, r"the illegal action \d+ is neither refused nor the end of the game"),
    (IllegalIsAKeyError, {}, r"the illegal action -?\d+ raises KeyError, expected a ValueError"),
    (IllegalCostsNothing, TERMINATE, r"the illegal action -?\d+ ends the game, and costs its agent nothing"),
    (IllegalCostsAll, TERMINATE, r"the illegal action -?\d+ ends the game, and others have a reward for it"),
    (KeepsCumulative, POINTS, r"last\(\) gives the reward -?\d+; since its last action the agent was given -?\d+"),
    (LosesRewardsInARow, POINTS | {"napoletana": True}, r"last\(\) gives the reward 0; since its last action"),
    (KeepsRewards, POINTS, "the rewards are .*, expected"),
    (OneSidedRewards, {}, "the rewards are .*'player_0': 1.*, expected .*-1|the rewards are .*'player_0': 0.*, expected .*-1"),
    (LeavesBackwards, {}, "agents leave in the order of `agents`: player_0 is next, agent_selection is player_1"),
    (LeavesAllAtOnce, {}, "agents leave in the order|agent_selection is"),
    (DeadMayAct, {}, "an agent whose game is over may take an action other than None"),
    (IgnoresTheSeed, {}, r"the seeds 4\.\.8 all give the same game"),
    (ForgetsTheSeed, {}, "reset with the same seed after other games: not the same observation"),
    (SeedsOnce, {}, "reset with the same seed after other games: not the same observation"),
    (ThereBeforeReset, {}, r"hasattr\(env, 'agents'\) is True before reset"),
    (SilentBeforeReset, {}, r"last\(\) before reset is no error"),
]


@pytest.mark.parametrize(
    ("kind", "options", "message"), MISTAKES, ids=[f"{kind.__name__}-{options}" for kind, options, _ in MISTAKES]
)
def test_mistakes_are_found(kind: type[AECEnv], options: dict[str, Any], message: str) -> None:
    with pytest.raises(AssertionError) as raised:
        check_aec(lambda: kind("tressette-2p", **options), seed=4, games=2)
    assert re.search(message, str(raised.value)), raised.value
    assert re.match(r"tressette_2p_v0, seed 4, game \d+, step \d+(, player_\d)?: ", str(raised.value))


def test_reused_arrays_are_found() -> None:
    for mask_in in ("obs", "info"):
        with pytest.raises(AssertionError, match=r"the observation of step \d+ has changed since \(fresh=False"):
            check_aec(lambda mask_in=mask_in: AECEnv("bazzica", copy=False, mask_in=mask_in))
    with pytest.raises(AssertionError, match=r"the observation of step \d+ has changed since \(fresh=False"):
        check_gymnasium(lambda: LearnerEnv("bazzica", copy=False))


@pytest.mark.border
def test_environments_of_others() -> None:
    class Other:
        possible_agents: tuple[str, ...] = ()
        unwrapped = None

    with pytest.raises(AssertionError, match=r"env\.unwrapped is a NoneType, not a AECEnv of settebello"):
        check_aec(Other)
    with pytest.raises(AssertionError, match=r"env\.unwrapped is a AECEnv, not a LearnerEnv of settebello"):
        check_gymnasium(lambda: AECEnv("bazzica"))


class GymEmptyMask(LearnerEnv):
    """After the end the mask is all zero."""

    def _show(self) -> Any:
        observation, info = super()._show()
        if not self._live:
            info["action_mask"][:] = 0
        return observation, info


class GymNarrowMask(LearnerEnv):
    def _show(self) -> Any:
        if self._live:
            legal = np.flatnonzero(self._single.mask)
            self._single.mask[legal[0]] = len(legal) == 1
        return super()._show()


class GymOtherMasks(LearnerEnv):
    def action_masks(self) -> Any:
        return 1 - super().action_masks()


class GymRewardsLost(LearnerEnv):
    def step(self, action: Any) -> Any:
        observation, reward, *rest = super().step(action)
        return observation, reward if self.snapshot()["last_deal"] is None else max(reward, 0.0), *rest


class GymIgnoresTheSeed(LearnerEnv):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed=0, options=options)


class GymForgetsTheSeed(LearnerEnv):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        fresh = int(np.random.SeedSequence().entropy) % 2**63  # type: ignore[arg-type]
        return super().reset(seed=fresh if seed is None else seed, options=options)


class GymPlaysOn(LearnerEnv):
    def step(self, action: Any) -> Any:
        if not self._live and self.seat >= 0:
            return *self._show()[:1], 0.0, True, False, self._show()[1]
        return super().step(action)


class GymIllegalCostsNothing(LearnerEnv):
    def _refuse(self, action: int) -> None:
        super()._refuse(action)
        self._carried = 0


GYM_MISTAKES: list[tuple[type[LearnerEnv], str]] = [
    (GymEmptyMask, "different masks|the mask after the end is not all ones"),
    (GymNarrowMask, "neither refused nor the end of the game"),
    (GymOtherMasks, r"observation, info and action_masks\(\) have different masks"),
    (GymRewardsLost, "the rewards of the game sum to 0, its result is -1"),
    (GymIgnoresTheSeed, r"the seeds 4\.\.8 all give the same game"),
    (GymForgetsTheSeed, "reset with the same seed after other games: not the same observation"),
    (GymPlaysOn, r"step\(\) after the end is no error"),
    (GymIllegalCostsNothing, r"the illegal action \d+ ends the game, and costs nothing: the reward is 0"),
]


@pytest.mark.parametrize(("kind", "message"), GYM_MISTAKES, ids=[kind.__name__ for kind, _ in GYM_MISTAKES])
def test_gymnasium_mistakes_are_found(kind: type[LearnerEnv], message: str) -> None:
    with pytest.raises(AssertionError) as raised:
        check_gymnasium(lambda: kind("tressette-2p", episode="deal"), seed=4, games=6)
    assert re.search(message, str(raised.value)), raised.value
    assert re.search(r"seed 4, game \d+, step \d+(, player_\d)?: ", str(raised.value))
