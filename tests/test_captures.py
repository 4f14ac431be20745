"""Capturing in bazzica against every subset of the table, by the letter of the rules, and the choice pick by pick."""

import random
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np
import pytest

from settebello.bazzica.options import BazzicaOptions
from settebello.bazzica.rules import step
from settebello.bazzica.views import snapshot
from settebello.cards import cards_in, mask_of

pytestmark = pytest.mark.nojit

SETTEBELLO, RE_DI_DENARI = 6, 9
MAX_TABLE = 10
TABLES, TABLES_LONG = 6000, 400_000

Cards = frozenset[int]


def sets_taken(table: dict[int, int], played_value: int) -> set[Cards]:
    """The sets of table cards (value by card) that a played value may take: one of them is taken. Empty: it takes none."""
    # RULES capture 1: if table cards equal the played value, exactly one of them is taken, nothing else.
    equal = {frozenset([card]) for card, value in table.items() if value == played_value}
    if equal:
        return equal
    candidates: set[Cards] = set()
    for size in range(2, len(table) + 1):
        for subset in combinations(table, size):
            values = [table[card] for card in subset]
            total = sum(values)
            # RULES capture 2, sum: two or more table cards adding up to the played value.
            is_sum = total == played_value
            # RULES capture 2, subtraction: one of them equals the played value plus the sum of the others.
            is_subtraction = any(value == played_value + (total - value) for value in values)
            if is_sum or is_subtraction:
                candidates.add(frozenset(subset))
    # RULES capture 3: only those that take the most cards remain.
    most = max(map(len, candidates), default=0)
    return {cards for cards in candidates if len(cards) == most}


def position(table: dict[int, int], played: int, jollies: tuple[int, int]) -> Any:
    """A record in the first hand of a deal, seat 0 to play, a card more in each hand: what a capture looks at is given."""
    spare = [card for card in range(10, 40) if card not in table and card != played]
    state = BazzicaOptions().record()[0]
    state["hand_number"] = 1
    state["dealer"] = 1
    state["hand"] = mask_of([played, spare[0]]), mask_of(spare[1:2])
    state["hand_played"] = 1, 1  # nothing is declared or baptised any more
    state["jolly"] = jollies
    state["table"] = mask_of(table)
    state["table_counts"] = sum(1 << 4 * (value - 1) for value in table.values())
    return state


def random_position(rng: random.Random) -> tuple[dict[int, int], int, tuple[int, int]]:
    """A table of up to ten cards, a played card, and the values given to settebello and re di denari, 0 for none."""
    size = rng.randint(0, MAX_TABLE)
    cards = rng.sample(range(40), size + 1)
    if rng.random() < 0.5:  # few values: more equal ones and more ways
        low = rng.randint(3, 9)
        cards = rng.sample([card for card in range(40) if card % 10 < low], size + 1)
    jollies = [0, 0]
    for k, jolly in enumerate((SETTEBELLO, RE_DI_DENARI)):
        if rng.random() < 0.5 and jolly not in cards:
            cards[rng.randrange(size + 1)] = jolly
        if rng.random() < 0.8:
            jollies[k] = rng.choice([value for value in range(1, 11) if value != jolly + 1])
    cards = list(dict.fromkeys(cards))
    given = {SETTEBELLO: jollies[0], RE_DI_DENARI: jollies[1]}
    values = {card: given.get(card, 0) or card % 10 + 1 for card in cards}
    played = cards[-1]
    return {card: values[card] for card in cards[:-1]}, played, (jollies[0], jollies[1])


