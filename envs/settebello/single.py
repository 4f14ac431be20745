"""One game as the environments of a single game hold it: reset, checked steps, views, saved bytes.

The PettingZoo and the Gymnasium environment are thin over it. One compiled call checks an action, takes it and writes what
the next seat sees.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from settebello.batch import check_seed, forfeit, illegal_action, seed_games, start_games
from settebello.cards import NUM_CARDS
from settebello.errors import GameOverError, NotResetError, OptionError
from settebello.game import Game, Int8Array, distribute, get_game, is_legal, observe, step, write_mask, write_state
from settebello.information import Information, check_deal
from settebello.jit import kernel
from settebello.options import Options, check_cards, check_choice, check_int, is_list, whole_number
from settebello.saved import pack, unpack

NOBODY: Final = -1
MAX_START_SCORE: Final = 10_000
NO_DECK: Final = 255

# What a step's code says: the seat to move + 1 in the low bits, then flags.
ILLEGAL: Final = -1
EVENTFUL: Final = 8  # codes from here on have a flag
OVER: Final = 8
COUNTED: Final = 16  # a deal was counted and the next one dealt
SCORED: Final = 32  # the reward is not zero
_TURN_BITS: Final = 7


@kernel(inline=True)
def deal_given(state: Any, decks: Any, first_deal: int) -> None:
    """Deal again from the deck given for the deal on the table, if there is one.

    Args:
        state: a record in which a deal was just dealt.
        decks: uint8 ``(number, 40)``, decks of the deals from ``first_deal`` on; one that begins with NO_DECK is none.
        first_deal: number of the deal that ``decks[0]`` is for.
    """
    k = np.int64(state["deal_number"]) - first_deal
    if 0 <= k < len(decks) and decks[k, 0] != NO_DECK:
        for i in range(decks.shape[1]):
            state["deck"][i] = decks[k, i]
        distribute(state)


@kernel(inline=True)
def show_seat(state: Any, seat: Any, row8: Any, row64: Any, mask64: Any) -> None:
    """Write observation and mask of a seat; one that is not to move has a mask of zeros."""
    observe(state, seat, row8, row64)
    if state["turn"] == seat:
        write_mask(state, mask64)
    else:
        for i in range(len(mask64)):
            mask64[i] = 0


@kernel
def _step(states: Any, action: int, row8: Any, row64: Any, mask_word: int) -> Any:
    """Check and take one action and show the seat to move (after the end: the one that moved); returns the step's code."""
    state = states[0]
    if not is_legal(state, action):
        return ILLEGAL
    seat = np.int64(state["turn"])
    deal = state["deal_number"]
    step(state, action)
    turn = np.int64(state["turn"])
    code = turn + 1
    if state["over"]:
        code |= OVER
    else:
        seat = turn
    if state["deal_number"] != deal:
        code |= COUNTED
    if state["reward"][0] != 0 or state["reward"][1] != 0:
        code |= SCORED
    show_seat(state, seat, row8, row64, row64[mask_word:])
    return code


@kernel
def _show(states: Any, seat: int, row8: Any, row64: Any, mask_word: int) -> None:
    show_seat(states[0], seat, row8, row64, row64[mask_word:])


@kernel
def _deal_given(states: Any, decks: Any, first_deal: int) -> None:
    deal_given(states[0], decks, first_deal)


@kernel
def _distribute(states: Any) -> None:
    for i in range(len(states)):
        distribute(states[i])


@kernel
def _forfeit(states: Any) -> None:
    forfeit(states[0])


@kernel
def _write_state(states: Any, seat: int, row8: Any, row64: Any) -> None:
    write_state(states[0], seat, row8, row64)


def fresh_seed() -> int:
    """A seed from the operating system's entropy."""
    return int.from_bytes(os.urandom(8)) >> 1


def whole_action(action: Any) -> int:
    """An action of any integer type as int.

    Raises:
        OptionError: it is a bool, a float or no number at all.
    """
    number = whole_number(action)
    if number is None:
        raise OptionError(f"action={action!r} of type {type(action).__name__}: expected a whole number")
    return number


