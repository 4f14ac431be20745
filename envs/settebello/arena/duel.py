"""Duels: two opponents on mirrored deals."""

import os
from typing import Any

import numpy as np

from settebello.arena.play import IntArray, Setup, chunk_size, enter
from settebello.arena.run import Limits, ProgressCallback, Store, check_game, play_all
from settebello.arena.tally import DuelResult, Tally


def duel(
    game: str,
    a: Any,
    b: Any,
    deals: int,
    seed: int,
    *,
    episode: str = "deal",
    until_ci: float | None = None,
    processes: int = 1,
    path: str | os.PathLike[str] | None = None,
    progress: ProgressCallback | None = None,
    **options: Any,
) -> DuelResult:
    """Play two opponents against each other on mirrored deals.

    Each deal is played twice with the same deck and dealer from 0-0; in between the opponents change sides, so that the luck
    of the cards cancels. An opponent is restarted (its ``reseed(seed)``, or loaded anew from its spec) for each chunk of
    deals, with a seed that follows from ``seed``, the chunk's number and the side. So everything but the times follows from
    game, opponents, options and ``seed``, in however many processes. An opponent object without ``reseed`` is used as it is:
    where it draws from a random stream of its own, or remembers, results may differ from run to run.

    Args:
        game: id of the game.
        a: an opponent: a level, another spec of ``settebello.opponents.from_spec``, or an object with ``act``.
        b: the other.
        deals: distinct deals (or matches), each played twice; with ``until_ci`` at most so many.
        seed: 0..2**29-1; of the deals and of the opponents' random streams.
        episode: "deal", or "match" for whole matches, each played twice on the same decks with the same first dealer.
        until_ci: stop once half the width of the 95% interval of the points per deal is at most this. It is looked at after
            each chunk from 128 deals on; stopping so makes the interval slightly too narrow.
        processes: how many play. With more than one, opponent objects are pickled, and scripts need the usual
            ``if __name__ == "__main__"``.
        path: a JSON file in which results are kept while they come and from which they are resumed: an interrupted duel called
            again goes on, a finished one returns at once, and one with more ``deals`` adds those that are missing. Results
            of other settings, or of other code of settebello, are refused.
        progress: called with a ``Progress`` after each chunk.
        **options: of the game, except ``reward`` and ``illegal``.

    Raises:
        OptionError: an opponent, option or argument is not allowed, or ``path`` holds other results; nothing was played.
        ArenaError: an opponent took an illegal action or raised, or a worker process died. ``partial`` holds the result so far.
    """
    limits = Limits(deals, until_ci, processes, path)
    tally = _tally(game, a, b, limits, seed, episode, options)
    store = Store(limits.path, "duel", [tally], limits, lambda: tally.result().to_dict() if tally.chunks else None)
    store.load()
    play_all([tally], limits, store, progress)
    return tally.result()


def deal_results(game: str, a: Any, b: Any, deals: int, seed: int, *, processes: int = 1, **options: Any) -> IntArray:
    """How each deal of ``duel`` with the same arguments ended.

    Returns:
        int64 ``(deals, 2, 3)``: for each deal and each of its two plays (in the first ``a`` is side 0, in the second it is
        side 1) the points of side 0, those of side 1, napoletane included, and the dealer's side.

    Raises:
        OptionError, ArenaError: as ``duel`` does.
    """
    limits = Limits(deals, None, processes, None)
    tally = _tally(game, a, b, limits, seed, "deal", options)
    play_all([tally], limits, Store(None, "duel", [tally], limits, lambda: None), None)
    scores = np.concatenate([chunk.scores for chunk in tally.chunks], axis=1).transpose(1, 0, 2)
    dealers = np.concatenate([chunk.dealers for chunk in tally.chunks])
    return np.concatenate([scores, np.broadcast_to(dealers[:, None, None], (limits.deals, 2, 1))], axis=2)


def _tally(game: str, a: Any, b: Any, limits: Limits, seed: int, episode: str, options: dict[str, Any]) -> Tally:
    seed, plain = check_game(game, seed, episode, options)
    (entrant_a, opponent_a), (entrant_b, opponent_b) = enter(game, "a", None, a), enter(game, "b", None, b)
    setup = Setup(game, (entrant_a, entrant_b), seed, episode, plain)
    return Tally(setup, 0, 1, limits.deals, chunk_size(opponent_a, opponent_b), limits.until_ci)
