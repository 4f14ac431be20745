"""An opponent of your own, measured in the arena: python examples/opponent.py

Or from this folder: settebello evaluate bazzica opponent:make_player easy
"""

import numpy as np

from settebello import arena
from settebello.information import Information


class Hoarder:
    """Plays the card it has most of: the first one of its longest suit."""

    def __init__(self, seed: int) -> None:
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        """The arena calls this, so that results can be repeated."""
        self.rng = np.random.default_rng(seed)

    def act(self, information: Information) -> int:
        """All it is given is what its seat knows; the answer must be one of the legal actions."""
        legal = information.legal_actions()
        cards = [action for action in legal if action < 40]  # in bazzica there are other actions too
        if not cards:
            return int(self.rng.choice(legal))
        suits = [card // 10 for card in cards]
        longest = max(suits, key=suits.count)
        return next(card for card in cards if card // 10 == longest)


def make_player(game: str, seed: int | None) -> Hoarder:
    """What `opponent:make_player` names in the commands."""
    return Hoarder(0 if seed is None else seed)


if __name__ == "__main__":
    result = arena.duel("tressette-4p", make_player("tressette-4p", 1), "random", deals=50, seed=0)
    low, high = result.ci95
    print(f"points per deal against random: {result.points_per_deal:+.2f} [{low:+.2f}, {high:+.2f}]")
