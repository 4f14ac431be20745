"""A learner's seat with opponents at all others: what the two Gymnasium environments share."""

import functools
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from settebello.bits import advance, below, mix, seed_stream
from settebello.game import Game, new_game, step
from settebello.jit import call, kernel
from settebello.opponents import Opponent, check_opponent, from_spec
from settebello.opponents.compiled import COMPILED_LEVELS, policy
from settebello.options import check_choice, check_int
from settebello.single import deal_given, show_seat

# Random streams of an environment's seed; stream 0 is the game's own (decks and dealers).
SEAT_STREAM: Final = 1  # the learner's seat of each game
OPPONENT_STREAM: Final = 2  # moves of the compiled opponents

# What the Gymnasium environments take besides the game's options.
BORDER_OPTIONS: Final = ("opponent", "partner", "seat", "mask_in", "illegal", "copy", "render_mode", "language")

# Why playing on stopped.
YOURS: Final = 0  # the learner is to move
ENDED: Final = 1  # the game is over
WAITING: Final = 2  # an opponent that is not compiled is to move

PARTNER: Final = 2  # seats from the learner to its partner
NO_ACTION: Final = -1  # nothing to be played first
ONES: Final = np.uint64(0x0101010101010101)  # eight int8 ones


@kernel
def seed_words(words: Any, seeds: Any) -> None:
    """Set the streams of seat and opponents, uint64 ``(N, 2)``, from each environment's seed."""
    for i in range(len(words)):
        words[i, 0] = seed_stream(seeds[i], SEAT_STREAM)
        words[i, 1] = seed_stream(seeds[i], OPPONENT_STREAM)


@kernel
def draw_seats(words: Any, rows: Any, seats: Any, num_seats: int) -> None:
    """Draw the learner's seat for these rows, each from its own stream."""
    for i in rows:
        words[i, 0] = advance(words[i, 0])
        seats[i] = below(words[i, 0], num_seats)


@kernel
def begin_game(state: Any, words: Any, seat: int, num_seats: int) -> Any:
    """Start the next game of a record's own random stream; returns the learner's seat, drawn unless given (not -1)."""
    new_game(state)
    if seat >= 0:
        return np.int64(seat)
    words[0] = advance(words[0])
    return below(words[0], num_seats)


@kernel(inline=True)
def play_until(
    state: Any, action: Any, seat: Any, num_seats: int, asked: int, policies: Any, word: Any, decks: Any, first_deal: Any
) -> tuple[Any, Any, Any]:
    """Play an action, then what compiled opponents answer until the learner, or one that is not compiled, is to move.

    Args:
        state: the record.
        action: a legal action of whoever is to move, or NO_ACTION.
        seat: of the learner.
        num_seats: seats at the table.
        asked: a bit for each seat, counted from the learner's, that is not compiled.
        policies: addresses of the compiled opponents and of the compiled partner.
        word: of the opponents' random stream.
        decks: decks for deals to come, see ``deal_given``.
        first_deal: as there.

    Returns:
        The stream's next word, the reward of the learner's side, and why it stopped.
    """
    side = seat % 2
    reward = np.int64(0)
    while True:
        if action >= 0:
            deal = state["deal_number"]
            step(state, action)
            reward += np.int64(state["reward"][side])
            if state["deal_number"] != deal:
                deal_given(state, decks, first_deal)
        if state["over"]:
            status = ENDED
            break
        ahead = np.int64(state["turn"]) - seat
        if ahead < 0:
            ahead += num_seats
        if ahead == 0:
            status = YOURS
            break
        if (asked >> ahead) & 1:
            status = WAITING
            break
        word = advance(word)
        action = call(policies[1] if ahead == PARTNER else policies[0], state, mix(word))
    return word, reward, status


@kernel(inline=True)
def show_learner(state: Any, seat: Any, row8: Any, row64: Any, mask64: Any) -> None:
    """Write observation and mask of the learner; after the end the mask is all ones."""
    show_seat(state, seat, row8, row64, mask64)
    if state["over"]:
        for i in range(len(mask64)):
            mask64[i] = ONES


class Seating:
    """Who plays where, from the arguments of an environment.

    Args:
        game: the game.
        opponent: level or object that plays the other seats.
        partner: another for the partner's seat (four players), or None.
        seat: of the learner, or None to draw it at each reset.

    Attributes:
        asked, policies: as ``play_until`` takes them.
        players: by seat counted from the learner's: the object that plays there, or the name of a compiled level.
        partner_apart: whether the partner is another one than the opponents.
        fixed_seat: seat of the learner, -1 to draw it.

    Raises:
        OptionError: an argument is not allowed.
    """

    def __init__(self, game: Game, opponent: str | Opponent, partner: str | Opponent | None, seat: int | None) -> None:
        self.fixed_seat = -1 if seat is None else check_int("seat", seat, 0, game.num_seats - 1)
        if game.num_seats == 2:
            check_choice("partner", partner, (None,))
        other = _player(game, "opponent", opponent)
        mate = other if partner is None else _player(game, "partner", partner)
        self.players = [mate if ahead == PARTNER else other for ahead in range(game.num_seats)]
        self.partner_apart = mate is not other
        self.asked = sum(1 << ahead for ahead in range(1, game.num_seats) if not isinstance(self.players[ahead], str))
        self._levels = tuple(player if isinstance(player, str) else "random" for player in (other, mate))
        self._game = game

    @functools.cached_property
    def policies(self) -> tuple[Any, Any]:
        """Addresses of the policies of opponents and partner; of "random", never called, for those that are asked."""
        return policy(self._game.id, self._levels[0]), policy(self._game.id, self._levels[1])

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "policies"}  # addresses are of this process

    def player(self, learner: int, seat: int) -> Opponent:
        """The object that plays a seat."""
        player = self.players[(seat - learner) % len(self.players)]
        assert not isinstance(player, str)
        return player


def _player(game: Game, name: str, player: Any) -> Opponent | str:
    """The object that plays, or the name of a compiled level."""
    if isinstance(player, str):
        # What a loaded opponent plays depends on its seed and on what it knows: with a fixed one, games repeat.
        if player in COMPILED_LEVELS:
            return player
        player = from_spec(game.id, player, seed=0)
    check_opponent(name, player)
    opponent: Opponent = player
    return opponent


def learner_spaces(game: Game, mask_in: str) -> tuple[spaces.Space[Any], spaces.Discrete]:
    """Observation and action space of a game, for ``mask_in`` "obs" or "info".

    Raises:
        OptionError: ``mask_in`` is neither.
    """
    check_choice("mask_in", mask_in, ("obs", "info"))
    low, high = game.bounds()
    box = spaces.Box(low, high, dtype=np.int8)
    if mask_in == "info":
        return box, spaces.Discrete(game.num_actions)
    mask = spaces.Box(0, 1, (game.num_actions,), np.int8)
    return spaces.Dict({"observation": box, "action_mask": mask}), spaces.Discrete(game.num_actions)