class Start:
    """Checked ``options`` of a reset: decks for the first deals, dealer and score; unknown keys are ignored.

    Args:
        game: the game.
        options: options of the game.
        given: ``deck`` (one deck, or a list of decks for the first deals), ``dealer`` (a seat), ``score`` (by side);
            each may be missing or None.

    Attributes:
        decks: uint8 ``(number, 40)``, shorter decks filled up with zeros.
        dealer: a seat or None.
        score: match points by side to start from, or None.

    Raises:
        OptionError: a deck is not the cards of the game each once, or dealer or score is out of range.
    """

    __slots__ = ("dealer", "deck_size", "decks", "score")

    def __init__(self, game: Game, options: Options, given: Mapping[str, Any] | None = None) -> None:
        given = {} if given is None else given
        if not isinstance(given, Mapping):
            raise OptionError(f"options={given!r}: expected a dict")
        deck, dealer, score = given.get("deck"), given.get("dealer"), given.get("score")
        cards = getattr(options, "cards", range(NUM_CARDS))
        self.deck_size = len(cards)
        listed: list[list[int]] = []
        if deck is not None:
            if not is_list(deck):
                raise OptionError(f"deck={deck!r}: expected a list of card indices, or a list of such lists")
            if len(deck) > 0 and is_list(deck[0]):
                listed = [check_cards(f"deck[{i}]", one, cards) for i, one in enumerate(deck)]
            else:
                listed = [check_cards("deck", deck, cards)]
        self.decks = deck_array(listed)
        self.dealer = None if dealer is None else check_int("dealer", dealer, 0, game.num_seats - 1)
        self.score: list[int] | None = None
        if score is not None:
            if not is_list(score) or len(score) != 2:
                raise OptionError(f"score={score!r}: expected match points of both sides")
            self.score = [check_int(f"score[{side}]", points, 0, MAX_START_SCORE) for side, points in enumerate(score)]

    def apply(self, states: np.ndarray[Any, Any]) -> None:
        """Deal the game just started in each record of an array as given."""
        if self.dealer is not None:
            states["dealer"] = self.dealer
        if len(self.decks):
            states["deck"][:, : self.deck_size] = self.decks[0, : self.deck_size]
        if self.dealer is not None or len(self.decks):
            _distribute(states)
        if self.score is not None:
            states["score"] = self.score


def deck_array(decks: Sequence[Sequence[int]]) -> npt.NDArray[np.uint8]:
    """Decks as uint8 ``(number, 40)``, shorter ones filled up with zeros."""
    array = np.zeros((len(decks), NUM_CARDS), np.uint8)
    for k, deck in enumerate(decks):
        array[k, : len(deck)] = deck
    return array


