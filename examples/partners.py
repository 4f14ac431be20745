"""Who plays well with whom: teams of four-player Tressette made of two opponents, each against two of `medium`.

Self-play may agree on conventions that only it understands. Give the folder of a run with another seed:
python examples/partners.py runs/other 2000
"""

import sys

import numpy as np

from settebello import BatchEnv, arena
from settebello.information import Information
from settebello.opponents import from_spec

GAME = "tressette-4p"


class Partners:
    """A team of two: one plays at seats 0 and 1, its partner at seats 2 and 3."""

    def __init__(self, *specs: str) -> None:
        self.name = " with ".join(specs)
        self.players = [from_spec(GAME, spec, seed=1) for spec in specs]

    def act(self, information: Information) -> int:
        return self.players[information.seat // 2].act(information)

    def act_batch(self, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
        actions = np.zeros(len(rows), np.int64)
        for k, player in enumerate(self.players):
            own = batch.seat[rows] // 2 == k
            actions[own] = player.act_batch(batch, rows[own])
        return actions


ours = "hard:worlds=0"  # the network alone
other = sys.argv[1] if len(sys.argv) > 1 else "search:worlds=2"
deals = int(sys.argv[2]) if len(sys.argv) > 2 else 50
for team in ((ours, ours), (other, other), (ours, other), ("medium", ours), ("medium", other)):
    result = arena.duel(GAME, Partners(*team), "medium", deals, seed=5)
    low, high = result.ci95
    print(f"{' with '.join(team):45} {result.points_per_deal:+.2f} points per deal, {low:+.2f} to {high:+.2f}")