def check_capture(table: dict[int, int], played: int, jollies: tuple[int, int], rng: random.Random) -> tuple[int, int]:
    """Play a card and pick at random until something is taken; how many sets there were, and how many picks it took."""
    given = {SETTEBELLO: jollies[0], RE_DI_DENARI: jollies[1]}
    state = position(table, played, jollies)
    possible = sets_taken(table, given.get(played, 0) or played % 10 + 1)
    number, picks = len(possible), 0
    step(state, played)
    while len(possible) > 1:
        # RULES choosing: a card may be picked if it is in some but not all of the sets still possible.
        pickable = frozenset.union(*possible) - frozenset.intersection(*possible)
        assert state["pending"] == played and state["turn"] == 0
        assert cards_in(state["legal"][1]) == sorted(pickable) and state["legal"][0] == 0 and state["legal"][2] == 0
        assert snapshot(state)["candidates"] == sorted(sorted(cards) for cards in possible)
        picked = rng.choice(sorted(pickable))
        step(state, np.int64(40 + picked))
        possible = {cards for cards in possible if picked in cards}
        picks += 1
    assert state["pending"] == -1 and state["turn"] == 1 and state["picked"] == 0
    taken = sorted(next(iter(possible))) if possible else []
    left = {card: value for card, value in table.items() if card not in taken}
    if taken:
        assert cards_in(state["taken"][0]) == sorted([played, *taken]) and state["last_taker"] == 0
    else:
        left[played] = given.get(played, 0) or played % 10 + 1  # RULES capture 4: the card stays on the table
        assert state["taken"][0] == 0 and state["last_taker"] == -1
    assert state["scope"][0] == (not left)
    assert cards_in(state["table"]) == sorted(left) and state["taken"][1] == 0
    assert state["table_counts"] == sum(1 << 4 * (value - 1) for value in left.values())
    assert snapshot(state)["table"] == [[card, left[card]] for card in sorted(left)]
    return number, picks


def check_tables(seed: str, tables: int) -> None:
    """Random tables, and that among them were all kinds."""
    rng = random.Random(seed)
    numbers: list[int] = []
    most_picks = baptised = full = 0
    for _ in range(tables):
        table, played, jollies = random_position(rng)
        number, picks = check_capture(table, played, jollies, rng)
        numbers.append(number)
        most_picks = max(most_picks, picks)
        full += len(table) >= MAX_TABLE - 1
        baptised += (SETTEBELLO in table and jollies[0] > 0) + (RE_DI_DENARI in table and jollies[1] > 0)
    share = len(numbers) / 100
    assert numbers.count(0) > share and numbers.count(1) > 20 * share and sum(n > 1 for n in numbers) > 10 * share
    assert max(numbers) > 20 and most_picks >= 3 and baptised > 20 * share and full > 10 * share


def test_random_tables() -> None:
    check_tables("random tables", TABLES)


@pytest.mark.long
def test_random_tables_long() -> None:
    check_tables("long random tables", TABLES_LONG)


def test_brute_force_by_hand() -> None:
    """The test's own enumeration on the worked cases."""

    def taken(values: list[int], played_value: int) -> list[list[int]]:
        return sorted(sorted(values[card] for card in cards) for cards in sets_taken(dict(enumerate(values)), played_value))

    assert taken([3, 5], 2) == taken([3, 5], 8) == [[3, 5]]
    assert taken([6, 1, 10], 3) == [[1, 6, 10]]
    assert taken([10, 5], 5) == [[5]]
    assert taken([10, 3, 2], 5) == [[2, 3, 10]]
    assert taken([10, 4, 3, 2], 1) == [[2, 3, 4, 10]]
    assert taken([4, 4], 4) == [[4], [4]]
    assert taken([2, 3, 4, 5], 7) == [[2, 5], [3, 4]]
    assert taken([3, 8, 8, 9], 2) == []  # 2+9 = 3+8: never a group against a group
    assert taken([3, 7, 7, 1], 4) == [[1, 3], [3, 7], [3, 7]]
    assert taken([2, 2, 9, 9], 10) == []
    assert taken([], 1) == []


def test_all_small_tables() -> None:
    """Every table of up to three values, and every played value, no jolly among them."""
    rng = random.Random("all small tables")
    for size in range(4):
        for ranks in combinations_with_replacement(range(10), size):
            table = {10 * (k + 1) + rank: rank + 1 for k, rank in enumerate(ranks)}
            for played in range(10):
                check_capture(table, played, (0, 0), rng)
