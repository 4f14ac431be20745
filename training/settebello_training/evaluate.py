"""Mirrored deals: each deal is played twice with the sides swapped, so that the luck of the cards cancels."""

import dataclasses
import math
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Self

import numpy as np
import torch
from numpy.typing import NDArray

from settebello import BatchEnv
from settebello_training.network import PolicyValueNetwork, masked_log_probs, sample

# Actions (rows,) of the seats to move, from their observations (rows, n) int8 and masks (rows, actions) int8.
Policy = Callable[[NDArray[np.int8], NDArray[np.int8]], NDArray[np.integer[Any]]]

PAIRS_AT_ONCE: Final = 2048
Z95: Final = 1.959964


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What a policy won against another on mirrored deals.

    Attributes:
        points_per_deal: mean points per deal of the policy minus the other's, napoletane included.
        ci95: 95% interval of that mean; the two plays of one deal are one sample.
        win_rate: share of the plays won, equal ones counted half.
        deals: distinct deals, each played twice.
        illegal_moves: illegal actions of the policy and of the other.
        decisions: actions of the policy.
        seconds: wall-clock time of the whole evaluation.
        first_seed: deal k is the first one of seed ``first_seed + k``.
    """

    points_per_deal: float
    ci95: tuple[float, float]
    win_rate: float
    deals: int
    illegal_moves: tuple[int, int]
    decisions: int
    seconds: float
    first_seed: int

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain values that JSON can hold."""
        return dataclasses.asdict(self) | {"ci95": list(self.ci95), "illegal_moves": list(self.illegal_moves)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The evaluation that ``to_dict`` described."""
        return cls(**{**values, "ci95": tuple(values["ci95"]), "illegal_moves": tuple(values["illegal_moves"])})


def random_policy(rng: np.random.Generator) -> Policy:
    """A policy that draws uniformly from the legal actions."""

    def act(observation: NDArray[np.int8], mask: NDArray[np.int8]) -> NDArray[np.integer[Any]]:
        # A uniform number where legal, 0 elsewhere: the largest is equally likely to be any of the legal ones.
        action: NDArray[np.int64] = np.argmax((1.0 - rng.random(mask.shape, np.float32)) * mask, axis=1)
        return action

    return act


def network_policy(network: PolicyValueNetwork, generator: torch.Generator | None = None) -> Policy:
    """The policy of a network: its most probable legal action, or one drawn with ``generator`` where that is given."""

    def act(observation: NDArray[np.int8], mask: NDArray[np.int8]) -> NDArray[np.integer[Any]]:
        with torch.inference_mode():
            logits, _ = network(torch.from_numpy(observation))
            log_probs = masked_log_probs(logits, torch.from_numpy(mask))
            chosen = log_probs.argmax(-1) if generator is None else sample(log_probs, generator)
            return chosen.numpy()

    return act


def evaluate(
    game: str, policy: Policy, opponent: Policy, deals: int, first_seed: int, options: Mapping[str, Any] | None = None
) -> Evaluation:
    """Play a policy against another on mirrored deals.

    Args:
        game: id of the game.
        policy: plays all seats of side 0 in one play of each deal, of side 1 in the other.
        opponent: plays the other seats.
        deals: distinct deals.
        first_seed: deal k is the first deal of environments with seed ``first_seed + k``.
        options: options of the game; ``episode`` is "deal" and ``reward`` "points" whatever they say.
    """
    start = time.perf_counter()
    settings = dict(options or {}) | {"episode": "deal", "reward": "points", "illegal": "terminate"}
    pair_points, wins = [], 0.0
    illegal, decisions = np.zeros(2, np.int64), 0
    for first in range(0, deals, PAIRS_AT_ONCE):
        seeds = first_seed + np.arange(first, min(first + PAIRS_AT_ONCE, deals))
        points, chunk_illegal, chunk_decisions = _play_pairs(game, policy, opponent, seeds, settings)
        pair_points.append(points.mean(axis=0))
        wins += float((points > 0).sum() + 0.5 * (points == 0).sum())
        illegal += chunk_illegal
        decisions += chunk_decisions
    means = np.concatenate(pair_points)
    mean = float(means.mean())
    margin = Z95 * float(means.std(ddof=1)) / math.sqrt(deals) if deals > 1 else math.inf
    return Evaluation(
        points_per_deal=mean,
        ci95=(mean - margin, mean + margin),
        win_rate=wins / (2 * deals),
        deals=deals,
        illegal_moves=(int(illegal[0]), int(illegal[1])),
        decisions=decisions,
        seconds=time.perf_counter() - start,
        first_seed=first_seed,
    )


def _play_pairs(
    game: str, policy: Policy, opponent: Policy, seeds: NDArray[np.int64], settings: Mapping[str, Any]
) -> tuple[NDArray[np.float64], NDArray[np.int64], int]:
    """Points (2, pairs) of the policy with side 0 and with side 1, illegal moves (2,) and decisions of the policy.

    Rows with equal seeds get the same first deal, deck and dealer. Only the first episode of each row counts.
    """
    pairs = len(seeds)
    env = BatchEnv(game, 2 * pairs, seed=np.concatenate([seeds, seeds]), **settings)
    side = np.repeat([0, 1], pairs)
    row = np.arange(2 * pairs)
    points = np.zeros(2 * pairs)
    playing = np.ones(2 * pairs, np.bool_)
    action = np.zeros(2 * pairs, np.int64)
    illegal = np.zeros(2, np.int64)
    decisions = 0
    while playing.any():
        observation, mask = env.observation, env.action_mask
        action[:] = mask.argmax(axis=1)  # rows whose deal is over: anything legal
        own = env.seat % 2 == side
        for k, (act, rows) in enumerate(((policy, np.flatnonzero(playing & own)), (opponent, np.flatnonzero(playing & ~own)))):
            if len(rows):
                action[rows] = act(observation[rows], mask[rows])
                illegal[k] += np.count_nonzero(mask[rows, action[rows]] == 0)
                decisions += len(rows) if k == 0 else 0
        reward, done = env.step(action)
        points += np.where(playing, reward[row, side], 0.0)
        playing &= ~done
    return points.reshape(2, pairs), illegal, decisions


def evaluate_against_random(
    game: str,
    network: PolicyValueNetwork,
    deals: int,
    first_seed: int,
    options: Mapping[str, Any] | None = None,
    *,
    greedy: bool = True,
) -> Evaluation:
    """Play a network against the random player on mirrored deals; all its draws follow from ``first_seed``."""
    generator = None if greedy else torch.Generator().manual_seed(first_seed)
    opponent = random_policy(np.random.default_rng(first_seed))
    return evaluate(game, network_policy(network, generator), opponent, deals, first_seed, options)
