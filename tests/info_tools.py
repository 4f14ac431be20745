"""What the tests of information share: one game on an environment and on the reference, worlds, a test of uniformity."""

import json
import math
import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from settebello import bazzica_v0, tressette_v0
from settebello.aec import AECEnv
from settebello.batch import BatchEnv
from settebello.game import Game, get_game
from settebello.information import Information, redact_first
from settebello.opponents.compiled import CompiledOpponent
from tests.reference.bazzica import BazzicaReference
from tests.reference.tressette import TressetteReference
from tests.reference.worlds import (
    Hands,
    Reference,
    World,
    _agrees,
    _bazzica_deck,
    _tressette_deck,
    agreeing_worlds,
    known_in_hand,
)

GAME_IDS = ("tressette-2p", "tressette-4p", "bazzica")
DECLARE, FIRST_BAPTISM, JOLLIES = 100, 80, (6, 9)
FAR = 4.9  # standard deviations: less than one chance in a million
SMALL_DECK = [0, 1, 2, 10, 11, 12, 5, 8, 16, 19, 24, 25]  # two suits' 3-2-A among twelve cards
SMALL_DECK_4P = [*SMALL_DECK, 20, 21, 22, 39]

Snapshot = dict[str, Any]


def make_env(game: str, **options: Any) -> AECEnv:
    """An environment of a game."""
    if game == "bazzica":
        return bazzica_v0.env(**options)
    return tressette_v0.env(players=get_game(game).num_seats, **options)


def make_reference(game: str, **options: Any) -> Reference:
    """The slow rules of a game."""
    if game == "bazzica":
        return BazzicaReference(**options)
    return TressetteReference(players=get_game(game).num_seats, **options)


def ask_level(game: str, level: str, games: int, seed: int, **options: Any) -> Counter[str]:
    """Ask a compiled level at each decision of so many games; every other one goes on as it plays, the rest at random.

    Counts how often it was "asked"; answers that were "illegal", that were others when it was shown only what the seat knows
    ("looked"), or with another random word ("by chance"); and those that were not what random play chose ("unlike random").
    """
    batch, redacted = (BatchEnv(game, games, seed=seed, **options) for _ in range(2))
    opponent, rng, found = CompiledOpponent(game, level), np.random.default_rng(seed), Counter[str]()
    playing = np.ones(games, np.bool_)
    while playing.any():
        rows = np.flatnonzero(playing)
        before = batch._states.copy()
        redacted._states[:] = before
        for row in rows:
            redact_first(redacted._states[row : row + 1], int(batch.seat[row]))
        answers = []
        for shown, word in ((batch, 0), (redacted, 0), (batch, 1)):
            opponent.reseed(2 * found["asked"] + word)
            answers.append(opponent.act_batch(shown, rows))
        assert batch._states.tobytes() == before.tobytes()
        actions = np.argmax(batch.action_mask * rng.random(batch.action_mask.shape), axis=1)
        legal = batch.action_mask[rows, answers[0]] == 1
        for what, number in (
            ("asked", len(rows)),
            ("illegal", (~legal).sum()),
            ("looked", (answers[0] != answers[1]).sum()),
            ("by chance", (answers[0] != answers[2]).sum()),
            ("unlike random", (answers[0] != actions[rows]).sum()),
        ):
            found[what] += int(number)
        own = legal & (rows % 2 == 0)
        actions[rows[own]] = answers[0][own]
        playing &= ~batch.step(actions)[1]
    return found


class Table:
    """One game on an environment and on the reference at once, with all that is needed to play it again."""

    def __init__(self, game: str, decks: Sequence[Sequence[int]], dealer: int = 0, seed: int = 1, **options: Any) -> None:
        self.game = game
        self.options = options
        self.decks = [list(deck) for deck in decks]
        self.dealer = dealer
        self.actions: list[int] = []
        self.deal_starts = [0]  # actions played before each deal
        self.env = make_env(game, **options)
        self.env.reset(seed=seed, options={"deck": self.decks, "dealer": dealer})
        self.reference = make_reference(game, **options)
        self.reference.start(self.decks, dealer)

    @property
    def seats(self) -> range:
        """The seats."""
        return range(self.reference.seats)

    def step(self, action: int) -> None:
        """Play an action on both."""
        self.env.step(action)
        self.reference.step(action)
        self.actions.append(action)
        if self.reference.deal_number > len(self.deal_starts):
            self.deal_starts.append(len(self.actions))

    def play(self, rng: random.Random, steps: int | None = None) -> Iterator["Table"]:
        """The game after each random step from now on, so many or to the end or to the last deck given; now included."""
        yield self
        while self.reference.turn is not None and (steps is None or steps > 0):
            if self.reference.deal_number == len(self.decks) and self._deal_ends():
                return
            self.step(biased_action(rng, self.game, self.reference.legal_actions()))
            steps = None if steps is None else steps - 1
            yield self

    def _deal_ends(self) -> bool:
        """Whether the next card may end a deal of a match, for which no deck would be there."""
        left = sum(map(len, self.reference.hands)) + len(self.reference.stock)
        return self.options.get("episode", "match") == "match" and left <= 1

    def information(self, seat: int) -> Information:
        """What a seat knows."""
        return self.env.information(seat)


