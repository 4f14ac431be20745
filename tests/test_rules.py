"""The engine against the worked cases, the played matches, and the reference in random matches, step by step."""

import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from settebello.bazzica.options import BazzicaOptions
from settebello.bazzica.rules import count_deal
from settebello.bazzica.views import snapshot
from tests.engine import GAMES, DifferenceError, Engine, SideBySide, cards_of, is_plain, make_env, play_random_match
from tests.reference.bazzica import BazzicaReference, primiera_of
from tests.test_reference import played_matches
from tests.worked_cases import Case, card_index, load_cases, run_case

WORKED_CASES = load_cases()
MATCHES = {"tressette-2p": 240, "tressette-4p": 200, "bazzica": 160}  # in the default run, with options drawn for each
DEALS_LONG, SHARDS = 100_000, 8  # of each game, and in how many parts: they run side by side

# Without compilation NumPy says that the random stream's 64-bit words wrap around, as they are to.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar:RuntimeWarning")

TARGETS = (1, 5, 21, 31, 41, 100)
EPISODES = ("match", "match", "deal")  # a match has many deals
REWARDS = ("win", "points")
DECLARATION_POINTS = (
    None,
    {"pariglia": 2, "meno_di_nove": 5, "pariglia_meno_di_nove": 8, "bazzicotto": 10},
    {"pariglia": 3, "meno_di_nove": 0, "pariglia_meno_di_nove": 1, "bazzicotto": 100},
    {"pariglia": 0, "meno_di_nove": 0, "pariglia_meno_di_nove": 0, "bazzicotto": 0},
)

# What must have happened in the default run, at least so often; the long run has two hundred times the deals.
HAPPENS = {
    "tressette-2p": {
        **{"deals": 500, "matches": 200, "level past the target": 2, "no winner": 1, "discard": 2000, "draw": 10_000},
        **{"napoletana after deal": 50, "napoletana after lead": 10, "napoletana after draw": 100, "two napoletane": 40},
    },
    "tressette-4p": {
        **{"deals": 450, "matches": 200, "level past the target": 2, "discard": 4000},
        **{"napoletana after deal": 30, "napoletana after lead": 6, "napoletana after follow": 15, "two napoletane": 25},
    },
    "bazzica": {
        **{"deals": 375, "matches": 160, "level past the target": 2, "no winner": 2, "sum": 500, "subtraction": 1500},
        **{"choice": 400, "second pick": 20, "scopa": 500, "scopa by the last card": 10, "sweep": 250},
        **{"baptise": 250, "both jollies baptised": 60, "capture with a baptised card": 200},
        **{"pariglia": 250, "meno_di_nove": 300, "pariglia_meno_di_nove": 125, "bazzicotto": 20},
        **{"nobody gets carte": 12, "nobody gets denari": 40, "nobody gets primiera": 7},
    },
}

# Small decks: name, number of players, cards, hand size.
TRIOS = "Ad 2d 3d Ac 2c 3c As 2s 3s Ab 2b 3b"
SMALL_DECKS = [
    ("one trick", 2, "4c Ac", 1),
    ("nothing of worth", 2, "4d 5d 6d 7d 4c 5c 6c 7c", 2),
    ("hands of one card and a stock", 2, "4c Ac 3d 2d 7s Rs", 1),
    ("one trio", 2, "Ad 2d 3d 4c 5c 6c", 3),
    ("one trio and a stock", 2, "Ad 2d 3d Rd 4c 5c 6c Fs", 3),
    ("four trios", 2, TRIOS, 6),
    ("four trios and a stock", 2, TRIOS, 3),
    ("four trios and a long stock", 2, TRIOS, 2),
    ("five of each suit and a stock", 2, " ".join(f"{rank}{suit}" for suit in "dcsb" for rank in "A23R4"), 5),
    ("one suit and a half", 2, "Ad 2d 3d 4d 5d 6d 7d Fd Cd Rd Ac 2c 3c 4c 5c 6c", 4),
    ("all cards in two hands", 2, "", 20),
    ("all cards and a short stock", 2, "", 16),
    ("all cards and a long stock", 2, "", 9),
    ("all cards and a longer stock", 2, "", 7),
    ("all cards, hands of one card", 2, "", 1),
    ("one trick of four", 4, "4c Ac 3d 2c", 1),
    ("four trios for four", 4, TRIOS, 3),
    ("two suits for four", 4, "Ad 2d 3d 4d 5d 6d 7d Fd Cd Rd Ac 2c 3c 4c 5c 6c 7c Fc Cc Rc", 5),
    ("nine cards each", 4, " ".join(f"{rank}{suit}" for suit in "dcsb" for rank in "A23567FCR"), 9),
]


