"""The training: advantages, masks and losses by hand, checkpoints and their refusals, short runs of every game, the command."""

import dataclasses
import hashlib
import json
import math
import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import save  # noqa: E402

import settebello_training.trainer as trainer_module  # noqa: E402
from settebello import GAMES as SETTEBELLO_GAMES  # noqa: E402
from settebello import BatchEnv  # noqa: E402
from settebello.arena import ARENA_SEEDS, ArenaError, DuelResult, duel  # noqa: E402
from settebello.equity import VARIANTS, batch_equity, match_equity  # noqa: E402
from settebello.errors import OptionError, SettebelloError  # noqa: E402
from settebello.opponents.endings import ending_actions  # noqa: E402
from settebello.opponents.exported import read_manifest, read_weights  # noqa: E402
from settebello.opponents.inputs import inputs_of  # noqa: E402
from settebello.opponents.playouts import playout_values  # noqa: E402
from settebello.opponents.shipped import shipped_folder  # noqa: E402
from settebello_training import (  # noqa: E402
    CheckpointError,
    NetworkOpponent,
    PolicyValueNetwork,
    TrainConfig,
    Trainer,
    load_checkpoint,
    save_checkpoint,
)
from settebello_training.advantage import own_turn_advantages  # noqa: E402
from settebello_training.cli import main  # noqa: E402
from settebello_training.clock import Clock  # noqa: E402
from settebello_training.config import MATCH_FIELDS, merge_settings, parse_setting  # noqa: E402
from settebello_training.evaluate import CURVE_SEED, FINAL_SEED, evaluate  # noqa: E402
from settebello_training.network import SuitNetwork, entropy, exported_network, masked_log_probs, sample  # noqa: E402
from settebello_training.ppo import Batch, guide_loss, make_batch, ppo_loss, ppo_update, worth_loss  # noqa: E402
from settebello_training.rollout import Rollout, collect  # noqa: E402

GAMES = ("tressette-2p", "tressette-4p", "bazzica")
LEVELS = ("random", "easy", "medium")  # of the final evaluation
TINY: dict[str, Any] = {
    "minutes": None,
    "decisions": 1000,
    "num_envs": 8,
    "rollout_steps": 13,
    "minibatch": 50,
    "epochs": 2,
    "hidden": [16],
    "threads": 1,
    "curve_deals": 4,
    "eval_deals": 4,
    "evaluations": 2,
    "tensorboard": False,
}


def tiny(game: str = "tressette-2p", **settings: Any) -> TrainConfig:
    return TrainConfig.from_dict({**TINY, "game": game, **settings})


# --- advantages -------------------------------------------------------------------------------------------------------------


def column(values: list[Any], dtype: Any) -> Any:
    """One environment's rows (R, 1)."""
    return np.array(values, dtype)[:, None]


def test_advantages_by_hand_two_seats_that_repeat() -> None:
    seat = column([0, 1, 1, 0, 1, 0, 1], np.int16)
    value = column([0.5, 0.25, -0.5, 1.0, -1.0, 0.125, 0.75], np.float32)
    side_0 = np.array([0, 1, 0, -2, 3, 0.5, 0], np.float32)
    reward = np.stack([side_0, -side_0], axis=1)[:, None]
    done = column([0, 0, 0, 0, 1, 0, 0], np.bool_)
    result = own_turn_advantages(seat, value, reward, done, num_seats=2, gamma=0.9, lam=0.5)
    # Seat 0 decides in rows 0 and 3, seat 1 in rows 1, 2 and 4; then the episode is over.
    row_3 = (-2 + 3) - 1.0
    row_0 = (0 + 1 + 0) + 0.9 * 1.0 - 0.5 + 0.45 * row_3
    row_4 = -3 - (-1.0)
    row_2 = (0 + 2) + 0.9 * -1.0 - (-0.5) + 0.45 * row_4
    row_1 = -1 + 0.9 * -0.5 - 0.25 + 0.45 * row_2
    np.testing.assert_allclose(result.advantage[:, 0], [row_0, row_1, row_2, row_3, row_4, 0, 0], rtol=1e-6)
    # The next episode has begun: both seats' decisions are open, and neither reaches back over the end.
    assert result.closed[:, 0].tolist() == [True] * 5 + [False] * 2
    assert result.open_row.tolist() == [[5, 6]]
    assert result.open_reward.tolist() == [[0.5, 0.0]]


def test_advantages_by_hand_four_seats_in_teams() -> None:
    # Two tricks; seat 2 takes the first and leads the second. Its side gets 1 at once, the others 2 at the end.
    seat = column([0, 1, 2, 3, 2, 3, 0, 1], np.int16)
    value = column([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8], np.float32)
    side_0 = np.array([0, 0, 0, 1, 0, 0, 0, -2], np.float32)
    reward = np.stack([side_0, -side_0], axis=1)[:, None]
    done = column([0] * 7 + [1], np.bool_)
    result = own_turn_advantages(seat, value, reward, done, num_seats=4, gamma=1.0, lam=0.5)
    last = {2: -2 - 0.5, 3: 2 - 0.6, 0: -2 - 0.7, 1: 2 - 0.8}
    first = {
        0: 1 + 0.7 - 0.1 + 0.5 * last[0],
        1: -1 + 0.8 - 0.2 + 0.5 * last[1],
        2: 1 + 0.5 - 0.3 + 0.5 * last[2],
        3: -1 + 0.6 - 0.4 + 0.5 * last[3],
    }
    expected = [first[0], first[1], first[2], first[3], last[2], last[3], last[0], last[1]]
    np.testing.assert_allclose(result.advantage[:, 0], expected, rtol=1e-5)
    assert result.closed.all()
    assert (result.open_row == -1).all()


def test_advantages_of_open_decisions_serve_as_bootstrap_and_keep_their_reward() -> None:
    # Row 0 is carried from the rollout before (seat 1, 0.25 collected), row 1 is an empty carried row.
    seat = column([1, 0, 1, 0, 0], np.int16)
    value = column([2.0, 99.0, 4.0, 8.0, 16.0], np.float32)
    side_1 = np.array([0, 0, 1, 0, 3], np.float32)
    reward = np.stack([-side_1, side_1], axis=1)[:, None]
    result = own_turn_advantages(
        seat,
        value,
        reward,
        column([0] * 5, np.bool_),
        num_seats=2,
        gamma=0.5,
        lam=1.0,
        valid=column([1, 0, 1, 1, 1], np.bool_),
        collected=column([0.25, 7.0, 0, 0, 0], np.float32),
    )
    assert result.closed[:, 0].tolist() == [True, False, False, True, False]
    np.testing.assert_allclose(result.advantage[:, 0], [0.25 + 0.5 * 4.0 - 2.0, 0, 0, 0.5 * 16.0 - 8.0, 0])
    assert result.open_row.tolist() == [[4, 2]]
    assert result.open_reward.tolist() == [[-3.0, 4.0]]  # seat 1: rows 2, 3 and 4


def reference_advantages(
    seat: Any, value: Any, reward: Any, done: Any, gamma: float, lam: float
) -> dict[tuple[int, int], float]:
    """The definition, decision by decision: (row, env) to advantage, for those whose outcome is seen."""
    rows, num_envs = seat.shape
    result: dict[tuple[int, int], float] = {}
    for env in range(num_envs):
        for row in range(rows - 1, -1, -1):
            total, later = 0.0, row
            while later < rows:
                total += reward[later, env, seat[row, env] % 2]
                later += 1
                if done[later - 1, env] or (later < rows and seat[later, env] == seat[row, env]):
                    break
            else:
                continue  # neither the seat's next decision nor the end was seen
            ended = done[later - 1, env]
            following = 0.0 if ended else value[later, env]
            further = 0.0 if ended else result.get((later, env), 0.0)
            result[row, env] = total + gamma * following - value[row, env] + gamma * lam * further
    return result


def random_play(seats: int, rows: int, num_envs: int, seed: int) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    side_0 = rng.integers(-3, 4, (rows, num_envs)).astype(np.float32)
    return (
        rng.integers(0, seats, (rows, num_envs)).astype(np.int16),
        rng.normal(size=(rows, num_envs)).astype(np.float32),
        np.stack([side_0, -side_0], axis=2),
        rng.random((rows, num_envs)) < 0.1,
    )


