"""The PettingZoo environment: one game, one agent at a time. All checks are built in, no wrapper is needed."""

import copy
from collections.abc import Mapping
from typing import Any, Self

import gymnasium
import numpy as np
from pettingzoo import AECEnv as PettingZooAECEnv

from settebello.describe import describe
from settebello.errors import GameOverError, NotResetError, OptionError
from settebello.game import Game, Int8Array, ObsSpec, get_game
from settebello.information import Information
from settebello.options import check_choice
from settebello.render import LANGUAGES, RENDER_MODES
from settebello.render import render as render_text
from settebello.single import SingleGame

BORDER_OPTIONS = ("mask_in", "illegal", "copy", "render_mode", "language")
# What PettingZoo's environments have from reset on; num_agents is PettingZoo's own property over agents.
_LIVE_FIELDS = (
    *("agents", "num_agents", "agent_selection", "rewards", "_cumulative_rewards"),
    *("terminations", "truncations", "infos"),
)


def spaces_of(game: Game, mask_in: str) -> tuple[gymnasium.Space[Any], gymnasium.spaces.Discrete]:
    """Observation and action space of a seat."""
    low, high = game.bounds()
    box = gymnasium.spaces.Box(low, high, dtype=np.int8)
    if mask_in == "info":
        return box, gymnasium.spaces.Discrete(game.num_actions)
    mask = gymnasium.spaces.Box(0, 1, (game.num_actions,), np.int8)
    return gymnasium.spaces.Dict({"observation": box, "action_mask": mask}), gymnasium.spaces.Discrete(game.num_actions)