def random_options(game: str, rng: random.Random) -> dict[str, Any]:
    """Any value of every option."""
    options: dict[str, Any] = {"target": rng.choice(TARGETS), "episode": rng.choice(EPISODES), "reward": rng.choice(REWARDS)}
    if game == "bazzica":
        options["low_sum_max"] = rng.choice((8, 8, 9, 9, 3, 12, 30))
        options["declaration_points"] = rng.choice(DECLARATION_POINTS)
        options["last_card_scopa"] = rng.random() < 0.5
    else:
        options["napoletana"] = rng.random() < 0.7
    return options


def random_matches(game: str, rng: random.Random) -> Iterator[Counter[str]]:
    """Plays matches against the reference, with other options each; gives what happened in each match."""
    while True:
        pair = SideBySide(game, random_options(game, rng))
        play_random_match(pair, rng)
        yield pair.seen


def check_happened(seen: Counter[str], game: str, times: float) -> None:
    """Whether the matches reached what is rare."""
    wanted = {what: number * times for what, number in HAPPENS[game].items()}
    too_rare = {what: (seen[what], number) for what, number in wanted.items() if seen[what] < number}
    assert not too_rare, f"happened too rarely, (times, at least): {too_rare}; all: {dict(seen)}"


@pytest.mark.nojit
@pytest.mark.parametrize("case", WORKED_CASES, ids=[case["name"] for case in WORKED_CASES])
def test_worked_case(case: Case) -> None:
    run_case(case, Engine(case["game"], case["options"]))


def check_played_match(match: dict[str, Any]) -> None:
    engine = Engine(match["game"], match["options"])
    engine.start(match["decks"], match["dealer"])
    sheets = []
    for position, (seat, legal, action) in enumerate(match["steps"]):
        assert (engine.turn, engine.legal_actions()) == (seat, sorted(legal)), f"step {position}"
        deal_number = engine.snapshot()["deal_number"]
        engine.step(action)
        shown = engine.snapshot()
        if shown["over"] or shown["deal_number"] != deal_number:
            sheets.append({**shown["last_deal"], "score": shown["score"]})
    assert sheets == match["sheets"]
    assert shown["over"] and engine.turn is None and engine.legal_actions() == []
    assert shown["winner"] == match["winner"]
    assert shown["deal_number"] == len(match["decks"])


PLAYED_MATCHES = list(played_matches())


@pytest.mark.parametrize("match", PLAYED_MATCHES)
def test_played_match(match: dict[str, Any]) -> None:
    check_played_match(match)


@pytest.mark.nojit
@pytest.mark.parametrize("match", PLAYED_MATCHES[::20])
def test_some_played_matches(match: dict[str, Any]) -> None:
    check_played_match(match)


@pytest.mark.parametrize("game", GAMES)
def test_random_matches(game: str) -> None:
    seen: Counter[str] = Counter()
    matches = random_matches(game, random.Random(f"random matches of {game}"))
    for _ in range(MATCHES[game]):
        seen += next(matches)
    check_happened(seen, game, 1)


@pytest.mark.nojit
@pytest.mark.parametrize("game", GAMES)
def test_a_few_random_matches(game: str) -> None:
    matches = random_matches(game, random.Random(f"a few random matches of {game}"))
    seen: Counter[str] = Counter()
    while seen["deals"] < 100:
        seen += next(matches)