@pytest.mark.parametrize("seats", [2, 4])
def test_advantages_agree_with_the_definition(seats: int) -> None:
    seat, value, reward, done = random_play(seats, 40, 20, seed=seats)
    result = own_turn_advantages(seat, value, reward, done, num_seats=seats, gamma=0.97, lam=0.9)
    expected = reference_advantages(seat, value, reward, done, 0.97, 0.9)
    assert {(int(row), int(env)) for row, env in np.argwhere(result.closed)} == expected.keys()
    for place, advantage in expected.items():
        assert result.advantage[place] == pytest.approx(advantage, abs=1e-4)


@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.parametrize("steps", [1, 3, 8])
def test_every_decision_is_learnt_from_once_across_rollouts(seats: int, steps: int) -> None:
    # With lambda 0 an advantage needs the next own decision only, so cutting the play into rollouts must change nothing.
    rows, num_envs = 24, 10
    seat, value, reward, done = random_play(seats, rows, num_envs, seed=10 * seats + steps)
    expected = reference_advantages(seat, value, reward, done, 0.9, 0.0)
    rollout = Rollout(steps, num_envs, 1, 1, seats)
    learnt: dict[tuple[int, int], float] = {}
    for start in range(0, rows, steps):
        part = slice(start, start + steps)
        rollout.seat[seats:], rollout.value[seats:] = seat[part], value[part]
        rollout.reward[seats:], rollout.done[seats:] = reward[part], done[part]
        rollout.action[seats:] = np.arange(start, start + steps)[:, None]  # here: which row this decision is
        result = own_turn_advantages(
            rollout.seat,
            rollout.value,
            rollout.reward,
            rollout.done,
            num_seats=seats,
            gamma=0.9,
            lam=0.0,
            valid=rollout.valid,
            collected=rollout.collected,
        )
        for row, env in np.argwhere(result.closed):
            place = (int(rollout.action[row, env]), int(env))
            assert place not in learnt
            learnt[place] = float(result.advantage[row, env])
        rollout.carry(result)
    assert learnt == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("settle", [False, True])
def test_returns_of_real_play_are_the_own_side_s_points_to_come(game: str, settle: bool) -> None:
    if settle and game != "tressette-2p":
        return
    config = tiny(game, rollout_steps=150, gamma=1.0, lam=1.0)
    trainer = Trainer(config)
    rollout = trainer.rollout
    collect(rollout, trainer.env, trainer.network, trainer.generator, 1.0, Clock(), critic=trainer.critic, settle=settle)
    result = own_turn_advantages(
        rollout.seat,
        rollout.value,
        rollout.reward,
        rollout.done,
        num_seats=trainer.env.num_seats,
        gamma=1.0,
        lam=1.0,
        valid=rollout.valid,
        collected=rollout.collected,
    )
    compared = 0
    for env in range(config.num_envs):
        ends = np.flatnonzero(rollout.done[:, env])
        assert len(ends) >= 2
        for row in range(trainer.env.num_seats, ends[-1] + 1):
            end = ends[ends >= row][0]
            points = rollout.reward[row : end + 1, env, rollout.seat[row, env] % 2].sum()
            assert result.closed[row, env]
            assert result.advantage[row, env] + rollout.value[row, env] == pytest.approx(points, abs=1e-4)
            compared += 1
    assert compared > 500


# --- masks and the network --------------------------------------------------------------------------------------------------


def test_illegal_actions_have_no_probability_and_get_no_gradient() -> None:
    logits = torch.tensor([[1.0, 1.0, 50.0, 1.0], [0.0, 3.0, 0.0, -60.0]], requires_grad=True)
    mask = torch.tensor([[1, 1, 0, 1], [0, 0, 0, 1]], dtype=torch.int8)
    log_probs = masked_log_probs(logits, mask)
    probs = log_probs.exp()
    torch.testing.assert_close(probs, torch.tensor([[1 / 3, 1 / 3, 0, 1 / 3], [0.0, 0.0, 0.0, 1.0]]))
    assert (probs[mask == 0] == 0).all()
    spread = entropy(log_probs)
    torch.testing.assert_close(spread, torch.tensor([math.log(3), 0.0]))
    (spread.sum() + log_probs[0, 0]).backward()
    assert torch.isfinite(logits.grad).all()
    assert (logits.grad[mask == 0] == 0).all()


def test_entropy_by_hand() -> None:
    log_probs = masked_log_probs(torch.tensor([[math.log(3.0), 0.0, 9.0]]), torch.tensor([[1, 1, 0]]))
    expected = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    torch.testing.assert_close(entropy(log_probs), torch.tensor([expected]))


def test_sampling_follows_the_policy_and_never_leaves_the_mask() -> None:
    generator = torch.Generator().manual_seed(1)
    logits = torch.tensor([math.log(3.0), 0.0, 80.0, -70.0]).expand(20_000, 4)
    log_probs = masked_log_probs(logits, torch.tensor([1, 1, 0, 0]).expand(20_000, 4))
    counts = torch.bincount(sample(log_probs, generator), minlength=4)
    assert counts[2:].tolist() == [0, 0]
    assert abs(counts[0].item() / 20_000 - 0.75) < 0.02
    only = masked_log_probs(torch.full((5000, 4), -1e6), torch.tensor([0, 0, 0, 1]).expand(5000, 4))
    assert (sample(only, generator) == 3).all()


def test_network_scales_by_the_spec_and_leaves_the_global_generator_alone() -> None:
    high = np.array([1, 1, 40, 0])  # two cards, a count, padding
    before = torch.get_rng_state()
    network = PolicyValueNetwork(high, 3, (8, 8), torch.Generator().manual_seed(5))
    assert torch.equal(torch.get_rng_state(), before)
    torch.testing.assert_close(network.scale, torch.tensor([1.0, 1.0, 1 / 40, 0.0]))
    same = PolicyValueNetwork(high, 3, (8, 8), torch.Generator().manual_seed(5))
    rows = torch.tensor([[1, 0, 40, 0], [0, 1, 20, 9]], dtype=torch.int8)
    logits, value = network(rows)
    assert logits.shape == (2, 3)
    assert value.shape == (2,)
    assert torch.equal(same(rows)[0], logits)
    assert torch.equal(network(rows * torch.tensor([1, 1, 1, 0], dtype=torch.int8))[0], logits)


# --- the loss ---------------------------------------------------------------------------------------------------------------


def hand_batch(old_probs: list[float], targets: list[float]) -> Batch:
    size = len(old_probs)
    return Batch(
        observation=torch.zeros(size, 1, dtype=torch.int8),
        mask=torch.tensor([[1, 1, 0]] * size, dtype=torch.int8),
        worth=torch.zeros(size, 3),
        action=torch.zeros(size, dtype=torch.int64),
        log_prob=torch.tensor(old_probs).log(),
        advantage=torch.zeros(size),
        target=torch.tensor(targets),
    )


def test_loss_by_hand_clips_on_the_right_side_only() -> None:
    # The policy now plays action 0 with 1/2. It did with 1/4, 1/4, 1, 1, 5/11: ratios 2, 2, 1/2, 1/2, 1.1.
    batch = hand_batch([0.25, 0.25, 1.0, 1.0, 5 / 11], [1.0, 0.0, 0.0, 0.0, 0.0])
    logits = torch.tensor([[0.0, 0.0, 9.0]] * 5)
    value = torch.tensor([0.0, 2.0, 0.0, 0.0, 0.0])
    advantage = torch.tensor([1.0, -1.0, 1.0, -1.0, 3.0])
    losses = ppo_loss(logits, value, batch, advantage, clip=0.2, ent_coef=0.1, vf_coef=0.5)
    surrogate = [1.2, -2.0, 0.5, -0.8, 3.3]  # min(ratio * A, clipped ratio * A)
    assert losses.policy.item() == pytest.approx(-sum(surrogate) / 5)
    assert losses.value.item() == pytest.approx((1.0 + 4.0) / 2 / 5)
    assert losses.entropy.item() == pytest.approx(math.log(2))
    assert losses.clipped.item() == pytest.approx(4 / 5)
    assert losses.total.item() == pytest.approx(-sum(surrogate) / 5 + 0.5 * 0.5 - 0.1 * math.log(2))
    ratios = torch.tensor([2.0, 2.0, 0.5, 0.5, 1.1])
    assert losses.kl.item() == pytest.approx((ratios - 1 - ratios.log()).mean().item(), rel=1e-4)


