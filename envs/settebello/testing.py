"""Checks for environments that the tests of PettingZoo and Gymnasium do not make.

For the environments of this package, for subclasses of them and for wrappers around them. Use them beside
``pettingzoo.test.api_test`` and ``gymnasium.utils.env_checker.check_env``, in any test framework: what is wrong is an
AssertionError that names environment, seed, game, step and agent.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn

import gymnasium
import numpy as np
from pettingzoo.utils.env_logger import EnvLogger

from settebello.aec import AECEnv
from settebello.errors import SettebelloError
from settebello.gym import LearnerEnv

__all__ = ["check_aec", "check_gymnasium"]

KEPT: Final = 3  # observations that are looked at again after later steps
SEEDS: Final = 5  # seeds that must not all start the same game
MOVES_BEFORE_RESET: Final = 3  # of a game that is given up

Env = Any  # a PettingZoo or Gymnasium environment; neither's type says what is under its wrappers


def check_aec(
    make_env: Callable[[], Env],
    *,
    seed: int = 0,
    games: int = 2,
    illegal_tries: int | None = 2,
    fresh: bool = True,
    exact_rewards: bool = True,
) -> None:
    """Check a PettingZoo environment of this package, a subclass of it or a wrapper around it, by playing random games.

    In every state reached:

    - Masks are int8, of one element per action, 0 or 1; never all zero for the agent to act, all zero for all others and
      after the end. Observation and info hold the same mask (the same object, unless wrapped).
    - Every action outside the mask is refused: by a ValueError or AssertionError that leaves everything as it was, or by an
      end of the game that costs the offender, and nobody else, something. Actions inside it are accepted.
    - Observations of every seat, and ``state()``, lie in their spaces; looking changes nothing.
    - ``last()`` gives each agent what it was rewarded since its own last action, also when a seat acts several times in a
      row. Each step's rewards are what the score says, the same for partners, and sum to zero over the sides.
    - What was observed before is not changed by later steps.

    And of whole games: before the first ``reset`` use is an AttributeError; after the end every agent leaves with one step
    of None, in the order of ``agents``; the same seed gives the same games, also after other games and in another instance,
    and ``reset()`` without a seed goes on to the same next game; other seeds give other games.

    Args:
        make_env: makes the environment, each time an independent one.
        seed: of the games and of the random actions.
        games: how many are played, the first after ``reset(seed)``, the others after ``reset()``.
        illegal_tries: illegal actions tried in each state; None for all of them.
        fresh: False if observations share memory on purpose (``copy=False``).
        exact_rewards: False if a wrapper gives rewards of its own; then only their accounting is checked.

    Raises:
        AssertionError: the first thing found wrong.

    Example:
        >>> from settebello import tressette_v0
        >>> from settebello.testing import check_aec
        >>> check_aec(lambda: tressette_v0.env(players=4, episode="deal"), seed=7)
    """
    check = _AECCheck(make_env, seed, illegal_tries, fresh, exact_rewards)
    check.before_reset()
    check.env.reset(seed=seed)
    records = [check.play_game(game) for game in range(games)]
    check.seeds(records)


def check_gymnasium(
    make_env: Callable[[], Env],
    *,
    seed: int = 0,
    games: int = 5,
    illegal_tries: int | None = 2,
    fresh: bool = True,
    exact_rewards: bool = True,
) -> None:
    """Check a Gymnasium environment of this package, a subclass of it or a wrapper around it, by playing random games.

    In every state reached: the mask is int8, of one element per action, 0 or 1, all ones after the end and never all zero;
    observation, info and ``action_masks()`` agree on it; every action outside it is refused, or ends the game and costs
    something; observations lie in their space and are not changed by later steps. The rewards of a game sum to its result
    for the learner's side. The same seed gives the same games, also after other games and in another instance, and
    ``reset()`` without a seed goes on to the same next game. Stepping before the first reset and after the end is an error.

    The opponents must be deterministic, given the seed and what they see.

    Args:
        make_env: makes the environment, each time an independent one.
        seed: of the games and of the random actions.
        games: how many are played, the first after ``reset(seed)``, the others after ``reset()``.
        illegal_tries: illegal actions tried in each state; None for all of them.
        fresh: False if observations share memory on purpose (``copy=False``).
        exact_rewards: False if a wrapper gives rewards of its own.

    Raises:
        AssertionError: the first thing found wrong.

    Example:
        >>> import gymnasium
        >>> import settebello
        >>> from settebello.testing import check_gymnasium
        >>> check_gymnasium(lambda: gymnasium.make("settebello/Bazzica-v0", episode="deal"), seed=7)
    """
    check = _GymnasiumCheck(make_env, seed, illegal_tries, fresh, exact_rewards)
    check.before_reset()
    records = [check.play_game(game) for game in range(games)]
    check.seeds(records)


# --- what both have in common ----------------------------------------------------------------------------------------------


def _arrays(observation: Any) -> list[np.ndarray[Any, Any]]:
    """All arrays of an observation."""
    if isinstance(observation, dict):
        return [array for key in sorted(observation) for array in _arrays(observation[key])]
    return [np.asarray(observation)]


def _content(observation: Any) -> tuple[bytes, ...]:
    """What an observation says, for comparing."""
    return tuple(array.tobytes() for array in _arrays(observation))


@contextlib.contextmanager
def _no_log() -> Iterator[None]:
    """PettingZoo's wrappers log each illegal action."""
    logger = EnvLogger.get_logger()
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


