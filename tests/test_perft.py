"""The engine's number of ways to go on from fixed positions against those that `make_perft.py` counted by the reference."""

import json
from typing import Any

import numpy as np
import pytest

from settebello.batch import show_games, step_games
from settebello.game import Game, get_game
from settebello.single import SingleGame
from tests import make_perft

# Without compilation NumPy says that the random stream's 64-bit words wrap around, as they are to.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar:RuntimeWarning")

Entry = dict[str, Any]
Records = np.ndarray[Any, Any]

ENTRIES: list[Entry] = json.loads(make_perft.PERFT_PATH.read_text(encoding="utf-8"))
SMALL = 2000  # nodes of an entry that is fast enough without compilation


def start(entry: Entry) -> SingleGame:
    """The engine at the position of an entry."""
    small = {} if len(entry["deck"]) == 40 else {"deck_cards": entry["deck"]}
    game = get_game(entry["game"])
    single = SingleGame(game, game.options(**entry["options"], **small, episode="deal"))
    single.reset(0, {"deck": entry["deck"], "dealer": entry["dealer"]})
    for action in entry["actions"]:
        single.step(action)
    return single


def masks_of(game: Game, records: Records) -> np.ndarray[Any, Any]:
    """The mask of each record."""
    rows = np.zeros((len(records), game.obs_size), np.int8)
    masks = np.zeros((len(records), game.mask_size), np.int8)
    show_games(records, np.zeros(len(records), np.int64), rows, rows.view(np.uint64), masks.view(np.uint64))
    return masks[:, : game.num_actions]


def step_all(game: Game, records: Records, actions: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Take an action in each record; whether it ended the game, and the score where it did. Ended games start anew."""
    number = len(records)
    rewards, dones, scores = np.zeros((number, 2), np.float32), np.zeros(number, np.bool_), np.zeros((number, 2), np.int32)
    rows, masks = np.zeros((number, game.obs_size), np.int8), np.zeros((number, game.mask_size), np.int8)
    views = (rows, rows.view(np.uint64), masks.view(np.uint64))
    step_games(records, actions, rewards, dones, scores, np.zeros(number, np.int64), *views)
    return dones, scores


def perft(single: SingleGame, depth: int) -> list[Entry]:
    """What `make_perft.count` counts, all nodes of a depth at a time."""
    game, level, counts = single.game, single.states.copy(), []
    for _ in range(depth):
        nodes, actions = np.nonzero(masks_of(game, level)) if len(level) else (np.zeros(0, int), np.zeros(0, int))
        level = level[nodes]
        dones, scores = step_all(game, level, actions.astype(np.int64))
        level = level[~dones]
        taken = [sum(int(mask).bit_count() for mask in level["taken"][:, side]) for side in (0, 1)]
        score = [int(scores[dones, side].sum()) + int(level["score"][:, side].sum()) for side in (0, 1)]
        counts.append({"nodes": len(nodes), "over": int(dones.sum()), "score": score, "taken": taken})
    return counts


def check(entry: Entry) -> None:
    """Compare an entry with the engine's counts."""
    counts = perft(start(entry), len(entry["counts"]))
    for depth, (found, expected) in enumerate(zip(counts, entry["counts"], strict=True), 1):
        assert found == expected, f"depth {depth}"


@pytest.mark.parametrize("entry", ENTRIES, ids=[f"{entry['game']}, {entry['name']}" for entry in ENTRIES])
def test_perft(entry: Entry) -> None:
    check(entry)


SMALL_ENTRIES = [entry for entry in ENTRIES if sum(depth["nodes"] for depth in entry["counts"]) < SMALL]


@pytest.mark.nojit
@pytest.mark.parametrize("entry", SMALL_ENTRIES, ids=[f"{entry['game']}, {entry['name']}" for entry in SMALL_ENTRIES])
def test_small_perft(entry: Entry) -> None:
    check(entry)


def test_data_is_of_these_positions() -> None:
    """The file holds the positions that the script names, with the actions it plays, to its depths."""
    assert [entry["name"] for entry in ENTRIES] == [position[0] for position in make_perft.POSITIONS]
    for entry, (_, game, options, deck, dealer, played, depth) in zip(ENTRIES, make_perft.POSITIONS, strict=True):
        reference, actions = make_perft.position(game, options, deck, dealer, played)
        assert entry["actions"] == actions and len(entry["counts"]) == depth
        shallow: make_perft.Counts = [{"nodes": 0, "over": 0, "score": [0, 0], "taken": [0, 0]} for _ in range(2)]
        make_perft.count(reference, 2, 0, shallow)
        assert shallow == entry["counts"][:2]
