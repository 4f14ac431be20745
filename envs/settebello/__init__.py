"""settebello: fast, exact environments and opponents for Tressette and Scopa-bazzica."""

from settebello import bazzica_v0, registration, tressette_v0
from settebello.batch import BatchEnv
from settebello.equity import match_equity
from settebello.game import GAMES

__version__ = "0.1.0"

__all__ = ["GAMES", "BatchEnv", "__version__", "bazzica_v0", "match_equity", "registration", "tressette_v0"]