class _Check:
    """An environment under check, and where in which game it stands, for the messages."""

    def __init__(
        self, make_env: Callable[[], Env], seed: int, illegal_tries: int | None, fresh: bool, exact_rewards: bool, base: type
    ) -> None:
        self.make_env = make_env
        self.seed = seed
        self.illegal_tries = illegal_tries
        self.fresh = fresh
        self.exact_rewards = exact_rewards
        self.rng = np.random.default_rng(seed)
        self.game = 0
        self.step = 0
        self.agent: str | None = None
        self.kept: list[tuple[int, Any, tuple[bytes, ...]]] = []
        self.env = make_env()
        if not isinstance(self.env.unwrapped, base):
            self.fail(f"env.unwrapped is a {type(self.env.unwrapped).__name__}, not a {base.__name__} of settebello")
        self.wrapped = self.env is not self.env.unwrapped

    def fail(self, what: str) -> NoReturn:
        agent = f", {self.agent}" if self.agent is not None else ""
        raise AssertionError(f"{self.env}, seed {self.seed}, game {self.game}, step {self.step}{agent}: {what}")

    def require(self, right: bool, what: str) -> None:
        if not right:
            self.fail(what)

    def check_form(self, mask: Any, num_actions: int, where: str) -> None:
        """A mask is int8 with an element of 0 or 1 for each action."""
        if not isinstance(mask, np.ndarray):
            self.fail(f"the mask in {where} is a {type(mask).__name__}, not an array")
        if mask.dtype != np.int8 or mask.shape != (num_actions,):
            self.fail(f"the mask in {where} is {mask.dtype} {mask.shape}, expected int8 ({num_actions},)")
        if mask.min() < 0 or mask.max() > 1:
            self.fail(f"the mask in {where} has values other than 0 and 1: {sorted(set(mask.tolist()))}")

    def check_space(self, observation: Any, space: gymnasium.Space[Any], what: str) -> None:
        if not space.contains(observation):
            self.fail(f"{what} is not in its space: {self._misfit(observation, space)}")

    def _misfit(self, observation: Any, space: gymnasium.Space[Any]) -> str:
        if isinstance(space, gymnasium.spaces.Dict) and isinstance(observation, dict):
            for key, part in space.spaces.items():
                if key not in observation or not part.contains(observation[key]):
                    return f"{key!r} {self._misfit(observation.get(key), part)}"
        if isinstance(space, gymnasium.spaces.Box) and isinstance(observation, np.ndarray):
            if observation.dtype != space.dtype or observation.shape != space.shape:
                return f"{observation.dtype} {observation.shape}, expected {space.dtype} {space.shape}"
            at = np.flatnonzero((observation < space.low) | (observation > space.high))
            if len(at):
                i = at[0]
                return f"element {i} is {observation.flat[i]}, bounds {space.low.flat[i]}..{space.high.flat[i]}"
        return repr(observation)

    def keep(self, observation: Any) -> None:
        """Remember an observation, and see that those remembered are what they were."""
        if not self.fresh:
            return
        for step, old, content in self.kept:
            if _content(old) != content:
                self.fail(f"the observation of step {step} has changed since (fresh=False if arrays are reused on purpose)")
        self.kept = [*self.kept[-KEPT:], (self.step, observation, _content(observation))]

    def illegal_actions(self, mask: np.ndarray[Any, Any]) -> list[int]:
        """Illegal actions to try in a state."""
        outside = np.flatnonzero(mask == 0)
        if self.illegal_tries is not None:
            outside = self.rng.permutation(outside)[: self.illegal_tries]
        return [int(action) for action in outside]

    def choose(self, mask: np.ndarray[Any, Any]) -> int:
        """A random action of the mask."""
        return int(self.rng.choice(np.flatnonzero(mask)))

    def raises_before_reset(self, what: str, call: Callable[[], Any], *allowed: type[Exception]) -> None:
        """See that a use before reset is an AttributeError (or another one that is allowed)."""
        try:
            call()
        except Exception as error:
            if isinstance(error, (AttributeError, *allowed)):
                return
            self.fail(f"{what} before reset raises {type(error).__name__}, expected an AttributeError: {error}")
        self.fail(f"{what} before reset is no error")


