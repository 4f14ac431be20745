"""Observations against the snapshot and the register of the same seat, field by field, and their bounds."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from settebello import GAMES, BatchEnv, bazzica_v0, tressette_v0
from settebello.aec import AECEnv
from settebello.cards import JOLLIES, SUIT_NAMES, rank_of, suit_of
from settebello.describe import RELATIVE_SEATS, describe, describe_text
from settebello.errors import OptionError

STRENGTHS = "32ARCF7654"
RANKS = "A234567FCR"
DECLARATIONS = ("pariglia", "meno_di_nove", "pariglia_meno_di_nove", "bazzicotto")
PRIMIERA = {"7": 21, "6": 18, "A": 16, "5": 15, "4": 14, "3": 13, "2": 12, "F": 10, "C": 10, "R": 10}

SMALL_TWO = [0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 29]  # three possible napoletane
SMALL_FOUR = [0, 1, 2, 9, 10, 11, 12, 19, 20, 21, 22, 29, 30, 31, 32, 39]
SCENARIOS: list[tuple[str, dict[str, Any]]] = [
    ("tressette-2p", {}),
    ("tressette-2p", {"napoletana": True, "target": 100}),
    ("tressette-2p", {"napoletana": True, "deck_cards": SMALL_TWO, "hand_size": 3, "reward": "points"}),
    ("tressette-2p", {"napoletana": True, "hand_size": 20, "episode": "deal"}),
    ("tressette-4p", {}),
    ("tressette-4p", {"napoletana": True, "target": 41, "reward": "points"}),
    ("tressette-4p", {"napoletana": True, "deck_cards": SMALL_FOUR, "hand_size": 4, "episode": "deal"}),
    ("bazzica", {}),
    ("bazzica", {"last_card_scopa": True, "low_sum_max": 16, "reward": "points"}),
    ("bazzica", {"target": 100, "declaration_points": dict.fromkeys(DECLARATIONS, 100), "low_sum_max": 30}),
    ("bazzica", {"episode": "deal"}),
]
SCENARIO_IDS = [f"{game}-{'-'.join(options) or 'default'}" for game, options in SCENARIOS]
POSITIONS, POSITIONS_LONG = 500, 8000  # of each scenario


def make(game: str, **options: Any) -> AECEnv:
    if game == "bazzica":
        return bazzica_v0.env(**options)
    return tressette_v0.env(players=GAMES[game].num_seats, **options)


def positions(game: str, number: int, seed: int, **options: Any) -> Iterator[AECEnv]:
    """So many positions of random play, ends included; now and then a game begins far ahead or is lost by an illegal action."""
    rng = random.Random(seed)
    env = make(game, illegal="terminate", **options)
    env.reset(seed=seed, options={"score": [127, 130]})
    for _ in range(number):
        yield env
        if all(env.terminations.values()):
            env.reset(options={"score": [rng.choice((0, 19, 126, 150)), rng.choice((0, 20))]})
            continue
        legal = [int(action) for action in np.flatnonzero(env.action_masks())]
        illegal = sorted(set(range(GAMES[game].num_actions)) - set(legal))
        env.step(rng.choice(illegal if rng.random() < 0.01 else legal))


def worth(card: int) -> int:
    return {"A": 3}.get(RANKS[rank_of(card)], int(RANKS[rank_of(card)] in "32RCF"))


def clipped(points: int) -> int:
    return min(points, 127)


def size_of(hand: Any) -> int:
    return len(hand) if isinstance(hand, list) else int(hand["size"])


def of_kind(events: list[dict[str, Any]], *kinds: str) -> list[dict[str, Any]]:
    return [event for event in events if event["kind"] in kinds]


class Look:
    """One seat's look at a position: its snapshot and register, and relative names of seats and sides."""

    def __init__(self, env: AECEnv, seat: int) -> None:
        information = env.information(seat)
        self.seat = seat
        self.snapshot = information.snapshot()
        self.events = information.events()
        self.options: Any = information.options
        self.players = len(self.snapshot["hands"])
        self.seats = {name: (seat + k) % self.players for k, name in enumerate(RELATIVE_SEATS[self.players])}
        self.sides = {"own": seat % 2, "other": 1 - seat % 2}

    def name_of(self, seat: int | None) -> str | None:
        return next((name for name, other in self.seats.items() if other == seat), None)

    def known(self, seat: int) -> list[int]:
        """Cards of another hand that this seat knows."""
        hand = self.snapshot["hands"][seat]
        return [] if seat == self.seat else hand["known"]

    def by_seat(self, numbers: list[int]) -> dict[str, int]:
        return {name: numbers[seat] for name, seat in self.seats.items()}

    def by_side(self, numbers: list[int]) -> dict[str, int]:
        return {name: numbers[side] for name, side in self.sides.items()}


