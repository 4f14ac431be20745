"""The reference against the played matches, the worked cases, and positions counted by hand."""

import json
import random
from collections.abc import Iterator
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import pytest

from tests.reference.bazzica import BazzicaReference, captures, primiera_of
from tests.reference.match import rank_of, suit_of
from tests.reference.tressette import TressetteReference
from tests.reference.worlds import Reference, agreeing_worlds
from tests.worked_cases import Case, action_index, card_index, load_cases, run_case

CASES_DIR = Path(__file__).parent / "data" / "cases"
RANDOM_MATCHES, RANDOM_MATCHES_LONG = 150, 3000  # for each game


def make_reference(game: str, options: dict[str, Any]) -> Reference:
    if game == "bazzica":
        return BazzicaReference(**options)
    return TressetteReference(players={"tressette-2p": 2, "tressette-4p": 4}[game], **options)


def cards(text: str) -> list[int]:
    return [card_index(word) for word in text.split()]


def deck_with(text: str) -> list[int]:
    """A full deck that begins with these cards."""
    first = cards(text)
    return first + [card for card in range(40) if card not in first]


def play(reference: Reference, *actions: str) -> None:
    for action in actions:
        reference.step(action_index(action))


def shuffled_decks(rng: random.Random, deck_cards: list[int]) -> Iterator[list[int]]:
    while True:
        yield rng.sample(deck_cards, len(deck_cards))


# Played matches and worked cases.