class _Record:
    """A game as it was played: the actions, and what was seen before each of them and at the end."""

    def __init__(self) -> None:
        self.actions: list[int] = []
        self.seen: list[Any] = []


def _first_difference(seen: Any, expected: Any) -> str:
    names = ("observation", "reward", "termination", "truncation", "agent or seat")
    return ", ".join(name for name, one, other in zip(names, seen, expected, strict=True) if one != other)


# --- PettingZoo ------------------------------------------------------------------------------------------------------------


class _AECCheck(_Check):
    def __init__(
        self, make_env: Callable[[], Env], seed: int, illegal_tries: int | None, fresh: bool, exact_rewards: bool
    ) -> None:
        super().__init__(make_env, seed, illegal_tries, fresh, exact_rewards, AECEnv)
        self.spare = make_env()  # actions are tried on it
        self.owed: dict[str, Any] = {}
        self.seats = list(self.env.possible_agents)
        self.num_actions = int(self.env.action_space(self.seats[0]).n)

    def before_reset(self) -> None:
        self.require(not hasattr(self.env, "agents"), "hasattr(env, 'agents') is True before reset")
        wrappers = (AssertionError,) if self.wrapped else ()  # what PettingZoo's raise
        self.raises_before_reset("last()", self.env.last, *wrappers)
        self.raises_before_reset("step()", lambda: self.env.step(0), *wrappers)
        self.raises_before_reset("rewards", lambda: self.env.rewards)

    def play_game(self, game: int) -> _Record:
        """Play a game at random with all checks (the first one was reset with the seed)."""
        env = self.env
        self.game, self.step, self.agent, self.kept = game, 0, None, []
        if game:
            env.reset()
        self.require(list(env.agents) == self.seats, f"agents after reset are {env.agents}")
        self.require(not any(env.terminations.values()), f"terminations after reset are {env.terminations}")
        self.require(not any(env.rewards.values()), f"rewards after reset are {env.rewards}")
        self.owed = dict.fromkeys(self.seats, 0)
        record = _Record()
        while not any(env.terminations.values()) and not any(env.truncations.values()):
            mask = self.look(record)
            self.try_actions(mask)
            action = self.choose(mask)
            record.actions.append(action)
            self.act(action)
        self.end(record)
        return record

    # --- one state

    def last(self) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """``last()``, its reward checked."""
        self.agent = self.env.agent_selection
        agent = self.agent
        self.require(agent in self.env.agents, f"agent_selection is {agent!r}, agents are {self.env.agents}")
        observation, reward, termination, truncation, info = self.env.last()
        if reward != self.owed[agent]:
            self.fail(f"last() gives the reward {reward}; since its last action the agent was given {self.owed[agent]}")
        self.require(termination is self.env.terminations[agent], f"last() gives the termination {termination!r}")
        self.require(truncation is self.env.truncations[agent], f"last() gives the truncation {truncation!r}")
        self.require(info is self.env.infos[agent], "last() gives another info than infos")
        return observation, reward, termination, truncation, info

    def look(self, record: _Record) -> np.ndarray[Any, Any]:
        """Check all that can be seen with an agent to act; returns its mask."""
        before = self.saved()
        observation, *rest, info = self.last()
        record.seen.append((_content(observation), *rest, self.agent))
        mask = self.agent_mask(observation, info)
        if not mask.any():
            self.fail("the mask of the agent to act is all zero")
        if hasattr(self.env, "action_masks") and not np.array_equal(self.env.action_masks(), mask):
            self.fail("action_masks() is not the mask of the agent to act")
        self.look_around(acting=self.agent)
        if self.saved() != before or self.env.agent_selection != self.agent:
            self.fail("observing has changed the game")
        self.keep(observation)
        return mask

    def agent_mask(self, observation: Any, info: dict[str, Any]) -> np.ndarray[Any, Any]:
        """The mask of the agent to act, from observation or info; where both have one they agree."""
        masks = [part["action_mask"] for part in (observation, info) if isinstance(part, dict) and "action_mask" in part]
        if not masks:
            self.fail("there is no action_mask, neither in the observation nor in the info")
        for mask in masks:
            self.check_form(mask, self.num_actions, "observation or info")
        if not np.array_equal(masks[0], masks[-1]):
            self.fail("observation and info have different masks")
        if not self.wrapped and masks[0] is not masks[-1]:
            self.fail("observation and info have equal masks that are not the same object")
        found: np.ndarray[Any, Any] = masks[0]
        return found

    def look_around(self, acting: str | None) -> None:
        """Check what every seat, and a critic, sees."""
        moving = self.agent
        for seat in self.seats:
            self.agent = seat
            observation = self.env.observe(seat)
            content = _content(observation)
            self.check_space(observation, self.env.observation_space(seat), "the observation")
            if _content(self.env.observe(seat)) != content:
                self.fail("observing twice gives two different observations")
            parts = (("observation", observation), ("info", self.env.infos.get(seat)))
            for where, part in parts:
                if isinstance(part, dict) and "action_mask" in part:
                    self.check_form(part["action_mask"], self.num_actions, where)
                    if seat != acting and part["action_mask"].any():
                        self.fail(f"the mask in {where} is not all zero, though the agent may not act")
        self.agent = moving
        self.check_space(self.env.state(), self.env.state_space, "state()")

    # --- actions

    def saved(self) -> bytes:
        data: bytes = self.env.unwrapped.get_state()
        return data

    @staticmethod
    def fields(env: Env) -> tuple[Any, ...]:
        """All that a refused action must leave as it was."""
        base = env.unwrapped
        return (
            base.get_state(),
            env.agent_selection,
            list(env.agents),
            *(dict(part) for part in (env.rewards, base._cumulative_rewards, env.terminations, env.truncations)),
            {agent: _content(info) for agent, info in env.infos.items()},
            _content(env.observe(env.agent_selection)),
        )

    def try_actions(self, mask: np.ndarray[Any, Any]) -> None:
        """See that illegal actions are refused, and one more legal action accepted, on another environment in this state."""
        data = self.saved()
        outside = () if self.wrapped else (-1, self.num_actions)  # PettingZoo's TerminateIllegalWrapper fails at them
        for action in (*self.illegal_actions(mask), *outside):
            if self.refuses(self.spare, action, data):
                self.refuses(self.env, action, None)
        action = self.choose(mask)
        self.put(data)
        try:
            self.spare.step(action)
        except (ValueError, AssertionError) as error:
            self.fail(f"the action {action} is in the mask, and is refused: {error}")
        self.check_end(self.spare, action)

    def check_end(self, env: Env, action: int) -> None:
        """If an action of the mask has ended the game, a deal was counted."""
        if any(env.terminations.values()) and env.unwrapped.events()[-1]["kind"] != "count":
            self.fail(f"the action {action} is in the mask, and ends the game as if it were illegal")

    def put(self, data: bytes) -> None:
        """Put the spare environment into a state."""
        self.spare.reset(seed=0)
        self.spare.unwrapped.set_state(data)

    def refuses(self, env: Env, action: int, data: bytes | None) -> bool:
        """See that an illegal action is refused; whether by an exception."""
        if data is not None:
            self.put(data)
        agent = env.agent_selection
        before = self.fields(env)
        try:
            with _no_log():
                env.step(action)
        except (ValueError, AssertionError):
            if self.fields(env) != before:
                self.fail(f"the illegal action {action} raises an error, as it should, but has changed something")
            return True
        except Exception as error:
            self.fail(f"the illegal action {action} raises {type(error).__name__}, expected a ValueError: {error}")
        self.require(data is not None, f"the illegal action {action} is not refused")
        if set(env.agents) != set(self.seats) or not all(env.terminations.values()):
            self.fail(f"the illegal action {action} is neither refused nor the end of the game")
        if env.rewards[agent] >= 0:
            self.fail(f"the illegal action {action} ends the game, and costs its agent nothing: {env.rewards}")
        if any(env.rewards[other] for other in env.agents if other != agent):
            self.fail(f"the illegal action {action} ends the game, and others have a reward for it: {env.rewards}")
        return False

    def act(self, action: int) -> None:
        """Take an action, and check the rewards it brings."""
        env, agent = self.env, self.agent
        assert agent is not None
        score = env.unwrapped.snapshot()["score"]
        self.owed[agent] = 0
        env.step(action)
        self.check_end(env, action)
        self.step += 1
        for name in ("rewards", "terminations", "truncations", "infos"):
            if list(getattr(env, name)) != self.seats:
                self.fail(f"after the action {action} {name} has the agents {list(getattr(env, name))}")
        for seat, reward in env.rewards.items():
            self.owed[seat] += reward
        if not self.exact_rewards:
            return
        snapshot = env.unwrapped.snapshot()
        if env.unwrapped.information(0).options.reward == "points":
            gain = [after - before for after, before in zip(snapshot["score"], score, strict=True)]
            result = gain[0] - gain[1]
        else:
            result = {0: 1, 1: -1, None: 0}[snapshot["winner"]]
        expected = {seat: result if k % 2 == 0 else -result for k, seat in enumerate(self.seats)}
        if env.rewards != expected:
            self.fail(f"after the action {action} the rewards are {env.rewards}, expected {expected}")

    # --- the end

    def end(self, record: _Record) -> None:
        """Let every agent leave, and check what it sees."""
        env = self.env
        ended = {seat: env.terminations[seat] or env.truncations[seat] for seat in self.seats}
        self.require(all(ended.values()), f"some agents have ended and others have not: {ended}")
        for seat in self.seats:
            if env.agent_selection != seat:
                self.fail(f"agents leave in the order of `agents`: {seat} is next, agent_selection is {env.agent_selection}")
            observation, *rest, info = self.last()
            record.seen.append((_content(observation), *rest, seat))
            if self.agent_mask(observation, info).any():
                self.fail("the mask of an agent whose game is over is not all zero")
            self.look_around(acting=None)
            self.keep(observation)
            before = self.fields(env)
            try:
                env.step(0)
            except (ValueError, AssertionError):
                self.require(
                    self.fields(env) == before, "the refused action of an agent whose game is over has changed something"
                )
            else:
                self.fail("an agent whose game is over may take an action other than None")
            env.step(None)
            self.step += 1
            self.require(seat not in env.agents, "the agent is still there after its step of None")
            self.require(not any(env.rewards.values()), f"rewards after a step of None are {env.rewards}")
        self.agent = None
        self.require(not env.agents, f"all have left, and agents is {env.agents}")
        if not self.wrapped:
            self.look_around(acting=None)
            for action in (None, 0):
                try:
                    env.step(action)
                except SettebelloError:
                    continue
                self.fail(f"step({action}) after the end is no error")

    # --- seeds

    def seeds(self, records: list[_Record]) -> None:
        """See that the games come again, and that other seeds give other games."""
        self.replay(self.env, records, "reset with the same seed after other games")
        self.env.reset(seed=self.seed)
        for action in records[0].actions[:MOVES_BEFORE_RESET]:
            self.env.step(action)
        self.replay(self.env, records, "reset with the same seed in the middle of a game")
        self.replay(self.make_env(), records, "reset with the same seed in another instance")
        starts = set()
        for seed in range(self.seed, self.seed + SEEDS):
            self.env.reset(seed=seed)
            starts.add(self.saved())
        self.agent, self.step = None, 0
        self.require(len(starts) > 1, f"the seeds {self.seed}..{self.seed + SEEDS - 1} all give the same game")

    def replay(self, env: Env, records: list[_Record], how: str) -> None:
        """Play the games of the records again and compare all that is seen."""
        env.reset(seed=self.seed)
        for self.game, record in enumerate(records):
            if self.game:
                env.reset()
            actions: list[int | None] = [*record.actions, *[None] * len(self.seats)]
            for self.step, (action, expected) in enumerate(zip(actions, record.seen, strict=True)):
                observation, *rest, _ = env.last()
                self.agent = env.agent_selection
                seen = (_content(observation), *rest, self.agent)
                if seen != expected:
                    self.fail(f"{how}: not the same {_first_difference(seen, expected)} as the first time")
                env.step(action)