class AECEnv(PettingZooAECEnv[str, Any, int]):
    """One game as a PettingZoo environment.

    Made by ``settebello.tressette_v0.env`` and ``settebello.bazzica_v0.env``, which list the options.

    Observations are ``{"observation": int8 (obs_size,), "action_mask": int8 (num_actions,)}``; the mask is in
    ``infos[agent]["action_mask"]`` too. Both are fresh arrays each step, the same objects in observation and info until the
    next step; seats not to move have a mask of zeros. Partners get the same reward, and rewards sum to zero over sides.

    Args:
        game: id of the game.
        mask_in: "obs" as above, or "info" for a plain array as observation and the mask in the info only.
        illegal: "raise" raises IllegalActionError and leaves the game as it was; "terminate" ends it: the offending seat gets
            -1 (reward "win") or -target ("points"), all others 0.
        copy: False reuses one set of arrays: what an observation holds is then overwritten by the next step.
        render_mode: "ansi" (``render`` returns text), "human" (prints it) or None.
        language: of ``render``: "it", "en" or "fr".
        **options: options of the game.

    Raises:
        OptionError: an option is unknown or its value is not allowed.
    """

    def __init__(
        self,
        game: str,
        *,
        mask_in: str = "obs",
        illegal: str = "raise",
        copy: bool = True,
        render_mode: str | None = None,
        language: str = "en",
        **options: Any,
    ) -> None:
        super().__init__()
        self._game = get_game(game)
        check_choice("mask_in", mask_in, ("obs", "info"))
        check_choice("copy", copy, (False, True))
        check_choice("render_mode", render_mode, (None, *RENDER_MODES))
        check_choice("language", language, tuple(LANGUAGES))
        self._single = SingleGame(self._game, self._game.options(BORDER_OPTIONS, **options), illegal)
        self._mask_in_obs = mask_in == "obs"
        self._copy = copy
        self._language = language
        self.render_mode = render_mode
        self.metadata = {
            "name": f"{self._game.env_name}_v{self._game.version}",
            "render_modes": list(RENDER_MODES),
            "is_parallelizable": False,
            "render_fps": 1,
        }
        self.possible_agents = self._game.agents
        self._seat_of = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        spaces = {agent: spaces_of(self._game, mask_in) for agent in self.possible_agents}
        self.observation_spaces = {agent: pair[0] for agent, pair in spaces.items()}
        self.action_spaces = {agent: pair[1] for agent, pair in spaces.items()}
        low, high = self._game.bounds(state=True)
        self.state_space = gymnasium.spaces.Box(low, high, dtype=np.int8)
        self._obs_part = slice(self._game.obs_size)  # of a row
        self._mask_part = slice(self._game.obs_size, self._game.obs_size + self._game.num_actions)
        self._no_mask = np.zeros(self._game.num_actions, np.int8)
        self._no_rewards = dict.fromkeys(self.possible_agents, 0)
        self._current: Any = None  # observation of the agent `_shown`
        self._shown: str | None = None  # agent_selection, unless a wrapper has ended the game

    def __getattr__(self, name: str) -> Any:
        # Reached only for attributes that are not there: PettingZoo's live fields appear with reset.
        if name in _LIVE_FIELDS:
            raise NotResetError(f"{name}: no game yet; call reset() first")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # --- PettingZoo --------------------------------------------------------------------------------------------------------

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        """The observation space of an agent; the bounds are exact for each element."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        """The action space of an agent."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Start a new game.

        Args:
            seed: a whole number from 0; None goes on with the random stream of the game before.
            options: ``deck`` (one deck, or a list of decks for the first deals; after them the seed goes on), ``dealer`` (a
                seat), ``score`` (match points by side to start from). Other keys are ignored.

        Raises:
            OptionError: a value is not allowed; the game before is left as it was.
        """
        self._single.reset(seed, options)
        self._begin()

    def _begin(self) -> None:
        """Fill PettingZoo's fields from the game."""
        agents = self.possible_agents
        over = self._single.over
        if over:
            self._single.show(0)
        self.agents = list(agents)
        self.rewards = dict.fromkeys(agents, 0)
        self._cumulative_rewards = dict.fromkeys(agents, 0)
        self.terminations = dict.fromkeys(agents, over)
        self.truncations = dict.fromkeys(agents, False)
        self.infos = {agent: {"action_mask": self._no_mask.copy()} for agent in agents}
        self._skip_agent_selection = None
        self.agent_selection = agents[max(self._single.turn, 0)]
        self._show()

    def _show(self) -> None:
        """Give observation and mask of the agent to move as arrays."""
        row = self._single.row
        if self._copy:
            row = row.copy()
        mask = row[self._mask_part]
        if self._mask_in_obs:
            self._current = {"observation": row[self._obs_part], "action_mask": mask}
        else:
            self._current = row[self._obs_part]
        self._shown = agent = self.agent_selection
        self.infos[agent] = {"action_mask": mask}

    def step(self, action: int | None) -> None:
        """Take the action of ``agent_selection`` (None for an agent whose game is over).

        Raises:
            IllegalActionError: the action is illegal (with ``illegal="raise"``); nothing has changed.
            NotResetError: there is no game yet.
            GameOverError: every agent has left, or an agent whose game is over took an action other than None.
            OptionError: the action is not a whole number.
        """
        agent = self.agent_selection
        if self.terminations.get(agent, True) or self.truncations[agent]:
            self._leave(agent, action)
            return
        single = self._single
        eventful = single.step(action)
        self._cumulative_rewards[agent] = 0
        if self.rewards != self._no_rewards:  # of the step before, or put there by a wrapper
            self.rewards = self._no_rewards.copy()
        mover = self.possible_agents[single.turn]  # nobody's turn once over: _settle then says who
        if eventful:
            mover = self._settle(mover)
        if mover != agent:
            self.infos[agent] = {"action_mask": self._no_mask.copy()}
            self.agent_selection = mover
        self._show()

    def _settle(self, mover: str) -> str:
        """Rewards of a step, and the end of the game if it came; returns the agent to act."""
        single = self._single
        if any(single.rewards):
            for agent, reward in zip(self.possible_agents, single.rewards, strict=True):
                self.rewards[agent] = reward
                self._cumulative_rewards[agent] += reward
        if not single.over:
            return mover
        self.terminations = dict.fromkeys(self.possible_agents, True)
        single.show(0)
        return self.possible_agents[0]

    def _leave(self, agent: str, action: int | None) -> None:
        """An agent whose game is over leaves with the action None."""
        if not self.agents:
            raise GameOverError(f"{self._game.id}: the game is over and every agent has left; reset() starts the next")
        if action is not None:
            raise GameOverError(f"{self._game.id}: the game is over for {agent}, whose only action is None, not {action!r}")
        self._was_dead_step(None)
        if self.agents:
            self._single.show(self._seat_of[self.agent_selection])
            self._single.mask[:] = 0  # even if a wrapper ended the game
            self._show()

    def _deads_step_first(self) -> str:
        """PettingZoo's wrappers call this when they have ended the game from outside: nothing is legal any more."""
        self._shown = None
        self.infos = {agent: {"action_mask": self._no_mask.copy()} for agent in self.agents}
        return str(super()._deads_step_first())

    def observe(self, agent: str) -> Any:
        """What an agent sees now; valid at any time and for any seat, with a mask of zeros for seats not to move."""
        if agent == self._shown:
            return self._current
        row = self._single.observe(self._seat(agent))
        if self.terminations.get(agent, True) or self.truncations.get(agent, True):
            row[self._mask_part] = 0  # even if a wrapper ended the game
        if not self._mask_in_obs:
            return row[self._obs_part]
        return {"observation": row[self._obs_part], "action_mask": row[self._mask_part]}

    def _seat(self, agent: str) -> int:
        if not isinstance(agent, str) or agent not in self._seat_of:
            raise OptionError(f"agent={agent!r}: allowed are {', '.join(self.possible_agents)}")
        return self._seat_of[agent]

    def state(self) -> Int8Array:
        """The full state, int8 ``(state_size,)``: the observation of the seat to move, then the cards it does not see."""
        return self._single.state()

    def render(self, seat: int | None = None) -> str | None:
        """The table as text: as a spectator of all cards sees it, or as one seat does.

        Returns:
            The text with ``render_mode="ansi"``; None with "human", which prints it.

        Raises:
            OptionError: the environment was made without a render mode.
        """
        if self.render_mode is None:
            raise OptionError(f"render_mode=None: make the environment with one of {', '.join(RENDER_MODES)} to render")
        snapshot = self.snapshot() if seat is None else self.information(seat).snapshot()
        picture = render_text(snapshot, self.events(), options=self._single.options, language=self._language)
        if self.render_mode == "ansi":
            return picture
        print(picture)
        return None

    def close(self) -> None:
        """Nothing is held open."""

    # --- settebello --------------------------------------------------------------------------------------------------------

    @property
    def unwrapped(self) -> Self:
        """This environment."""
        return self

    def action_masks(self) -> Int8Array:
        """Mask of the agent to move, int8 ``(num_actions,)``."""
        mask: Int8Array = self.infos[self.agent_selection]["action_mask"]
        return mask

    def obs_spec(self) -> ObsSpec:
        """Named slices of an observation: ``(name, start, stop, low, high, meaning)``."""
        return self._game.obs_spec()

    def describe(self, observation: Any) -> dict[str, Any]:
        """What an observation says in words, one value for each part of ``obs_spec()``."""
        return describe(self._game.id, observation["observation"] if isinstance(observation, dict) else observation)

    def state_spec(self) -> ObsSpec:
        """Named slices of ``state()``."""
        return self._game.obs_spec(state=True)

    def snapshot(self) -> dict[str, Any]:
        """The whole truth as a plain dict of Python values."""
        return self._single.snapshot()

    def events(self, deal: int = 0) -> list[dict[str, Any]]:
        """Public events of the deal on the table, or with ``deal=-1`` of the deal counted last."""
        return self._single.events(deal)

    def information(self, seat: int) -> Information:
        """What a seat knows: an immutable copy."""
        return self._single.information(seat)

    def get_state(self) -> bytes:
        """The game as bytes."""
        return self._single.get_state()

    def set_state(self, data: bytes) -> None:
        """Put a saved game in place of this one; rewards are zero.

        Raises:
            StateError: the bytes are damaged, or of another game, version or options; nothing has changed.
        """
        self._single.set_state(data)
        self._begin()

    def clone(self) -> Self:
        """An independent copy that goes on identically."""
        return copy.deepcopy(self)
