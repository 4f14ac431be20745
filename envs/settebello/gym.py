"""The Gymnasium environment: one learner's seat, opponents at all others. All checks are built in, no wrapper is needed."""

import copy
from collections.abc import Mapping
from typing import Any, Final, Self

import gymnasium
import numpy as np

from settebello.batch import check_seed, illegal_action
from settebello.errors import GameOverError, OptionError
from settebello.game import Game, Int8Array, ObsSpec, get_game, is_legal
from settebello.information import Information
from settebello.jit import kernel
from settebello.learner import (
    BORDER_OPTIONS,
    ENDED,
    NO_ACTION,
    WAITING,
    Seating,
    draw_seats,
    learner_spaces,
    play_until,
    seed_words,
    show_learner,
)
from settebello.opponents import Opponent, ask
from settebello.options import Options, check_choice
from settebello.render import LANGUAGES, RENDER_MODES
from settebello.render import render as render_text
from settebello.single import ILLEGAL, NOBODY, SingleGame, whole_action

# What `_play` returns: why it stopped in the low bits, above them the reward.
_STATUS_BITS: Final = 2
_STATUS: Final = (1 << _STATUS_BITS) - 1
_REWARD_ZERO: Final = 1 << 20  # added to the reward, so that the code of a legal action is never negative


@kernel
def _play(
    states: Any,
    action: int,
    seat: int,
    num_seats: int,
    asked: int,
    policies: Any,
    words: Any,
    decks: Any,
    first_deal: int,
    row8: Any,
    row64: Any,
    mask_word: int,
) -> Any:
    """Check and play an action and what the compiled opponents answer, and show the learner what it then sees."""
    state = states[0]
    if action >= 0 and not is_legal(state, action):
        return np.int64(ILLEGAL)
    word, reward, status = play_until(
        state, np.int64(action), np.int64(seat), num_seats, asked, policies, words[1], decks, first_deal
    )
    words[1] = word
    if status != WAITING:
        show_learner(state, seat, row8, row64, row64[mask_word:])
    return (reward + _REWARD_ZERO) << _STATUS_BITS | status


