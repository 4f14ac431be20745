"""What a seat knows: it says what it should, cannot be changed, and sampled worlds are the right ones, equally likely."""

import contextlib
import copy
import dataclasses
import math
import pickle
import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

from settebello import BatchEnv
from settebello.errors import NotResetError, OptionError
from settebello.game import get_game
from settebello.information import Information
from tests.info_tools import (
    FAR,
    FIRST_BAPTISM,
    GAME_IDS,
    SMALL_DECK,
    SMALL_DECK_4P,
    Table,
    agrees,
    assert_uniform,
    biased_action,
    biased_table,
    deck_of,
    find_positions,
    hide,
    make_env,
    make_reference,
    plain,
    reference_worlds,
    sampled_worlds,
    split_world,
    ways_unconstrained,
    world_of,
)
from tests.reference.bazzica import DEFAULT_POINTS
from tests.reference.tressette import napoletana_cards
from tests.reference.worlds import known_in_hand
from tests.worked_cases import action_index, card_index

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("tressette-2p", {"target": 5, "napoletana": True}),
    ("tressette-2p", {"target": 5, "napoletana": True, "deck_cards": SMALL_DECK, "hand_size": 3, "reward": "points"}),
    ("tressette-2p", {"episode": "deal"}),
    ("tressette-4p", {"target": 5, "napoletana": True, "reward": "points"}),
    ("tressette-4p", {"episode": "deal", "deck_cards": SMALL_DECK_4P, "hand_size": 4}),
    ("bazzica", {"target": 6, "reward": "points"}),
    ("bazzica", {"episode": "deal", "low_sum_max": 9, "declaration_points": dict.fromkeys(DEFAULT_POINTS, 2)}),
]
SMALL = {"deck_cards": SMALL_DECK, "hand_size": 3}
SMALL_4P = {"deck_cards": SMALL_DECK_4P, "hand_size": 4}
DRAWS_PER_WORLD = 25  # a world then stays unseen once in e**25
SHOWN = ("lead", "follow", "draw")  # events that show a card of a seat


def cards(text: str) -> list[int]:
    return [card_index(word) for word in text.split()]


def play(table: Table, *actions: str) -> None:
    for text in actions:
        for action in text.split(", "):
            table.step(action_index(action))


def full_deck(first: str) -> list[int]:
    """A deck that begins with these cards."""
    return cards(first) + [card for card in range(40) if card not in cards(first)]


# --- what it says ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game", "options"), VARIANTS)
def test_it_says_what_the_seat_sees(game: str, options: dict[str, Any]) -> None:
    rng = random.Random(game)
    for _ in range(2):
        table = biased_table(rng, game, deals=3, **options)
        env, reference = table.env, table.reference
        for _ in table.play(rng):
            for seat in table.seats:
                information = table.information(seat)
                assert (information.game, information.seat) == (game, seat)
                assert information.snapshot() == hide(reference.snapshot(), seat)
                assert information.snapshot() == hide(env.snapshot(), seat)
                assert information.events() == env.events() == reference.events()
                assert information.events(-1) == env.events(-1) == reference.last_events()
                seen = env.observe(f"player_{seat}")
                assert information.observation().tobytes() == seen["observation"].tobytes()
                assert information.action_mask().tobytes() == seen["action_mask"].tobytes()
                legal = reference.legal_actions() if seat == reference.turn else []
                assert information.legal_actions() == legal
                assert np.flatnonzero(information.action_mask()).tolist() == legal


@pytest.mark.parametrize("game", GAME_IDS)
def test_what_it_gives_is_plain(game: str) -> None:
    rng = random.Random(1)
    table = biased_table(rng, game, deals=2, target=100)
    for _ in table.play(rng):
        information = table.information(0)
        plain([information.snapshot(), information.events(), information.events(-1), information.legal_actions()])
        assert isinstance(information.game, str) and type(information.seat) is int
    spec = get_game(game)
    for row, size in ((information.observation(), spec.obs_size), (information.action_mask(), spec.num_actions)):
        assert row.dtype == np.int8 and row.shape == (size,)


def everything(information: Information) -> tuple[Any, ...]:
    """All that an information says, in a form that nothing else can change."""
    return (
        *(information.game, information.seat, repr(information.options), information.to_bytes(), hash(information)),
        *(plain(information.snapshot()), plain(information.events()), plain(information.events(-1))),
        *(information.observation().tobytes(), information.action_mask().tobytes(), tuple(information.legal_actions())),
        information.sample_world(np.random.default_rng(5)),
    )


@pytest.mark.parametrize(("game", "options"), VARIANTS)
def test_later_steps_change_nothing(game: str, options: dict[str, Any]) -> None:
    rng = random.Random(2)
    table = biased_table(rng, game, deals=3, **options)
    kept = []
    for _ in table.play(rng):
        for seat in table.seats:
            if rng.random() < 0.3:
                kept.append((table.information(seat), everything(table.information(seat))))
    table.env.reset(seed=5)
    assert all(everything(information) == before for information, before in kept)


@pytest.mark.parametrize("game", GAME_IDS)
def test_later_steps_of_a_batch_change_nothing(game: str) -> None:
    batch = BatchEnv(game, 2, seed=3, target=2)
    kept = []
    for _ in range(150):
        for row in range(2):
            information = batch.information(row, int(batch.seat[row]))
            assert information.observation().tobytes() == batch.observation[row].tobytes()
            assert information.action_mask().tobytes() == batch.action_mask[row].tobytes()
            if len(kept) < 40:
                kept.append((information, everything(information)))
        batch.step([np.flatnonzero(mask)[-1] for mask in batch.action_mask])
    batch.reset(9)
    assert all(everything(information) == before for information, before in kept)


