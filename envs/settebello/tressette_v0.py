"""Tressette for PettingZoo: ``env(players=2)`` or ``env(players=4)``."""

from collections.abc import Sequence
from typing import Any

from settebello.aec import AECEnv
from settebello.options import check_choice


def env(
    *,
    players: int = 2,
    target: int = 21,
    napoletana: bool = False,
    deck_cards: Sequence[int] | None = None,
    hand_size: int = 10,
    episode: str = "match",
    reward: str = "win",
    mask_in: str = "obs",
    illegal: str = "raise",
    copy: bool = True,
    render_mode: str | None = None,
    language: str = "en",
    **unknown: Any,
) -> AECEnv:
    """A Tressette environment. It checks all it is given itself, so no wrapper is around it.

    Args:
        players: 2 (with stock) or 4 (seats 0 and 2 against 1 and 3).
        target: points that end the match, 1..100.
        napoletana: whether 3, 2 and A of one suit score 3 points.
        deck_cards: the cards to play with, None for all 40.
        hand_size: cards dealt to each seat.
        episode: "match" or "deal".
        reward: "win" (+1/-1 at the end) or "points" (own points minus the other side's, when scored).
        mask_in: "obs" or "info", where the action mask is.
        illegal: "raise" or "terminate".
        copy: False reuses one set of arrays.
        render_mode: "ansi", "human" or None.
        language: of ``render``: "it", "en" or "fr".
        **unknown: refused, with the name of the option that may have been meant.

    Raises:
        OptionError: an option is unknown or its value is not allowed.
    """
    check_choice("players", players, (2, 4))
    return AECEnv(
        f"tressette-{players}p",
        mask_in=mask_in,
        illegal=illegal,
        copy=copy,
        render_mode=render_mode,
        language=language,
        target=target,
        napoletana=napoletana,
        deck_cards=deck_cards,
        hand_size=hand_size,
        episode=episode,
        reward=reward,
        **unknown,
    )


raw_env = env
