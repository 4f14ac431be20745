"""Measuring how deals end between equal players: the data that match equity is computed from."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from settebello.arena.duel import deal_results
from settebello.equity import VARIANTS, variant_name
from settebello.output import check_output, write_json

MEASURED_LEVEL: Final = "medium"  # of the compiled levels the one that plays best
MEASURED_DEALS: Final = 200_000


def count_results(game: str, napoletana: bool, deals: int, seed: int) -> list[list[int]]:
    """How often each result of a deal came up between two equal players.

    Args:
        game: id of the game.
        napoletana: whether that option of Tressette is on.
        deals: distinct deals; each is played twice as in a duel, and both plays count.
        seed: 0..2**29-1, as of a duel.

    Returns:
        ``[points of the dealer's side, points of the other side, how often]``, sorted; they add up to twice the deals.

    Raises:
        OptionError: an argument is not allowed.
    """
    options = {"napoletana": True} if napoletana else {}
    played = deal_results(game, MEASURED_LEVEL, MEASURED_LEVEL, deals, seed, **options).reshape(-1, 3)
    first, second, dealer = played.T
    points = np.where(dealer == 0, (first, second), (second, first))
    results, counts = np.unique(points, axis=1, return_counts=True)
    rows: list[list[int]] = np.vstack([results, counts]).T.tolist()
    return rows


def measure_equity(
    path: Path, deals: int = MEASURED_DEALS, seed: int = 0, progress: Callable[[str, float], None] | None = None
) -> None:
    """Measure all variants of the games and write the file that match equity reads.

    Args:
        path: the file; it is written at the end, whole or not at all.
        deals: distinct deals of each variant.
        seed: of the deals and players.
        progress: called with the name of each variant once it is played, and how many points a deal its dealer's side makes
            more than the other.

    Raises:
        OptionError: deals or seed are not allowed, or the file cannot be written.
    """
    check_output("path", path)
    entries: dict[str, dict[str, Any]] = {}
    for game, napoletana in VARIANTS:
        name = variant_name(game, napoletana)
        results = count_results(game, napoletana, deals, seed)
        entries[name] = {
            "level": MEASURED_LEVEL,
            "deals": deals,
            "seed": seed,
            "command": f"settebello equity --measure --deals {deals} --seed {seed}",
            "results": results,
        }
        if progress is not None:
            progress(name, sum((dealer - other) * count for dealer, other, count in results) / (2 * deals))
    write_json(entries, path, indent=None)