class LearnerEnv(gymnasium.Env[Any, Any]):
    """One seat of a game, the learner's; opponents play all others.

    Made by ``gymnasium.make("settebello/Tressette2p-v0", ...)``, which returns it without any wrapper.

    The observation is ``{"observation": int8 (obs_size,), "action_mask": int8 (num_actions,)}``, the info
    ``{"action_mask": the same mask, "seat": seat of the learner}``. The mask is never all zero: after the end of the game,
    when nothing may be played, it is all ones. Arrays are fresh ones at each call. The reward is that of the learner's side
    since its last action, whatever the others did meanwhile included; what it was before the learner's first action counts to
    that action. An episode ends with the game and is never truncated.

    ``reset(seed=s)`` gives the game that the PettingZoo environment has after ``reset(seed=s)``. The learner's seat and the
    moves of opponents of the compiled levels ("random", "easy", "medium") come from two other streams of the same seed.

    Args:
        game: id of the game.
        opponent: level, another text that ``settebello.opponents.from_spec`` takes (``"search:worlds=16"``, the folder of a
            training run), or an object with ``act(information) -> action``, which plays all other seats.
        partner: another for the partner's seat (four players); None: as ``opponent``.
        seat: the learner's seat; None draws it at each reset.
        mask_in: "obs" as above, or "info" for a plain array as observation and the mask in the info only.
        illegal: what an illegal action does: "terminate" ends the game with -1 for the learner (reward "win") or -target
            ("points"); "raise" raises IllegalActionError and leaves the game as it was.
        copy: False reuses one set of arrays: what an observation holds is then overwritten by the next step.
        render_mode: "ansi" (``render`` returns text), "human" (each reset and step prints it) or None.
        language: of ``render``: "it", "en" or "fr".
        **options: options of the game.

    Attributes:
        seat: the learner's seat in this game; -1 before the first reset.

    Raises:
        OptionError: an option is unknown or its value is not allowed.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 1}  # noqa: RUF012  as Gymnasium has it

    def __init__(
        self,
        game: str,
        *,
        opponent: str | Opponent = "random",
        partner: str | Opponent | None = None,
        seat: int | None = None,
        mask_in: str = "obs",
        illegal: str = "terminate",
        copy: bool = True,
        render_mode: str | None = None,
        language: str = "en",
        **options: Any,
    ) -> None:
        of = get_game(game)
        check_choice("copy", copy, (False, True))
        check_choice("render_mode", render_mode, (None, *RENDER_MODES))
        check_choice("language", language, tuple(LANGUAGES))
        self._seating = Seating(of, opponent, partner, seat)
        self.observation_space, self.action_space = learner_spaces(of, mask_in)
        self._single = SingleGame(of, of.options(BORDER_OPTIONS, **options), illegal)
        self._mask_in_obs = mask_in == "obs"
        self._copy = copy
        self._language = language
        self.render_mode = render_mode
        self.seat = NOBODY
        self._words = np.zeros(2, np.uint64)  # streams of the learner's seat and of the compiled opponents
        self._seeded = False
        self._live = False  # the learner is to move
        self._carried = 0  # reward since the learner's last action, or before its first
        self._num_seats = of.num_seats
        self._num_actions = of.num_actions
        self._obs_size = of.obs_size
        self._mask_stop = self._obs_size + self._num_actions

    # --- Gymnasium ---------------------------------------------------------------------------------------------------------

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start a new game and let the opponents play until the learner is to move.

        Args:
            seed: a whole number from 0; None goes on with the random streams there are, the first time with a seed drawn from
                ``np_random``.
            options: ``deck`` (one deck, or a list of decks for the first deals; after them the seed goes on), ``dealer`` (a
                seat), ``score`` (match points by side to start from). Other keys are ignored.

        Returns:
            Observation and info.

        Raises:
            OptionError: a value is not allowed; the game before is left as it was.
            IllegalActionError: an opponent answered an illegal action; there is no game then.
        """
        start = self._single.start(options)
        if seed is not None:
            seed = check_seed(seed)
        super().reset(seed=seed)
        if seed is None and not self._seeded:
            seed = int(self.np_random.integers(2**63))
        if seed is not None:
            seed_words(self._words[None], np.array([seed], np.int64))
            self._seeded = True
        self._single.reset(seed, start)
        self.seat = self._seating.fixed_seat
        if self.seat < 0:
            drawn = np.zeros(1, np.int64)
            draw_seats(self._words[None], np.zeros(1, np.int64), drawn, self._num_seats)
            self.seat = int(drawn[0])
        return self._first()

    def _first(self) -> tuple[Any, dict[str, Any]]:
        """Play on to the learner's first action of a game; observation and info."""
        self._carried = 0
        self._live = False
        try:
            self._take(NO_ACTION)
        except BaseException:
            self._single.started = False
            raise
        if self.render_mode == "human":
            self.render()
        return self._show()

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action of the learner and let the opponents play until the learner is to move again.

        Args:
            action: of any integer type.

        Returns:
            Observation, reward, whether the game is over, False, info.

        Raises:
            NotResetError: there is no game yet.
            GameOverError: the game is over.
            OptionError: the action is not a whole number.
            IllegalActionError: it is illegal (with ``illegal="raise"``), or an opponent answered an illegal action. Whatever is
                raised, the game is left as it was.
        """
        if type(action) is not int:
            action = whole_action(action)
        if not self._live:
            self._single.require()
            raise GameOverError(f"{self._game.id}: the game is over; reset() starts the next")
        if not 0 <= action < self._num_actions or not self._take(action):
            self._refuse(action)
        reward = float(self._carried)
        self._carried = 0
        if self.render_mode == "human":
            self.render()
        observation, info = self._show()
        return observation, reward, not self._live, False, info

    def _run(self, action: int) -> int:
        """One call of the compiled loop; returns its status, or ILLEGAL."""
        single = self._single
        code = _play(
            single.states,
            action,
            self.seat,
            self._num_seats,
            self._seating.asked,
            self._seating.policies,
            self._words,
            single.decks,
            single.first_deal,
            single.row,
            single.row64,
            single.mask_word,
        )
        if code < 0:
            return ILLEGAL
        self._carried += (code >> _STATUS_BITS) - _REWARD_ZERO
        return int(code & _STATUS)

    def _take(self, action: int) -> bool:
        """Play an action (or NO_ACTION) and the opponents' answers; False if it is illegal."""
        if self._seating.asked:
            return self._take_asking(action)
        status = self._run(action)
        if status < 0:
            return False
        self._settle(status)
        return True

    def _settle(self, status: int) -> None:
        self._live = status != ENDED
        self._single.over = not self._live
        self._single.turn = self.seat if self._live else NOBODY

    def _take_asking(self, action: int) -> bool:
        """As ``_take``, with opponents that are asked; if one fails the game is left as it was."""
        before = (self._single.states.copy(), self._words.copy(), self._carried)
        try:
            status = self._run(action)
            while status == WAITING:
                seat = int(self._single.states["turn"][0])
                status = self._run(ask(self._seating.player(self.seat, seat), self._single.information(seat)))
        except BaseException:
            self._single.states[:], self._words[:], self._carried = before
            raise
        if status < 0:
            return False
        self._settle(status)
        return True

    def _refuse(self, action: int) -> None:
        """The learner's action is illegal."""
        single = self._single
        if single.illegal == "raise":
            raise illegal_action(self._game, single.states[0], action)
        single.forfeit()
        single.mask[:] = 1
        self._carried += single.rewards[self.seat]
        self._live = False

    def _show(self) -> tuple[Any, dict[str, Any]]:
        """Observation and info, of fresh arrays unless ``copy`` is False."""
        row = self._single.row
        if self._copy:
            row = row.copy()
        mask = row[self._obs_size : self._mask_stop]
        info = {"action_mask": mask, "seat": self.seat}
        if self._mask_in_obs:
            return {"observation": row[: self._obs_size], "action_mask": mask}, info
        return row[: self._obs_size], info

    def render(self) -> str | None:
        """The table as the learner sees it.

        Returns:
            The text with ``render_mode="ansi"``; None with "human", which prints it.

        Raises:
            OptionError: the environment was made without a render mode.
            NotResetError: there is no game yet.
        """
        if self.render_mode is None:
            raise OptionError(f"render_mode=None: make the environment with one of {', '.join(RENDER_MODES)} to render")
        snapshot = self.information().snapshot()
        picture = render_text(snapshot, self.events(), options=self._single.options, language=self._language)
        if self.render_mode == "ansi":
            return picture
        print(picture)
        return None

    # --- settebello --------------------------------------------------------------------------------------------------------

    @property
    def _game(self) -> Game:
        return self._single.game

    @property
    def game(self) -> str:
        """Id of the game."""
        return self._game.id

    @property
    def options(self) -> Options:
        """Options of the game."""
        return self._single.options

    def action_masks(self) -> Int8Array:
        """Mask of the learner, int8 ``(num_actions,)``, a fresh array; all ones after the end.

        Raises:
            NotResetError: there is no game yet.
        """
        self._single.require()
        return self._single.mask.copy()

    def obs_spec(self) -> ObsSpec:
        """Named slices of the observation: ``(name, start, stop, low, high, meaning)``."""
        return self._game.obs_spec()

    def information(self, seat: int | None = None) -> Information:
        """What a seat (None: the learner) knows: an immutable copy."""
        self._single.require()
        return self._single.information(self.seat if seat is None else seat)

    def snapshot(self) -> dict[str, Any]:
        """The whole truth as a plain dict of Python values."""
        return self._single.snapshot()

    def events(self, deal: int = 0) -> list[dict[str, Any]]:
        """Public events of the deal on the table, or with ``deal=-1`` of the deal counted last."""
        return self._single.events(deal)

    def get_state(self) -> bytes:
        """The game as bytes, the same as the PettingZoo environment's; learner's seat and opponents' streams are not in it.

        ``clone``, ``copy.deepcopy`` and ``pickle`` keep everything.
        """
        return self._single.get_state()

    def set_state(self, data: bytes) -> tuple[Any, dict[str, Any]]:
        """Put a saved game in place of this one and let the opponents play until the learner is to move.

        The learner keeps its seat; if it has none yet and none is fixed, it takes the one that is to move in the saved game.

        Returns:
            Observation and info.

        Raises:
            StateError: the bytes are damaged, or of another game, version or options; nothing has changed.
            IllegalActionError: an opponent answered an illegal action; there is no game then.
        """
        self._single.set_state(data)
        if not self._seeded:
            seed_words(self._words[None], np.array([self.np_random.integers(2**63)], np.int64))
            self._seeded = True
        if self.seat < 0:
            self.seat = self._seating.fixed_seat if self._seating.fixed_seat >= 0 else max(self._single.turn, 0)
        return self._first()

    def clone(self) -> Self:
        """An independent copy that goes on identically, its opponents copied with it."""
        return copy.deepcopy(self)