def played_matches() -> Iterator[Any]:
    for path in sorted(CASES_DIR.glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            yield pytest.param(json.loads(line), id=f"{path.stem}-{number}")


@pytest.mark.parametrize("match", list(played_matches()))
def test_played_match(match: dict[str, Any]) -> None:
    reference = make_reference(match["game"], match["options"])
    reference.start(match["decks"], match["dealer"])
    sheets = []
    for position, (seat, legal, action) in enumerate(match["steps"]):
        assert (reference.turn, reference.legal_actions()) == (seat, sorted(legal)), f"step {position}"
        counted_before = reference.last_deal
        reference.step(action)
        snapshot = reference.snapshot()
        if reference.last_deal is not counted_before:
            sheets.append({**snapshot["last_deal"], "score": snapshot["score"]})
    assert sheets == match["sheets"]
    assert reference.over and reference.turn is None
    assert reference.winner == match["winner"]
    assert reference.deal_number == len(match["decks"])


def test_every_played_match_is_there() -> None:
    games = [param.values[0]["game"] for param in played_matches()]
    assert {game: games.count(game) for game in games} == {"bazzica": 60, "tressette-2p": 40, "tressette-4p": 40}


WORKED_CASES = load_cases()


@pytest.mark.parametrize("case", WORKED_CASES, ids=[case["name"] for case in WORKED_CASES])
def test_worked_case(case: Case) -> None:
    run_case(case, make_reference(case["game"], case["options"]))


def test_worked_case_names_differ() -> None:
    names = [case["name"] for case in WORKED_CASES]
    assert len(set(names)) == len(names)


def test_a_wrong_expectation_is_noticed() -> None:
    case = next(case for case in WORKED_CASES if case["name"] == "sum-scopa")
    expected: list[dict[str, Any]] = [{"turn": 0}, {"legal": []}, {"rewards": [1, -1]}, {"snapshot": {"scope": [0, 0]}}]
    for wrong in [*expected, {"events": [{"kind": "scopa", "seat": 1, "points": 1}]}]:
        with pytest.raises(AssertionError):
            run_case({**case, "script": [*case["script"], wrong]}, make_reference("bazzica", {}))


# Random matches: what holds at every step.


def cards_of(snapshot: dict[str, Any]) -> list[int]:
    """Every card of the deal, wherever it lies, sorted."""
    found = snapshot["stock"] + [card for pile in snapshot["hands"] + snapshot["taken"] for card in pile]
    if snapshot["game"] == "bazzica":
        found += [card for card, _ in snapshot["table"]] + [card for card in [snapshot["pending"]] if card is not None]
    else:
        found += [card for _, card in snapshot["trick"]]
    return sorted(found)


@pytest.mark.parametrize("matches", [RANDOM_MATCHES, pytest.param(RANDOM_MATCHES_LONG, marks=pytest.mark.long)])
@pytest.mark.parametrize("game", ["tressette-2p", "tressette-4p", "bazzica"])
def test_random_matches(game: str, matches: int) -> None:
    rng = random.Random(game)
    for number in range(matches):
        options: dict[str, Any] = {"target": rng.randint(1, 41), "reward": "points" if number % 3 else "win"}
        options[("last_card_scopa" if game == "bazzica" else "napoletana")] = number % 2 == 1
        reference = make_reference(game, options)
        decks = shuffled_decks(rng, list(range(40)))
        reference.start(lambda _, decks=decks: next(decks), dealer=rng.randrange(reference.seats))  # type: ignore[misc]
        rewards_in_all = 0
        while reference.turn is not None:
            legal = reference.legal_actions()
            assert legal and legal == sorted(set(legal))
            rewards = reference.step(rng.choice(legal))
            assert sum(rewards) == 0
            rewards_in_all += rewards[0]
            snapshot = reference.snapshot()
            assert cards_of(snapshot) == list(range(40))
            sheet = snapshot["last_deal"]
            if sheet is not None and game != "bazzica":
                assert sum(sheet["points"]) == 11 and sum(sheet["thirds"]) == 32
        assert reference.snapshot()["hands"] == [[]] * reference.seats
        score = reference.score
        assert max(score) >= options["target"] and score[reference.winner or 0] == max(score) and score[0] != score[1]
        expected = score[0] - score[1] if options["reward"] == "points" else (1 if score[0] > score[1] else -1)
        assert rewards_in_all == expected
        assert reference.last_events() == reference.events()
        counted = [event for event in reference.events() if event["kind"] == "count"]
        assert counted == [{"kind": "count", "seat": None, "points": snapshot["last_deal"]["points"]}]


def test_snapshot_is_plain_and_a_copy() -> None:
    for game in ("tressette-2p", "tressette-4p", "bazzica"):
        reference = make_reference(game, {})
        reference.start([list(range(40))], dealer=0)
        snapshot = reference.snapshot()
        assert json.loads(json.dumps(snapshot)) == snapshot
        snapshot["hands"][0].clear()
        reference.events()[0].clear()
        assert reference.snapshot()["hands"][0]
        assert reference.events()[0]["kind"] == "deal"


def test_the_register_of_a_deal_of_one_trick() -> None:
    reference = TressetteReference(deck_cards=cards("4c Ac"), hand_size=1, target=2)
    reference.start([cards("4c Ac"), cards("Ac 4c")], dealer=1)
    assert reference.events() == [{"kind": "deal", "seat": 1}] and reference.last_events() == []
    play(reference, "4c", "Ac")
    assert reference.over
    assert reference.last_events() == [
        {"kind": "deal", "seat": 1},
        {"kind": "lead", "seat": 0, "card": card_index("4c")},
        {"kind": "follow", "seat": 1, "card": card_index("Ac")},
        {"kind": "trick", "seat": 1, "cards": cards("4c Ac")},
        {"kind": "count", "seat": None, "points": [0, 2]},
    ]
    longer = TressetteReference(deck_cards=cards("4c Ac"), hand_size=1, target=3)
    longer.start([cards("4c Ac"), cards("Ac 4c")], dealer=1)
    play(longer, "4c", "Ac")
    assert longer.last_events() == reference.last_events()
    assert longer.events() == [{"kind": "deal", "seat": 0}] and longer.turn == 1


def test_the_register_of_a_bazzica_deal_ends_with_sweep_and_count() -> None:
    rng = random.Random(1)
    seen_sweep = False
    for _ in range(20):
        reference = BazzicaReference(episode="deal")
        reference.start([rng.sample(range(40), 40)], dealer=0)
        while reference.turn is not None:
            reference.step(rng.choice(reference.legal_actions()))
        events = reference.last_events()
        kinds = [event["kind"] for event in events]
        assert kinds[0] == "deal" and len(events[0]["cards"]) == 4
        assert kinds.count("play") == 36 and kinds[-1] == "count"
        taken: list[list[int]] = [[], []]
        for event in events:
            if event["kind"] == "capture":
                taken[event["seat"]] += [event["card"], *event["cards"]]
            elif event["kind"] == "sweep":
                taken[event["seat"]] += event["cards"]
                seen_sweep = True
                assert kinds.index("sweep") == len(kinds) - 2
        assert [sorted(side) for side in taken] == reference.snapshot()["taken"]
    assert seen_sweep


# Single rules that no whole deal shows well.


def test_captures() -> None:
    def taken(table: list[int], value: int) -> list[list[int]]:
        return captures(dict(enumerate(table)), value)

    assert taken([], 5) == []
    assert taken([3, 8, 8, 9], 2) == []  # 2+9 = 3+8: never a group against a group
    assert taken([10, 4, 3, 2], 1) == [[0, 1, 2, 3]]
    assert taken([4, 4, 4, 4], 4) == [[0], [1], [2], [3]]
    assert taken([4, 4, 4, 4], 8) == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    assert taken([10, 10, 1], 9) == [[0, 2], [1, 2]]


def test_primiera_needs_every_suit() -> None:
    assert primiera_of(cards("7d 7c 7s 7b")) == 84
    assert primiera_of(cards("7d 6d Ac 5s Rb Fb")) == 21 + 16 + 15 + 10
    assert primiera_of(cards("7d 7c 7s 6s")) is None
    assert primiera_of([]) is None


@pytest.mark.parametrize(
    "options",
    [
        {"players": 3},
        {"target": 0},
        {"target": 101},
        {"episode": "hand"},
        {"reward": "thirds"},
        {"deck_cards": [0, 0]},
        {"deck_cards": [0, 40], "hand_size": 1},
        {"deck_cards": [0, 1, 2], "hand_size": 1},  # a stock of one card
        {"hand_size": 21},
        {"hand_size": 0},
        {"players": 4, "hand_size": 9},
    ],
)
def test_bad_tressette_options(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        TressetteReference(**options)


@pytest.mark.parametrize("options", [{"target": 0}, {"declaration_points": {"pariglia": 1}}, {"reward": ""}])
def test_bad_bazzica_options(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        BazzicaReference(**options)


def test_misuse_is_refused() -> None:
    reference = TressetteReference(deck_cards=cards("4c Ac"), hand_size=1)
    with pytest.raises(ValueError, match="start a match"):
        reference.step(0)
    with pytest.raises(ValueError, match="does not hold exactly"):
        reference.start([cards("4c 4c")], dealer=0)
    with pytest.raises(ValueError, match="dealer"):
        reference.start([cards("4c Ac")], dealer=2)
    reference.start([cards("4c Ac")], dealer=1)
    with pytest.raises(ValueError, match="seat 0 may not"):
        play(reference, "Ac")
    play(reference, "4c")
    with pytest.raises(ValueError, match="deal 2 begins, but only 1 decks"):
        play(reference, "Ac")


# Worlds: positions counted by hand.


def hands_of(reference: Reference) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(sorted(hand)) for hand in reference.hands)


def small_tressette(deck: str, hand_size: int, napoletana: bool = True) -> TressetteReference:
    """Two players, dealer 1: seat 0 has the first cards and leads."""
    reference = TressetteReference(deck_cards=cards(deck), hand_size=hand_size, napoletana=napoletana)
    reference.start([cards(deck)], dealer=1)
    return reference


def test_worlds_of_a_small_deck() -> None:
    reference = small_tressette("4c 5d Ac 6d 3c 7d 2c Fd", 2)
    worlds = agreeing_worlds(reference, 0)
    assert len(worlds) == comb(6, 2) * 24 == len(set(worlds))  # the hidden two, and every order of the stock
    assert len(agreeing_worlds(reference, 0, stock_as_set=True)) == comb(6, 2)
    assert (hands_of(reference), tuple(reference.stock)) in worlds
    play(reference, "4c", "Ac")  # seat 1 draws 3c, seat 0 draws 7d; 6d, 2c and Fd are unseen
    worlds = agreeing_worlds(reference, 0)
    assert len(worlds) == 3 * 2
    assert all(card_index("3c") in hands[1] and len(hands[1]) == 2 for hands, _ in worlds)
    play(reference, "3c", "5d")  # the stock is empty: perfect information
    for seat in (0, 1):
        assert agreeing_worlds(reference, seat) == [(hands_of(reference), ())]


def test_worlds_know_who_failed_to_follow() -> None:
    reference = small_tressette("4c 4d 5d 6d 4s 5s 5c 6c", 2)
    play(reference, "4c", "5d")  # no coppe; 6d, 5c, 6c are unseen, and only 6d can have been there
    worlds = agreeing_worlds(reference, 0)
    assert [hands[1] for hands, _ in worlds] == [tuple(cards("6d 5s"))] * 2
    # A drawn card is no witness: drawn coppe do not contradict.
    reference = small_tressette("4c 4d 5d 6d 4s 5c 5s 6c", 2)
    play(reference, "4c", "5d")
    assert {hands[1] for hands, _ in agreeing_worlds(reference, 0)} == {tuple(cards("6d 5c")), tuple(cards("5c 5s"))}


def test_worlds_know_what_was_not_announced_at_the_first_card() -> None:
    # Unseen by seat 0 after the first trick: A 2 3 of coppe, 5s, Rd; three of them are in seat 1's hand.
    deck = "4d 5d 6d 4s Ac 2c 7d 5s Fd Cd 3c Rd"
    without, with_option = (small_tressette(deck, 4, napoletana) for napoletana in (False, True))
    for reference in (without, with_option):
        play(reference, "4d", "7d")
    assert len(agreeing_worlds(without, 0, stock_as_set=True)) == comb(5, 3)
    assert len(agreeing_worlds(with_option, 0, stock_as_set=True)) == comb(5, 3) - 1
    # Cards played since count: with the Ac gone, 2c and 3c together would have been announced.
    for reference in (without, with_option):
        play(reference, "Ac")
    assert len(agreeing_worlds(without, 0)) == comb(4, 2) * 2
    assert len(agreeing_worlds(with_option, 0)) == (comb(4, 2) - 1) * 2


def test_worlds_know_what_was_not_announced_at_a_draw() -> None:
    # Seat 1 draws the 3c and announces nothing: it does not hold both Ac and 2c.
    reference = small_tressette("4d 5d 6d 4s Ac 7d 5s 6s 3c Cd 2c Rd", 4)
    play(reference, "4d", "7d")
    worlds = agreeing_worlds(reference, 0, stock_as_set=True)
    assert len(worlds) == comb(5, 3) - comb(3, 1)
    assert all(not set(cards("Ac 2c")) <= set(hands[1]) for hands, _ in worlds)
    # And had the ace been played before that draw, the 2c would be nothing to hide.
    reference = small_tressette("4d 5d 4c 4s Ac 7d 5s 6s 5c Cd 3c Rd 2c 6d", 4)
    play(reference, "4d", "7d", "Ac", "4c")  # seat 1 draws 5c, then 3c; unseen: 5s, 6s, 2c, 6d
    assert len(agreeing_worlds(reference, 0, stock_as_set=True)) == comb(4, 2)


def test_announced_cards_are_known() -> None:
    reference = small_tressette("4d 5d 6d 4s Ac 2c 3c 7d 5s 6s Rd Cd", 4)
    play(reference, "4d", "7d")  # seat 1 announces; unseen: nothing of its hand
    assert {hands[1] for hands, _ in agreeing_worlds(reference, 0)} == {tuple(cards("Ac 2c 3c 5s"))}


def test_worlds_of_four_players_by_another_way() -> None:
    """Without napoletana a world agrees exactly if no hidden card is of a suit its holder failed to follow."""
    rng = random.Random(4)
    for trial in range(8):
        reference = TressetteReference(players=4)
        reference.start([rng.sample(range(40), 40)], dealer=trial % 4)
        for _ in range(28 + rng.randrange(8)):
            reference.step(rng.choice(reference.legal_actions()))
        missing: list[set[int]] = [set() for _ in range(4)]
        led_suit = 0
        for event in reference.events():
            if event["kind"] == "lead":
                led_suit = suit_of(event["card"])
            elif event["kind"] == "follow" and suit_of(event["card"]) != led_suit:
                missing[event["seat"]].add(led_suit)
        seat = trial % 4
        first, second, third = (other for other in range(4) if other != seat)
        unseen = sorted(card for other in (first, second, third) for card in reference.hands[other])
        expected = 0
        for first_hand in combinations(unseen, len(reference.hands[first])):
            left = [card for card in unseen if card not in first_hand]
            for second_hand in combinations(left, len(reference.hands[second])):
                third_hand = [card for card in left if card not in second_hand]
                laid = ((first, first_hand), (second, second_hand), (third, third_hand))
                expected += all(suit_of(card) not in missing[other] for other, hand in laid for card in hand)
        worlds = agreeing_worlds(reference, seat)
        assert len(worlds) == expected
        assert (hands_of(reference), ()) in worlds
        assert all(hands[seat] == hands_of(reference)[seat] for hands, _ in worlds)


def bazzica_from(text: str) -> BazzicaReference:
    """Dealer 1: seat 0 opens."""
    reference = BazzicaReference()
    reference.start([deck_with(text)], dealer=1)
    return reference


def test_worlds_of_bazzica() -> None:
    reference = bazzica_from("5c 5s 5b Fb Cb 6b Rc Rs Cc Cs")
    assert len(agreeing_worlds(reference, 1, stock_as_set=True)) == comb(33, 3)
    play(reference, "5c")  # declaring nothing excludes nothing
    assert len(agreeing_worlds(reference, 1, stock_as_set=True)) == comb(32, 2)

    reference = bazzica_from("5c 5s 5b Fb Cb 6b Rc Rs Cc Cs")
    play(reference, "declare")  # three equal ones of those that seat 1 does not see
    unseen = set(range(40)) - set(cards("Fb Cb 6b Rc Rs Cc Cs"))
    by_rank = [sum(rank_of(card) == rank for card in unseen) for rank in range(1, 11)]
    worlds = agreeing_worlds(reference, 1, stock_as_set=True)
    assert len(worlds) == sum(comb(count, 3) for count in by_rank)
    assert (hands_of(reference), tuple(sorted(reference.stock))) in worlds
    play(reference, "5c")  # the whole hand had been equal, so the two left are fives
    worlds = agreeing_worlds(reference, 1, stock_as_set=True)
    assert {hands[0] for hands, _ in worlds} == set(combinations(cards("5d 5s 5b"), 2))


def test_worlds_of_a_baptism() -> None:
    reference = bazzica_from("7d Ac 2c Fb Cb 6b Rc Rs Cc Cs")
    play(reference, "baptise 7d 4")
    unseen = sorted(set(range(40)) - set(cards("7d Fb Cb 6b Rc Rs Cc Cs")))
    re_di_denari = card_index("Rd")

    def allowed(first: int, second: int) -> bool:
        values = [rank_of(first), rank_of(second)]
        return sum(values) <= 4 or values == [4, 4]

    def with_re(first: int, second: int) -> bool:
        other = first if second == re_di_denari else second
        return re_di_denari in (first, second) and rank_of(other) <= 4  # the re could still become an ace, or a 4

    worlds = agreeing_worlds(reference, 1, stock_as_set=True)
    expected = {tuple(sorted((6, *two))) for two in combinations(unseen, 2) if allowed(*two) or with_re(*two)}
    assert {hands[0] for hands, _ in worlds} == expected and len(worlds) == len(expected)
    play(reference, "2c")  # it could play: something had been made, so the re is not there
    worlds = agreeing_worlds(reference, 1, stock_as_set=True)
    left = [card for card in unseen if card != card_index("2c")]
    assert {hands[0] for hands, _ in worlds} == {tuple(sorted((6, card))) for card in left if rank_of(card) <= 2}


@pytest.mark.parametrize("napoletana", [False, True])
def test_the_truth_is_among_the_worlds(napoletana: bool) -> None:
    rng = random.Random(napoletana)
    deck_cards = cards("Ad 2d 3d Rd Ac 2c 3c Rc 4s 5s 6s 7s")
    for _ in range(40):
        reference: Reference = TressetteReference(deck_cards=deck_cards, hand_size=4, napoletana=napoletana)
        reference.start([rng.sample(deck_cards, 12)], dealer=0)
        while len(reference.actions) < 11:
            for seat in (0, 1):
                assert (hands_of(reference), tuple(reference.stock)) in agreeing_worlds(reference, seat)
            reference.step(rng.choice(reference.legal_actions()))
    for _ in range(12):
        reference = BazzicaReference(low_sum_max=rng.choice([8, 9]))
        reference.start([rng.sample(range(40), 40)], dealer=0)
        for _ in range(10 + rng.randrange(25)):  # a deal has 36 plays at least
            reference.step(rng.choice(reference.legal_actions()))
        for seat in (0, 1):
            assert (hands_of(reference), tuple(sorted(reference.stock))) in agreeing_worlds(reference, seat, stock_as_set=True)