# --- Gymnasium -------------------------------------------------------------------------------------------------------------


class _GymnasiumCheck(_Check):
    def __init__(
        self, make_env: Callable[[], Env], seed: int, illegal_tries: int | None, fresh: bool, exact_rewards: bool
    ) -> None:
        super().__init__(make_env, seed, illegal_tries, fresh, exact_rewards, LearnerEnv)
        self.num_actions = int(self.env.action_space.n)

    def before_reset(self) -> None:
        self.raises_before_reset("step()", lambda: self.env.step(0), gymnasium.error.ResetNeeded)

    def play_game(self, game: int) -> _Record:
        """Play a game at random with all checks."""
        env = self.env
        self.game, self.step, self.kept = game, 0, []
        observation, info = env.reset() if game else env.reset(seed=self.seed)
        base = env.unwrapped
        self.agent = f"player_{base.seat}"
        spare = base.clone()  # illegal actions are tried on it
        total, terminated = 0.0, False
        record = _Record()
        record.seen.append((_content(observation), 0.0, False, False, base.seat))
        while not terminated:
            mask = self.look(observation, info, over=False)
            self.try_illegal(mask, spare)
            action = self.choose(mask)
            record.actions.append(action)
            observation, reward, terminated, truncated, info = env.step(action)
            self.step += 1
            total += reward
            record.seen.append((_content(observation), reward, terminated, truncated, base.seat))
            self.require(terminated is bool(terminated), f"terminated is {terminated!r}")
            self.require(not truncated, "the game was truncated")
        self.look(observation, info, over=True)
        if self.exact_rewards:
            self.check_total(total)
        self.check_over()
        return record

    def check_total(self, total: float) -> None:
        """See that the rewards of the game sum to its result for the learner's side."""
        base = self.env.unwrapped
        snapshot, side = base.snapshot(), base.seat % 2
        if base.options.reward == "points":
            result = snapshot["score"][side] - snapshot["score"][1 - side]
        else:
            result = {side: 1, 1 - side: -1, None: 0}[snapshot["winner"]]
        if total != result:
            self.fail(f"the rewards of the game sum to {total:g}, its result is {result}")

    def check_over(self) -> None:
        try:
            self.env.step(0)
        except (ValueError, gymnasium.error.ResetNeeded):
            return
        self.fail("step() after the end is no error")

    def look(self, observation: Any, info: dict[str, Any], over: bool) -> np.ndarray[Any, Any]:
        """Check what the learner sees; returns its mask."""
        self.check_space(observation, self.env.observation_space, "the observation")
        masks = [part["action_mask"] for part in (observation, info) if isinstance(part, dict) and "action_mask" in part]
        if not masks:
            self.fail("there is no action_mask, neither in the observation nor in the info")
        for mask in (*masks, self.env.unwrapped.action_masks()):
            self.check_form(mask, self.num_actions, "observation, info or action_masks()")
            if not np.array_equal(mask, masks[0]):
                self.fail("observation, info and action_masks() have different masks")
        if not self.wrapped and masks[0] is not masks[-1]:
            self.fail("observation and info have equal masks that are not the same object")
        if over and not masks[0].all():
            self.fail("the mask after the end is not all ones")
        if not over and not masks[0].any():
            self.fail("the mask of the learner is all zero")
        self.keep(observation)
        found: np.ndarray[Any, Any] = masks[0]
        return found

    def try_illegal(self, mask: np.ndarray[Any, Any], spare: Env) -> None:
        """See on a copy that illegal actions are refused."""
        data = self.env.unwrapped.get_state()
        for action in self.illegal_actions(mask):
            spare.set_state(data)
            before = (spare.get_state(), spare.action_masks().tobytes())
            try:
                _, reward, terminated, _, _ = spare.step(action)
            except ValueError:
                if (spare.get_state(), spare.action_masks().tobytes()) != before:
                    self.fail(f"the illegal action {action} raises an error, as it should, but has changed something")
                continue
            if not terminated:
                self.fail(f"the illegal action {action} is neither refused nor the end of the game")
            if reward >= 0:
                self.fail(f"the illegal action {action} ends the game, and costs nothing: the reward is {reward}")

    def seeds(self, records: list[_Record]) -> None:
        """See that the games come again, and that other seeds give other games."""
        self.replay(self.env, records, "reset with the same seed after other games")
        self.env.reset(seed=self.seed)
        self.replay(self.env, records, "reset with the same seed in the middle of a game")
        self.replay(self.make_env(), records, "reset with the same seed in another instance")
        starts = set()
        for seed in range(self.seed, self.seed + SEEDS):
            self.env.reset(seed=seed)
            starts.add(self.env.unwrapped.get_state())
        self.agent, self.step = None, 0
        self.require(len(starts) > 1, f"the seeds {self.seed}..{self.seed + SEEDS - 1} all give the same game")

    def replay(self, env: Env, records: list[_Record], how: str) -> None:
        """Play the games of the records again and compare all that is seen."""
        for self.game, record in enumerate(records):
            self.step = 0
            observation, _ = env.reset() if self.game else env.reset(seed=self.seed)
            self.compare(how, (_content(observation), 0.0, False, False, env.unwrapped.seat), record.seen[0])
            for self.step, (action, expected) in enumerate(zip(record.actions, record.seen[1:], strict=True), 1):
                observation, *rest, _ = env.step(action)
                self.compare(how, (_content(observation), *rest, env.unwrapped.seat), expected)

    def compare(self, how: str, seen: Any, expected: Any) -> None:
        if seen != expected:
            self.fail(f"{how}: not the same {_first_difference(seen, expected)} as the first time")