def test_clipped_decisions_get_no_policy_gradient() -> None:
    batch = hand_batch([0.25, 0.25], [0.0, 0.0])
    logits = torch.zeros(2, 3, requires_grad=True)
    advantage = torch.tensor([1.0, -1.0])  # the first gained enough already, the second must come down
    losses = ppo_loss(logits, torch.zeros(2), batch, advantage, clip=0.2, ent_coef=0.0, vf_coef=0.0)
    losses.total.backward()
    assert (logits.grad[0] == 0).all()
    assert logits.grad[1, 0] > 0
    assert logits.grad[1, 1] < 0
    assert logits.grad[1, 2] == 0


def test_update_moves_towards_the_better_action() -> None:
    generator = torch.Generator().manual_seed(0)
    network = PolicyValueNetwork(np.ones(2), 3, (8,), generator)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    size = 64
    action = torch.arange(size) % 2
    batch = Batch(
        observation=torch.ones(size, 2, dtype=torch.int8),
        mask=torch.tensor([[1, 1, 0]] * size, dtype=torch.int8),
        worth=torch.zeros(size, 3),
        action=action,
        log_prob=torch.full((size,), math.log(0.5)),
        advantage=torch.where(action == 0, 1.0, -1.0),
        target=torch.full((size,), 0.75),
    )

    def state() -> tuple[float, float]:
        logits, value = network(batch.observation[:1])
        return masked_log_probs(logits, batch.mask[:1]).exp()[0, 0].item(), value.item()

    before = state()
    metrics = ppo_update(
        network,
        optimizer,
        batch,
        generator,
        Clock(),
        epochs=4,
        minibatch=16,
        clip=0.2,
        ent_coef=0.0,
        vf_coef=0.5,
        max_grad_norm=0.5,
    )
    after = state()
    assert after[0] > before[0] + 0.02
    assert abs(after[1] - 0.75) < abs(before[1] - 0.75)
    assert all(math.isfinite(number) for number in metrics.values())


# --- evaluation -------------------------------------------------------------------------------------------------------------


def small_network(game: str) -> PolicyValueNetwork:
    of = SETTEBELLO_GAMES[game]
    return PolicyValueNetwork(inputs_of(game).bounds()[1], of.num_actions, (16,), torch.Generator().manual_seed(1))


@pytest.mark.parametrize("game", GAMES)
def test_network_opponent_plays_what_the_network_prefers(game: str) -> None:
    network = small_network(game)
    opponent = NetworkOpponent(game, network)
    batch, rng = BatchEnv(game, 16, seed=4), np.random.default_rng(4)
    chosen = set()
    for _ in range(30):
        rows = rng.permutation(16)[: rng.integers(1, 17)]
        actions = opponent.act_batch(batch, rows)
        with torch.inference_mode():
            logits = network(torch.from_numpy(inputs_of(game).of_batch(batch)))[0].numpy()
        best = np.where(batch.action_mask != 0, logits, -np.inf).argmax(axis=1)
        assert actions.tolist() == best[rows].tolist()
        assert actions.tolist() == [opponent.act(batch.information(int(row), int(batch.seat[row]))) for row in rows]
        chosen |= set(actions.tolist())
        batch.step(best)
    assert len(chosen) > 10


def test_network_opponent_plays_endings_exactly_however_it_is_asked() -> None:
    network, options = small_network("tressette-2p"), {"deck_cards": [*range(8), *range(10, 18)], "hand_size": 4}
    opponent = NetworkOpponent("tressette-2p", network, exact_endings=True)
    own = NetworkOpponent("tressette-2p", network)
    batch, rng, rows, apart = BatchEnv("tressette-2p", 32, seed=4, **options), np.random.default_rng(4), np.arange(32), 0
    for _ in range(30):
        actions, best = opponent.act_batch(batch, rows), ending_actions(batch, rows)
        np.testing.assert_array_equal(actions, np.where(best < 0, own.act_batch(batch, rows), best))
        assert actions.tolist() == [opponent.act(batch.information(row, int(batch.seat[row]))) for row in range(32)]
        apart += int((actions != own.act_batch(batch, rows)).sum())
        batch.step(np.argmax(batch.action_mask * rng.random(batch.action_mask.shape), axis=1))
    assert apart > 50


def test_network_opponent_draws_from_its_own_stream() -> None:
    batch = BatchEnv("tressette-2p", 64, seed=4)
    rows = np.arange(64)
    before = torch.get_rng_state()
    opponent = NetworkOpponent("tressette-2p", small_network("tressette-2p"), greedy=False, seed=5)
    first, second = opponent.act_batch(batch, rows), opponent.act_batch(batch, rows)
    assert first.tolist() != second.tolist()
    assert batch.action_mask[rows, first].all()
    opponent.reseed(5)
    assert opponent.act_batch(batch, rows).tolist() == first.tolist()
    opponent.reseed(6)
    assert opponent.act_batch(batch, rows).tolist() != first.tolist()
    assert torch.equal(torch.get_rng_state(), before)


def test_network_opponent_refuses_other_games_and_seats() -> None:
    opponent, batch = NetworkOpponent("bazzica", small_network("bazzica")), BatchEnv("tressette-2p", 2)
    with pytest.raises(OptionError, match="'bazzica' cannot play 'tressette-2p'"):
        opponent.act_batch(batch, np.arange(2))
    with pytest.raises(OptionError, match="'bazzica' cannot play 'tressette-2p'"):
        opponent.act(batch.information(0, int(batch.seat[0])))
    with pytest.raises(OptionError, match="plays bazzica, not tressette-2p"):
        duel("tressette-2p", opponent, "random", 2, 0)
    batch = BatchEnv("bazzica", 1)
    waiting = 1 - int(batch.seat[0])
    with pytest.raises(OptionError, match=f"seat {waiting} is not to move"):
        opponent.act(batch.information(0, waiting))


@pytest.mark.parametrize("game", GAMES)
def test_a_network_against_itself_is_exactly_even_on_mirrored_deals(game: str) -> None:
    network = small_network(game)
    result = duel(game, NetworkOpponent(game, network), NetworkOpponent(game, network), 50, 7)
    assert result.points_per_deal == 0
    assert result.ci95 == (0, 0)
    assert result.win_rate == 0.5


@pytest.mark.parametrize("greedy", [True, False])
def test_evaluation_is_repeatable_and_plays_the_run_s_options(greedy: bool) -> None:
    config = tiny(options={"napoletana": True}, greedy=greedy)
    weights, threads = small_network("tressette-2p").state_dict(), torch.get_num_threads()
    first, again, other = (evaluate(config, weights, "easy", 40, seed) for seed in (5, 5, 6))
    assert first.points_per_deal == again.points_per_deal != other.points_per_deal
    assert (first.a, first.b, first.deals, first.seed) == ("network", "easy", 40, 5)
    assert first.options == {"napoletana": True}
    assert torch.get_num_threads() == threads


def test_evaluation_ends_with_an_illegal_action() -> None:
    weights, threads = small_network("tressette-2p").state_dict(), torch.get_num_threads()
    weights["policy.bias"][39] = math.nan  # no number is above it, so it is played when it must not be
    with pytest.raises(ArenaError, match=r"'network' .*illegal action"):
        evaluate(tiny(), weights, "random", 20, 0)
    assert torch.get_num_threads() == threads


def test_curve_and_final_evaluation_play_other_deals() -> None:
    trainer = Trainer(tiny())
    assert trainer.measure()["random"].seed == CURVE_SEED
    assert trainer.curve[0]["against"]["random"]["deals"] == 4
    final = trainer.final_evaluation()
    assert tuple(final) == LEVELS
    assert {result.seed for result in final.values()} == {FINAL_SEED}
    assert [result.b for result in final.values()] == list(LEVELS)


# --- configuration ----------------------------------------------------------------------------------------------------------


def test_config_survives_json() -> None:
    config = tiny(options={"napoletana": True}, lr=3e-4)
    again = TrainConfig.from_dict(json.loads(json.dumps(config.to_dict())))
    assert again == config
    assert again.training_options == {"napoletana": True, "episode": "deal", "reward": "points"}