@pytest.mark.long
@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize("game", GAMES)
def test_random_matches_long(game: str, shard: int) -> None:
    seen: Counter[str] = Counter()
    matches = random_matches(game, random.Random(f"long random matches of {game}, {shard}"))
    while seen["deals"] < DEALS_LONG / SHARDS:
        seen += next(matches)
    check_happened(seen, game, 0.5 * seen["deals"] / HAPPENS[game]["deals"])


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("players", "deck_cards", "hand_size"), [case[1:] for case in SMALL_DECKS], ids=[case[0] for case in SMALL_DECKS]
)
def test_small_decks(players: int, deck_cards: str, hand_size: int) -> None:
    rng = random.Random(f"{deck_cards} {hand_size}")
    for number in range(8):
        options: dict[str, Any] = {"hand_size": hand_size, "target": (1, 5, 11, 2)[number % 4], "napoletana": number % 3 > 0}
        options |= {"episode": ("match", "deal")[number // 4], "reward": REWARDS[number % 2]}
        options["deck_cards"] = [card_index(card) for card in deck_cards.split()] or None
        play_random_match(SideBySide(f"tressette-{players}p", options), rng)


def test_random_small_decks() -> None:
    rng = random.Random("random small decks")
    seen: Counter[str] = Counter()
    for _ in range(200):
        players = rng.choice((2, 2, 4))
        hand_size = rng.randint(1, 8 if players == 2 else 10)
        stock = 2 * rng.randint(0, min(10, 20 - hand_size)) if players == 2 else 0
        ranks = rng.choice((3, 5, 10))  # few ranks: many trios
        by_rank = sorted(range(40), key=lambda card, ranks=ranks: (card % 10 >= ranks, rng.random()))  # type: ignore[misc]
        deck_cards = rng.sample(by_rank[: players * hand_size + stock], players * hand_size + stock)
        options = {"hand_size": hand_size, "deck_cards": deck_cards, "napoletana": True, "target": rng.choice((1, 5, 11))}
        pair = SideBySide(f"tressette-{players}p", options | {"reward": rng.choice(REWARDS)})
        play_random_match(pair, rng)
        seen += pair.seen
    assert seen["napoletana"] > 20 and seen["draw"] > 1000


@pytest.mark.nojit
def test_count_of_uneven_bazzica_deals() -> None:
    """The count of bazzica when one side took little, which hardly happens at random: suits missing, nobody's points."""
    rng = random.Random("uneven deals")
    seen: Counter[str] = Counter()
    reference = BazzicaReference(episode="deal")
    for _ in range(1500):
        reference.start([list(range(40))], dealer=0)
        reference.scope, reference.declaration_scores = (
            [rng.randrange(5), rng.randrange(5)],
            [rng.randrange(9), rng.randrange(9)],
        )
        share = [rng.choice((0.05, 0.2, 0.5, 0.8, 0.95)) for _ in range(4)]  # of each suit
        sides = [int(rng.random() < share[card // 10]) for card in range(40)]
        reference.taken = [[card for card in range(40) if sides[card] == side] for side in (0, 1)]
        states = BazzicaOptions(episode="deal").record()
        state = states[0]
        state["taken"] = [sum(1 << card for card in cards) for cards in reference.taken]
        state["scope"], state["declarations"] = reference.scope, reference.declaration_scores
        count_deal(state)
        sheet = snapshot(state)["last_deal"]
        assert sheet == reference._count()
        primiere = [primiera_of(cards) for cards in reference.taken]
        seen["neither" if primiere == [None, None] else "one" if None in primiere else "both"] += 1
        seen["nobody"] += None not in primiere and sheet["primiera"] is None
    assert min(seen["neither"], seen["one"], seen["both"], seen["nobody"]) > 5, seen


@pytest.mark.parametrize("game", GAMES)
def test_start_score_and_dealer_are_kept(game: str) -> None:
    """From 0-0 and from a high score past the target: it is looked at only when the deal is counted."""
    for dealer in range(4 if game == "tressette-4p" else 2):
        pair = SideBySide(game, {"target": 1})
        pair.start(1, [list(range(40))], dealer, [10_000, 9_000])
        assert pair.engine.snapshot()["dealer"] == dealer and pair.engine.snapshot()["score"] == [10_000, 9_000]
        while pair.reference.turn is not None:
            pair.step(pair.reference.legal_actions()[0])
        assert pair.reference.winner == 0 and pair.reference.deal_number == 1


@pytest.mark.parametrize("game", GAMES)
def test_snapshot_and_events_are_plain(game: str) -> None:
    """Python's own types only, at every step of a match; what is given out is a copy."""
    rng = random.Random(game)
    env = make_env(game, {"napoletana": True} if game != "bazzica" else {})
    env.reset(seed=5)
    while not env.snapshot()["over"]:
        shown = env.snapshot()
        for value in (shown, env.events(), env.events(-1)):
            assert is_plain(value)
        assert cards_of(shown) == list(range(40))
        shown["hands"][0].clear()
        shown["score"][0] = 99
        env.events()[0].clear()
        assert env.snapshot() != shown and env.events()[0]["kind"] == "deal"
        env.step(rng.choice(env.action_masks().nonzero()[0].tolist()))
    assert json.loads(json.dumps(env.events(-1))) == env.events(-1) == env.events()


def test_a_difference_is_noticed() -> None:
    """The comparison itself: a reference with another option, or one that was dealt other cards, does not pass."""
    for game, options in (
        ("tressette-2p", {"napoletana": True}),
        ("bazzica", {"last_card_scopa": True}),
        ("bazzica", {"low_sum_max": 9}),
    ):
        pair = SideBySide(game, options)
        pair.reference = SideBySide(game, {}).reference
        with pytest.raises(DifferenceError):
            for seed in range(200):
                play_random_match(pair, random.Random(seed))
