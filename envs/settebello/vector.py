"""The Gymnasium vector environment: many learners' games, stepped with their opponents by one compiled call."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from settebello.batch import (
    MAX_SEED,
    BatchEnv,
    check_actions,
    check_seed,
    check_seeds,
    forfeit,
    illegal_action,
    seed_games,
    show,
    start_games,
)
from settebello.errors import GameOverError, IllegalActionError, NotResetError, OptionError
from settebello.game import Game, Int8Array, ObsSpec, get_game, is_legal, observe
from settebello.information import Information, check_deal
from settebello.jit import kernel
from settebello.learner import (
    BORDER_OPTIONS,
    ENDED,
    NO_ACTION,
    PARTNER,
    WAITING,
    Seating,
    begin_game,
    draw_seats,
    learner_spaces,
    play_until,
    seed_words,
    show_learner,
)
from settebello.opponents import Opponent, ask
from settebello.options import Options, check_choice, check_int, is_list
from settebello.render import LANGUAGES, RENDER_MODES
from settebello.render import render as render_text
from settebello.single import NO_DECK, NOBODY, Start

NEVER: Final = 2**40  # first_deal of a row with no decks for deals to come

# What to do in a row.
REST: Final = 0  # nothing
ACT: Final = 1  # take the learner's action, or start the next game where the autoreset mode says so
BEGIN: Final = 2  # the game was just started: play to the learner's first action
ANSWER: Final = 3  # take the action of the opponent that was asked

NEXT_STEP: Final = 0
SAME_STEP: Final = 1
DISABLED: Final = 2
MODES: Final = {AutoresetMode.NEXT_STEP: NEXT_STEP, AutoresetMode.SAME_STEP: SAME_STEP, AutoresetMode.DISABLED: DISABLED}


@kernel
def run_rows(
    states: Any,
    commands: Any,
    actions: Any,
    seats: Any,
    words: Any,
    carried: Any,
    fresh: Any,
    ended: Any,
    rewards: Any,
    decks: Any,
    first_deals: Any,
    rows8: Any,
    rows64: Any,
    masks64: Any,
    final_seats: Any,
    final_rows8: Any,
    final_rows64: Any,
    mode: int,
    fixed_seat: int,
    num_seats: int,
    asked: int,
    policies: Any,
) -> Any:
    """Do in each row what its command says, up to the learner's next action; returns how many rows wait for an opponent.

    A waiting row is left with the command ANSWER, all others with REST.
    """
    waiting = 0
    for i in range(len(states)):
        command = commands[i]
        if command == REST:
            continue
        commands[i] = REST
        state = states[i]
        seat = seats[i]
        action = np.int64(actions[i])
        if command == ACT:
            fresh[i] = False
            rewards[i] = 0.0
            if mode == NEXT_STEP and ended[i]:
                command = BEGIN
                seat = begin_game(state, words[i], fixed_seat, num_seats)
                seats[i] = seat
                first_deals[i] = NEVER
            elif not is_legal(state, action):
                forfeit(state)
                carried[i] += np.int64(state["reward"][seat % 2])
                action = np.int64(NO_ACTION)
            ended[i] = False
        if command == BEGIN:
            fresh[i] = True
            ended[i] = False
            carried[i] = 0
            action = np.int64(NO_ACTION)
        while True:
            word, reward, status = play_until(
                state, action, seat, num_seats, asked, policies, words[i, 1], decks[i], first_deals[i]
            )
            words[i, 1] = word
            carried[i] += reward
            if status == WAITING:
                commands[i] = ANSWER
                waiting += 1
                break
            if not fresh[i]:  # what comes before the learner's first action counts to that action
                rewards[i] = carried[i]
                carried[i] = 0
            if status == ENDED:
                ended[i] = True
                if mode == SAME_STEP and not fresh[i]:
                    final_seats[i] = seat
                    observe(state, seat, final_rows8[i], final_rows64[i])
                    seat = begin_game(state, words[i], fixed_seat, num_seats)
                    seats[i] = seat
                    first_deals[i] = NEVER
                    fresh[i] = True
                    action = np.int64(NO_ACTION)
                    continue
            show_learner(state, seat, rows8[i], rows64[i], masks64[i])
            break
    return waiting


@kernel
def _first_illegal(states: Any, rows: Any, actions: Any, skipped: Any) -> int:
    """Index in ``rows`` of the first one whose action is illegal and that is not skipped, or -1."""
    for k in range(len(rows)):
        if not skipped[rows[k]] and not is_legal(states[rows[k]], actions[k]):
            return k
    return -1


@kernel
def _show_rows(states: Any, rows: Any, seats: Any, rows8: Any, rows64: Any, masks64: Any) -> None:
    """Write seat to move, observation and mask of some rows."""
    for i in rows:
        seats[i] = states[i]["turn"]
        show(states[i], rows8[i], rows64[i], masks64[i])


class LearnerVectorEnv(VectorEnv[Any, npt.NDArray[np.int64], npt.NDArray[Any]]):
    """Many games with one learner's seat each; opponents play all other seats. One compiled call steps them all.

    Made by ``gymnasium.make_vec("settebello/Tressette2p-v0", num_envs=..., ...)``. It does step for step what
    ``gymnasium.vector.SyncVectorEnv`` does with as many single environments of the same seeds, infos included; see
    ``settebello.gym.LearnerEnv`` for observation, mask, reward and seat.

    Observations are ``{"observation": int8 (N, obs_size), "action_mask": int8 (N, num_actions)}``. Infos hold ``action_mask``
    and ``seat`` of each row, and with SAME_STEP ``final_obs`` and ``final_info``. A terminal observation has a mask of ones.

    Args:
        game: id of the game.
        num_envs: number of rows N.
        autoreset_mode: ``AutoresetMode.NEXT_STEP`` (after its end a row ignores its next action and shows its next game),
            ``SAME_STEP`` (the step that ends a game shows the next one) or ``DISABLED`` (after its end a row must be reset,
            ``reset(options={"reset_mask": bool (N,)})``).
        opponent: level, another text that ``settebello.opponents.from_spec`` takes, or an object with
            ``act(information) -> action``; if it also has ``act_batch(batch, rows)``, rows are asked together.
        partner: another for the partner's seat (four players); None: as ``opponent``.
        seat: the learner's seat; None draws it for each game.
        mask_in: "obs" as above, or "info" for a plain array as observation and the mask in the info only.
        illegal: "terminate" or "raise" (then nothing is moved in any row).
        copy: False reuses one set of arrays, overwritten by the next step.
        render_mode: "ansi" (``render`` returns a text for each row), "human" (prints them) or None.
        language: of ``render``: "it", "en" or "fr".
        **options: options of the game.

    Attributes:
        autoreset_mode: as given, also in ``metadata``.
        seats: int64 ``(N,)``, the learner's seat in each row; -1 before the first reset.

    Raises:
        OptionError: an option is unknown or its value is not allowed.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  as Gymnasium has it
        "render_modes": list(RENDER_MODES),
        "render_fps": 1,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        game: str,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
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
        super().__init__()
        self._game: Game = get_game(game)
        self.num_envs = check_int("num_envs", num_envs, 1, 2**31)
        if not isinstance(autoreset_mode, AutoresetMode):
            check_choice("autoreset_mode", autoreset_mode, tuple(mode.value for mode in AutoresetMode))
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        check_choice("illegal", illegal, ("raise", "terminate"))
        check_choice("copy", copy, (False, True))
        check_choice("render_mode", render_mode, (None, *RENDER_MODES))
        check_choice("language", language, tuple(LANGUAGES))
        self._seating = Seating(self._game, opponent, partner, seat)
        self._options = self._game.options((*BORDER_OPTIONS, "num_envs", "autoreset_mode"), **options)
        self._mode = MODES[self.autoreset_mode]
        self._raises = illegal == "raise"
        self._mask_in_obs = mask_in == "obs"
        self._copy = copy
        self._language = language
        self.render_mode = render_mode
        self.single_observation_space, self.single_action_space = learner_spaces(self._game, mask_in)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

        n = self.num_envs
        self._states = np.repeat(self._options.record(), n)
        self.seats = np.full(n, NOBODY, np.int64)
        self._words = np.zeros((n, 2), np.uint64)  # streams of the learner's seat and of the compiled opponents
        self._seeded = np.zeros(n, np.bool_)
        self._started = np.zeros(n, np.bool_)
        self._commands = np.zeros(n, np.int8)
        self._carried = np.zeros(n, np.int64)  # reward since the learner's last action, or before its first
        self._fresh = np.zeros(n, np.bool_)  # the learner has not acted yet in the game on the table
        self._ended = np.zeros(n, np.bool_)  # the last step ended a game
        self._rewards = np.zeros(n, np.float64)
        self._decks = np.zeros((n, 0, 40), np.uint8)
        self._first_deals = np.full(n, NEVER, np.int64)
        self._rows: Int8Array = np.zeros((n, self._game.obs_size), np.int8)
        self._masks: Int8Array = np.zeros((n, self._game.mask_size), np.int8)
        finals = n if self._mode == SAME_STEP else 0
        self._final_seats = np.zeros(n, np.int64)
        self._final_rows: Int8Array = np.zeros((finals, self._game.obs_size), np.int8)
        self._batch: BatchEnv | None = None  # the same states, as act_batch is given them

    # --- Gymnasium ---------------------------------------------------------------------------------------------------------

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | npt.NDArray[Any] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start a new game in every row, or in those of ``options["reset_mask"]``.

        Args:
            seed: row i is seeded with ``seed + i``; or one seed or None for each row. Rows without go on with the random
                streams they have, the first time with seeds drawn from ``np_random``.
            options: ``reset_mask`` (bool ``(N,)``), and for each of these rows ``deck``, ``dealer`` and ``score`` as for the
                single environment. Other keys are ignored.

        Returns:
            Observations and infos; rows that were not reset keep theirs.

        Raises:
            OptionError: a value is not allowed; everything is left as it was.
            NotResetError: rows are left out that have no game yet.
            IllegalActionError: an opponent answered an illegal action; everything is left as it was.
        """
        start = Start(self._game, self._options, options)
        chosen = self._reset_mask((options or {}).get("reset_mask"))
        seeds = self._seeds(seed)
        if not (chosen | self._started).all():
            raise NotResetError(f"{self._game.id}: row {int((chosen | self._started).argmin())} has no game yet; reset it too")
        if isinstance(seed, int | np.integer):
            super().reset(seed=int(seed))
        rows = np.flatnonzero(chosen)
        before = self._memory()
        try:
            self._start(rows, seeds, start)
            self._commands[rows] = BEGIN
            self._run(np.full(self.num_envs, NO_ACTION, np.int64))
        except BaseException:
            self._restore(before)
            raise
        self._started[rows] = True
        if self.render_mode == "human":
            self.render()
        return self._observation(), self._infos(chosen)

    def _reset_mask(self, given: Any) -> npt.NDArray[np.bool_]:
        """The rows to reset."""
        if given is None:
            return np.ones(self.num_envs, np.bool_)
        if not isinstance(given, np.ndarray) or given.dtype != np.bool_ or given.shape != (self.num_envs,) or not given.any():
            raise OptionError(f"reset_mask={given!r}: expected a bool array of shape ({self.num_envs},) with at least one True")
        return given.copy()

    def _seeds(self, seed: Any) -> list[int | None]:
        """A seed or None for each row."""
        if seed is None:
            return [None] * self.num_envs
        if is_list(seed) and len(seed) == self.num_envs:  # Gymnasium lets some rows go on
            return [None if one is None else check_seed(one) for one in seed]
        return list(check_seeds(seed, self.num_envs))

    def _start(self, rows: npt.NDArray[np.int64], seeds: list[int | None], start: Start) -> None:
        """Start a new game in some rows."""
        given = [(row, seeds[row]) for row in rows.tolist() if seeds[row] is not None]
        new = [
            (row, int(self.np_random.integers(2**63))) for row in rows.tolist() if seeds[row] is None and not self._seeded[row]
        ]
        if given or new:
            seeded = np.array([row for row, _ in given + new], np.int64)
            numbers = np.array([seed for _, seed in given + new], np.int64)
            states, words = self._states[seeded], self._words[seeded]
            seed_games(states, numbers)
            seed_words(words, numbers)
            self._states[seeded], self._words[seeded] = states, words
            self._seeded[seeded] = True
        states = self._states[rows]
        start_games(states)
        start.apply(states)
        self._states[rows] = states
        self._keep_decks(rows, start.decks[1:])
        if self._seating.fixed_seat >= 0:
            self.seats[rows] = self._seating.fixed_seat
        else:
            draw_seats(self._words, rows, self.seats, self._game.num_seats)

    def _keep_decks(self, rows: npt.NDArray[np.int64], decks: npt.NDArray[np.uint8]) -> None:
        """Note the decks for later deals of some rows."""
        number = max(len(decks), self._decks.shape[1] if len(rows) < self.num_envs else 0)
        if number != self._decks.shape[1]:
            kept = np.full((self.num_envs, number, self._decks.shape[2]), NO_DECK, np.uint8)
            shared = min(number, self._decks.shape[1])
            kept[:, :shared] = self._decks[:, :shared]
            self._decks = kept
        self._decks[rows] = NO_DECK
        self._decks[rows, : len(decks)] = decks
        self._first_deals[rows] = 2 if len(decks) else NEVER

    def step(
        self, actions: npt.ArrayLike
    ) -> tuple[Any, npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]]:
        """Take an action of the learner in each row and let the opponents play until the learners are to move again.

        Args:
            actions: ``(N,)``, any integer dtype.

        Returns:
            Observations, rewards float64 ``(N,)``, terminations bool ``(N,)``, truncations (all False), infos.

        Raises:
            NotResetError: rows have no game yet.
            GameOverError: a row's game is over (autoreset DISABLED).
            OptionError: wrong shape or dtype.
            IllegalActionError: an action is illegal (with ``illegal="raise"``), or an opponent answered an illegal action.
                Whatever is raised, nothing has moved in any row.
        """
        chosen = check_actions(actions, self.num_envs)
        if not self._started.all():
            raise NotResetError(f"{self._game.id}: no games yet; call reset() first")
        if self._mode == DISABLED and self._ended.any():
            raise GameOverError(
                f"environment {int(self._ended.argmax())}: the game is over; reset it with options['reset_mask']"
            )
        if self._raises:
            self._check(chosen)
        self._commands[:] = ACT
        before = self._memory()
        try:
            self._run(chosen)
        except BaseException:
            self._restore(before)
            raise
        if self.render_mode == "human":
            self.render()
        rewards, ended = self._rewards, self._ended
        if self._copy:
            rewards = rewards.copy()
        infos = self._infos(None)
        if self._mode == SAME_STEP and ended.any():
            self._add_finals(infos)
        return self._observation(), rewards, ended.copy(), np.zeros(self.num_envs, np.bool_), infos

    def _check(self, actions: npt.NDArray[np.int64]) -> None:
        """Refuse illegal actions of the learner."""
        skipped = self._ended if self._mode == NEXT_STEP else np.zeros(self.num_envs, np.bool_)
        row = _first_illegal(self._states, np.arange(self.num_envs), actions, skipped)
        if row >= 0:
            raise illegal_action(self._game, self._states[row], int(actions[row]), f"environment {row}: ")

    def _run_compiled(self, actions: npt.NDArray[np.int64]) -> int:
        """One call of the compiled loop; returns how many rows wait for an opponent."""
        waiting: int = run_rows(
            self._states,
            self._commands,
            actions,
            self.seats,
            self._words,
            self._carried,
            self._fresh,
            self._ended,
            self._rewards,
            self._decks,
            self._first_deals,
            self._rows,
            self._rows.view(np.uint64),
            self._masks.view(np.uint64),
            self._final_seats,
            self._final_rows,
            self._final_rows.view(np.uint64),
            self._mode,
            self._seating.fixed_seat,
            self._game.num_seats,
            self._seating.asked,
            self._seating.policies,
        )
        return waiting

    def _run(self, actions: npt.NDArray[np.int64]) -> None:
        """The compiled loop, and asking the opponents for which it waits, until every learner is to move."""
        while self._run_compiled(actions):
            actions = np.full(self.num_envs, NO_ACTION, np.int64)
            waiting = np.flatnonzero(self._commands == ANSWER)
            ahead = (self._states["turn"][waiting] - self.seats[waiting]) % self._game.num_seats
            partners = (ahead == PARTNER) & self._seating.partner_apart
            for rows in (waiting[~partners], waiting[partners]):
                if len(rows):
                    player = self._seating.player(int(self.seats[rows[0]]), int(self._states["turn"][rows[0]]))
                    actions[rows] = self._ask(player, rows)

    def _ask(self, player: Opponent, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """What an opponent answers in the rows that wait for it."""
        if not callable(getattr(player, "act_batch", None)):
            turns = self._states["turn"][rows].tolist()
            answers = [ask(player, self.information(row, seat)) for row, seat in zip(rows.tolist(), turns, strict=True)]
            return np.array(answers, np.int64)
        name = f"opponent {type(player).__name__}"
        batch = self._shown(rows)
        actions = np.asarray(player.act_batch(batch, rows.copy()))  # type: ignore[attr-defined]
        if actions.dtype.kind not in "iu" or actions.shape != rows.shape:
            raise IllegalActionError(
                f"{name}: act_batch returned {actions.dtype} of shape {actions.shape}; expected an integer for each row of "
                f"{rows.shape}"
            )
        if actions.dtype == np.uint64:
            actions = np.minimum(actions, np.uint64(MAX_SEED))
        actions = actions.astype(np.int64)
        k = _first_illegal(self._states, rows, actions, np.zeros(self.num_envs, np.bool_))
        if k >= 0:
            raise illegal_action(self._game, self._states[rows[k]], int(actions[k]), f"{name} in environment {rows[k]}: ")
        return actions

    def _shown(self, rows: npt.NDArray[np.int64]) -> BatchEnv:
        """The games as a batch that shows the seat to move of these rows."""
        if self._batch is None:
            names = [field.name for field in dataclasses.fields(self._options) if field.name not in self._game.fixed_options]
            self._batch = BatchEnv(self._game.id, self.num_envs, **{name: getattr(self._options, name) for name in names})
        batch = self._batch
        batch._states = self._states
        _show_rows(self._states, rows, batch.seat, batch.observation, batch._rows64, batch._masks64)
        return batch

    def _memory(self) -> list[Any]:
        """Copies of all that a step or a reset changes; nothing when no opponent is asked, since then nothing can fail."""
        return [value.copy() for value in self._changing()] if self._seating.asked else []

    def _restore(self, memory: list[Any]) -> None:
        if not memory:
            return
        if self._decks.shape != memory[-1].shape:
            self._decks = memory[-1]
        for value, before in zip(self._changing(), memory, strict=True):
            value[:] = before

    def _changing(self) -> list[Any]:
        return [
            *(self._states, self._commands, self.seats, self._words, self._carried, self._fresh, self._ended, self._rewards),
            *(self._first_deals, self._rows, self._masks, self._seeded, self._final_seats, self._final_rows, self._decks),
        ]

    def _observation(self) -> Any:
        """Observations, in fresh arrays unless ``copy`` is False."""
        rows = self._rows.copy() if self._copy else self._rows
        return {"observation": rows, "action_mask": self._mask()} if self._mask_in_obs else rows

    def _mask(self) -> Int8Array:
        masks = self._masks.copy() if self._copy else self._masks
        return masks[:, : self._game.num_actions]

    def _infos(self, chosen: npt.NDArray[np.bool_] | None) -> dict[str, Any]:
        """Infos of some rows (None: all)."""
        masks, seats = self._mask(), self.seats.copy()
        if chosen is None:
            chosen = np.ones(self.num_envs, np.bool_)
        elif not chosen.all():
            masks = masks.copy()
            masks[~chosen] = 0
            seats[~chosen] = 0
        return {"action_mask": masks, "_action_mask": chosen, "seat": seats, "_seat": chosen.copy()}

    def _add_finals(self, infos: dict[str, Any]) -> None:
        """Add what the games that the step ended showed at their end."""
        ended = self._ended
        observations = np.full(self.num_envs, None, dtype=object)
        masks = np.zeros((self.num_envs, self._game.num_actions), np.int8)
        masks[ended] = 1
        seats = np.where(ended, self._final_seats, 0)
        for row in np.flatnonzero(ended).tolist():
            observation = self._final_rows[row].copy()
            final = {"observation": observation, "action_mask": masks[row].copy()}
            observations[row] = final if self._mask_in_obs else observation
        infos["final_obs"], infos["_final_obs"] = observations, ended.copy()
        infos["final_info"] = {"action_mask": masks, "_action_mask": ended.copy(), "seat": seats, "_seat": ended.copy()}
        infos["_final_info"] = ended.copy()

    def render(self) -> tuple[str, ...] | None:
        """The table of each row as its learner sees it.

        Returns:
            The texts with ``render_mode="ansi"``; None with "human", which prints them.

        Raises:
            OptionError: the environment was made without a render mode.
            NotResetError: there are no games yet.
        """
        if self.render_mode is None:
            raise OptionError(f"render_mode=None: make the environment with one of {', '.join(RENDER_MODES)} to render")
        pictures = tuple(
            render_text(self.information(i).snapshot(), self.events(i), options=self._options, language=self._language)
            for i in range(self.num_envs)
        )
        if self.render_mode == "ansi":
            return pictures
        print(*pictures, sep="\n")
        return None

    # --- settebello --------------------------------------------------------------------------------------------------------

    @property
    def game(self) -> str:
        """Id of the game."""
        return self._game.id

    @property
    def options(self) -> Options:
        """Options of the game."""
        return self._options

    def action_masks(self) -> Int8Array:
        """Masks of the learners, int8 ``(N, num_actions)``, a fresh array; all ones where a game is over.

        Raises:
            NotResetError: a row has no game yet.
        """
        for i in np.flatnonzero(~self._started):
            self._row(int(i))
        return self._masks[:, : self._game.num_actions].copy()

    def obs_spec(self) -> ObsSpec:
        """Named slices of an observation: ``(name, start, stop, low, high, meaning)``."""
        return self._game.obs_spec()

    def _row(self, i: int) -> int:
        row = check_int("i", i, 0, self.num_envs - 1)
        if not self._states["deal_number"][row]:
            raise NotResetError(f"{self._game.id}: no games yet; call reset() first")
        return row

    def information(self, i: int, seat: int | None = None) -> Information:
        """What a seat (None: the learner) of row i knows: an immutable copy."""
        row = self._row(i)
        seat = int(self.seats[row]) if seat is None else check_int("seat", seat, 0, self._game.num_seats - 1)
        return Information(self._game, self._options, self._states[row : row + 1], seat)

    def snapshot(self, i: int) -> dict[str, Any]:
        """The whole truth of row i as a plain dict of Python values."""
        return self._game.snapshot(self._states[self._row(i)])

    def events(self, i: int, deal: int = 0) -> list[dict[str, Any]]:
        """Public events of the deal on the table of row i, or with ``deal=-1`` of the deal counted last."""
        row = self._row(i)
        check_deal(deal)
        return self._game.events(self._states[row], deal)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_batch": None, "_game": self._game.id}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._game = get_game(state["_game"])