def test_seeds_of_runs_and_evaluations_are_apart() -> None:
    first, second = tiny(seed=0, num_envs=2**20), tiny(seed=1)
    assert first.training_seeds.stop <= second.training_seeds.start
    assert TrainConfig(seed=2**20 - 1, num_envs=2**20).training_seeds.stop <= ARENA_SEEDS
    assert CURVE_SEED != FINAL_SEED


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"entropy": 1}, ["unknown setting 'entropy'", "ent_coef"]),
        ({"rollout_step": 1}, ["did you mean 'rollout_steps'"]),
        ({"seed": -1}, ["seed=-1", "from 0 to 1048575"]),
        ({"seed": True}, ["seed=True"]),
        ({"seed": 2**20}, ["seed=1048576", "from 0 to 1048575"]),
        ({"num_envs": 0}, ["num_envs=0"]),
        ({"num_envs": 2**20 + 1}, ["num_envs=1048577", "from 1 to 1048576"]),
        ({"lr": "high"}, ["lr='high'"]),
        ({"clip": float("nan")}, ["clip=nan"]),
        ({"gamma": 1.5}, ["gamma=1.5", "from 0 to 1"]),
        ({"minutes": -1}, ["minutes=-1"]),
        ({"minutes": None, "decisions": None}, ["budget"]),
        ({"decisions": 0}, ["decisions=0"]),
        ({"hidden": []}, ["hidden=[]"]),
        ({"hidden": 256}, ["hidden=256"]),
        ({"hidden": [256, 4]}, ["hidden=[256, 4]", "from 5 to"]),
        ({"pool_share": 0.5, "pool_size": 0}, ["pool_share=0.5", "somebody in the pool"]),
        ({"keep_best": True, "evaluations": 0}, ["keep_best=True", "evaluations=0"]),
        ({"hidden": [256, 0.5]}, ["hidden=[256, 0.5]"]),
        ({"greedy": 1}, ["greedy=1", "True, False"]),
        ({"critic": "none"}, ["critic='none'", "'all', 'own'"]),
        ({"pool_share": 1.5}, ["pool_share=1.5", "from 0 to 1"]),
        ({"pool_levels": "medium"}, ["pool_levels='medium'", "list of opponents"]),
        ({"curve_levels": [3]}, ["curve_levels=[3]", "list of opponents"]),
        ({"curve_levels": []}, ["curve_levels=[]", "at least one", "evaluations=0"]),
        ({"final_levels": []}, ["final_levels=[]", "at least one"]),
        ({"game": 3}, ["game=3"]),
        ({"options": ["napoletana"]}, ["options="]),
        ({"options": {"reward": "win"}}, ["options['reward']", "beside options"]),
        ({"options": {"illegal": "raise"}}, ["options['illegal']"]),
    ],
)
def test_config_refuses(settings: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(OptionError) as caught:
        TrainConfig.from_dict(settings)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(("reward", "scale"), [("points", 0.1), ("win", 1.0), ("equity", 1.0)])
def test_rewards_are_scaled_as_fits_them(reward: str, scale: float) -> None:
    config = tiny(episode="match", reward=reward)
    assert config.reward_scale == scale
    assert TrainConfig.from_dict(config.to_dict() | {"reward_scale": 0.5}).reward_scale == 0.5


def test_refuses_a_pool_that_plays_in_no_game() -> None:
    with pytest.raises(OptionError, match=r"pool_share=0.01: of the 16 games of a process none .*at least 0.062, or 0"):
        Trainer(tiny(num_envs=16, pool_share=0.01))


@pytest.mark.parametrize("settings", [{"game": "briscola"}, {"options": {"napoletane": True}}, {"reward": "tricks"}])
def test_trainer_refuses_what_the_game_refuses(settings: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        Trainer(tiny(**{"game": "tressette-2p", **settings}))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"final_levels": ["random", "champion"]}, "'champion': expected a level"),
        ({"curve_levels": ["champion"]}, "'champion': expected a level"),
        ({"pool_share": 0.5, "pool_levels": ["champion"]}, "'champion': expected a level"),
        ({"pool_share": 0.5, "pool_levels": ["easy", "cheat"]}, "pool_levels=.*sees all cards"),
    ],
)
def test_opponents_that_cannot_play_are_refused_at_the_start(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        Trainer(tiny(**settings))


def test_settings_from_text() -> None:
    assert parse_setting("lr=1e-3") == ("lr", 1e-3)
    assert parse_setting("game=bazzica") == ("game", "bazzica")
    assert parse_setting("hidden=[64, 64]") == ("hidden", [64, 64])
    assert [parse_setting(f"minutes={text}")[1] for text in ("null", "None", "True", "false")] == [None, None, True, False]
    assert TrainConfig.from_dict({"decisions": 100}).minutes is None
    assert TrainConfig.from_dict({"decisions": 100, "minutes": 2}).minutes == 2
    assert parse_setting("options.napoletana=true") == ("options", {"napoletana": True})
    merged = merge_settings({"lr": 1, "options": {"target": 31}}, {"options": {"napoletana": True}})
    assert merged == {"lr": 1, "options": {"target": 31, "napoletana": True}}
    for text in ("lr", "=3", ""):
        with pytest.raises(OptionError, match="name=value"):
            parse_setting(text)


# --- training ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("settings", [{}, {"episode": "match", "reward": "win", "options": {"target": 5}}])
def test_tiny_training(game: str, settings: dict[str, Any]) -> None:
    trainer = Trainer(tiny(game, **settings))
    before = {name: part.clone() for name, part in trainer.network.state_dict().items()}
    learnt = 0.0
    for _ in range(4):
        metrics = trainer.update()
        assert all(math.isfinite(number) for number in metrics.values()), metrics
        own = metrics["policy_loss"] + 0.5 * metrics["value_loss"] - metrics["ent_coef"] * metrics["entropy"]
        assert metrics["loss"] >= own - 1e-6  # the critic's error comes on top
        learnt += metrics["learnt"]
    assert trainer.decisions == 4 * 13 * 8
    assert learnt + trainer.rollout.valid[: trainer.env.num_seats].sum() == trainer.decisions  # the rest is carried
    assert trainer.episodes > 0
    for name, part in trainer.network.state_dict().items():
        assert torch.isfinite(part).all()
        assert not torch.equal(part, before[name]), name
    assert metrics["value_loss"] > 0


@pytest.mark.parametrize("game", GAMES)
def test_rollout_holds_what_the_environment_showed(game: str) -> None:
    config = tiny(game)
    trainer = Trainer(config)
    twin = BatchEnv(game, config.num_envs, seed=np.array(config.training_seeds), **config.training_options)
    rollout = trainer.rollout
    collect(rollout, trainer.env, trainer.network, trainer.generator, 0.5, Clock(), critic=trainer.critic)
    for row in range(trainer.env.num_seats, rollout.rows):
        np.testing.assert_array_equal(rollout.observation[row], inputs_of(game).of_batch(twin, critic=True))
        np.testing.assert_array_equal(rollout.observation[row, :, : twin.obs_size], twin.observation)
        np.testing.assert_array_equal(rollout.mask[row], twin.action_mask)
        np.testing.assert_array_equal(rollout.seat[row], twin.seat)
        reward, done = twin.step(rollout.action[row])
        np.testing.assert_array_equal(rollout.reward[row], 0.5 * reward)
        np.testing.assert_array_equal(rollout.done[row], done)
    flat = torch.from_numpy(rollout.observation[trainer.env.num_seats :]).flatten(0, 1)
    with torch.inference_mode():
        logits = trainer.network(flat)[0]
        value = trainer.critic.values(flat)
    steps = slice(trainer.env.num_seats, None)
    log_probs = masked_log_probs(logits, torch.from_numpy(rollout.mask[steps]).flatten(0, 1))
    chosen = log_probs.gather(1, torch.from_numpy(rollout.action[steps]).flatten()[:, None])[:, 0]
    np.testing.assert_allclose(rollout.log_prob[steps].ravel(), chosen.numpy(), atol=1e-5)
    np.testing.assert_allclose(rollout.value[steps].ravel(), value.numpy(), atol=1e-5)


def test_batch_is_the_closed_decisions() -> None:
    trainer = Trainer(tiny())
    rollout = trainer.rollout
    collect(rollout, trainer.env, trainer.network, trainer.generator, 1.0, Clock(), critic=trainer.critic)
    result = own_turn_advantages(
        rollout.seat, rollout.value, rollout.reward, rollout.done, num_seats=2, gamma=1.0, lam=0.9, valid=rollout.valid
    )
    batch = make_batch(rollout, result)
    np.testing.assert_array_equal(batch.observation.numpy(), rollout.observation[result.closed])
    np.testing.assert_array_equal(batch.action.numpy(), rollout.action[result.closed])
    np.testing.assert_allclose(batch.target.numpy(), (rollout.value + result.advantage)[result.closed])


def test_schedules_follow_the_budget() -> None:
    trainer = Trainer(tiny(lr=1.0, lr_end=0.5, decisions=1000))
    assert trainer.scheduled("lr") == 1.0
    trainer.decisions = 500
    assert trainer.fraction == 0.5
    assert trainer.scheduled("lr") == 0.75
    trainer.decisions = 5000
    assert trainer.fraction == 1.0
    assert trainer.scheduled("lr") == 0.5


# --- checkpoints ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"pool_share": 0.5, "pool_levels": ["easy"], "pool_size": 2, "pool_interval": 1, "average": 0.9, "keep_best": True},
        {"critic": "own", "guide_coef": 0.5, "guide_decisions": 250},
        {"guide_decisions": 1000},
        {"episode": "match", "reward": "equity", "options": {"target": 3}},
    ],
)
def test_resume_continues_as_if_nothing_had_happened(game: str, settings: dict[str, Any], tmp_path: Path) -> None:
    first = Trainer(tiny(game, **settings))
    for _ in range(3):
        first.update()
    first.measure()
    first.save(tmp_path)
    second = Trainer.resume(tmp_path)
    assert second.config == first.config
    assert second.counters == first.counters
    assert second.curve == first.curve
    assert second.evaluations == {}
    for _ in range(2):
        ours, theirs = first.update(), second.update()
        ours.pop("update_seconds"), theirs.pop("update_seconds")
        assert ours == theirs
    pairs = [(first.network.dense(), second.network.dense()), *zip(first.kept, second.kept, strict=True)]
    assert [ours is None for ours, _ in pairs] == [theirs is None for _, theirs in pairs]
    for ours, theirs in pairs:
        for name, part in (ours or {}).items():
            assert torch.equal(part, theirs[name])
    np.testing.assert_array_equal(first.env.observation, second.env.observation)
    assert (first.updates, first.decisions, first.episodes) == (second.updates, second.decisions, second.episodes)


