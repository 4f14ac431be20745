"""The kernels that draw worlds of Tressette, where there are too many to list: counted card by card, and what they leave alone.

Small positions, world by world, are in test_information.
"""

import math
import random
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest

from settebello.bits import below_wide, mix
from settebello.game import get_game
from settebello.tressette.sample import fill_first, new_tables, prepare_first
from tests.info_tools import FAR, SMALL_DECK, SMALL_DECK_4P, Table, biased_table, known_in_hand
from tests.reference.tressette import TressetteReference, napoletana_cards

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("tressette-2p", {"napoletana": True}),
    ("tressette-2p", {}),
    ("tressette-2p", {"napoletana": True, "deck_cards": SMALL_DECK, "hand_size": 3}),
    ("tressette-4p", {"napoletana": True}),
    ("tressette-4p", {}),
    ("tressette-4p", {"napoletana": True, "deck_cards": SMALL_DECK_4P, "hand_size": 4}),
]
SMALL_VARIANTS = [variant for variant in VARIANTS if "deck_cards" in variant[1]]
STOCK = -1  # as a holder
MOVES = ("lead", "follow")

Holder = int
Placed = tuple[Holder, int]


class Constraints:
    """What a seat knows about the hidden cards, from the public events: read forward, with nothing of the kernels."""

    def __init__(self, table: Table, seat: int) -> None:
        reference = table.reference
        assert isinstance(reference, TressetteReference)
        others = [other for other in table.seats if other != seat]
        known = {other: known_in_hand(reference, other) for other in others}
        self.sizes = {other: len(reference.hands[other]) - len(known[other]) for other in others}
        hidden = {card for other in others for card in reference.hands[other] if card not in known[other]}
        self.sizes[STOCK] = len(reference.stock)
        self.unseen = sorted(hidden | set(reference.stock))
        self.voids: set[tuple[Holder, int]] = set()
        self.forbidden: list[tuple[Holder, frozenset[int]]] = []
        led = 0
        events = reference.events()
        for event in events:
            if event["kind"] == "lead":
                led = event["card"] // 10
            elif event["kind"] == "follow" and event["card"] // 10 != led:
                self.voids.add((event["seat"], led))
        if not reference.napoletana:
            return
        for other in others:
            own = [event for event in events if event["seat"] == other]
            drawn = {event["card"] for event in own if event["kind"] == "draw"}
            played = {event["card"] for event in own if event["kind"] in MOVES}
            announced = [suit for announcer, suit in reference.snapshot()["napoletane"] if announcer == other]
            hand = (played | set(known[other])) - drawn
            opened = False
            for event in own:
                if event["kind"] == "draw":
                    hand.add(event["card"])
                if event["kind"] == "draw" or (event["kind"] in MOVES and not opened):
                    opened = True
                    for suit in range(4):
                        missing = frozenset(napoletana_cards(suit)) - hand
                        if suit not in announced and missing <= set(self.unseen):
                            self.forbidden.append((other, missing))
                if event["kind"] in MOVES:
                    hand.discard(event["card"])

    def count(self, card: int | None = None, owner: Holder | None = None) -> int:
        """Worlds that agree, or those of them in which a holder has a card; counted card by card."""
        holders = list(self.sizes)
        ways: Counter[tuple[int, ...]] = Counter({tuple(self.sizes.values()): 1})
        for suit in range(4):
            placed: Counter[tuple[tuple[int, ...], frozenset[Placed]]] = Counter(
                {(left, frozenset()): n for left, n in ways.items()}
            )
            for next_card in [unseen for unseen in self.unseen if unseen // 10 == suit]:
                after: Counter[tuple[tuple[int, ...], frozenset[Placed]]] = Counter()
                for ((left, special), number), (place, holder) in product(placed.items(), enumerate(holders)):
                    if left[place] == 0 or (holder, suit) in self.voids or (next_card == card and holder != owner):
                        continue
                    held = special | {(holder, next_card)} if next_card in napoletana_cards(suit) else special
                    after[(*left[:place], left[place] - 1, *left[place + 1 :]), held] += number
                placed = after
            ways = Counter()
            for (left, special), number in placed.items():
                if not any({(holder, card) for card in cards} <= special for holder, cards in self.forbidden):
                    ways[left] += number
        return ways.total()


def random_position(rng: random.Random, game: str, steps: int, keep: bool, **options: Any) -> Table:
    """A game after so many cards; ``keep`` keeps 3, 2 and A in the hands as long as may be, so that much is forbidden."""
    table = biased_table(rng, game, **{"episode": "deal"} | options)
    for _ in range(steps):
        legal = table.reference.legal_actions()
        table.step(rng.choice([card for card in legal if card % 10 > 2 or not keep] or legal))
    return table


def check_counts(rng: random.Random, game: str, options: dict[str, Any], positions: int) -> None:
    """Compare the number of worlds with a count card by card, at random moments."""
    tables = new_tables()
    cards = len(options.get("deck_cards", range(40)))
    for i in range(positions):
        table = random_position(rng, game, rng.randrange(cards), keep=i % 2 == 0, **options)
        seat = rng.choice(table.seats)
        prepare_first(table.information(seat)._record.copy(), seat, tables)
        assert int(tables[0]["count"]) == Constraints(table, seat).count(), (table.decks, table.dealer, table.actions, seat)


@pytest.mark.parametrize(("game", "options"), VARIANTS)
def test_the_number_of_worlds_of_large_positions(game: str, options: dict[str, Any]) -> None:
    check_counts(random.Random(1), game, options, positions=20)


@pytest.mark.long
@pytest.mark.parametrize(("game", "options"), VARIANTS)
def test_the_number_of_worlds_of_large_positions_long(game: str, options: dict[str, Any]) -> None:
    check_counts(random.Random(2), game, options, positions=150)


def test_the_first_trick_of_four() -> None:
    table = random_position(random.Random(3), "tressette-4p", 0, keep=False)
    tables = new_tables()
    prepare_first(table.information(0)._record.copy(), 0, tables)
    assert int(tables[0]["count"]) == math.factorial(30) // math.factorial(10) ** 3


@pytest.mark.parametrize(
    ("game", "steps", "layers"), [("tressette-2p", 4, 1), ("tressette-4p", 18, 3), ("tressette-4p", 22, 4)]
)
def test_each_card_lies_with_each_holder_as_often_as_it_should(game: str, steps: int, layers: int) -> None:
    """Positions with voids and forbidden 3-2-A, and too many worlds to list."""
    rng = random.Random(4)
    draws, done = 4000, 0
    while done < 2:
        table = random_position(rng, game, steps, keep=True, napoletana=True)
        seat, tables = rng.choice(table.seats), new_tables()
        record = table.information(seat)._record.copy()
        prepare_first(record, seat, tables)
        constraints = Constraints(table, seat)
        if tables[0]["layers"] < layers or not constraints.forbidden:
            continue
        done += 1
        world, word = record.copy(), np.uint64(rng.randrange(1 << 64))
        found: Counter[tuple[int, Holder]] = Counter()
        for _ in range(draws):
            world[:] = record
            word = np.uint64(fill_first(world, seat, tables, word))
            hands = world[0]["hand"].tolist()
            for card in constraints.unseen:
                owners = [other for other in table.seats if other != seat and hands[other] >> card & 1]
                found[card, owners[0] if owners else STOCK] += 1
        total = constraints.count()
        for card, holder in product(constraints.unseen, constraints.sizes):
            share = constraints.count(card, holder) / total
            deviation = math.sqrt(draws * share * (1 - share))
            assert abs(found[card, holder] - draws * share) <= FAR * deviation + 1e-6, (card, holder, share)


def full_record(table: Table) -> Any:
    """An array of the whole record of a game."""
    data, dtype = table.env.get_state(), get_game(table.game).dtype
    return np.frombuffer(data, dtype, 1, len(data) - dtype.itemsize).copy()


def check_filling(rng: random.Random, game: str, options: dict[str, Any], positions: int) -> None:
    """Tables serve for any number of copies and positions; only what is hidden is filled in."""
    used = new_tables()
    for i in range(positions):
        table = random_position(rng, game, rng.randrange(len(options.get("deck_cards", range(40)))), keep=i % 2 == 0, **options)
        seat = rng.choice(table.seats)
        record, tables, full = table.information(seat)._record.copy(), new_tables(), new_tables()
        prepare_first(record, seat, used)
        prepare_first(record, seat, tables)
        truth = full_record(table)
        prepare_first(truth, seat, full)
        assert full.tobytes() == tables.tobytes()  # only what the seat knows is read
        before, kept = tables.tobytes(), record.tobytes()
        word, world, again = np.uint64(rng.randrange(1 << 64)), record.copy(), record.copy()
        for _ in range(3):
            world[:] = record
            again[:] = record
            next_word = np.uint64(fill_first(world, seat, tables, word))
            assert next_word == np.uint64(fill_first(again, seat, used, word))
            assert world.tobytes() == again.tobytes()
            word = next_word
            for name in record.dtype.names or ():
                if name not in ("hand", "deck", "legal"):
                    assert np.array_equal(world[name], record[name]), name
            assert world[0]["hand"][seat] == record[0]["hand"][seat]
            assert sorted(world[0]["deck"].tolist()) == sorted(truth[0]["deck"].tolist())
        assert (tables.tobytes(), record.tobytes()) == (before, kept)


@pytest.mark.parametrize(("game", "options"), VARIANTS)
def test_tables_serve_again_and_again(game: str, options: dict[str, Any]) -> None:
    check_filling(random.Random(5), game, options, positions=40)


@pytest.mark.nojit
@pytest.mark.parametrize(("game", "options"), SMALL_VARIANTS)
def test_a_few_small_positions(game: str, options: dict[str, Any]) -> None:
    check_counts(random.Random(6), game, options, positions=8)
    check_filling(random.Random(7), game, options, positions=8)


@pytest.mark.nojit
def test_numbers_below_a_wide_bound() -> None:
    """The upper half of a product of 128 bits; carries included."""
    rng = random.Random(8)
    for _ in range(300):
        word = np.uint64(rng.randrange(1 << 64))
        bound = rng.choice([1, 2, 3, (1 << 62) - 1, 1 << 62, rng.randrange(1, 1 << rng.randint(1, 62))])
        assert int(below_wide(word, np.int64(bound))) == int(mix(word)) * bound >> 64