def tressette_facts(look: Look) -> dict[str, Any]:
    snapshot, events, options = look.snapshot, look.events, look.options
    plays = of_kind(events, "lead", "follow")
    tricks = of_kind(events, "trick")
    played = {seat: sorted(play["card"] for play in plays if play["seat"] == seat) for seat in range(look.players)}
    voids: dict[int, set[str]] = {seat: set() for seat in range(look.players)}
    led_suit = -1
    for play in plays:
        if play["kind"] == "lead":
            led_suit = suit_of(play["card"])
        elif suit_of(play["card"]) != led_suit:
            voids[play["seat"]].add(SUIT_NAMES[led_suit])
    trick = snapshot["trick"]
    leader = trick[0][0] if trick else tricks[-1]["seat"] if tricks else (snapshot["dealer"] + 1) % look.players
    winning = None
    if trick:
        followed = [play for play in trick if suit_of(play[1]) == suit_of(trick[0][1])]
        winning = min(followed, key=lambda play: STRENGTHS.index(RANKS[rank_of(play[1])]))[0]
    deal_points = [3 * sum(seat % 2 == side for seat, _ in snapshot["napoletane"]) for side in range(2)]
    if of_kind(events, "count"):
        deal_points = [a + b for a, b in zip(deal_points, snapshot["last_deal"]["points"], strict=True)]
    hidden_known = {card for seat in range(look.players) for card in look.known(seat)}
    seen = {*snapshot["hands"][look.seat], *(play["card"] for play in plays), *hidden_known}
    thirds = [sum(map(worth, cards)) for cards in snapshot["taken"]]
    facts: dict[str, Any] = {
        "hand": snapshot["hands"][look.seat],
        "known": sorted(card for cards in snapshot["known"] for card in cards),
        "trick": sorted(card for _, card in trick),
        "unseen": sorted(set(options.cards) - seen),
        "turn": look.name_of(snapshot["turn"]),
        "leader": look.name_of(leader),
        "dealer": look.name_of(snapshot["dealer"]),
        "winning": look.name_of(winning),
        "led_suit": SUIT_NAMES[suit_of(trick[0][1])] if trick else None,
        "option_napoletana": options.napoletana,
        "option_hand_size": options.hand_size,
        "hand_sizes": look.by_seat([size_of(hand) for hand in snapshot["hands"]]),
        "stock": snapshot["stock"],
        "tricks": len(tricks),
        "trick_thirds": sum(worth(card) for _, card in trick),
        "thirds": look.by_side(thirds),
        "cards_taken": look.by_side([len(cards) for cards in snapshot["taken"]]),
        "score": look.by_side([clipped(points) for points in snapshot["score"]]),
        "deal_points": look.by_side(deal_points),
    }
    for name, seat in look.seats.items():
        announced = {suit for announcer, suit in snapshot["napoletane"] if announcer == seat}
        facts[f"known_{name}"] = snapshot["known"][seat]
        facts[f"played_{name}"] = played[seat]
        facts[f"void_{name}"] = [suit for suit in SUIT_NAMES if suit in voids[seat]]
        facts[f"napoletane_{name}"] = [SUIT_NAMES[suit] for suit in sorted(announced)]
    return facts


