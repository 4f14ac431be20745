"""Scopa-bazzica for PettingZoo: ``env()``."""

from collections.abc import Mapping
from typing import Any

from settebello.aec import AECEnv
from settebello.bazzica.state import LOW_SUM_MAX


def env(
    *,
    target: int = 31,
    declaration_points: Mapping[str, int] | None = None,
    low_sum_max: int = LOW_SUM_MAX,
    last_card_scopa: bool = False,
    episode: str = "match",
    reward: str = "win",
    mask_in: str = "obs",
    illegal: str = "raise",
    copy: bool = True,
    render_mode: str | None = None,
    language: str = "en",
    **unknown: Any,
) -> AECEnv:
    """A Scopa-bazzica environment. It checks all it is given itself, so no wrapper is around it.

    Args:
        target: points that end the match, 1..100.
        declaration_points: points by declaration name, None for the default table.
        low_sum_max: the three cards of a meno di nove add up to at most this.
        last_card_scopa: whether the last card played in a deal may make a scopa.
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
    return AECEnv(
        "bazzica",
        mask_in=mask_in,
        illegal=illegal,
        copy=copy,
        render_mode=render_mode,
        language=language,
        target=target,
        declaration_points=declaration_points,
        low_sum_max=low_sum_max,
        last_card_scopa=last_card_scopa,
        episode=episode,
        reward=reward,
        **unknown,
    )


raw_env = env