def test_checkpoint_round_trip(tmp_path: Path) -> None:
    trainer = Trainer(tiny(options={"napoletana": True}))
    trainer.update()
    final = trainer.final_evaluation()
    trainer.save(tmp_path / "new" / "folder")
    (tmp_path / "new" / "folder" / ".weights-0.safetensors.1.tmp").write_bytes(b"half")  # of a writer that was killed
    trainer.save(tmp_path / "new" / "folder")  # over itself
    folder = tmp_path / "new" / "folder"
    checkpoint = load_checkpoint(folder, game="tressette-2p")
    assert checkpoint.trainer == {}
    rows = torch.from_numpy(trainer.env.observation)
    for ours, theirs in zip(trainer.network(rows), checkpoint.network()(rows), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["game"] == "tressette-2p"
    assert manifest["options"] == {"napoletana": True, "episode": "deal", "reward": "points"}
    assert manifest["seed"] == 0
    assert manifest["progress"]["decisions"] == trainer.decisions
    assert manifest["progress"]["evaluations"] == {level: result.to_dict() for level, result in final.items()}
    for entry in manifest["files"].values():
        assert hashlib.sha256((folder / entry["name"]).read_bytes()).hexdigest() == entry["sha256"]
    assert len(list(folder.iterdir())) == 4  # older files are gone
    assert load_checkpoint(folder / "manifest.json").config == trainer.config
    assert Trainer.resume(folder).evaluations == final
    trainer.update()
    assert trainer.evaluations == {}  # they were of another network


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint")
    trainer = Trainer(tiny())
    trainer.update()
    trainer.save(folder)
    return folder


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    for file in saved.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def edit_manifest(folder: Path, **changes: Any) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def file_of(folder: Path, part: str) -> Path:
    name: str = json.loads((folder / "manifest.json").read_text())["files"][part]["name"]
    return folder / name


def replace_file(folder: Path, part: str, data: bytes) -> None:
    """Put other content into a file, with a manifest that agrees."""
    files = json.loads((folder / "manifest.json").read_text())["files"]
    (folder / files[part]["name"]).write_bytes(data)
    files[part] |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    edit_manifest(folder, files=files)


def refused(folder: Path, *words: str, game: str | None = None) -> None:
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(folder, game=game, trainer=True).network()
    assert isinstance(caught.value, SettebelloError)
    for word in words:
        assert word in str(caught.value)


def test_refuses_a_folder_without_checkpoint(tmp_path: Path) -> None:
    refused(tmp_path, "no manifest.json", "folder that a run named")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": 1}'])
def test_refuses_a_damaged_manifest(copy: Path, text: str) -> None:
    (copy / "manifest.json").write_text(text)
    refused(copy, "manifest.json", "start a new run")


def test_refuses_another_format(copy: Path) -> None:
    edit_manifest(copy, format=99)
    refused(copy, "format 99", "install settebello")


def test_refuses_another_game(copy: Path) -> None:
    refused(copy, "trained for 'tressette-2p', not 'bazzica'", "take a checkpoint of 'bazzica'", game="bazzica")
    edit_manifest(copy, game="bazzica")
    refused(copy, "both 'bazzica' and 'tressette-2p'")


def test_refuses_another_observation_spec(copy: Path) -> None:
    edit_manifest(copy, observation_spec_sha256="0" * 64)
    refused(copy, "other observations of tressette-2p", "train anew")


def test_refuses_another_environment_version(copy: Path) -> None:
    edit_manifest(copy, environment_version=7)
    refused(copy, "tressette-2p version 7", "plays version 0", "train anew")


@pytest.mark.parametrize("part", ["weights", "trainer"])
def test_refuses_truncated_changed_and_missing_files(copy: Path, part: str) -> None:
    path = file_of(copy, part)
    data = path.read_bytes()
    path.write_bytes(data[:-7])
    refused(copy, "truncated", "copy the whole folder again")
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    refused(copy, "sha256", "copy the whole folder again")
    path.unlink()
    refused(copy, "cannot be read")


def test_refuses_what_is_not_safetensors(copy: Path) -> None:
    replace_file(copy, "weights", b"\x80\x04pickle?")
    refused(copy, "not a safetensors file")


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_refuses_weights_that_are_not_finite(copy: Path, number: float) -> None:
    weights = load_checkpoint(copy).weights
    weights["value.bias"][0] = number
    replace_file(copy, "weights", save(weights))
    refused(copy, "'value.bias'", "not finite", "start a new run")


def test_refuses_weights_of_another_shape(copy: Path) -> None:
    edit_manifest(copy, config=json.loads((copy / "manifest.json").read_text())["config"] | {"hidden": [17]})
    refused(copy, "do not fit", "trunk.0.weight")


def test_refuses_settings_of_another_release(copy: Path) -> None:
    edit_manifest(copy, config={**tiny().to_dict(), "warp": 9}, settebello="99.0")
    refused(copy, "unknown setting 'warp'", "99.0")
    edit_manifest(copy, config={**tiny().to_dict(), "options": {"warp": 9}})
    refused(copy, "warp")


def test_refuses_a_manifest_that_points_elsewhere(copy: Path) -> None:
    files = json.loads((copy / "manifest.json").read_text())["files"]
    edit_manifest(copy, files=files | {"weights": files["weights"] | {"name": "../weights.safetensors"}})
    refused(copy, "no file of the folder")
    edit_manifest(copy, files={"weights": files["weights"]})
    refused(copy, "holds no trainer")


def test_resumes_a_run_whose_evaluation_is_of_an_older_release(copy: Path) -> None:
    progress = json.loads((copy / "manifest.json").read_text())["progress"]
    del progress["evaluations"]
    old = {"points_per_deal": 1.0, "ci95": [0.5, 1.5], "win_rate": 0.6, "deals": 4, "illegal_moves": [0, 0]}
    edit_manifest(copy, progress=progress | {"evaluation": old | {"decisions": 80, "seconds": 1.0, "first_seed": 2**41}})
    trainer = Trainer.resume(copy)
    assert trainer.updates == 1
    assert trainer.evaluations == {}
    edit_manifest(copy, progress=progress | {"evaluations": [old]})
    with pytest.raises(CheckpointError, match="cannot be continued"):
        Trainer.resume(copy)


def test_resume_refuses_games_that_do_not_fit(copy: Path) -> None:
    tensors = load_checkpoint(copy, trainer=True).trainer
    replace_file(copy, "trainer", save(tensors | {"games": tensors["games"][:, :-1].contiguous()}))
    with pytest.raises(CheckpointError, match="cannot be continued"):
        Trainer.resume(copy)
    replace_file(copy, "trainer", save(tensors | {"games": tensors["games"][:3].contiguous()}))
    with pytest.raises(CheckpointError, match="3 games saved for 8"):
        Trainer.resume(copy)
    del tensors["generators"]
    replace_file(copy, "trainer", save(tensors))
    with pytest.raises(CheckpointError, match="generators"):
        Trainer.resume(copy)


def test_save_refuses_weights_that_are_not_finite_and_keeps_the_last_checkpoint(copy: Path) -> None:
    trainer = Trainer.resume(copy)
    before = (copy / "manifest.json").read_bytes()
    with torch.no_grad():
        trainer.network.value.shared.bias.fill_(math.nan)
    with pytest.raises(CheckpointError, match=r"not finite.*last checkpoint is kept"):
        trainer.save(copy)
    assert (copy / "manifest.json").read_bytes() == before
    load_checkpoint(copy, trainer=True)


def test_save_that_dies_halfway_leaves_the_last_checkpoint_whole(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = Trainer.resume(copy)
    trainer.update()
    real = os.replace

    def die_at_the_manifest(source: Any, target: Any) -> None:
        if Path(target).name == "manifest.json":
            raise OSError("no space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", die_at_the_manifest)
    with pytest.raises(CheckpointError, match="no space left"):
        trainer.save(copy)
    monkeypatch.undo()
    assert Trainer.resume(copy).updates == 1
    assert not list(copy.glob("*.tmp")) + list(copy.glob(".*.tmp"))
    trainer.save(copy)
    assert Trainer.resume(copy).updates == 2
    assert len(list(copy.iterdir())) == 4


def test_weights_alone_can_be_saved(tmp_path: Path) -> None:
    trainer = Trainer(tiny())
    save_checkpoint(tmp_path, trainer.config, trainer.exported)
    assert load_checkpoint(tmp_path).network() is not None
    with pytest.raises(CheckpointError, match="holds no trainer"):
        Trainer.resume(tmp_path)


# --- the command ------------------------------------------------------------------------------------------------------------

TINY_RUN = [f"--set={name}={json.dumps(value)}" for name, value in TINY.items()]


def command(*arguments: object) -> int:
    """Exit status of ``settebello-train`` with these arguments."""
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    code = caught.value.code
    return code if isinstance(code, int) else 0 if code is None else 1


def test_run_leaves_weights_curve_and_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "a run"
    assert command("run", "--game", "bazzica", "--seed", 3, "--out", out, *TINY_RUN, "--set=tensorboard=true") == 0
    shown = capsys.readouterr().out
    for words in ("points per deal", "95% interval", "deals won", *LEVELS, "decisions/s", str(out)):
        assert words in shown
    result = json.loads((out / "result.json").read_text())
    assert result["command"].startswith("settebello-train run --game bazzica --seed 3")
    assert result["finished"] is True
    assert tuple(result["evaluations"]) == LEVELS
    for level, values in result["evaluations"].items():
        evaluation = DuelResult.from_dict(values)
        assert (evaluation.game, evaluation.a, evaluation.b, evaluation.deals) == ("bazzica", "network", level, 4)
        assert evaluation.seed == result["seeds"]["arena_final"]
        low, high = (f"{bound:+.2f}" for bound in evaluation.ci95)
        line = next(line for line in shown.splitlines() if f" {level} " in line)
        assert f"{evaluation.points_per_deal:+.2f}" in line
        assert f"{low} to {high}" in line
        assert f"{100 * evaluation.win_rate:.1f} %" in line
    assert result["seeds"]["run"] == 3
    assert result["counters"]["decisions"] >= 1000
    assert 0 < result["outside_network"] < 1
    assert [point["updates"] for point in result["curve"]] == [0, 5, 10]  # 104 decisions an update, half the budget each
    assert TrainConfig.from_dict(result["config"]).game == "bazzica"
    assert (out / "learning_curve.png").read_bytes().startswith(b"\x89PNG")
    assert list((out / "tensorboard").iterdir())
    assert load_checkpoint(out, game="bazzica").manifest["progress"]["evaluations"] == result["evaluations"]

    # A finished run says what to do; with more time it goes on from where it was, and the new result replaces the old.
    assert command("resume", out) == 1
    assert "--minutes" in capsys.readouterr().err
    assert command("resume", out, "--minutes", 1e-6) == 0
    again = json.loads((out / "result.json").read_text())
    assert again["counters"]["updates"] == result["counters"]["updates"] + 1
    assert again["command"].startswith("settebello-train resume")
    assert again["origin"] == result["origin"]
    assert again["origin"]["command"] == result["command"]

    # What may change on the way may be changed.
    assert command("resume", out, "--minutes", 1e-6, "--set", "lr=0.0002", "--set=lr_end=0.0002") == 0
    assert load_checkpoint(out).config.lr == 0.0002
    capsys.readouterr()
    assert command("resume", out, "--minutes", 1, "--set", "hidden=[24]") == 1
    assert f"setting 'hidden': cannot change while a run goes on; start a new one with --from {out}" in capsys.readouterr().err

    assert command("run", "--out", out, *TINY_RUN) == 1
    assert "settebello-train resume" in capsys.readouterr().err


def test_demo_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    # The demo takes no settings, so give it smaller defaults here.
    for name, value in (TINY | {"minutes": 4.0, "hidden": (16,)}).items():
        monkeypatch.setattr(TrainConfig.__init__, "__kwdefaults__", TrainConfig.__init__.__kwdefaults__ | {name: value})
    assert command("demo", "--out", tmp_path / "demo") == 0
    shown = capsys.readouterr().out
    assert "tressette-2p, 4 mirrored deals" in shown
    for level in ("random", "medium"):
        assert level in shown
    assert json.loads((tmp_path / "demo" / "result.json").read_text())["game"] == "tressette-2p"


def test_measurements_are_no_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long they take: they are not of the budget, and whoever kills the run meanwhile loses no training."""
    measure = Trainer.measure
    saved = []

    def slow(trainer: Trainer) -> Any:
        if trainer.updates:
            saved.append((trainer.updates, load_checkpoint(tmp_path).manifest["progress"]["updates"]))
        time.sleep(0.2)
        return measure(trainer)

    monkeypatch.setattr(Trainer, "measure", slow)
    start = time.perf_counter()
    assert command("run", "--out", tmp_path, *TINY_RUN, "--set=evaluations=5", "--set=checkpoint_minutes=60") == 0
    whole = time.perf_counter() - start
    progress = load_checkpoint(tmp_path).manifest["progress"]
    assert progress["seconds"] < whole - 0.2 * len(progress["curve"])
    assert len(saved) == len(progress["curve"]) - 1 == 5
    assert all(ours == theirs for ours, theirs in saved)


def test_config_file(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(tiny("bazzica", seed=7).to_dict()))
    out = tmp_path / "out"
    assert command("run", "--config", file, "--seed", 8, "--set", "lr=0.002", "--out", out) == 0
    config = load_checkpoint(out).config
    assert (config.game, config.seed, config.lr, config.minutes) == ("bazzica", 8, 0.002, None)


def test_interrupt_saves_and_resume_finishes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    update = Trainer.update

    def interrupted_update(trainer: Trainer) -> dict[str, float]:
        metrics = update(trainer)
        if trainer.updates == 2:
            signal.raise_signal(signal.SIGINT)
        return metrics

    monkeypatch.setattr(Trainer, "update", interrupted_update)
    before = signal.getsignal(signal.SIGINT)
    assert command("run", "--out", tmp_path, *TINY_RUN) == 130
    assert signal.getsignal(signal.SIGINT) is before
    assert "settebello-train resume" in capsys.readouterr().err
    assert Trainer.resume(tmp_path).updates == 2
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["finished"] is False
    assert result["evaluations"] == {}
    assert command("resume", tmp_path) == 0
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["finished"] is True
    assert result["counters"]["decisions"] == 1040


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "--game", "briscola"], ["unknown game 'briscola'", "tressette-2p"]),
        (["run", "--set", "entropie=1"], ["unknown setting 'entropie'"]),
        (["run", "--set", "lr"], ["name=value"]),
        (["run", "--set", "options.napoletane=true"], ["napoletana"]),
        (["run", "--minutes", "-2"], ["minutes=-2"]),
        (["run", "--seed", "-1"], ["seed=-1"]),
        (["run", "--config", "/nowhere/config.json"], ["/nowhere/config.json"]),
        (["resume", "/nowhere/run"], ["/nowhere/run", "manifest.json"]),
        (["resume", "/nowhere/run", "--minutes", "1"], ["/nowhere/run"]),
    ],
)
def test_errors_are_one_line_and_a_status(
    arguments: list[str], words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command(*arguments) == 1
    error = capsys.readouterr().err
    assert "Traceback" not in error
    assert error.splitlines()[-1].startswith("settebello-train: ")
    for word in words:
        assert word in error
    assert list(tmp_path.iterdir()) == []  # nothing is left behind


@pytest.mark.parametrize("text", ["[1, 2]", "{nothing"])
def test_config_file_must_be_a_json_object(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    file = tmp_path / "config.json"
    file.write_text(text)
    assert command("run", "--config", file, "--out", tmp_path / "out") == 1
    assert str(file) in capsys.readouterr().err


def test_a_folder_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("in the way")
    assert command("run", "--out", tmp_path / "file" / "run", *TINY_RUN) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_a_result_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "result.json" / "in the way").mkdir(parents=True)
    assert command("run", "--out", tmp_path, *TINY_RUN) == 1
    assert "the result cannot be written" in capsys.readouterr().err
    assert load_checkpoint(tmp_path).manifest["progress"]["evaluations"]


def test_usage_errors_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("run", "--minutes", "many") == 2
    assert command("fly") == 2
    assert command("--help") == 0
    shown = capsys.readouterr().out
    for name in ("run", "resume", "demo", "exploit", "exact", "export"):
        assert name in shown
    for name in ("run", "resume", "demo", "exploit", "exact", "export"):
        assert command(name, "--help") == 0
    assert "options.napoletana=true" in capsys.readouterr().out


# --- learning ---------------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("game", GAMES)
def test_a_short_run_beats_random(game: str) -> None:
    trainer = Trainer(TrainConfig(game=game, minutes=None, decisions=500_000, threads=1, eval_deals=2000, tensorboard=False))
    while trainer.fraction < 1:
        trainer.update()
    result = trainer.final_evaluation()["random"]
    assert result.ci95[0] > 1.0, result
    assert result.win_rate > 0.6
    assert result.illegal_moves == (0, 0)


@pytest.mark.parametrize("game", GAMES)
def test_the_settings_of_shipped_runs_are_kept(game: str) -> None:
    folder = shipped_folder(game)
    config, trained = TrainConfig.from_file(folder.with_suffix(".json")), load_checkpoint(folder).config
    other = {name for name, value in config.to_dict().items() if value != trained.to_dict()[name]}
    assert other <= {"minutes", "decisions", "threads", "checkpoint_minutes"}  # there decisions are the budget, on any machine
    assert config.decisions == read_manifest(folder)["progress"]["decisions"]


# --- networks that treat equal suits alike ---------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
def test_exchanging_suits_exchanges_logits_and_keeps_values(game: str) -> None:
    of, generator = SETTEBELLO_GAMES[game], torch.Generator().manual_seed(2)
    network = SuitNetwork(game, (20, 30), generator, whole_rows=True)
    critic = SuitNetwork(game, (20, 30), generator, critic=True)
    for part in (*network.parameters(), *critic.parameters()):
        torch.nn.init.normal_(part, std=0.3, generator=generator)
    env, rng = BatchEnv(game, 64, seed=1, episode="deal"), np.random.default_rng(0)
    for _ in range(9):
        env.step(np.argmax(rng.random(env.action_mask.shape) * env.action_mask, axis=1))
    rows = torch.from_numpy(inputs_of(game).of_batch(env, critic=True))
    layout, actions = inputs_of(game).suits(critic=True), of.action_suits()
    places = np.roll(np.arange(len(layout.by_suit)), 1)
    other, order = rows.clone(), np.arange(of.num_actions)
    other[:, layout.by_suit.ravel()] = rows[:, layout.by_suit[places].ravel()]
    order[actions.by_suit] = actions.by_suit[places]
    (logits, value), (other_logits, other_value) = network(rows), network(other)
    assert logits.std() > 0.1
    torch.testing.assert_close(other_logits, logits[:, order], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(other_value, value, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(critic.values(other), critic.values(rows), rtol=1e-4, atol=1e-4)
    assert (critic.values(rows) - value).abs().max() > 0.01


@pytest.mark.parametrize("game", GAMES)
def test_the_exported_network_computes_the_same(game: str) -> None:
    of, generator = SETTEBELLO_GAMES[game], torch.Generator().manual_seed(3)
    network = SuitNetwork(game, (25, 15), generator, ignored=("score", "target"))
    for part in network.parameters():
        torch.nn.init.normal_(part, std=0.3, generator=generator)
    whole = SuitNetwork(game, (25, 15), ignored=("score", "target"), whole_rows=True)
    whole.load_state_dict(network.state_dict())
    inputs = inputs_of(game)
    dense = PolicyValueNetwork(inputs.bounds()[1], of.num_actions, (25, 15))
    dense.load_state_dict(network.dense())
    low, high = inputs.bounds(critic=True)
    critic_rows = np.random.default_rng(0).integers(low, high, (200, len(high)), np.int8, endpoint=True)
    rows = torch.from_numpy(critic_rows[:, inputs.policy_part()])
    for ours, theirs, third in zip(network(rows), dense(rows), whole(torch.from_numpy(critic_rows)), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(ours, third, rtol=1e-4, atol=1e-4)
    score = next(part for part in of.obs_spec() if part[0] == "score")
    others = rows.clone()
    others[:, score[1] : score[2]] += 3
    assert torch.equal(dense(rows)[0], dense(others)[0])  # what is ignored has no weight


def test_who_learns_single_deals_does_not_look_at_the_match() -> None:
    assert tiny().ignored == MATCH_FIELDS
    assert tiny(episode="match").ignored == ()
    for game in GAMES:
        parts = {part[0] for part in SETTEBELLO_GAMES[game].obs_spec()}
        assert set(MATCH_FIELDS) - parts == ({"deal_number"} if game == "bazzica" else set())


# --- the pool, the guide, the average and the best -------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
def test_the_pool_plays_its_side_and_is_not_learnt_from(game: str) -> None:
    config = tiny(game, num_envs=16, pool_share=0.5, pool_levels=["easy"], pool_size=0, rollout_steps=40, exact_endings=False)
    trainer = Trainer(config)
    seats = trainer.env.num_seats
    trainer.update()
    rollout = trainer.rollout
    steps = slice(seats, None)
    others = np.zeros((config.rollout_steps, 16), np.bool_)
    others[:, :8] = rollout.seat[steps, :8] % 2 == np.arange(8) % 2
    np.testing.assert_array_equal(rollout.valid[steps], ~others)
    assert others.any()
    assert trainer.decisions == (~others).sum()
    twin = BatchEnv(game, 16, seed=np.array(config.training_seeds), **config.training_options)
    for row in range(seats, rollout.rows):
        assert twin.action_mask[np.arange(16), rollout.action[row]].all()
        twin.step(rollout.action[row])


def test_older_selves_join_the_pool_and_are_thinned_out() -> None:
    trainer = Trainer(tiny(pool_share=1.0, pool_size=3, pool_interval=1))
    pool = trainer.pool
    assert pool is not None
    kept = []
    for _ in range(9):
        trainer.update()
        kept.append((len(pool.selves), pool.interval))
    # Of more than three every second is forgotten, and the next ones come half as often.
    assert kept == [(1, 1), (2, 1), (3, 1), (2, 2), (2, 2), (3, 2), (3, 2), (2, 4), (2, 4)]
    assert not torch.equal(pool.selves[0]["trunk.0.own.weight"], pool.selves[1]["trunk.0.own.weight"])


def test_a_pool_that_is_empty_leaves_self_play_alone() -> None:
    plain, pooled = Trainer(tiny()), Trainer(tiny(pool_share=0.5, pool_size=3, pool_interval=10))
    for _ in range(2):
        ours, theirs = plain.update(), pooled.update()
        assert ours["loss"] == theirs["loss"]
    assert pooled.rollout.valid[2:].all()


def gain_by_play_outs(trainer: Trainer) -> float:
    """Points by which what the network draws is better than any legal action, as play-outs say, in first moves."""
    config = trainer.config
    batch = BatchEnv(config.game, 512, seed=77, episode="deal")
    worth = playout_values(batch, np.arange(512), 5)
    network = exported_network(config.game, config.hidden, trainer.exported)
    with torch.inference_mode():
        logits, _ = network(torch.from_numpy(inputs_of(config.game).of_batch(batch)))
    probs = masked_log_probs(logits, torch.from_numpy(batch.action_mask)).exp().numpy()
    return float(((probs * worth).sum(1) - worth.sum(1) / batch.action_mask.sum(1)).mean())


GUIDED = {"num_envs": 64, "rollout_steps": 40, "hidden": [40], "lr": 5e-3, "lr_end": 5e-3, "decisions": 10**6}


@pytest.mark.parametrize("game", GAMES)
def test_the_worths_of_play_outs_are_learnt_at_first(game: str) -> None:
    trainer = Trainer(tiny(game, guide_decisions=12_000, **GUIDED))
    while trainer.decisions < 12_000:
        assert trainer.update()["kl"] == 0
    assert gain_by_play_outs(trainer) > 0.05
    trainer.update()  # from here on it learns by what it did
    assert trainer.update()["kl"] > 0


def test_the_guide_pulls_towards_what_play_outs_say() -> None:
    gains = []
    for coef in (0.0, 5.0):
        trainer = Trainer(tiny(guide_coef=coef, guide_coef_end=coef, **GUIDED))
        for _ in range(6):
            trainer.update()
        gains.append(gain_by_play_outs(trainer))
    assert gains[1] > gains[0] + 0.05


def test_guide_losses_by_hand() -> None:
    batch = hand_batch([0.5, 0.5], [0.0, 0.0])._replace(worth=torch.tensor([[1.0, -1.0, 0.0], [0.0, 0.0, 0.0]]))
    logits = torch.tensor([[math.log(3.0), 0.0, 9.0], [0.0, 0.0, 9.0]])
    assert guide_loss(logits, batch).item() == pytest.approx(-(0.75 - 0.25) / 2)
    losses = worth_loss(logits, torch.tensor([2.0, 0.0]), batch, temperature=0.5, vf_coef=0.5)
    half = math.log(3.0) / 2
    assert losses.policy.item() == pytest.approx(0.25 * ((half - 2) ** 2 + (2 - half) ** 2) / 2)
    assert losses.total.item() == pytest.approx(losses.policy.item() + 0.5 * 1.0)
    perfect = torch.tensor([[2.0, -2.0, 5.0], [7.0, 7.0, 0.0]])
    assert worth_loss(perfect, torch.zeros(2), batch, temperature=0.5, vf_coef=0.5).total.item() == pytest.approx(0.0)


@pytest.mark.parametrize(("game", "napoletana"), VARIANTS)
def test_rewards_of_a_match_add_up_to_its_result(game: str, napoletana: bool) -> None:
    options: dict[str, Any] = {"target": 12} | ({"napoletana": True} if napoletana else {})
    config = tiny(game, episode="match", reward="equity", options=options, num_envs=16, rollout_steps=60)
    trainer = Trainer(config)
    start = batch_equity(trainer.env)
    expected = [
        match_equity(game, 0, 0, int(dealer) % 2, 12, napoletana=napoletana) for dealer in trainer.env._states["dealer"]
    ]
    np.testing.assert_allclose(start, expected)
    gathered, open_rows, moved, steps = np.zeros(16), set(range(16)), 0, 0
    for _ in range(20):
        trainer.update()
        for row in range(trainer.env.num_seats, trainer.rollout.rows):
            reward, done = trainer.rollout.reward[row], trainer.rollout.done[row]
            np.testing.assert_array_equal(reward[:, 0], -reward[:, 1])
            gathered += reward[:, 0]
            moved += int((reward[:, 0] != 0).sum())
            steps += 16
            for i in open_rows.intersection(np.flatnonzero(done).tolist()):  # its first match
                result = gathered[i] / 2 + start[i]
                assert min(abs(result), abs(result - 1)) < 1e-5
                open_rows.remove(i)
        if not open_rows:
            break
    assert not open_rows
    assert 16 <= moved < steps / 15  # a deal has twenty moves at least


def test_equity_is_of_matches() -> None:
    with pytest.raises(OptionError, match="reward='equity', episode='deal': expected episode='match'"):
        tiny(reward="equity")
    with pytest.raises(OptionError, match="options\\['hand_size'\\]: chances are known for target and napoletana only"):
        tiny(reward="equity", episode="match", options={"hand_size": 5})
    with pytest.raises(OptionError, match="reward='equty': allowed are 'points', 'win', 'equity'"):
        tiny(reward="equty")


def test_averaged_weights_are_what_is_exported() -> None:
    trainer = Trainer(tiny(average=0.9))
    seen = []
    for _ in range(3):
        trainer.update()
        seen.append(trainer.network.dense()["policy.bias"])
    low, high = torch.stack(seen).min(0).values, torch.stack(seen).max(0).values
    exported = trainer.exported["policy.bias"]
    assert ((exported >= low - 1e-7) & (exported <= high + 1e-7)).all()
    assert not torch.equal(exported, seen[-1])
    assert trainer.critic is not None
    assert trainer.exported_critic is not None
    assert not torch.equal(trainer.exported_critic["value.weight"], trainer.critic.dense()["value.weight"])
    assert torch.equal(Trainer(tiny()).exported["policy.bias"], torch.zeros(40))


def test_who_learns_matches_is_measured_in_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Single deals look otherwise (``option_deal``), and what counts in a match is to win it."""
    trainer = Trainer(tiny(episode="match", reward="win", options={"target": 21}, keep_best=True))
    result = trainer.final_evaluation()["random"]
    assert result.episode == "match"
    assert result.deals_played > 2 * result.deals
    better = dataclasses.replace(result, points_per_deal=-1.0, win_rate=0.75)
    for shown in (dataclasses.replace(result, points_per_deal=2.0, win_rate=0.5), better):
        monkeypatch.setattr(trainer_module, "evaluate", lambda *_, shown=shown: shown)
        trainer.update()
        trainer.measure()
    assert trainer.best is not None
    assert trainer.best[0] == 0.75


def test_the_best_of_the_curve_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = Trainer(tiny(keep_best=True, curve_levels=["random", "easy"]))
    points = iter([(0.0, 0.0), (3.0, -1.0), (1.0, 0.5)])
    real = duel("tressette-2p", "random", "random", 4, 0).to_dict()

    def measured(values: tuple[float, float]) -> Any:
        scores = iter(values)
        return lambda *_: DuelResult.from_dict(real | {"points_per_deal": next(scores)})

    weights, critics = [], []
    for values in points:
        trainer.update()
        monkeypatch.setattr(trainer_module, "evaluate", measured(values))
        trainer.measure()
        weights.append(trainer.exported)
        critics.append(trainer.exported_critic)
    assert trainer.best is not None
    assert trainer.best[0] == 2.0
    assert torch.equal(trainer.kept[0]["policy.weight"], weights[1]["policy.weight"])
    trainer.save(tmp_path)
    critic = read_weights(tmp_path, read_manifest(tmp_path), "critic")
    assert not torch.equal(critics[1]["value.weight"], critics[2]["value.weight"])
    np.testing.assert_array_equal(critic["value.weight"], critics[1]["value.weight"])  # its own, not the last one
    assert torch.equal(load_checkpoint(tmp_path).weights["policy.weight"], weights[1]["policy.weight"])
    again = Trainer.resume(tmp_path)
    assert again.best is not None
    assert again.best[0] == 2.0
    assert again.kept[1] is not None
    assert torch.equal(again.kept[1]["value.weight"], critics[1]["value.weight"])
    assert torch.equal(again.exported["policy.weight"], weights[2]["policy.weight"])