def bazzica_facts(look: Look) -> dict[str, Any]:
    snapshot, options = look.snapshot, look.options
    plays = of_kind(look.events, "play")
    this_hand = plays[6 * (snapshot["hand_number"] - 1) :]
    other = 1 - look.seat
    table = [card for card, _ in snapshot["table"]]
    values = [value for _, value in snapshot["table"]]
    pending = snapshot["pending"]
    sets = [set(cards) for cards in snapshot["candidates"]]
    union, common = (set.union(*sets), set.intersection(*sets)) if sets else (set(), set())
    out = set() if pending is None else {pending}
    taken = snapshot["taken"]
    seen = {*snapshot["hands"][look.seat], *look.known(other), *table, *taken[0], *taken[1], *out}
    declared = of_kind(look.events, "declare")
    sizes = [size_of(hand) for hand in snapshot["hands"]]
    taker = [seat for seat in range(2) if 6 in taken[seat]]
    points = options.declaration_points or dict(zip(DECLARATIONS, (1, 2, 3, 7), strict=True))
    facts: dict[str, Any] = {
        "hand": snapshot["hands"][look.seat],
        "table": table,
        "hand_played_next": sorted(play["card"] for play in this_hand if play["seat"] == other),
        "pickable": sorted(union - common),
        "certain": sorted(common),
        "unseen": sorted(set(range(40)) - seen),
        "turn": look.name_of(snapshot["turn"]),
        "opener": snapshot["opener"] == look.seat,
        "choosing": pending is not None,
        "option_last_card_scopa": options.last_card_scopa,
        "pending_value": None if pending is None else snapshot["baptised"].get(pending, rank_of(pending) + 1),
        "pending_suit": None if pending is None else SUIT_NAMES[suit_of(pending)],
        "last_taker": look.name_of(snapshot["last_taker"]),
        "settebello_value": snapshot["baptised"].get(6),
        "re_value": snapshot["baptised"].get(9),
        "known_next": [card for card in JOLLIES if card in look.known(other)],
        "settebello_taken": look.name_of(taker[0]) if taker else None,
        "table_values": {value: values.count(value) for value in range(1, 11)},
        "hand_number": snapshot["hand_number"],
        "stock": snapshot["stock"],
        "plays_left": snapshot["stock"] + sum(sizes),
        "table_size": len(table),
        "hand_sizes": look.by_seat(sizes),
        "cards_taken": look.by_seat([len(cards) for cards in taken]),
        "denari_taken": look.by_seat([sum(suit_of(card) == 0 for card in cards) for cards in taken]),
        "scope": look.by_seat(snapshot["scope"]),
        "declarations": look.by_seat(
            [clipped(sum(event["points"] for event in declared if event["seat"] == seat)) for seat in range(2)]
        ),
        "score": look.by_seat([clipped(score) for score in snapshot["score"]]),
        "low_sum_max": options.low_sum_max,
        "declaration_points": points,
    }
    for name, seat in look.seats.items():
        facts[f"taken_{name}"] = taken[seat]
        facts[f"played_{name}"] = sorted(play["card"] for play in plays if play["seat"] == seat)
        facts[f"declared_{name}"] = snapshot["declared"][seat]
        facts[f"primiera_{name}"] = {
            SUIT_NAMES[suit]: max([0, *(PRIMIERA[RANKS[rank_of(card)]] for card in taken[seat] if suit_of(card) == suit)])
            for suit in range(4)
        }
    return facts


def facts_of(game: str, look: Look) -> dict[str, Any]:
    """All that the observation says, worked out from the snapshot, the register and the options alone."""
    common = {
        "over": look.snapshot["over"],
        "target": look.options.target,
        "deal_number": clipped(look.snapshot["deal_number"]),
        "option_deal": look.options.episode == "deal",
        "option_points": look.options.reward == "points",
    }
    return common | (bazzica_facts(look) if game == "bazzica" else tressette_facts(look))


def absolute(game: str, described: dict[str, Any], seat: int) -> dict[Any, Any]:
    """What is public in a described observation, with seats and sides by number instead of as they look from the seat."""
    names = RELATIVE_SEATS[GAMES[game].num_seats]
    seats = {name: (seat + k) % len(names) for k, name in enumerate(names)}
    result: dict[Any, Any] = {}
    for field, value in described.items():
        if field in ("hand", "unseen", "opener"):
            continue
        if isinstance(value, dict) and set(value) == set(names):
            value = {seats[name]: item for name, item in value.items()}
        elif isinstance(value, dict) and set(value) == {"own", "other"}:
            value = {seat % 2: value["own"], 1 - seat % 2: value["other"]}
        elif isinstance(value, str) and value in names:
            value = seats[value]
        stem, _, last = field.rpartition("_")
        result[(stem, seats[last]) if last in names else field] = value
    return result


def interesting(snapshot: dict[str, Any]) -> dict[str, bool]:
    """What a position shows that not every position does."""
    return {
        "over": snapshot["over"],
        "forfeited": snapshot["over"] and any(map(size_of, snapshot["hands"])),
        "pending": snapshot.get("pending") is not None,
        "narrowed": len(snapshot.get("candidates", [])) > 1,
        "both baptised": len(snapshot.get("baptised", {})) == 2,
        "known": any(isinstance(hand, dict) and hand["known"] for hand in snapshot["hands"]),
        "napoletana": bool(snapshot.get("napoletane")),
        "high score": max(snapshot["score"]) > 127,
    }


@pytest.mark.parametrize("number", [POSITIONS, pytest.param(POSITIONS_LONG, marks=pytest.mark.long)])
@pytest.mark.parametrize(("game", "options"), SCENARIOS, ids=SCENARIO_IDS)
def test_observation_says_what_snapshot_and_register_say(game: str, options: dict[str, Any], number: int) -> None:
    seen: set[str] = set()
    for env in positions(game, number, seed=11, **options):
        described = []
        for seat, agent in enumerate(env.possible_agents):
            look = Look(env, seat)
            row = env.observe(agent)["observation"]
            assert np.array_equal(row, env.information(seat).observation())
            said = describe(game, row)
            facts = facts_of(game, look)
            assert list(said) == [name for name, *_ in env.obs_spec()]
            assert said.pop("padding", [0]) in ([0], [0, 0])
            assert said == {name: facts[name] for name in said}
            described.append(absolute(game, said, seat))
            seen |= {name for name, shown in interesting(look.snapshot).items() if shown}
        for other in described[1:]:
            shared = described[0].keys() & other.keys()
            assert {key: other[key] for key in shared} == {key: described[0][key] for key in shared}
    expected = {"over", "forfeited", "high score"}
    if game == "bazzica":
        expected |= {"pending", "narrowed", "known"} | ({"both baptised"} if "low_sum_max" in options else set())
    elif options.get("napoletana"):
        expected |= {"napoletana", "known"}
    assert expected <= seen