def biased_action(rng: random.Random, game: str, legal: Sequence[int]) -> int:
    """A random legal action; declarations and baptisms come up often."""
    special = [action for action in legal if action >= FIRST_BAPTISM]
    if game == "bazzica" and special and rng.random() < 0.7:
        return DECLARE if DECLARE in special and rng.random() < 0.5 else rng.choice(special)
    return rng.choice(legal)


def bazzica_places(hand_number: int, dealer: bool) -> list[int]:
    """Where in a deck the three cards of a hand lie."""
    start = (0 if hand_number == 1 else 10 + 6 * (hand_number - 2)) + 3 * dealer
    return [start, start + 1, start + 2]


def bring(deck: list[int], places: Sequence[int], wanted: Sequence[int]) -> None:
    """Put cards at places of a deck, in exchange for what lies there."""
    for place, card in zip(places, wanted, strict=True):
        other = deck.index(card)
        deck[place], deck[other] = deck[other], deck[place]


def biased_deck(rng: random.Random, game: str, **options: Any) -> list[int]:
    """A shuffled deck in which jollies meet low cards and pairs, and 3, 2, A of a suit meet in a hand, more often."""
    cards = list(options.get("deck_cards") or range(40))
    deck = rng.sample(cards, len(cards))
    if game == "bazzica":
        for jolly in JOLLIES:
            rank = rng.randrange(10)
            pair = [card for card in range(rank, 40, 10) if card not in JOLLIES]
            low = [card for card in range(40) if card % 10 < 3]
            mates = rng.choice([rng.sample(pair, 2), rng.sample(low, 2), [15 - jolly, rng.choice(low)]])
            bring(deck, bazzica_places(rng.randint(1, 6), rng.random() < 0.5), [jolly, *mates])
    elif options.get("napoletana"):
        size = options.get("hand_size", 10)
        suits = [suit for suit in range(4) if {10 * suit, 10 * suit + 1, 10 * suit + 2} <= set(cards)]
        for suit in rng.sample(suits, rng.randint(0, len(suits))):
            start = size * rng.randrange(len(cards) // size if len(cards) // size <= 4 else 2)
            count = min(size, rng.randint(2, 3))
            wanted = rng.sample([10 * suit, 10 * suit + 1, 10 * suit + 2], count)
            bring(deck, [start + place for place in rng.sample(range(size), count)], wanted)
    return deck


def biased_table(rng: random.Random, game: str, deals: int = 1, **options: Any) -> Table:
    """A new game from biased decks."""
    decks = [biased_deck(rng, game, **options) for _ in range(deals)]
    return Table(game, decks, rng.randrange(get_game(game).num_seats), rng.randrange(10**9), **options)


def enumerable(table: Table, seat: int, most: int) -> bool:
    """Whether the unseen cards can lie in so few ways that trying them out takes no time."""
    return 1 < ways_unconstrained(table.reference, seat) <= most


def ways_unconstrained(reference: Reference, seat: int) -> int:
    """In how many ways the unseen cards may lie in the other hands, whatever has happened."""
    others = [other for other in range(reference.seats) if other != seat]
    hidden = [len(reference.hands[other]) - len(known_in_hand(reference, other)) for other in others]
    left, ways = sum(hidden) + len(reference.stock), 1
    for size in hidden:
        ways *= math.comb(left, size)
        left -= size
    return ways


def hide(snapshot: Snapshot, seat: int) -> Snapshot:
    """A whole snapshot as a seat may see it."""
    hidden = dict(snapshot)
    hidden["stock"] = len(snapshot["stock"])
    hidden["hands"] = [
        hand if other == seat else {"size": len(hand), "known": known_cards(snapshot, other)}
        for other, hand in enumerate(snapshot["hands"])
    ]
    return hidden


def known_cards(snapshot: Snapshot, seat: int) -> list[int]:
    """Cards in a seat's hand that everybody knows."""
    if "known" in snapshot:
        return list(snapshot["known"][seat])
    return [card for card in snapshot["hands"][seat] if card in snapshot["baptised"]]


# --- worlds ----------------------------------------------------------------------------------------------------------------


def deck_of(reference: Reference, hands: Hands, stock: Sequence[int]) -> list[int]:
    """The deck of the deal on the table, had hands and stock now been these."""
    if isinstance(reference, TressetteReference):
        return _tressette_deck(reference, hands, stock)
    return _bazzica_deck(reference, hands, stock)


def agrees(reference: Reference, hands: Hands, stock: Sequence[int]) -> bool:
    """Whether the deal could have gone as it did, had hands and stock now been these."""
    return _agrees(reference, hands, stock)


def world_of(snapshot: Snapshot, stock_as_set: bool = False) -> World:
    """Hands and stock of a whole snapshot, as ``agreeing_worlds`` lists them."""
    stock = sorted(snapshot["stock"]) if stock_as_set else snapshot["stock"]
    return tuple(tuple(hand) for hand in snapshot["hands"]), tuple(stock)


def split_world(game: Game, data: bytes) -> tuple[bytes, int]:
    """The record in a sampled world without its random generator, and the generator's word."""
    states = np.frombuffer(data, game.dtype, 1, len(data) - game.dtype.itemsize).copy()
    word = int(states[0]["rng"])
    states[0]["rng"] = 0
    return states.tobytes(), word


class Sampled(NamedTuple):
    """Worlds that were drawn."""

    counts: Counter[World]
    records: int  # different records, random generators aside
    words: int  # different random generators


def sampled_worlds(table: Table, seat: int, number: int, seed: int = 0, stock_as_set: bool = True) -> Sampled:
    """Draw worlds; each different one is put into a second environment, which must take it."""
    game = get_game(table.game)
    information = table.information(seat)
    rng = np.random.default_rng(seed)
    other = make_env(table.game, **table.options)
    by_record: dict[bytes, World] = {}
    counts: Counter[World] = Counter()
    words = set()
    for _ in range(number):
        data = information.sample_world(rng)
        record, word = split_world(game, data)
        words.add(word)
        if record not in by_record:
            other.set_state(data)
            by_record[record] = world_of(other.snapshot(), stock_as_set)
        counts[by_record[record]] += 1
    return Sampled(counts, len(by_record), len(words))


def reference_worlds(table: Table, seat: int, stock_as_set: bool = True) -> list[World]:
    """All worlds that agree, by literal enumeration."""
    return agreeing_worlds(table.reference, seat, stock_as_set)


def chi_square_limit(freedom: int, far: float = FAR) -> float:
    """What chi square exceeds once in a million times (Wilson and Hilferty, 1931)."""
    return freedom * (1 - 2 / (9 * freedom) + far * math.sqrt(2 / (9 * freedom))) ** 3


def assert_uniform(counts: Mapping[Any, int], expected: Sequence[Hashable]) -> None:
    """Require that exactly these were drawn, and as often as each other."""
    foreign, missing = set(counts) - set(expected), set(expected) - set(counts)
    assert not foreign and not missing, f"foreign {list(foreign)[:3]}, missing {list(missing)[:3]}"
    mean = sum(counts.values()) / len(expected)
    chi_square = sum((count - mean) ** 2 / mean for count in counts.values())
    freedom = len(expected) - 1
    assert freedom == 0 or chi_square <= chi_square_limit(freedom), f"chi square {chi_square:.0f} of {freedom} degrees"


def plain(value: Any) -> str:
    """A snapshot or list of events as text; fails if it holds anything but plain Python."""
    return json.dumps(value, default=_refuse)


def _refuse(value: object) -> None:
    raise TypeError(f"{value!r} of type {type(value).__name__} in a plain snapshot")


Wanted = Callable[[Table, int], bool]


def find_positions(
    rng: random.Random, game: str, wanted: Wanted, number: int, most: int, **options: Any
) -> Iterator[tuple[Table, int]]:
    """Positions of random games and a seat for which ``wanted`` holds and that can be enumerated, one of a game."""
    found = 0
    while found < number:
        table = biased_table(rng, game, **{"episode": "deal"} | options)
        chosen = [
            (len(table.actions), seat)
            for _ in table.play(rng)
            for seat in table.seats
            if table.reference.turn is not None and enumerable(table, seat, most) and wanted(table, seat)
        ]
        if not chosen:
            continue
        found += 1
        steps, seat = rng.choice(chosen)
        again = Table(game, table.decks, table.dealer, rng.randrange(10**9), **table.options)
        for action in table.actions[:steps]:
            again.step(action)
        yield again, seat