def spoil(value: Any) -> None:
    """Change a plain value wherever it can be changed."""
    if isinstance(value, dict):
        for item in value.values():
            spoil(item)
        value.clear()
    elif isinstance(value, list):
        for item in value:
            spoil(item)
        value.append(99)


@pytest.mark.parametrize("game", GAME_IDS)
def test_it_cannot_be_changed(game: str) -> None:
    rng = random.Random(3)
    table = biased_table(rng, game, deals=2, target=100)
    for _ in table.play(rng, 45):
        for seat in table.seats:
            information = table.information(seat)
            before, state = everything(information), table.env.get_state()
            for value in (information.snapshot(), information.events(), information.events(-1), information.legal_actions()):
                spoil(value)
            information.observation()[:] = 7
            information.action_mask()[:] = 7
            information.sample_world(np.random.default_rng(1))
            assert everything(information) == before
            assert table.env.get_state() == state
    for name in ("game", "seat", "options"):
        with pytest.raises(AttributeError):
            setattr(information, name, getattr(information, name))
        with pytest.raises(AttributeError):
            delattr(information, name)
    with pytest.raises(AttributeError):
        information.hint = 1  # type: ignore[attr-defined]
    with pytest.raises(dataclasses.FrozenInstanceError):
        information.options.target = 3  # type: ignore[misc]
    assert not information._record.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        information._record["score"] = 3


def test_options_cannot_be_changed_through_it() -> None:
    table = Table("bazzica", [list(range(40))], declaration_points=dict.fromkeys(DEFAULT_POINTS, 2))
    information = table.information(0)
    before = repr(information.options)
    with contextlib.suppress(TypeError):
        information.options.declaration_points["pariglia"] = 50  # type: ignore[union-attr]
    assert repr(information.options) == repr(table.information(1).options) == before


@pytest.mark.parametrize(("game", "options"), VARIANTS)
def test_copies_are_equal_and_say_the_same(game: str, options: dict[str, Any]) -> None:
    rng = random.Random(4)
    table = biased_table(rng, game, deals=2, **options)
    seen = set()
    for _ in table.play(rng):
        for seat in table.seats:
            information = table.information(seat)
            seen.add(information)
            again = table.information(seat)
            assert information == again and hash(information) == hash(again)
            for other in (copy.copy(information), copy.deepcopy(information), pickle.loads(pickle.dumps(information))):
                assert other == information and hash(other) == hash(information)
                assert other.options == information.options
                assert pickle.dumps(other) == pickle.dumps(information)
                assert not other._record.flags.writeable
            if rng.random() < 0.2:
                assert everything(other) == everything(information)
    moments = len(table.actions) + 1
    assert len(seen) == moments * len(table.seats)  # different seats and moments are different


def test_equality_with_others() -> None:
    table = Table("bazzica", [list(range(40))])
    information = table.information(0)
    assert information != table.information(1)
    assert information != "player_0" and information.__eq__(3) is NotImplemented
    assert information != Table("bazzica", [list(range(40))], target=30).information(0)
    tressette = [Table(f"tressette-{players}p", [list(range(40))]).information(0) for players in (2, 4)]
    assert tressette[0] != tressette[1] and information not in tressette


def test_bad_arguments() -> None:
    env = make_env("tressette-4p")
    with pytest.raises(NotResetError):
        env.information(0)
    env.reset(seed=0)
    for seat in (-1, 4, 1.0, True, None, "player_0"):
        with pytest.raises(OptionError):
            env.information(seat)  # type: ignore[arg-type]
        with pytest.raises(OptionError):
            BatchEnv("tressette-4p", 2).information(0, seat)  # type: ignore[arg-type]
    assert env.information(np.int64(3)).seat == 3  # type: ignore[arg-type]
    for deal in (1, -2, None):
        with pytest.raises(OptionError):
            env.information(0).events(deal)  # type: ignore[arg-type]


@pytest.mark.parametrize("game", GAME_IDS)
def test_the_games_before_leave_nothing(game: str) -> None:
    """What a seat knows is the game's, whatever was played in the same environment before."""
    rng = random.Random(5)
    deck = biased_table(rng, game).decks[0]
    fresh, used, batch = make_env(game), make_env(game, target=31 if game == "bazzica" else 21), BatchEnv(game, 1)
    used.reset(seed=8)
    for _ in range(200):
        if used.agents and not used.terminations[used.agent_selection]:
            used.step(biased_action(rng, game, np.flatnonzero(used.action_masks()).tolist()))
    for _ in range(200):
        batch.step([biased_action(rng, game, np.flatnonzero(batch.action_mask[0]).tolist())])
    for env in (fresh, used):
        env.reset(seed=9, options={"deck": deck, "dealer": 1})
    for _ in range(12):
        for seat in range(get_game(game).num_seats):
            assert used.information(seat) == fresh.information(seat)
            assert everything(used.information(seat)) == everything(fresh.information(seat))
        action = int(np.flatnonzero(fresh.action_masks())[0])
        fresh.step(action)
        used.step(action)
    fresh.reset(seed=9)
    batch.reset([9])
    assert batch.information(0, 0) == fresh.information(0)