@pytest.mark.parametrize(("game", "options"), SCENARIOS, ids=SCENARIO_IDS)
def test_every_element_is_within_its_bounds(game: str, options: dict[str, Any]) -> None:
    env = BatchEnv(game, 256, seed=5, **options)
    rng = np.random.default_rng(5)
    low, high = GAMES[game].bounds(state=True)
    unused = [range(start, stop) for name, start, stop, *_ in env.obs_spec() if name == "padding"]
    highest = np.zeros(len(high), np.int8)
    for _ in range(250):
        rows = env.state()
        assert np.array_equal(rows[:, : env.obs_size], env.observation)
        assert (rows >= low).all()
        assert (rows <= high).all()
        highest = np.maximum(highest, rows.max(axis=0))
        for part in unused:
            assert not rows[:, list(part)].any()
        env.step(np.argmax(rng.random(env.action_mask.shape) * env.action_mask, axis=1))
    for name, start, stop, _, bound, _ in env.state_spec():
        if name.startswith(("hand_", "played_", "leader", "dealer")) and bound == 1 and not options:
            assert highest[start:stop].all(), f"{name}: an element that is never 1"


@pytest.mark.parametrize(("game", "options"), SCENARIOS, ids=SCENARIO_IDS)
def test_state_row_says_what_the_full_snapshot_says(game: str, options: dict[str, Any]) -> None:
    names = RELATIVE_SEATS[GAMES[game].num_seats]
    for env in positions(game, 150, seed=3, **options):
        snapshot = env.snapshot()
        if snapshot["over"]:
            continue
        said = describe(game, env.state())
        for k, name in enumerate(names):
            field = "hand" if k == 0 else f"hand_{name}"
            assert said[field] == snapshot["hands"][(snapshot["turn"] + k) % len(names)]
        assert said["stock_order"] == snapshot["stock"]


@pytest.mark.parametrize("game", GAMES)
def test_the_lowest_row_says_nothing(game: str) -> None:
    lowest, _ = GAMES[game].bounds()
    above_zero = {name for name, _, _, low, _, _ in GAMES[game].obs_spec() if low > 0}
    for name, value in describe(game, lowest).items():
        assert name in above_zero or not value or not any(value.values())


@pytest.mark.parametrize("game", GAMES)
def test_bad_rows_are_refused(game: str) -> None:
    size = GAMES[game].obs_size
    spec = {name: (start, low, high) for name, start, _, low, high, _ in GAMES[game].obs_spec()}
    lowest, _ = GAMES[game].bounds()
    with pytest.raises(OptionError, match=rf"\({size},\) for {game}"):
        describe(game, np.zeros(size - 1, np.int8))
    with pytest.raises(OptionError, match="dtype float32"):
        describe(game, np.zeros(size, np.float32))
    for name in ("hand", "target", "score"):
        start, low, high = spec[name]
        for number in (high + 1, low - 1):
            row = lowest.astype(np.int16)
            row[start] = number
            with pytest.raises(OptionError, match=f"{name} is .* from {low} to {high}"):
                describe(game, row)
    row = lowest.copy()
    row[spec["turn"][0]] = row[spec["turn"][0] + 1] = 1
    with pytest.raises(OptionError, match=r"turn is .* at most one"):
        describe(game, row)
    with pytest.raises(OptionError, match="unknown game"):
        describe("briscola", row)


@pytest.mark.parametrize("game", GAMES)
def test_text_has_a_line_for_each_field(game: str) -> None:
    for env in positions(game, 30, seed=1):
        lines = describe_text(game, env.observe("player_1")["observation"]).split("\n")
        spec = env.obs_spec()
        assert [line.split()[0] for line in lines] == [name for name, *_ in spec]
        assert all(line.endswith(f"({meaning})") for line, (*_, meaning) in zip(lines, spec, strict=True))
        hand = env.information(1).snapshot()["hands"][1]
        assert lines[0].startswith("hand ")
        assert all(f"{RANKS[rank_of(card)]}{'dcsb'[suit_of(card)]}" in lines[0] for card in hand)
