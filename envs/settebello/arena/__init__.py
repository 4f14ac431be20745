"""The arena: how strong opponents are, measured on mirrored deals so that the luck of the cards cancels.

``duel`` plays two opponents, ``ladder`` all against all; ``deal_results`` gives what every deal ended with. Opponents are
levels, other specs (``settebello.opponents.from_spec``) or objects with ``act(information)``, and these are trusted with
nothing: each sees what its own seat knows, and its actions are checked. Two extensions are honoured here: ``act_batch(batch,
rows)`` answers for many games at once (it is handed the games themselves, so it is trusted not to look at hidden cards), and
an opponent with ``needs_state = True`` is called as ``act(information, state)`` with the bytes of the whole state: it cheats.
"""

from settebello.arena.duel import deal_results, duel
from settebello.arena.ladder import LadderResult, fit_ratings, ladder
from settebello.arena.play import ARENA_SEEDS
from settebello.arena.report import ProgressBar, print_duel, print_ladder, write_chart
from settebello.arena.run import Progress
from settebello.arena.tally import DuelResult
from settebello.errors import ArenaError

__all__ = [
    "ARENA_SEEDS",
    "ArenaError",
    "DuelResult",
    "LadderResult",
    "Progress",
    "ProgressBar",
    "deal_results",
    "duel",
    "fit_ratings",
    "ladder",
    "print_duel",
    "print_ladder",
    "write_chart",
]
