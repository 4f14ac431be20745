"""Nothing shows a seat what it cannot know: the truth is exchanged for another world, and all the seat sees stays the same.

Worlds come from two sources. Sampled ones are drawn by the code under test, so what the sampler copies from the truth would
not be noticed; twins are dealt from decks in which hidden cards changed places, with other seeds and other decks to come,
where the slow reference says that the deal goes the same way.
"""

import pickle
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from settebello import BatchEnv
from settebello.aec import AECEnv
from settebello.game import get_game
from settebello.information import Information
from tests.info_tools import (
    GAME_IDS,
    SMALL_DECK,
    SMALL_DECK_4P,
    Table,
    agrees,
    biased_action,
    biased_deck,
    biased_table,
    deck_of,
    enumerable,
    make_env,
    plain,
    reference_worlds,
)
from tests.reference.bazzica import DEFAULT_POINTS
from tests.reference.worlds import Hands, known_in_hand

VARIANTS: dict[str, list[dict[str, Any]]] = {
    "tressette-2p": [
        {"target": 11, "napoletana": True},
        {"target": 5, "reward": "points"},
        {"episode": "deal", "napoletana": True},
        {"target": 4, "napoletana": True, "deck_cards": SMALL_DECK, "hand_size": 3},
        {"target": 1, "deck_cards": SMALL_DECK, "hand_size": 6, "reward": "points"},
    ],
    "tressette-4p": [
        {"target": 21, "napoletana": True},
        {"episode": "deal", "reward": "points"},
        {"target": 4, "napoletana": True, "deck_cards": SMALL_DECK_4P, "hand_size": 4},
    ],
    "bazzica": [
        {"target": 15},
        {"episode": "deal", "low_sum_max": 9},
        {"target": 31, "low_sum_max": 14, "declaration_points": dict.fromkeys(DEFAULT_POINTS, 3), "reward": "points"},
        {"target": 4, "last_card_scopa": True},
    ],
}
MUST_OCCUR = {  # among a hundred checks, at least so many
    "tressette-2p": {"to move": 30, "not to move": 30, "draws": 20, "napoletana": 2, "void": 15, "later deal": 15},
    "tressette-4p": {"to move": 10, "not to move": 50, "napoletana": 5, "void": 20, "later deal": 15},
    "bazzica": {"to move": 30, "not to move": 30, "declared": 10, "baptised": 2, "pending": 2, "later deal": 15},
}
AT_LEAST = {"over": 1, "deal begins": 2}  # in any game


def view(env: AECEnv, seat: int, thorough: bool) -> list[Any]:
    """All that a seat may look at, as bytes and text."""
    information = env.information(seat)
    seen = env.observe(f"player_{seat}")
    result = [
        seen["observation"].tobytes(),
        seen["action_mask"].tobytes(),
        *view_of_information(information, thorough),
        *(env.agent_selection, dict(env.terminations), dict(env.truncations), list(env.agents)),
        *(env.events() == information.events(), env.events(-1) == information.events(-1)),
    ]
    if env.agent_selection == f"player_{seat}":
        observation, _, termination, truncation, info = env.last()  # the reward is the last step's, not the state's
        result += [observation["observation"].tobytes(), observation["action_mask"].tobytes(), termination, truncation]
        result += [env.action_masks().tobytes(), info["action_mask"].tobytes()]
    if thorough:
        result.append(env.render(seat))
    return result


def view_of_information(information: Information, thorough: bool) -> list[Any]:
    """All that an information says, as bytes and text."""
    result: list[Any] = [information.to_bytes(), information.snapshot(), information.events(), information.events(-1)]
    if thorough:
        result += [
            pickle.dumps(information),
            plain(result[1]),
            repr(information),
            hash(information),
            information.legal_actions(),
        ]
        result += [information.observation().tobytes(), information.action_mask().tobytes()]
    return result


class Checker:
    """Exchanges a game for sampled worlds in a second environment and in a batch, and compares what one seat sees."""

    def __init__(self, game: str, options: dict[str, Any], seed: int) -> None:
        self.game = game
        self.generator = np.random.default_rng(seed)
        self.other = make_env(game, render_mode="ansi", **options)
        self.batch = BatchEnv(game, 2, seed=seed, **options)
        self.tags: Counter[str] = Counter()

    def check(self, env: AECEnv, seat: int) -> None:
        """One seat at one moment."""
        self.tags["checks"] += 1
        thorough = self.tags["checks"] % 6 == 0
        information = env.information(seat)
        world = information.sample_world(self.generator)
        self.other.set_state(world)
        assert view(self.other, seat, thorough) == view(env, seat, thorough)
        assert self.other.information(seat) == information
        if not env.snapshot()["over"]:
            row = self.tags["checks"] % 2
            self.batch.set_state(row, world)
            in_batch = self.batch.information(row, seat)
            assert view_of_information(in_batch, thorough) == view_of_information(information, thorough)
            assert env.agent_selection == f"player_{self.batch.seat[row]}"
            if self.batch.seat[row] == seat:
                assert self.batch.observation[row].tobytes() == information.observation().tobytes()
                assert self.batch.action_mask[row].tobytes() == information.action_mask().tobytes()
        self.tags.update(tags_of(information))


