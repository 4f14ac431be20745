"""The trainer: everything a run is made of, one update of it, saving and resuming."""

import time
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import torch
from torch import Tensor

from settebello import BatchEnv
from settebello.arena import DuelResult
from settebello.errors import SettebelloError
from settebello_training.advantage import own_turn_advantages
from settebello_training.checkpoint import (
    bytes_tensor,
    load_checkpoint,
    load_optimizer,
    optimizer_tensors,
    save_checkpoint,
)
from settebello_training.clock import Clock
from settebello_training.config import TrainConfig
from settebello_training.errors import CheckpointError
from settebello_training.evaluate import CURVE_SEED, FINAL_LEVELS, FINAL_SEED, evaluate
from settebello_training.network import PolicyValueNetwork, spec_bounds, use_threads
from settebello_training.ppo import make_batch, ppo_update
from settebello_training.rollout import Rollout, collect

COUNTERS: Final = ("updates", "decisions", "episodes", "seconds")
CURVE_VALUES: Final = ("points_per_deal", "ci95", "win_rate", "deals")


class Trainer:
    """One run between two updates. ``update()`` plays and learns once; ``save`` and ``resume`` lose nothing.

    Args:
        config: settings of the run.

    Attributes:
        updates, decisions, episodes: how many updates were made, decisions collected, episodes finished.
        seconds: wall-clock time of the training loop, evaluations included.
        curve: the evaluations against the random player made so far, each with the counters at that moment.
        evaluations: the final ones by level, empty until they were made and after every further update.
        clock: where the time went.

    Raises:
        OptionError: the game or an option of it is unknown or not allowed.
    """

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        use_threads(config.num_threads)
        self.generator = torch.Generator().manual_seed(config.seed)
        self.env = BatchEnv(config.game, config.num_envs, seed=np.array(config.training_seeds), **config.training_options)
        env = self.env
        self.network = PolicyValueNetwork(spec_bounds(env.obs_spec()), env.num_actions, config.hidden, self.generator)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=config.lr, eps=1e-5, fused=True)
        self.rollout = Rollout(config.rollout_steps, config.num_envs, env.obs_size, env.num_actions, env.num_seats)
        self.updates = 0
        self.decisions = 0
        self.episodes = 0
        self.seconds = 0.0
        self.curve: list[dict[str, Any]] = []
        self.evaluations: dict[str, DuelResult] = {}
        self.clock = Clock()

    @property
    def fraction(self) -> float:
        """How much of the budget is spent, 0..1."""
        return self._fraction_at(self.seconds, self.decisions)

    def _fraction_at(self, seconds: float, decisions: int) -> float:
        config = self.config
        by_time = 0.0 if config.minutes is None else seconds / max(60 * config.minutes, 1e-9)
        by_decisions = 0.0 if config.decisions is None else decisions / config.decisions
        return min(1.0, max(by_time, by_decisions))

    @property
    def measure_due(self) -> bool:
        """Whether the curve should get a point: at the start, after each share of the budget, and at the end."""
        if not self.config.evaluations or (self.curve and self.curve[-1]["updates"] == self.updates):
            return False
        if not self.curve or self.fraction >= 1:
            return True
        last = self.curve[-1]
        return self.fraction - self._fraction_at(last["seconds"], last["decisions"]) >= 1 / self.config.evaluations

    @property
    def counters(self) -> dict[str, Any]:
        """The counters by name."""
        return {name: getattr(self, name) for name in COUNTERS}

    def scheduled(self, name: str) -> float:
        """Value of a setting that runs linearly to the one named ``*_end``."""
        start, end = getattr(self.config, name), getattr(self.config, f"{name}_end")
        return float(start + (end - start) * self.fraction)

    def update(self) -> dict[str, float]:
        """One rollout, its advantages, one PPO update; returns the losses and what else is worth a look."""
        config, start = self.config, time.perf_counter()
        lr, ent_coef = self.scheduled("lr"), self.scheduled("ent_coef")
        rollout = self.rollout
        episodes = collect(rollout, self.env, self.network, self.generator, config.reward_scale, self.clock)
        with self.clock("advantages"):
            advantages = own_turn_advantages(
                rollout.seat,
                rollout.value,
                rollout.reward,
                rollout.done,
                num_seats=self.env.num_seats,
                gamma=config.gamma,
                lam=config.lam,
                valid=rollout.valid,
                collected=rollout.collected,
            )
            batch = make_batch(rollout, advantages)
            rollout.carry(advantages)
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        metrics: dict[str, float] = {}
        if len(batch.action):  # a rollout of a move or two may leave every decision open
            metrics = ppo_update(
                self.network,
                self.optimizer,
                batch,
                self.generator,
                self.clock,
                epochs=config.epochs,
                minibatch=config.minibatch,
                clip=config.clip,
                ent_coef=ent_coef,
                vf_coef=config.vf_coef,
                max_grad_norm=config.max_grad_norm,
            )
        self.evaluations = {}  # of another network from here on
        self.updates += 1
        self.decisions += config.rollout_steps * config.num_envs
        self.episodes += episodes
        seconds = time.perf_counter() - start
        self.clock.total += seconds
        return metrics | {"lr": lr, "ent_coef": ent_coef, "learnt": float(len(batch.action)), "update_seconds": seconds}

    def measure(self) -> DuelResult:
        """Play the curve's deals against the random player and add the result to the curve."""
        result = evaluate(self.config, self.network, "random", self.config.curve_deals, CURVE_SEED)
        self.curve.append(self.counters | {name: result.to_dict()[name] for name in CURVE_VALUES})
        return result

    def final_evaluation(self) -> dict[str, DuelResult]:
        """Play the final deals, the same against each level; nothing else in a run sees them."""
        deals = self.config.eval_deals
        self.evaluations = {level: evaluate(self.config, self.network, level, deals, FINAL_SEED) for level in FINAL_LEVELS}
        return self.evaluations

    def save(self, folder: Path) -> None:
        """Write a checkpoint from which ``resume`` continues as if nothing had happened.

        Raises:
            CheckpointError: weights are not finite, or the folder cannot be written.
        """
        trainer: dict[str, Tensor] = optimizer_tensors(self.optimizer, self._parameter_names)
        trainer["generator"] = self.generator.get_state()
        trainer["games"] = bytes_tensor([self.env.get_state(i) for i in range(self.config.num_envs)])
        for name, array in self.rollout.carried().items():
            trainer[f"carried.{name}"] = torch.from_numpy(array)
        progress = self.counters | {"curve": self.curve, "clock": self.clock.seconds, "clock_total": self.clock.total}
        progress["evaluations"] = {level: result.to_dict() for level, result in self.evaluations.items()}
        save_checkpoint(folder, self.config, self.network.state_dict(), trainer, progress)

    @classmethod
    def resume(cls, folder: Path, *, config: TrainConfig | None = None) -> Self:
        """The trainer that ``save`` wrote.

        Args:
            folder: the folder of the run.
            config: settings to go on with (another budget or learning rate); None: those it was saved with.

        Raises:
            CheckpointError: the checkpoint is missing, damaged or does not fit.
        """
        checkpoint = load_checkpoint(folder, trainer=True)
        trainer = cls(config or checkpoint.config)
        tensors, progress = checkpoint.trainer, checkpoint.manifest["progress"]
        try:
            trainer.network.load_state_dict(checkpoint.weights)
            load_optimizer(trainer.optimizer, trainer._parameter_names, tensors)
            trainer.generator.set_state(tensors["generator"])
            trainer._set_games(tensors["games"])
            trainer.rollout.set_carried({name: tensors[f"carried.{name}"].numpy() for name in trainer.rollout.carried()})
            for name in COUNTERS:
                setattr(trainer, name, progress[name])
            trainer.curve = list(progress["curve"])
            # Missing where an older release saved a single one, on deals of its own: then the final ones are played anew.
            results = progress.get("evaluations", {})
            trainer.evaluations = {level: DuelResult.from_dict(values) for level, values in results.items()}
            trainer.clock.seconds = dict(progress["clock"])
            trainer.clock.total = progress["clock_total"]
        except (AttributeError, KeyError, TypeError, ValueError, RuntimeError, SettebelloError) as error:
            raise CheckpointError(
                f"checkpoint {folder}: the run cannot be continued ({type(error).__name__}: {error}); "
                "its weights are whole, but start a new run to train on"
            ) from error
        return trainer

    @property
    def _parameter_names(self) -> list[str]:
        return [name for name, _ in self.network.named_parameters()]

    def _set_games(self, games: Tensor) -> None:
        if len(games) != self.config.num_envs:
            raise ValueError(f"{len(games)} games saved for {self.config.num_envs} environments")
        for i, row in enumerate(games.numpy()):
            self.env.set_state(i, row.tobytes())