# --- worlds: exactly those that agree, equally likely ----------------------------------------------------------------------


def check_worlds(table: Table, seat: int, seed: int = 0, stock_as_set: bool = True) -> None:
    """Draw worlds and compare with all that agree."""
    expected = reference_worlds(table, seat, stock_as_set)
    sampled = sampled_worlds(table, seat, DRAWS_PER_WORLD * len(expected) + 50, seed, stock_as_set)
    assert_uniform(sampled.counts, expected)
    assert sampled.words == sampled.counts.total()  # a fresh random generator each
    if not stock_as_set:
        assert sampled.records == len(expected)  # nothing in the bytes but the world and the generator


def count_of(table: Table, seat: int) -> int:
    """How many worlds the sampler counts, the order of the stock aside."""
    information = table.information(seat)
    record = information._record.copy()
    return get_game(table.game).worlds(record, seat).count  # type: ignore[attr-defined]


def test_uniformity_check_notices() -> None:
    rng = random.Random(6)
    worlds = list(range(60))
    fair = Counter(rng.choices(worlds, k=25 * 60))
    assert_uniform(fair, worlds)
    for wrong in ([*worlds, 60], worlds[1:]):
        with pytest.raises(AssertionError):
            assert_uniform(fair, wrong)
    with pytest.raises(AssertionError):
        assert_uniform(Counter(rng.choices(worlds, weights=[2] * 12 + [1] * 48, k=25 * 60)), worlds)


def undeclared_threes(table: Table, seat: int) -> bool:
    """Whether another seat that has opened was seen with one or two cards of a 3-2-A it did not announce."""
    reference = table.reference
    announced = reference.snapshot()["napoletane"]
    for other in table.seats:
        if other != seat:
            own = [event["card"] for event in reference.events() if event["seat"] == other and event["kind"] in SHOWN]
            counts = [len(set(own) & set(napoletana_cards(suit))) for suit in range(4)]
            if any(0 < count < 3 and [other, suit] not in announced for suit, count in enumerate(counts)):
                return True
    return False


def drawn_threes(table: Table, seat: int) -> bool:
    """Whether another seat drew one of a 3-2-A, and some worlds are excluded."""
    drawn = [event for event in table.reference.events() if event["kind"] == "draw" and event["seat"] != seat]
    return any(event["card"] % 10 < 3 for event in drawn) and constrained(table, seat)


def constrained(table: Table, seat: int) -> bool:
    """Whether what happened excludes some ways the cards might lie."""
    return len(reference_worlds(table, seat)) < ways_unconstrained(table.reference, seat)


def acted(table: Table, seat: int) -> bool:
    """Whether the other seat declared or baptised in this hand, and some of its cards are hidden still."""
    return bool(acts(table, 1 - seat)) and constrained(table, seat)