class SingleGame:
    """One game between reset and end.

    Args:
        game: the game.
        options: its options.
        illegal: "raise" raises IllegalActionError and leaves everything as it was; "terminate" ends the game and the
            offending seat pays.

    Attributes:
        states: array of one state record; nothing else is the game.
        row: int8 ``(obs_size + mask_size,)``, observation and mask of the seat to move, overwritten by each step; after the
            end the observation of the seat that moved last, and a mask of zeros.
        observation: its part int8 ``(obs_size,)``.
        mask: its part int8 ``(num_actions,)``.
        row64: ``row`` as 64-bit words, of which the mask begins at word ``mask_word``.
        turn: seat to move, -1 before reset and after the end.
        over: whether the game has ended.
        started: whether there is a game: after ``reset`` or ``set_state``.
        rewards: reward of the last step by seat.
        decks: uint8 ``(number, 40)``, decks given for deals to come, the first one for deal ``first_deal``.
        first_deal: see ``decks``.
    """

    __slots__ = (
        *("_nothing", "_num_actions", "_seeded", "_template"),
        *("decks", "first_deal", "game", "illegal", "mask", "mask_word", "observation", "options"),
        *("over", "rewards", "row", "row64", "started", "states", "turn"),
    )

    def __init__(self, game: Game, options: Options, illegal: str = "raise") -> None:
        check_choice("illegal", illegal, ("raise", "terminate"))
        self.game = game
        self.options = options
        self.illegal = illegal
        self._template = options.record()
        self.states = self._template.copy()
        self.row: Int8Array = np.zeros(game.obs_size + game.mask_size, np.int8)
        self.observation = self.row[: game.obs_size]
        self.mask = self.row[game.obs_size : game.obs_size + game.num_actions]
        self.row64 = self.row.view(np.uint64)
        self.mask_word = game.obs_size // 8
        self._num_actions = game.num_actions
        self._nothing = (0,) * game.num_seats
        self._seeded = False
        self.turn = NOBODY
        self.over = False
        self.started = False
        self.rewards = self._nothing
        self.decks = deck_array([])
        self.first_deal = 0

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = (self.states.copy(), self.row.copy(), self.decks.copy())
        return _restore, (
            *(self.game.id, self.options, self.illegal, *arrays),
            *(self.first_deal, self.rewards, self.started, self._seeded),
        )

    def start(self, options: Mapping[str, Any] | None) -> Start:
        """The options of a reset, checked.

        Raises:
            OptionError: see Start.
        """
        return Start(self.game, self.options, options)

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | Start | None = None) -> None:
        """Start a new game.

        Args:
            seed: None goes on with the random stream there is, the first time one from the system's entropy.
            options: ``deck``, ``dealer``, ``score`` as in ``Start``.

        Raises:
            OptionError: the seed or an option is not allowed; everything is left as it was.
        """
        start = options if isinstance(options, Start) else self.start(options)
        if seed is not None:
            seed = check_seed(seed)
        elif not self._seeded:
            seed = fresh_seed()
        if seed is not None:
            seed_games(self.states, np.array([seed], np.int64))
            self._seeded = True
        start_games(self.states)
        start.apply(self.states)
        self.decks = start.decks[1:]
        self.first_deal = 2
        self.started = True
        self.rewards = self._nothing
        self._refresh()
        self.show(self.turn)

    def _refresh(self) -> None:
        """Read turn and end from the record."""
        self.over = bool(self.states["over"][0])
        self.turn = int(self.states["turn"][0]) if self.started else NOBODY

    def show(self, seat: int) -> None:
        """Write observation and mask of a seat into ``row``."""
        _show(self.states, seat, self.row, self.row64, self.mask_word)

    def step(self, action: Any) -> bool:
        """Take an action of the seat to move.

        Returns:
            Whether more happened than that the turn passed: a reward, a deal counted, or the end.

        Raises:
            NotResetError: there is no game yet.
            GameOverError: the game is over.
            OptionError: the action is not a whole number.
            IllegalActionError: it is illegal now, with ``illegal="raise"``. Whatever is raised, nothing has changed.
        """
        if type(action) is not int:
            action = whole_action(action)
        if self.turn < 0:
            self.require()
            raise GameOverError(f"{self.game.id}: the game is over; reset() starts the next")
        if 0 <= action < self._num_actions:
            code = _step(self.states, action, self.row, self.row64, self.mask_word)
        else:
            code = ILLEGAL
        if 0 <= code < EVENTFUL:
            self.turn = code - 1
            self.rewards = self._nothing
            return False
        self._settle(action, code)
        return True

    def _settle(self, action: int, code: int) -> None:
        """What a step that did more than pass the turn leaves to do."""
        if code < 0:
            if self.illegal == "raise":
                raise illegal_action(self.game, self.states[0], action)
            self.forfeit()
            return
        self.turn = (code & _TURN_BITS) - 1
        self.over = code & OVER != 0
        self.rewards = self._nothing
        if code & SCORED:
            sides = self.states["reward"][0].tolist()
            self.rewards = tuple(sides[seat % 2] for seat in range(self.game.num_seats))
        if code & COUNTED and len(self.decks):
            _deal_given(self.states, self.decks, self.first_deal)
            self.show(self.turn)

    def forfeit(self) -> None:
        """End the game: the seat to move took an illegal action and pays, all other seats get nothing."""
        seat = self.turn
        _forfeit(self.states)
        loss = int(self.states["reward"][0, seat % 2])
        self.rewards = tuple(loss if other == seat else 0 for other in range(self.game.num_seats))
        self._refresh()
        self.show(seat)

    def require(self) -> None:
        """Check that there is a game.

        Raises:
            NotResetError: there is none yet.
        """
        if not self.started:
            raise NotResetError(f"{self.game.id}: no game yet; call reset() first")

    def _seat(self, seat: Any) -> int:
        return check_int("seat", seat, 0, self.game.num_seats - 1)

    def observe(self, seat: int, out: Int8Array | None = None) -> Int8Array:
        """Observation and mask of any seat, as in ``row``: int8 ``(obs_size + mask_size,)``, a fresh array unless given.

        The mask of a seat that is not to move is all zero.
        """
        self.require()
        row = np.empty(len(self.row), np.int8) if out is None else out
        _show(self.states, seat, row, row.view(np.uint64), self.mask_word)
        return row

    def state(self) -> Int8Array:
        """The full state as the seat to move looks at it (after the end: seat 0), int8 ``(state_size,)``, a fresh array."""
        self.require()
        row = np.zeros(self.game.state_size, np.int8)
        _write_state(self.states, max(self.turn, 0), row, row.view(np.uint64))
        return row

    def information(self, seat: int) -> Information:
        """What a seat knows."""
        self.require()
        return Information(self.game, self.options, self.states, self._seat(seat))

    def snapshot(self) -> dict[str, Any]:
        """The whole truth as a plain dict."""
        self.require()
        return self.game.snapshot(self.states[0])

    def events(self, deal: int = 0) -> list[dict[str, Any]]:
        """Public events of the deal on the table, or with ``deal=-1`` of the deal counted last."""
        self.require()
        check_deal(deal)
        return self.game.events(self.states[0], deal)

    def get_state(self) -> bytes:
        """The game as bytes, decks given for later deals included."""
        self.require()
        to_come = self.decks[max(0, int(self.states["deal_number"][0]) + 1 - self.first_deal) :]
        size = self.game.deck_size(self.states[0])
        return pack(self.game, self.states, to_come[:, :size].tolist())

    def set_state(self, data: bytes) -> None:
        """Put a saved game in place of this one; rewards are zero.

        Raises:
            StateError: the bytes are damaged, or of another game, version or options; everything is left as it was.
        """
        states, decks = unpack(self.game, self._template, data)
        self.states[:] = states
        self.decks = deck_array(decks)
        self.first_deal = int(states["deal_number"][0]) + 1
        self.started = True
        self._seeded = True
        self.rewards = self._nothing
        self._refresh()
        self.show(max(self.turn, 0))


def _restore(
    game_id: str,
    options: Options,
    illegal: str,
    states: np.ndarray[Any, Any],
    row: Int8Array,
    decks: npt.NDArray[np.uint8],
    first_deal: int,
    rewards: tuple[int, ...],
    started: bool,
    seeded: bool,
) -> SingleGame:
    game = SingleGame(get_game(game_id), options, illegal)
    game.states[:] = states
    game.row[:] = row
    game.decks = decks
    game.first_deal = first_deal
    game.rewards = rewards
    game.started = started
    game._seeded = seeded
    game._refresh()
    return game