def tags_of(information: Information) -> set[str]:
    """What is worth checking at a position."""
    snapshot, events = information.snapshot(), information.events()
    others = [seat for seat in range(len(snapshot["hands"])) if seat != information.seat]
    tags = {"over" if snapshot["over"] else "to move" if snapshot["turn"] == information.seat else "not to move"}
    tags |= {"later deal"} if snapshot["deal_number"] > 1 else set()
    tags |= {"deal begins"} if len(events) == 1 else set()
    if information.game == "bazzica":
        tags |= {"declared"} if any(snapshot["declared"][seat] for seat in others) else set()
        tags |= {"baptised"} if any(snapshot["hands"][seat]["known"] for seat in others) else set()
        tags |= {"pending"} if snapshot["pending"] is not None else set()
    else:
        tags |= {"draws"} if any(event["kind"] == "draw" for event in events) else set()
        tags |= {"napoletana"} if any(seat in others for seat, _ in snapshot["napoletane"]) else set()
        tags |= {"void"} if any(failures(events)) else set()
    return tags


def failures(events: list[dict[str, Any]]) -> Iterator[bool]:
    """For each card that followed, whether it failed to follow the suit."""
    led = -1
    for event in events:
        if event["kind"] == "lead":
            led = event["card"] // 10
        elif event["kind"] == "follow":
            yield event["card"] // 10 != led


def check_sampled(game: str, options: dict[str, Any], checks: int, seed: int) -> Counter[str]:
    """Play biased random games, and check random seats at random moments, to the end and after it."""
    rng = random.Random(seed)
    checker = Checker(game, options, seed)
    env = make_env(game, render_mode="ansi", **options)
    share = 0.25 if game == "tressette-4p" else 0.5
    while checker.tags["checks"] < checks:
        deck = biased_deck(rng, game, **options)
        given = {"deck": [deck, biased_deck(rng, game, **options)] if rng.random() < 0.7 else None}
        env.reset(seed=rng.randrange(10**9), options=given)
        while True:
            over = env.terminations["player_0"]
            for seat in range(get_game(game).num_seats):
                if over or rng.random() < share or len(env.events()) == 1:
                    checker.check(env, seat)
            if over:
                break
            env.step(biased_action(rng, game, np.flatnonzero(env.action_masks()).tolist()))
    return checker.tags


def sampled_in_all(game: str, checks: int, seed: int) -> Counter[str]:
    """So many checks of each variant of a game; what came up."""
    tags: Counter[str] = Counter()
    for number, options in enumerate(VARIANTS[game]):
        tags += check_sampled(game, options, checks, seed + number)
    for name, share in (MUST_OCCUR[game] | AT_LEAST).items():
        assert tags[name] >= share * tags["checks"] / 100, (name, tags)
    return tags


@pytest.mark.parametrize(("game", "checks"), [("tressette-2p", 400), ("tressette-4p", 670), ("bazzica", 500)])
def test_sampled_worlds_look_the_same(game: str, checks: int) -> None:
    assert sampled_in_all(game, checks, seed=1)["checks"] >= 2000


@pytest.mark.long
@pytest.mark.parametrize("game", GAME_IDS)
def test_sampled_worlds_look_the_same_long(game: str) -> None:
    sampled_in_all(game, 10_000, seed=1000)


# --- twins -----------------------------------------------------------------------------------------------------------------


def shuffled(rng: random.Random, table: Table, seat: int) -> tuple[Hands, tuple[int, ...]]:
    """Hands and stock in which some cards that a seat does not know have changed places."""
    reference = table.reference
    hands = [sorted(hand) for hand in reference.hands]
    stock = list(reference.stock)
    places = [(stock, place) for place in range(len(stock))]
    for other, hand in enumerate(hands):
        if other != seat:
            known = known_in_hand(reference, other)
            places += [(hand, place) for place, card in enumerate(hand) if card not in known]
    if len(places) > 1:
        for _ in range(rng.choice([1, 1, 2, 3, len(places)])):
            (first, i), (second, j) = rng.sample(places, 2)
            first[i], second[j] = second[j], first[i]
    return tuple(tuple(sorted(hand)) for hand in hands), tuple(stock)


