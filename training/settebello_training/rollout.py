"""Collecting decisions: the network plays all seats of a batch of games against itself."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from settebello import BatchEnv
from settebello_training.advantage import Advantages
from settebello_training.clock import Clock
from settebello_training.network import PolicyValueNetwork, masked_log_probs, sample


class Rollout:
    """Buffers of one rollout, overwritten by each.

    The first S rows (S: seats of the game) are carried: row k holds seat k's decision that the last rollout left open, where
    there is one (``valid``). The other T rows are one step each.

    Attributes:
        observation: (S+T, N, n) int8, by the seat that decides.
        mask: (S+T, N, A) int8.
        action: (S+T, N) int64.
        log_prob: (S+T, N) float32, of the action when it was drawn.
        value: (S+T, N) float32, of the network when the action was drawn.
        seat: (S+T, N) int16.
        reward: (S+T, N, 2) float32, scaled, by side; 0 in carried rows.
        done: (S+T, N) bool; False in carried rows.
        valid: (S+T, N) bool, whether the row holds a decision.
        collected: (S+T, N) float32, what a carried decision had collected; 0 in step rows.
    """

    def __init__(self, steps: int, num_envs: int, obs_size: int, num_actions: int, num_seats: int) -> None:
        rows = num_seats + steps
        self.num_seats = num_seats
        self.rows = rows
        self.observation = np.zeros((rows, num_envs, obs_size), np.int8)
        self.mask = np.zeros((rows, num_envs, num_actions), np.int8)
        self.action = np.zeros((rows, num_envs), np.int64)
        self.log_prob = np.zeros((rows, num_envs), np.float32)
        self.value = np.zeros((rows, num_envs), np.float32)
        self.seat = np.zeros((rows, num_envs), np.int16)
        self.reward = np.zeros((rows, num_envs, 2), np.float32)
        self.done = np.zeros((rows, num_envs), np.bool_)
        self.valid = np.ones((rows, num_envs), np.bool_)
        self.collected = np.zeros((rows, num_envs), np.float32)
        self.valid[:num_seats] = False
        self.seat[:num_seats] = np.arange(num_seats)[:, None]

    def carry(self, advantages: Advantages) -> None:
        """Move the decisions that are still open to the carried rows, before the step rows are overwritten."""
        for seat in range(self.num_seats):
            row = advantages.open_row[:, seat]
            env = np.flatnonzero(row >= 0)
            self.valid[seat] = False
            self.valid[seat, env] = True
            for array in (self.observation, self.mask, self.action, self.log_prob, self.value):
                array[seat, env] = array[row[env], env]
            self.collected[seat, env] = advantages.open_reward[env, seat]

    def carried(self) -> dict[str, NDArray[Any]]:
        """Copies of the carried rows by name, for a checkpoint."""
        return {name: getattr(self, name)[: self.num_seats].copy() for name in _CARRIED}

    def set_carried(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take back what ``carried`` gave."""
        for name in _CARRIED:
            getattr(self, name)[: self.num_seats] = arrays[name]


_CARRIED = ("observation", "mask", "action", "log_prob", "value", "valid", "collected")


def collect(
    rollout: Rollout,
    env: BatchEnv,
    network: PolicyValueNetwork,
    generator: torch.Generator,
    reward_scale: float,
    clock: Clock,
) -> int:
    """Fill the step rows by self-play, all seats with the same weights, and return how many episodes ended."""
    episodes = 0
    with torch.inference_mode():
        for row in range(rollout.num_seats, rollout.rows):
            observation, mask = rollout.observation[row], rollout.mask[row]
            observation[:] = env.observation
            mask[:] = env.action_mask
            rollout.seat[row] = env.seat
            with clock("network"):
                logits, value = network(torch.from_numpy(observation))
            log_probs = masked_log_probs(logits, torch.from_numpy(mask))
            action = sample(log_probs, generator)
            rollout.log_prob[row] = log_probs.gather(1, action[:, None])[:, 0].numpy()
            rollout.value[row] = value.numpy()
            rollout.action[row] = action.numpy()
            with clock("games"):
                reward, done = env.step(rollout.action[row])
            np.multiply(reward, reward_scale, out=rollout.reward[row])
            rollout.done[row] = done
            episodes += int(done.sum())
    return episodes
