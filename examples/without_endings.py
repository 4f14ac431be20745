"""What exact endings are worth in two-player Tressette: levels that leave the play without stock to `medium`, and as they are.

An opponent made of two others. Each against `medium`: python examples/without_endings.py 2000
"""

import sys

import numpy as np

from settebello import BatchEnv, arena
from settebello.information import Information
from settebello.opponents import from_spec, load

GAME = "tressette-2p"
# Where an observation tells how many cards are in the stock.
STOCK = next(slice(start, stop) for name, start, stop, *_ in BatchEnv(GAME, 1).obs_spec() if name == "stock")


class WithoutEndings:
    """Plays as a level does while there is a stock, then as `medium`."""

    def __init__(self, spec: str) -> None:
        self.name = f"{spec}, then medium"
        self.early, self.late = from_spec(GAME, spec, seed=1), load(GAME, "medium", seed=1)

    def act(self, information: Information) -> int:
        stock = information.observation()[STOCK][0]
        return (self.early if stock else self.late).act(information)

    def act_batch(self, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
        """Many games at once: the arena calls this where there is one."""
        stock = batch.observation[rows, STOCK][:, 0] > 0
        actions = np.zeros(len(rows), np.int64)
        for player, part in ((self.early, stock), (self.late, ~stock)):
            actions[part] = player.act_batch(batch, rows[part])
        return actions


deals = int(sys.argv[1]) if len(sys.argv) > 1 else 20
for spec in ("hard:worlds=0", "search:worlds=64", "hard"):
    for player in (WithoutEndings(spec), spec):
        result = arena.duel(GAME, player, "medium", deals, seed=4)
        low, high = result.ci95
        print(f"{result.a:32} {result.points_per_deal:+.2f} points per deal, {low:+.2f} to {high:+.2f}")