def twin_of(rng: random.Random, table: Table, hands: Hands, stock: tuple[int, ...]) -> Iterator[AECEnv]:
    """The same moves, from another deck, with another seed and other decks to come: the environment after each of them."""
    number = table.reference.deal_number
    decks = [*table.decks[: number - 1], deck_of(table.reference, hands, stock)]
    decks += [biased_deck(rng, table.game, **table.options) for _ in range(rng.randrange(3))]
    env = make_env(table.game, render_mode="ansi", **table.options)
    env.reset(seed=rng.randrange(10**9), options={"deck": decks, "dealer": table.dealer})
    yield env
    for action in table.actions:
        env.step(action)
        yield env


def check_twins(game: str, options: dict[str, Any], number: int, seed: int) -> Counter[str]:
    """Compare games with so many twins, at every step; returns how many differed in a hand, and in the stock."""
    rng = random.Random(seed)
    found: Counter[str] = Counter()
    while found["twins"] < number:
        table = biased_table(rng, game, deals=4, **options)
        seen: list[list[bytes]] = []  # what each seat knew after each step
        for _ in table.play(rng):
            seen.append([table.information(seat).to_bytes() for seat in table.seats])
            for seat in table.seats:
                if rng.random() < 0.3:
                    hands, stock = shuffled(rng, table, seat)
                    if agrees(table.reference, hands, stock):
                        check_twin(rng, table, seat, seen, hands, stock)
                        found["twins"] += 1
                        found["hands"] += hands != tuple(tuple(sorted(hand)) for hand in table.reference.hands)
                        found["stocks"] += stock != tuple(table.reference.stock)
    return found


def check_twin(
    rng: random.Random, table: Table, seat: int, seen: list[list[bytes]], hands: Hands, stock: tuple[int, ...]
) -> None:
    """Compare a game with one twin: what the seat knew after each step, and all it sees now."""
    last = None
    for step, env in enumerate(twin_of(rng, table, hands, stock)):
        assert env.information(seat).to_bytes() == seen[step][seat], (table.decks, table.dealer, table.actions[:step], seat)
        last = env
    assert last is not None
    assert [sorted(hand) for hand in last.snapshot()["hands"]] == [list(hand) for hand in hands]
    table.env.render_mode = "ansi"
    assert view(last, seat, True) == view(table.env, seat, True)
    assert last.information(seat) == table.information(seat)
    drawn = [env.information(seat).sample_world(np.random.default_rng(3)) for env in (last, table.env)]
    assert drawn[0] == drawn[1]


def enough_twins(game: str, number: int, seed: int) -> None:
    """Compare so many twins of each variant of a game."""
    found: Counter[str] = Counter()
    for i, options in enumerate(VARIANTS[game]):
        found += check_twins(game, options, number, seed + i)
    assert found["hands"] >= found["twins"] / (6 if game == "tressette-2p" else 4), found
    assert found["stocks"] >= found["twins"] / 4 or game == "tressette-4p", found


@pytest.mark.parametrize(("game", "number"), [("tressette-2p", 100), ("tressette-4p", 100), ("bazzica", 120)])
def test_twins_look_the_same(game: str, number: int) -> None:
    enough_twins(game, number, seed=2)


@pytest.mark.long
@pytest.mark.parametrize("game", GAME_IDS)
def test_twins_look_the_same_long(game: str) -> None:
    enough_twins(game, 3000, seed=2000)


@pytest.mark.parametrize(
    ("game", "options"),
    [
        ("tressette-2p", {"deck_cards": SMALL_DECK, "hand_size": 3, "napoletana": True}),
        ("tressette-4p", {"deck_cards": SMALL_DECK_4P, "hand_size": 4, "napoletana": True}),
        ("bazzica", {}),
    ],
)
def test_all_worlds_look_the_same(game: str, options: dict[str, Any]) -> None:
    """Where all agreeing worlds can be listed: dealt and played, each gives the seat the same information."""
    rng = random.Random(3)
    compared = 0
    while compared < 400:
        table = biased_table(rng, game, episode="deal", **options)
        for _ in table.play(rng):
            seat = rng.choice(table.seats)
            if rng.random() < 0.3 and table.reference.turn is not None and enumerable(table, seat, 100):
                before = table.information(seat)
                for hands, stock in reference_worlds(table, seat):
                    *_, twin = twin_of(rng, table, hands, rng.sample(stock, len(stock)))  # type: ignore[arg-type]
                    assert twin.information(seat) == before
                    compared += 1
