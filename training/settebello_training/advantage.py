"""Advantages over own-turn transitions.

A seat's decision leads to the *same seat's* next decision in the same game, however often others, or the seat itself, act in
between; the rewards of its side on the way belong to it. Taking the next row of the batch instead would bootstrap from
another seat's value, and with the wrong sign for an opponent.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Advantages(NamedTuple):
    """Result of ``own_turn_advantages`` for rows R, environments N and S seats.

    Attributes:
        advantage: (R, N) float32; 0 where not closed.
        closed: (R, N) bool, decisions whose outcome is known: the seat's next decision, or the end of the episode, was seen.
        open_row: (N, S) int64, row of each seat's last decision that is still open, -1 where there is none.
        open_reward: (N, S) float32, what that decision has collected so far.
    """

    advantage: NDArray[np.float32]
    closed: NDArray[np.bool_]
    open_row: NDArray[np.int64]
    open_reward: NDArray[np.float32]


def own_turn_advantages(
    seat: NDArray[np.integer],
    value: NDArray[np.float32],
    reward: NDArray[np.float32],
    done: NDArray[np.bool_],
    *,
    num_seats: int,
    gamma: float,
    lam: float,
    valid: NDArray[np.bool_] | None = None,
    collected: NDArray[np.float32] | None = None,
) -> Advantages:
    """Generalised advantage estimation (Schulman et al. 2016, "High-dimensional continuous control using generalized
    advantage estimation") along each seat's own decisions.

    For a seat's decisions at rows ``t < u`` of one environment, with nothing of that seat between,
    ``delta[t] = r[t..u-1] + gamma * value[u] - value[t]`` and ``advantage[t] = delta[t] + gamma * lam * advantage[u]``,
    where ``r`` sums its side's rewards; at the end of the episode ``value[u]`` and ``advantage[u]`` are 0.

    A seat's last decision of the rollout whose episode goes on is *open*: the next own observation is not there yet, and the
    observation at hand belongs to another seat. It gets no advantage; it serves the decision before it as bootstrap. The
    caller carries it into the next rollout, where it is completed, so that every decision is learnt from exactly once.

    Args:
        seat: (R, N) seat that decides in each row; its side is ``seat % 2``.
        value: (R, N) float32 value of the decision, seen by that seat.
        reward: (R, N, sides) float32 reward of the step that the decision made.
        done: (R, N) bool, the step ended the episode.
        num_seats: seats of the game.
        gamma: discount per own decision.
        lam: lambda.
        valid: (R, N) bool, rows that hold a decision; None: all.
        collected: (R, N) float32, reward that carried decisions brought along; None: none.
    """
    rows, num_envs = seat.shape
    env = np.arange(num_envs)
    sides = np.arange(num_seats) % 2
    advantage = np.zeros((rows, num_envs), np.float32)
    closed = np.zeros((rows, num_envs), np.bool_)
    open_row = np.full((num_envs, num_seats), -1, np.int64)
    open_reward = np.zeros((num_envs, num_seats), np.float32)
    # What is known of each seat's future, seen from the row that the loop is at:
    known = np.zeros((num_envs, num_seats), np.bool_)  # the next own decision or the end was met
    next_value = np.zeros((num_envs, num_seats), np.float32)
    next_advantage = np.zeros((num_envs, num_seats), np.float32)
    gathered = np.zeros((num_envs, num_seats), np.float32)  # reward until then
    for row in range(rows - 1, -1, -1):
        ended = done[row]
        if ended.any():  # the end is every seat's
            known[ended] = True
            next_value[ended] = 0.0
            next_advantage[ended] = 0.0
            gathered[ended] = 0.0
        gathered += reward[row][:, sides]
        if valid is None or valid[row].all():
            i = env
        else:
            i = np.flatnonzero(valid[row])
        who = seat[row, i].astype(np.int64)
        own_value = value[row, i]
        own_reward = gathered[i, who]
        if collected is not None:
            own_reward = own_reward + collected[row, i]
        is_closed = known[i, who]
        delta = own_reward + gamma * next_value[i, who] - own_value
        own_advantage = np.where(is_closed, delta + gamma * lam * next_advantage[i, who], 0.0).astype(np.float32)
        advantage[row, i] = own_advantage
        closed[row, i] = is_closed
        still = ~is_closed
        if still.any():
            open_row[i[still], who[still]] = row
            open_reward[i[still], who[still]] = own_reward[still]
        known[i, who] = True
        next_value[i, who] = own_value
        next_advantage[i, who] = own_advantage
        gathered[i, who] = 0.0
    return Advantages(advantage, closed, open_row, open_reward)
