"""Collecting decisions: the network plays a batch of games against itself, and in some of them against others."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from settebello import BatchEnv
from settebello.endings import settle_endings
from settebello.equity import batch_equity
from settebello.opponents.inputs import inputs_of
from settebello.opponents.playouts import playout_values
from settebello_training.advantage import Advantages
from settebello_training.clock import Clock
from settebello_training.network import Policy, SuitNetwork, masked_log_probs, sample
from settebello_training.pool import Pool


class Rollout:
    """Buffers of one rollout, overwritten by each.

    The first S rows (S: seats of the game) are carried: row k holds seat k's decision that the last rollout left open, where
    there is one (``valid``). The other T rows are one step each; they hold no decision where one of the pool moved.

    Attributes:
        observation: (S+T, N, n) int8, of the seat that decides, as networks are shown it; for a critic that sees all hands,
            its row.
        mask: (S+T, N, A) int8.
        worth: (S+T, N, A) float32, what play-outs say that each action is worth; means nothing where none were asked for.
        action: (S+T, N) int64.
        log_prob: (S+T, N) float32, of the action when it was drawn.
        value: (S+T, N) float32, of the network when the action was drawn.
        seat: (S+T, N) int16.
        reward: (S+T, N, 2) float32, scaled, by side; 0 in carried rows.
        done: (S+T, N) bool; False in carried rows.
        valid: (S+T, N) bool, whether the row holds a decision.
        collected: (S+T, N) float32, what a carried decision had collected; 0 in step rows.
    """

    def __init__(self, steps: int, num_envs: int, row_size: int, num_actions: int, num_seats: int) -> None:
        rows = num_seats + steps
        self.num_seats = num_seats
        self.rows = rows
        self.observation = np.zeros((rows, num_envs, row_size), np.int8)
        self.mask = np.zeros((rows, num_envs, num_actions), np.int8)
        self.worth = np.zeros((rows, num_envs, num_actions), np.float32)
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
            for array in (self.observation, self.mask, self.worth, self.action, self.log_prob, self.value):
                array[seat, env] = array[row[env], env]
            self.collected[seat, env] = advantages.open_reward[env, seat]

    def carried(self) -> dict[str, NDArray[Any]]:
        """Copies of the carried rows by name, for a checkpoint."""
        return {name: getattr(self, name)[: self.num_seats].copy() for name in _CARRIED}

    def set_carried(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take back what ``carried`` gave."""
        for name in _CARRIED:
            getattr(self, name)[: self.num_seats] = arrays[name]


_CARRIED = ("observation", "mask", "worth", "action", "log_prob", "value", "valid", "collected")


def _gain(env: BatchEnv, before: NDArray[np.float64], done: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Twice what a step added to each side's chance to win the match (N, sides): over a match they add up to its result, less
    what was to be expected at its start (potential-based shaping; Ng, Harada and Russell 1999).
    """
    after = np.where(done, env.final_score[:, 0] > env.final_score[:, 1], batch_equity(env))
    gain = 2 * (after - before)
    return np.stack([gain, -gain], axis=1).astype(np.float32)


def collect(
    rollout: Rollout,
    env: BatchEnv,
    network: Policy,
    generator: torch.Generator,
    reward_scale: float,
    clock: Clock,
    *,
    critic: SuitNetwork | None = None,
    pool: Pool | None = None,
    settle: bool = False,
    guide_horizon: int = 0,
    for_match: bool = False,
) -> int:
    """Fill the step rows with games in which the network plays all seats but the pool's; returns how many episodes ended.

    Args:
        rollout: the buffers.
        env: the games.
        network: plays.
        generator: of its draws.
        reward_scale: factor on rewards.
        clock: takes the time of the parts.
        critic: values with all hands in sight; None: the network's own.
        pool: plays one side of some games; its decisions are not kept. None: nobody does.
        guide_horizon: play each action out, see ``playout_values``; 0: do not.
        for_match: rewards are not points but twice what a step adds to the chance to win the match.
        settle: two-player Tressette: deals end with their exact result once the stock is empty.
    """
    episodes, inputs = 0, inputs_of(env.game)
    device = next(network.parameters()).device
    with torch.inference_mode():
        for row in range(rollout.num_seats, rollout.rows):
            rows, mask, actions = rollout.observation[row], rollout.mask[row], rollout.action[row]
            with clock("games"):
                rows[:] = inputs.of_batch(env, critic=critic is not None)
                mask[:] = env.action_mask
            rollout.seat[row] = env.seat
            others = None if pool is None else pool.to_move(env.seat)
            if others is None or not others.any():
                own: Any = slice(None)
                rollout.valid[row] = True
            else:
                own = np.flatnonzero(~others)
                rollout.valid[row] = ~others
            with clock("network"):
                seen = torch.from_numpy(rows[own]).to(device)
                logits, value = network(seen)
                if critic is not None:
                    value = critic.values(seen)
                log_probs = masked_log_probs(logits, torch.from_numpy(mask[own]).to(device))
                drawn = sample(log_probs, generator)
                rollout.log_prob[row, own] = log_probs.gather(1, drawn[:, None])[:, 0].cpu().numpy()
                rollout.value[row, own] = value.cpu().numpy()
                actions[own] = drawn.cpu().numpy()
            if guide_horizon:
                with clock("guide"):
                    seed = int(torch.randint(2**62, (1,), generator=generator))
                    rollout.worth[row, own] = playout_values(env, np.arange(env.num_envs)[own], seed, guide_horizon)
            if pool is not None and others is not None and others.any():
                with clock("pool"):
                    pool.act(env, rows, others, actions, generator)
            with clock("games"):
                before = batch_equity(env) if for_match else None
                reward, done = env.step(actions)
                if before is not None:
                    reward = _gain(env, before, done)
                if settle:
                    settle_endings(env)  # writes into reward and done
                np.multiply(reward, reward_scale, out=rollout.reward[row])
                rollout.done[row] = done
            episodes += int(done.sum())
    return episodes