def acts(table: Table, seat: int) -> list[str]:
    """What a seat declared and baptised in the hand on the table."""
    plays = 0
    result = []
    for event in table.reference.events():
        plays += event["kind"] == "play"
        if event["kind"] in ("declare", "baptise") and event["seat"] == seat:
            result.append((plays // 6 + 1, event["kind"]))
    return [kind for hand_number, kind in result if hand_number == table.reference.hand_number]  # type: ignore[union-attr]


def baptised(table: Table, seat: int) -> bool:
    """Whether the other seat baptised in this hand."""
    return "baptise" in acts(table, 1 - seat)


def anything(table: Table, seat: int) -> bool:
    return True


CASES: list[Any] = [
    pytest.param("tressette-2p", SMALL | {"napoletana": True}, anything, 6, id="2p-small"),
    pytest.param("tressette-2p", SMALL, constrained, 6, id="2p-small-voids"),
    pytest.param("tressette-2p", SMALL | {"napoletana": True}, undeclared_threes, 8, id="2p-small-undeclared"),
    pytest.param("tressette-2p", SMALL | {"napoletana": True}, drawn_threes, 8, id="2p-small-drawn"),
    pytest.param("tressette-2p", {"napoletana": True}, constrained, 6, id="2p-full"),
    pytest.param("tressette-4p", SMALL_4P | {"napoletana": True}, constrained, 6, id="4p-small"),
    pytest.param("tressette-4p", SMALL_4P | {"napoletana": True}, undeclared_threes, 6, id="4p-small-undeclared"),
    pytest.param("tressette-4p", {"napoletana": True}, constrained, 6, id="4p-full"),
    pytest.param("bazzica", {}, anything, 4, id="bazzica"),
    pytest.param("bazzica", {}, acted, 8, id="bazzica-declared"),
    pytest.param("bazzica", {}, baptised, 8, id="bazzica-baptised"),
    pytest.param("bazzica", {"low_sum_max": 12}, baptised, 4, id="bazzica-baptised-low-sum"),
]


@pytest.mark.parametrize(("game", "options", "wanted", "number"), CASES)
def test_sampled_worlds_are_uniform(game: str, options: dict[str, Any], wanted: Any, number: int) -> None:
    rng = random.Random(7)
    for table, seat in find_positions(rng, game, wanted, number, most=100, **options):
        check_worlds(table, seat, rng.randrange(1000))


@pytest.mark.long
@pytest.mark.parametrize(("game", "options", "wanted", "number"), CASES)
def test_sampled_worlds_are_uniform_long(game: str, options: dict[str, Any], wanted: Any, number: int) -> None:
    rng = random.Random(8)
    for table, seat in find_positions(rng, game, wanted, 5 * number, most=600, **options):
        check_worlds(table, seat, rng.randrange(1000))


TINY_DECK = [0, 1, 2, 10, 11, 12, 5, 16, 24, 25]


@pytest.mark.parametrize("options", [{"deck_cards": TINY_DECK, "hand_size": 3, "napoletana": True}, {"napoletana": True}])
def test_every_order_of_a_tressette_stock_is_as_likely(options: dict[str, Any]) -> None:
    """Hands and the order of the stock together, where the stock is small enough to count them all."""
    rng = random.Random(9)
    checked = 0
    while checked < 3:
        table = biased_table(rng, "tressette-2p", episode="deal", **options)
        for _ in table.play(rng):
            seat, stock = rng.randrange(2), len(table.reference.stock)
            orders = ways_unconstrained(table.reference, seat) * math.factorial(stock)
            if stock in (2, 4) and orders <= 300 and rng.random() < 0.5:
                check_worlds(table, seat, stock_as_set=False)
                checked += 1
                break


def test_every_place_of_a_bazzica_stock_is_as_likely() -> None:
    """Too many orders to count them all: each hidden card is as likely at each place of the stock."""
    rng = random.Random(9)
    for hand_number in (5, 3):
        table = biased_table(rng, "bazzica", episode="deal")
        for _ in table.play(rng):
            if table.reference.hand_number == hand_number:  # type: ignore[union-attr]
                break
        other, information, generator = make_env("bazzica", episode="deal"), table.information(0), np.random.default_rng(1)
        counts: Counter[tuple[int, int]] = Counter()
        for _ in range(3000):
            other.set_state(information.sample_world(generator))
            counts.update(enumerate(other.snapshot()["stock"]))
        unseen = [*table.reference.stock, *table.reference.hands[1]]
        assert_uniform(counts, [(place, card) for place in range(len(table.reference.stock)) for card in unseen])


COUNTED: list[tuple[str, dict[str, Any], int]] = [
    ("tressette-2p", SMALL | {"napoletana": True}, 14),
    ("tressette-2p", {"deck_cards": [*SMALL_DECK, 20, 21, 22, 30], "hand_size": 4, "napoletana": True}, 4),
    ("tressette-2p", {"napoletana": True}, 5),
    ("tressette-4p", SMALL_4P | {"napoletana": True}, 5),
    ("tressette-4p", {"napoletana": True}, 3),
    ("bazzica", {}, 3),
    ("bazzica", {"low_sum_max": 9}, 2),
]


def check_counts(rng: random.Random, game: str, options: dict[str, Any], games: int, most: int) -> int:
    """Compare the number of worlds with the enumeration at every position of random games; returns how many were excluded."""
    excluded = 0
    for _ in range(games):
        table = biased_table(rng, game, episode="deal", **options)
        for _ in table.play(rng):
            for seat in table.seats:
                ways = ways_unconstrained(table.reference, seat)
                if ways <= most:
                    worlds = len(reference_worlds(table, seat))
                    assert count_of(table, seat) == worlds, (table.decks, table.dealer, table.actions, seat)
                    excluded += worlds < ways
    return excluded


@pytest.mark.parametrize(("game", "options", "games"), COUNTED)
def test_the_number_of_worlds(game: str, options: dict[str, Any], games: int) -> None:
    assert check_counts(random.Random(10), game, options, games, most=150) >= games


@pytest.mark.long
@pytest.mark.parametrize(("game", "options", "games"), COUNTED)
def test_the_number_of_worlds_long(game: str, options: dict[str, Any], games: int) -> None:
    assert check_counts(random.Random(11), game, options, 8 * games, most=700) >= 8 * games


# --- worlds: single rules, counted by hand ---------------------------------------------------------------------------------


def test_2p_void_and_drawn_cards() -> None:
    """Seat 0 failed to follow coppe, then drew one: the drawn one is known, and it still has no hidden coppe."""
    deck_cards = cards("Ad 4d 5d 6d 4c 5c 6c 7c 4s 5s")
    deck = cards("7c 6c 4d Ad 5d 6d 4c 5c 4s 5s")  # seat 1, seat 0, stock
    table = Table("tressette-2p", [deck], dealer=0, deck_cards=deck_cards, hand_size=3, episode="deal")
    assert count_of(table, 1) == math.comb(7, 3)
    play(table, "7c, 5d")  # seat 1 draws 4c, seat 0 draws 5c
    assert table.information(1).snapshot()["hands"][0] == {"size": 3, "known": cards("5c")}
    # Unseen to seat 1: Ad 6d 4s 5s, two of them in the hand of seat 0.
    assert count_of(table, 1) == math.comb(4, 2)
    check_worlds(table, 1, stock_as_set=False)
    # Unseen to seat 0: 6c 4d 4s 5s, and seat 1 may hold any two.
    assert count_of(table, 0) == math.comb(4, 2)


def test_2p_void_excludes_the_stock_too_little() -> None:
    """What a void excludes from the hand must lie in the stock, and nowhere else."""
    deck_cards = cards("4d 5d 6d 7d 4c 5c 6c 4s 5s 6s")
    table = Table(
        "tressette-2p", [cards("4d 4c 4s 5s 6s 5c 5d 6d 7d 6c")], dealer=0, deck_cards=deck_cards, hand_size=3, episode="deal"
    )
    play(table, "4d, 5c")  # seat 0 has no denari; the stock was 5d 6d 7d 6c: seat 1 draws 5d, seat 0 draws 6d
    # Unseen to seat 1: 7d 6c 5s 6s. 7d lies in the stock; of the other three one more does.
    assert count_of(table, 1) == 3
    check_worlds(table, 1, stock_as_set=False)


@pytest.mark.parametrize("napoletana", [False, True])
def test_2p_napoletana_at_the_opening_counts_the_card_played(napoletana: bool) -> None:
    """The follower's first card was an ace, and nothing was announced: it holds not both 2 and 3 of that suit."""
    deck_cards = cards("4d 5d 6d Ac 2c 3c 4c 4s 5s 6s")
    table = Table(
        "tressette-2p",
        [cards("4c 4d 4s Ac 5d 6d 2c 5s 3c 6s")],
        dealer=0,
        deck_cards=deck_cards,
        hand_size=3,
        napoletana=napoletana,
        episode="deal",
    )
    assert count_of(table, 1) == math.comb(7, 3)  # it has not opened: it may hold all three
    play(table, "4c, Ac")  # seat 0 draws 2c, which is known, then seat 1 draws 5s
    # Unseen to seat 1: 5d 6d 3c 6s. With 2c drawn only now, 3c in hand would have completed the three at the draw, had the
    # ace not been played: two of the four, whatever they are.
    assert count_of(table, 1) == math.comb(4, 2)
    check_worlds(table, 1)
    other = Table(
        "tressette-2p",
        [cards("4c 4d 4s Ac 5d 6d 5s 6s 2c 3c")],
        dealer=0,
        deck_cards=deck_cards,
        hand_size=3,
        napoletana=napoletana,
        episode="deal",
    )
    play(other, "4c, Ac")  # seat 0 draws 5s; unseen to seat 1: 5d 6d 2c 3c, and not both 2c and 3c
    assert count_of(other, 1) == math.comb(4, 2) - napoletana
    check_worlds(other, 1, stock_as_set=False)


@pytest.mark.parametrize("napoletana", [False, True])
def test_2p_napoletana_at_a_draw_counts_cards_played_later(napoletana: bool) -> None:
    """Seat 0 drew an ace with the 2 in hand, then played the 2: the 3 is not among its hidden cards."""
    deck_cards = cards("4d 5d 6d 7d Ac 2c 3c 4c 5c 6c 4s 5s")
    options = {"deck_cards": deck_cards, "hand_size": 4, "napoletana": napoletana, "episode": "deal"}
    table = Table("tressette-2p", [cards("4d 5d 4c 5c 2c 6d 7d 6c Ac 4s 3c 5s")], dealer=0, **options)
    play(table, "4d, 6d")  # seat 0 takes it and draws Ac, seat 1 draws 4s
    # Unseen to seat 1: 2c 7d 6c 3c 5s, three of them in hand; with the ace not both 2c and 3c.
    assert count_of(table, 1) == math.comb(5, 3) - 3 * napoletana
    check_worlds(table, 1)
    play(table, "2c, 4c")  # seat 0 leads the 2 and draws 3c: no napoletana, the 2 is gone
    assert table.reference.snapshot()["napoletane"] == []
    assert count_of(table, 1) == 1


def test_2p_napoletana_at_a_draw_binds_later_too() -> None:
    """An ace drawn, a 2 played later: with a stock left, the 3 may lie there only."""
    deck_cards = cards("4d 5d 6d 7d Ac 2c 3c 4c 5c 6c 4s 5s 6s 7s")
    options = {"deck_cards": deck_cards, "hand_size": 4, "episode": "deal"}
    deck = cards("4d 5d 4c 5c 2c 6d 7d 6c Ac 4s 5s 6s 3c 7s")
    for napoletana in (False, True):
        table = Table("tressette-2p", [deck], dealer=0, napoletana=napoletana, **options)
        play(table, "4d, 6d, 2c, 4c")  # seat 0: draws Ac, then leads 2c and draws 5s; seat 1 draws 4s and 6s
        # Unseen to seat 1: 7d 6c 3c 7s, two of them in hand: without 3c only if 3-2-A had been announced.
        assert count_of(table, 1) == (math.comb(3, 2) if napoletana else math.comb(4, 2))
        check_worlds(table, 1, stock_as_set=False)


def test_4p_voids_are_each_seats_own() -> None:
    """Two seats fail to follow different suits; the third holds what they cannot."""
    deck_cards = cards("4d 5d 6d 7d 4c 5c 6c 7c 4s 5s 6s 7s")
    # Dealer 3: seat 0 first. Seat 1 has no denari, seat 2 follows, seat 3 has no denari either.
    deck = cards("7d 7c 7s 4c 5c 4s 4d 5d 6c 6s 5s 6d")
    table = Table("tressette-4p", [deck], dealer=3, deck_cards=deck_cards, hand_size=3, episode="deal")
    play(table, "7d, 4c, 4d, 6d")
    # To seat 0: unseen 5d 5c 6c 4s 5s 6s; seat 1 has no denari, so 5d is with seat 2 or 3.
    assert count_of(table, 0) == 2 * math.comb(5, 1) * math.comb(4, 2)
    check_worlds(table, 0)
    play(table, "7c, 5c, 6c, 5s")  # seat 3 has no coppe
    # Unseen to seat 0: 5d 4s 6s, one each: seat 1 no 5d, and nobody else is bound.
    assert count_of(table, 0) == 4
    check_worlds(table, 0)
    # Seat 2 holds 5d: 4s 6s 7s are unseen to it, and all may lie anywhere.
    assert count_of(table, 2) == 6
    # Seat 1 holds 4s: 5d 6s 7s with seats 0, 2 and 3.
    assert count_of(table, 1) == 6


def test_4p_napoletana_binds_those_that_opened() -> None:
    """Seat 1 opened with an ace unannounced; seats 2 and 3 have not opened and may hold anything."""
    deck_cards = cards("Ac 2c 3c 4c 5c 6c 7c 4s 5s 6s 7s 4d")
    deck = cards("4c 4s 4d Ac 5c 6c 2c 5s 6s 3c 7c 7s")
    options = {"deck_cards": deck_cards, "hand_size": 3, "episode": "deal"}
    table = Table("tressette-4p", [deck], dealer=3, napoletana=True, **options)
    play(table, "4c, Ac")
    # To seat 0: eight unseen, two with seat 1 and three each with seats 2 and 3; seat 1 has not both 2c and 3c.
    assert count_of(table, 0) == (math.comb(8, 2) - 1) * math.comb(6, 3)
    check = Table("tressette-4p", [deck], dealer=3, napoletana=False, **options)
    play(check, "4c, Ac")
    assert count_of(check, 0) == math.comb(8, 2) * math.comb(6, 3)
    assert count_of(table, 0) == len(reference_worlds(table, 0))


def bazzica_opening(hand: str, other: str = "4b 5b 6b", table_cards: str = "5c Fc Cc Fs") -> Table:
    """A deal whose opener, seat 1, holds these three cards."""
    return Table("bazzica", [full_deck(f"{hand} {other} {table_cards}")], dealer=0, episode="deal")


@pytest.mark.parametrize(
    ("hand", "name", "accepts"),
    [
        ("Rc Rs 2c", "pariglia", lambda values: len(set(values)) == 2 and sum(values) > 8),
        ("Ac 2c 3c", "meno_di_nove", lambda values: len(set(values)) == 3 and sum(values) <= 8),
        ("Ac As 2c", "pariglia_meno_di_nove", lambda values: len(set(values)) == 2 and sum(values) <= 8),
        ("2c 2s 2b", "bazzicotto", lambda values: len(set(values)) == 1),
    ],
)
def test_bazzica_declaration_was_the_best_of_the_whole_hand(hand: str, name: str, accepts: Callable[[list[int]], bool]) -> None:
    """The opener has declared and not yet played: which three of the 33 unseen cards it may hold, by their values."""
    table = bazzica_opening(hand)
    assert count_of(table, 0) == math.comb(33, 3)
    play(table, "declare")
    assert table.env.snapshot()["declared"] == [None, name]
    threes = combinations(unseen_to_dealer(), 3)
    assert count_of(table, 0) == sum(accepts([card % 10 + 1 for card in three]) for three in threes)
    assert count_of(table, 1) == math.comb(33, 3)  # the other has done nothing


def unseen_to_dealer() -> list[int]:
    """What the dealer does not see after ``bazzica_opening``."""
    return [card for card in range(40) if card not in cards("4b 5b 6b 5c Fc Cc Fs")]


def test_bazzica_baptism_was_allowed_by_the_whole_hand() -> None:
    """Settebello as 3: with two more 3, or two cards of at most 5, or re di denari, which could still become what is wanted."""
    table = bazzica_opening("7d 3c 2c")
    play(table, "baptise 7d 3")
    mates = [card for card in unseen_to_dealer() if card not in (6, 9)]
    values = [(first % 10 + 1, second % 10 + 1) for first, second in combinations(mates, 2)]
    beside_re = sum(card % 10 + 1 <= 4 for card in mates)
    assert count_of(table, 0) == sum(two == (3, 3) or sum(two) <= 5 for two in values) + beside_re
    play(table, "declare")
    assert table.env.snapshot()["declared"] == [None, "pariglia_meno_di_nove"]
    # 3+3+1, 3+3+2, 3+1+1, 3+2+2; re di denari would have had to be baptised first.
    assert count_of(table, 0) == sum(sorted(two) in ([1, 3], [2, 3], [1, 1], [2, 2]) for two in values)
    check_worlds(table, 0)


def test_bazzica_baptism_led_to_one_of_the_three() -> None:
    """After a first baptism the other jolly may be there, still to be baptised; once a card was played it may not."""
    table = bazzica_opening("7d 2c Ac")
    play(table, "baptise 7d 4")  # 4+2+1: meno di nove
    assert any(9 in hands[1] for hands, _ in reference_worlds(table, 0))
    before = count_of(table, 0)
    play(table, "7d")
    worlds = reference_worlds(table, 0)
    assert count_of(table, 0) == len(worlds) < before
    values = [[card % 10 + 1 for card in hands[1]] for hands, _ in worlds if 9 not in hands[1]]
    assert len(values) == len(worlds)
    assert all(sum(two) <= 4 or two == [4, 4] for two in values)
    check_worlds(table, 0)


def test_bazzica_forced_baptism_says_what_the_others_are() -> None:
    """Both jollies became 9, and nothing is declared yet: the third card is a 9, or the three would not be made."""
    table = bazzica_opening("7d Rd Cs")
    play(table, "baptise 7d 9")
    # With one jolly 9 nothing is below nine: two cards of 9, or re di denari and one of 9 (Cc lies on the table).
    assert count_of(table, 0) == math.comb(3, 2) + 3
    assert all(action >= FIRST_BAPTISM for action in table.information(1).legal_actions())
    play(table, "baptise Rd 9")
    assert count_of(table, 0) == 3
    check_worlds(table, 0)


def test_bazzica_rare_hands_are_found() -> None:
    """Three of a kind: blind draws would hardly ever find it; all are drawn, equally often."""
    table = bazzica_opening("2c 2s 2b")
    play(table, "declare")
    check_worlds(table, 0)
    play(table, "2c")
    assert count_of(table, 0) == 3  # two of 2d 2s 2b
    check_worlds(table, 0)


# --- what is certain -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "options"),
    [("tressette-2p", {"napoletana": True}), ("tressette-2p", SMALL), ("tressette-4p", {"napoletana": True}), ("bazzica", {})],
)
def test_where_all_follows_every_world_is_the_true_one(game: str, options: dict[str, Any]) -> None:
    """Nothing is deduced in `known`, yet sampled worlds are right about it."""
    rng = random.Random(13)
    other = make_env(game, episode="deal", **options)
    certain = hidden = 0
    for _ in range(6):
        table = biased_table(rng, game, episode="deal", **options)
        for _ in table.play(rng):
            for seat in table.seats:
                if ways_unconstrained(table.reference, seat) == 1 and not table.reference.stock:
                    snapshot = table.information(seat).snapshot()
                    assert snapshot == hide(table.reference.snapshot(), seat)
                    hidden += any(isinstance(hand, dict) and hand["size"] > len(hand["known"]) for hand in snapshot["hands"])
                    for seed in range(2):
                        other.set_state(table.information(seat).sample_world(np.random.default_rng(seed)))
                        assert other.snapshot() == table.env.snapshot()
                    certain += 1
    assert certain >= 20 and (hidden >= 10 or game == "tressette-4p")


# --- bytes and generators --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game", "options"), VARIANTS)
def test_bytes_depend_on_information_and_generator_alone(game: str, options: dict[str, Any]) -> None:
    rng = random.Random(14)
    table = biased_table(rng, game, deals=3, **options)
    for _ in table.play(rng):
        if rng.random() < 0.4:
            for seat in table.seats:
                first, second = table.information(seat), pickle.loads(pickle.dumps(table.information(seat)))
                first.sample_world(np.random.default_rng(0))  # what was drawn before does not matter
                drawn = [first.sample_world(np.random.default_rng(seed)) for seed in range(4)]
                assert drawn == [second.sample_world(np.random.default_rng(seed)) for seed in range(4)]
                assert len(set(drawn)) == 4  # the generator inside differs, even if there is one world only
                one = np.random.default_rng(7)
                assert first.sample_world(one) != first.sample_world(one)


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("game", GAME_IDS)
def test_later_decks_are_hidden(game: str, given: bool) -> None:
    """At the last card of a deal there is one world; the next deal is another one in each sample, and never the true one."""
    rng = random.Random(15)
    env, other = make_env(game, target=100), make_env(game, target=100)
    env.reset(seed=3, options={"deck": [rng.sample(range(40), 40) for _ in range(3)] if given else None})
    informations, state, action = [], b"", 0
    while env.snapshot()["deal_number"] == 1:
        state = env.get_state()
        informations = [env.information(seat) for seat in range(get_game(game).num_seats)]
        action = biased_action(rng, game, np.flatnonzero(env.action_masks()).tolist())
        env.step(action)
    assert action < 40  # a card, and the last one: nothing to choose
    truth = env.snapshot()
    words, deals = set(), set()
    for information in informations:
        for seed in range(30):
            world = information.sample_world(np.random.default_rng(seed))
            words.add(split_world(get_game(game), world)[1])
            other.set_state(world)
            other.step(action)
            snapshot = other.snapshot()
            assert snapshot["deal_number"] == 2 and snapshot["last_deal"] == truth["last_deal"]
            assert snapshot["hands"] != truth["hands"]
            deals.add(plain([snapshot["hands"], snapshot["stock"]]))
    assert len(words) == len(deals) == 30  # one a seed: at the last card all seats know the same
    assert split_world(get_game(game), state[: len(world)])[1] not in words


# --- a sampled world is a game ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game", "options"), VARIANTS)
def test_sampled_worlds_play_on_like_the_reference(game: str, options: dict[str, Any]) -> None:
    """What happened could have happened in a sampled world, and it goes on by the rules to the end of the deal."""
    rng = random.Random(16)
    options = options | {"episode": "deal"}
    for _ in range(3):
        table = biased_table(rng, game, **options)
        for _ in table.play(rng):
            if rng.random() < 0.25 and table.reference.turn is not None:
                check_plays_on(rng, table, rng.choice(table.seats))


def check_plays_on(rng: random.Random, table: Table, seat: int) -> None:
    """Sample a world, play its deal again on the reference, and both to the end."""
    env = make_env(table.game, **table.options)
    env.set_state(table.information(seat).sample_world(np.random.default_rng(rng.randrange(1000))))
    hands, stock = world_of(env.snapshot())
    assert hands[seat] == tuple(sorted(table.reference.hands[seat]))
    assert agrees(table.reference, hands, stock)
    again = make_reference(table.game, **table.options)
    again.start([deck_of(table.reference, hands, stock)], table.dealer)
    for action in table.actions:
        again.step(action)
    while again.turn is not None:
        assert env.snapshot() == again.snapshot()
        legal = again.legal_actions()
        assert np.flatnonzero(env.action_masks()).tolist() == legal
        action = biased_action(rng, table.game, legal)
        again.step(action)
        env.step(action)
    assert env.snapshot() == again.snapshot() and env.events() == again.events()


@pytest.mark.parametrize("game", GAME_IDS)
def test_worlds_after_a_given_up_game(game: str) -> None:
    """An illegal action ended the game in the middle of a deal: hidden cards stay hidden, worlds can still be drawn."""
    rng = random.Random(17)
    for steps in range(0, 30, 3):
        env, other = make_env(game, illegal="terminate"), make_env(game, illegal="terminate")
        env.reset(seed=steps)
        for _ in range(steps):
            env.step(int(rng.choice(np.flatnonzero(env.action_masks()))))
        env.step(int(np.flatnonzero(env.action_masks() == 0)[0]))
        truth = env.snapshot()
        assert truth["over"]
        for seat in range(get_game(game).num_seats):
            information = env.information(seat)
            assert information.snapshot() == hide(truth, seat) and information.legal_actions() == []
            worlds = [information.sample_world(np.random.default_rng(seed)) for seed in range(3)]
            for world in worlds:
                other.set_state(world)
                assert other.information(seat) == information and other.snapshot()["over"]


# --- larger positions: marginals against rejection -------------------------------------------------------------------------


def rejected_worlds(rng: random.Random, table: Table, seat: int, number: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Hands of worlds that agree: unseen cards laid out blindly until the deal can be played again."""
    reference = table.reference
    known = {other: known_in_hand(reference, other) for other in table.seats if other != seat}
    failed = failed_to_follow(table)
    unseen = [card for other in known for card in reference.hands[other] if card not in known[other]] + reference.stock
    while number > 0:
        rng.shuffle(unseen)
        hands, at = [sorted(hand) for hand in reference.hands], 0
        for other, cards_known in known.items():
            size = len(reference.hands[other]) - len(cards_known)
            hidden = unseen[at : at + size]
            if any((other, card // 10) in failed for card in hidden):
                break  # saves the replay
            hands[other] = sorted([*cards_known, *hidden])
            at += size
        else:
            if agrees(reference, tuple(map(tuple, hands)), unseen[at:]):
                number -= 1
                yield tuple(map(tuple, hands))


def failed_to_follow(table: Table) -> set[tuple[int, int]]:
    """Seat and suit of every failure to follow."""
    led = None
    result = set()
    for event in table.reference.events():
        if event["kind"] == "lead":
            led = event["card"] // 10
        elif event["kind"] == "follow" and event["card"] // 10 != led:
            result.add((event["seat"], led))
    return result


def check_marginals(table: Table, seat: int, number: int) -> None:
    """Where each card lies, and two cards together, as often as by rejection."""
    rng = random.Random(18)
    drawn: Counter[Any] = Counter()
    rejected: Counter[Any] = Counter()
    env = make_env(table.game, **table.options)
    generator = np.random.default_rng(19)
    information = table.information(seat)
    for _ in range(number):
        env.set_state(information.sample_world(generator))
        drawn.update(places(tuple(map(tuple, env.snapshot()["hands"]))))
    for hands in rejected_worlds(rng, table, seat, number):
        rejected.update(places(hands))
    for place in drawn.keys() | rejected.keys():
        one, two = drawn[place], rejected[place]
        share = (one + two) / (2 * number)
        assert abs(one - two) <= FAR * math.sqrt(2 * number * share * (1 - share)) + 1, (place, one, two)


def places(hands: tuple[tuple[int, ...], ...]) -> Iterator[Any]:
    """Each card with its seat, and pairs of neighbours in a hand."""
    for seat, hand in enumerate(hands):
        for card in hand:
            yield seat, card
        for first, second in pairwise(hand):
            yield seat, first, second


LARGE: list[tuple[str, dict[str, Any], int]] = [
    ("tressette-2p", {"napoletana": True}, 9),
    ("tressette-4p", {"napoletana": True}, 11),
    ("bazzica", {}, 9),
]


@pytest.mark.parametrize(("game", "options", "steps"), LARGE)
def test_marginals_of_large_positions(game: str, options: dict[str, Any], steps: int) -> None:
    rng = random.Random(20)
    table = large_position(rng, game, options, steps)
    check_marginals(table, rng.choice([seat for seat in table.seats if seat != table.reference.turn]), 600)


@pytest.mark.long
@pytest.mark.parametrize(("game", "options", "steps"), LARGE)
def test_marginals_of_large_positions_long(game: str, options: dict[str, Any], steps: int) -> None:
    rng = random.Random(21)
    for _ in range(12):
        table = large_position(rng, game, options, steps)
        check_marginals(table, rng.choice(table.seats), 3000)


def large_position(rng: random.Random, game: str, options: dict[str, Any], steps: int) -> Table:
    """A position some steps into a deal in which something excludes worlds."""
    while True:
        table = biased_table(rng, game, episode="deal", **options)
        for _ in table.play(rng, steps):
            pass
        if game == "bazzica":
            if any(acts(table, seat) for seat in table.seats):
                return table
        elif 0 < len(failed_to_follow(table)) <= 2 and any(undeclared_threes(table, seat) for seat in table.seats):
            return table
