"""Makes data/perft.json: how many ways there are to go on from fixed positions, counted by the reference alone.

    python -m tests.make_perft

For each position and each depth, over all sequences of so many actions from it:
  `nodes`  how many there are
  `over`   how many of them end the game (a single deal) with their last action
  `score`  the match points of each side, added up
  `taken`  the cards taken by each side, added up over those that do not end the game
As in chess engines' perft, a rule that is wrong anywhere in the tree changes the numbers.
"""

import copy
import json
import random
from pathlib import Path
from typing import Any

from tests.reference.bazzica import BazzicaReference
from tests.reference.tressette import TressetteReference
from tests.worked_cases import card_index

PERFT_PATH = Path(__file__).parent / "data" / "perft.json"

Reference = TressetteReference | BazzicaReference
Counts = list[dict[str, Any]]


def cards(text: str) -> list[int]:
    """Cards in the short form as indices."""
    return [card_index(word) for word in text.split()]


def deck_with(text: str) -> list[int]:
    """A full deck that begins with these cards, the others shuffled."""
    first = cards(text)
    rest = [card for card in range(40) if card not in first]
    return first + random.Random(text).sample(rest, len(rest))


TRIOS = "Ad 2c 3d 3c Ac 2d As 2b 3s 3b 2s Ab"
RANDOM = random.Random("perft").sample(range(40), 40)

# Name, game, options, deck, dealer, actions played before at random from a seed, depth.
POSITIONS: list[tuple[str, str, dict[str, Any], list[int], int, int, int]] = [
    ("four cards, no stock", "tressette-2p", {"hand_size": 2}, cards("4c Ac 3d 2c"), 0, 0, 4),
    ("four cards and a stock", "tressette-2p", {"hand_size": 2}, cards("4c Ac 3d 2c Rc Fd 7s 3c"), 1, 0, 8),
    ("four each, napoletana", "tressette-2p", {"hand_size": 4, "napoletana": True}, cards("Ac 3c 2d 3d Ad 5s 2c Fd"), 0, 0, 8),
    ("five each", "tressette-2p", {"hand_size": 5}, cards("4d 7d Rd As 3b 5d Ad 2s Fs 4b"), 1, 0, 10),
    ("trios and a stock", "tressette-2p", {"hand_size": 3, "napoletana": True}, cards(TRIOS), 0, 0, 12),
    ("trios, napoletana off", "tressette-2p", {"hand_size": 3}, cards(TRIOS), 1, 0, 12),
    ("full deck, first tricks", "tressette-2p", {"napoletana": True}, RANDOM, 1, 0, 6),
    ("full deck, a deal dealt from its front", "tressette-2p", {}, list(range(40)), 0, 0, 4),
    ("full deck, last draws", "tressette-2p", {"napoletana": True}, RANDOM, 0, 17, 7),
    ("full deck, end", "tressette-2p", {"napoletana": True, "reward": "points"}, RANDOM, 1, 29, 11),
    ("four players, two each", "tressette-4p", {"hand_size": 2}, cards("4c Ac 3d 2c Rc Fd 7s 3c"), 2, 0, 8),
    (
        "four players, trios",
        "tressette-4p",
        {"hand_size": 3, "napoletana": True},
        cards("Ad 2d 3d 3c Ac 2c As 2b 3s 3b 2s Ab"),
        3,
        0,
        12,
    ),
    ("four players, full deck", "tressette-4p", {"napoletana": True}, RANDOM, 0, 0, 8),
    ("four players, full deck, end", "tressette-4p", {}, RANDOM, 2, 26, 14),
    ("first hand", "bazzica", {}, deck_with("Ac 5s Rb Ab 6c Cs 3c 4b Fd 2b"), 0, 0, 12),
    ("captures of three and more", "bazzica", {}, deck_with("Ac 3s 2c 5b 3d 7c Rd 4b 3c 2s"), 1, 0, 11),
    ("four equal ones on the table", "bazzica", {}, deck_with("7d Ac 2c 4b 5s Rc 4d 4c 4s 3b"), 0, 0, 9),
    ("one baptism", "bazzica", {}, deck_with("3c 2b 7d Cs Rb Fc 5c 6s Ab Rs"), 1, 0, 11),
    ("both jollies in one hand", "bazzica", {"low_sum_max": 9}, deck_with("7d Rd Ac Cs Rb Fc 5c 6s Ab Rs"), 0, 0, 8),
    ("both jollies and a nine", "bazzica", {}, deck_with("Cs Rb Fc 7d Rd Cc 5c 6s Ab Rs"), 0, 0, 11),
    ("a jolly each", "bazzica", {}, deck_with("7d 6c 6s Rd 2b 3c 5c 4s Ab Cs"), 1, 0, 9),
    ("bazzicotto", "bazzica", {"low_sum_max": 12}, deck_with("4d 4c 4s Ad Ac As 5c 5s 3b 2d"), 0, 0, 11),
    ("middle of a deal", "bazzica", {"low_sum_max": 12}, RANDOM, 0, 20, 11),
    ("last hand", "bazzica", {"last_card_scopa": True, "reward": "points"}, RANDOM, 1, 30, 14),
    ("last two hands", "bazzica", {}, deck_with("5d 6d Cd Ab"), 0, 22, 24),
]


def position(game: str, options: dict[str, Any], deck: list[int], dealer: int, played: int) -> tuple[Reference, list[int]]:
    """A reference in the middle of a single deal, and the actions that led there."""
    if game == "bazzica":
        reference: Reference = BazzicaReference(**options, episode="deal")
    else:
        small = {} if len(deck) == 40 else {"deck_cards": deck}
        reference = TressetteReference(players=int(game[-2]), **options, **small, episode="deal")
    reference.start([deck], dealer)
    rng = random.Random(played)
    actions = []
    for _ in range(played):
        actions.append(rng.choice(reference.legal_actions()))
        reference.step(actions[-1])
    return reference, actions


def count(reference: Reference, depth: int, level: int, counts: Counts) -> None:
    """Add the nodes below a position."""
    legal = reference.legal_actions() if level < depth else []
    for action in legal:
        child = copy.deepcopy(reference) if action != legal[-1] else reference
        child.step(action)
        entry = counts[level]
        entry["nodes"] += 1
        entry["over"] += child.over
        for side in (0, 1):
            entry["score"][side] += child.score[side]
            entry["taken"][side] += 0 if child.over else len(child.taken[side])
        count(child, depth, level + 1, counts)


def main() -> None:
    """Count all positions and write the file."""
    data = []
    for name, game, options, deck, dealer, played, depth in POSITIONS:
        reference, actions = position(game, options, deck, dealer, played)
        counts: Counts = [{"nodes": 0, "over": 0, "score": [0, 0], "taken": [0, 0]} for _ in range(depth)]
        count(reference, depth, 0, counts)
        print(f"{game}, {name}: {[entry['nodes'] for entry in counts]}", flush=True)
        entry = {"name": name, "game": game, "options": options, "deck": deck, "dealer": dealer, "actions": actions}
        data.append({**entry, "counts": counts})
    lines = ",\n".join(json.dumps(entry) for entry in data)
    PERFT_PATH.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
