"""The trainer: everything a run is made of, one update of it, saving and resuming."""

import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import torch
from torch import Tensor

from settebello import BatchEnv
from settebello.arena import DuelResult
from settebello.errors import OptionError, SettebelloError
from settebello.opponents import from_spec
from settebello.opponents.exported import read_weights
from settebello.opponents.inputs import inputs_of
from settebello_training.advantage import own_turn_advantages
from settebello_training.checkpoint import (
    bytes_tensor,
    load_checkpoint,
    load_optimizer,
    optimizer_tensors,
    save_checkpoint,
    save_progress,
)
from settebello_training.clock import Clock
from settebello_training.config import SEEDS_PER_RUN, TrainConfig
from settebello_training.errors import CheckpointError
from settebello_training.evaluate import CURVE_SEED, FINAL_SEED, evaluate
from settebello_training.network import SuitNetwork, use_threads
from settebello_training.pool import Pool
from settebello_training.ppo import make_batch, ppo_update
from settebello_training.ranks import Ranks, own_device
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
        curve: the measurements made so far, each with the counters at that moment; rank 0's.
        evaluations: the final ones by level, empty until they were made and after every further update; rank 0's.
        best: of the curve so far: the score and the exported weights, where the best are kept; rank 0's.
        clock: where the time went.

    Raises:
        OptionError: the game, an option of it or an opponent is unknown or not allowed, or ``num_envs`` is no multiple of the
            number of processes.
        CheckpointError: an opponent is the folder of a run that is damaged or of another game.
        TrainingError: the other processes cannot be reached, or there are too few GPUs.
    """

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        use_threads(config.num_threads)
        for level in {*config.curve_levels, *config.final_levels}:
            from_spec(config.game, level, 0)  # what they cannot play against should be told now, not in an hour
        self.device = own_device()
        self.ranks = Ranks.join(self.device)
        if config.num_envs % self.ranks.size:
            raise OptionError(f"num_envs={config.num_envs}: expected a multiple of the {self.ranks.size} processes")
        self.generator = torch.Generator().manual_seed(config.seed + SEEDS_PER_RUN * (1 + self.ranks.rank))
        rows = self.ranks.share(config.num_envs)
        seeds = np.array(config.training_seeds)[rows.start : rows.stop]
        self.env = env = BatchEnv(config.game, len(rows), seed=seeds, **config.training_options)
        first_weights = torch.Generator().manual_seed(config.seed)
        self.network = self._new_network(first_weights)
        self.critic: SuitNetwork | None = None
        if config.critic == "all":
            self.critic = SuitNetwork(config.game, config.hidden, first_weights, ignored=config.ignored, critic=True)
        self.pool: Pool | None = None
        pool_rows = round(config.pool_share * len(rows))
        if config.pool_share > 0 and not pool_rows:
            raise OptionError(
                f"pool_share={config.pool_share:g}: of the {len(rows)} games of a process none would be played against the "
                f"pool; expected at least {1 / len(rows):.2g}, or 0"
            )
        if pool_rows:
            self.pool = Pool(
                config.game,
                pool_rows,
                config.pool_levels,
                config.pool_size,
                config.pool_interval,
                self._new_network,
            )
        for module in (self.network, self.critic):
            if module is not None:
                module.to(self.device)
        self.optimizer = torch.optim.Adam([p for _, p in self._parameters], lr=config.lr, eps=1e-5, fused=True)
        self._averaged = self._copied()
        width = inputs_of(config.game).size(critic=self.critic is not None)
        self.rollout = Rollout(config.rollout_steps, len(rows), width, env.num_actions, env.num_seats)
        self.updates = 0
        self.decisions = 0
        self.episodes = 0
        self.seconds = 0.0
        self.curve: list[dict[str, Any]] = []
        self.evaluations: dict[str, DuelResult] = {}
        self.best: tuple[float, dict[str, Tensor], dict[str, Tensor] | None] | None = None
        self.clock = Clock()
        self.origin: dict[str, Any] = {}

    def _new_network(self, generator: torch.Generator | None = None) -> SuitNetwork:
        config = self.config
        whole_rows = config.critic == "all"
        return SuitNetwork(config.game, config.hidden, generator, ignored=config.ignored, whole_rows=whole_rows)

    @property
    def _parameters(self) -> list[tuple[str, torch.nn.Parameter]]:
        named = list(self.network.named_parameters())
        if self.critic is not None:
            named += [(f"critic.{name}", parameter) for name, parameter in self.critic.named_parameters()]
        return named

    @property
    def _networks(self) -> dict[str, SuitNetwork]:
        return {"network": self.network} | ({} if self.critic is None else {"critic": self.critic})

    def _copied(self) -> dict[str, Tensor]:
        """A copy of the weights of policy and critic, by network and name."""
        return {
            f"{part}.{name}": tensor.detach().clone()
            for part, network in self._networks.items()
            for name, tensor in network.state_dict().items()
        }

    @property
    def exported(self) -> dict[str, Tensor]:
        """Weights of the ``PolicyValueNetwork`` that this run would leave now, before the best are chosen."""
        network = self._new_network()
        network.load_state_dict(_part(self._averaged, "network"))  # without averaging, the last weights
        return network.dense()

    @property
    def exported_critic(self) -> dict[str, Tensor] | None:
        """Weights of the critic that goes with ``exported``; None: there is none."""
        if self.critic is None:
            return None
        critic = SuitNetwork(self.config.game, self.config.hidden, ignored=self.config.ignored, critic=True)
        critic.load_state_dict(_part(self._averaged, "critic"))
        return critic.dense()

    @property
    def kept(self) -> tuple[dict[str, Tensor], dict[str, Tensor] | None]:
        """Policy and critic that a checkpoint shows: the best of the curve where they are kept, else those of now."""
        return (self.exported, self.exported_critic) if self.best is None else self.best[1:]

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
        learns_worths = self.decisions < config.guide_decisions
        guide_coef = 0.0 if learns_worths else self.scheduled("guide_coef")
        rollout = self.rollout
        pool = self.pool
        if pool is not None:
            pool.draw(self.generator)
        episodes = collect(
            rollout,
            self.env,
            self.network,
            self.generator,
            config.reward_scale,
            self.clock,
            critic=self.critic,
            pool=pool,
            settle=config.settles,
            for_match=config.reward == "equity",
            guide_horizon=config.guide_horizon if learns_worths or config.guide_coef or config.guide_coef_end else 0,
        )
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
            batch = make_batch(rollout, advantages, self.device)
            rollout.carry(advantages)
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        metrics: dict[str, float] = {}
        if self.ranks.least(len(batch.action)):  # a rollout of a move or two may leave every decision open
            metrics = ppo_update(
                self.network,
                self.optimizer,
                batch,
                self.generator,
                self.clock,
                critic=self.critic,
                ranks=self.ranks,
                guide_coef=guide_coef,
                worth_temperature=config.guide_temperature if learns_worths else None,
                epochs=config.epochs,
                minibatch=config.minibatch,
                clip=config.clip,
                ent_coef=ent_coef,
                vf_coef=config.vf_coef,
                max_grad_norm=config.max_grad_norm,
            )
        self.evaluations = {}  # of another network from here on
        self.updates += 1
        counts = torch.tensor([len(batch.action), int(rollout.valid[rollout.num_seats :].sum()), episodes])
        learnt, decisions, episodes = self.ranks.sum(counts).tolist()
        self.decisions += decisions
        self.episodes += episodes
        with self.clock("averaging"):
            self._average()
            if pool is not None:
                pool.remember(self.updates, self.network.state_dict())
        seconds = time.perf_counter() - start
        self.clock.total += seconds
        shown = {"lr": lr, "ent_coef": ent_coef, "learnt": float(learnt), "decisions": float(decisions)}
        return metrics | shown | {"update_seconds": seconds}

    def _average(self) -> None:
        """Move the averaged weights towards those of now; at first quickly, so that the start is forgotten."""
        decay = min(self.config.average, self.updates / (self.updates + 10))
        with torch.no_grad():
            for part, network in self._networks.items():
                for name, tensor in network.state_dict().items():
                    self._averaged[f"{part}.{name}"].lerp_(tensor, 1 - decay)

    def measure(self) -> dict[str, DuelResult]:
        """Play the curve's deals against each of its opponents and add the results to the curve."""
        weights = self.exported
        deals = self.config.curve_deals
        results = {level: evaluate(self.config, weights, level, deals, CURVE_SEED) for level in self.config.curve_levels}
        against = {level: {name: result.to_dict()[name] for name in CURVE_VALUES} for level, result in results.items()}
        self.curve.append(self.counters | {"against": against})
        wanted = "points_per_deal" if self.config.episode == "deal" else "win_rate"
        score = sum(getattr(result, wanted) for result in results.values())
        if self.config.keep_best and (self.best is None or score > self.best[0]):
            self.best = score, weights, self.exported_critic
        return results

    def final_evaluation(self) -> dict[str, DuelResult]:
        """Play the final deals, the same against each level; nothing else in a run sees them."""
        config, (weights, _) = self.config, self.kept
        self.evaluations = {
            level: evaluate(config, weights, level, config.eval_deals, FINAL_SEED) for level in config.final_levels
        }
        return self.evaluations

    def save(self, folder: Path) -> None:
        """Write a checkpoint from which ``resume`` continues as if nothing had happened. All ranks take part, rank 0 writes.

        Raises:
            CheckpointError: weights are not finite, or the folder cannot be written.
        """
        games = bytes_tensor([self.env.get_state(i) for i in range(self.env.num_envs)])
        carried = {f"carried.{name}": torch.from_numpy(array) for name, array in self.rollout.carried().items()}
        trainer: dict[str, Tensor] = {"games": self.ranks.gather({"games": games})["games"]} | self.ranks.gather(carried, 1)
        trainer |= self.ranks.gather({"generators": self.generator.get_state()[None]})
        if self.ranks.rank > 0:
            return
        trainer |= optimizer_tensors(self.optimizer, [name for name, _ in self._parameters])
        trainer |= self._copied()
        trainer |= {f"averaged.{name}": tensor for name, tensor in self._averaged.items()}
        progress = self.counters | {
            "origin": self.origin,
            "curve": self.curve,
            "clock": self.clock.seconds,
            "clock_total": self.clock.total,
        }
        progress |= self._final_results
        if self.pool is not None:
            progress["pool_interval"], progress["pool_selves"] = self.pool.interval, len(self.pool.selves)
            for k, weights in enumerate(self.pool.selves):
                trainer |= {f"pool.{k}.{name}": tensor for name, tensor in weights.items()}
        if self.best is not None:
            progress["best"] = self.best[0]
            trainer |= {f"best.{name}": tensor for name, tensor in self.best[1].items()}
            trainer |= {f"best_critic.{name}": tensor for name, tensor in (self.best[2] or {}).items()}
        weights, critic = self.kept
        save_checkpoint(folder, self.config, weights, trainer, progress, critic=critic)

    def save_evaluations(self, folder: Path) -> None:
        """Put the final evaluations into the checkpoint that a folder holds; the other ranks take no part.

        Raises:
            CheckpointError: it holds none, or cannot be written.
        """
        save_progress(folder, self._final_results)

    @property
    def _final_results(self) -> dict[str, Any]:
        return {"evaluations": {level: result.to_dict() for level, result in self.evaluations.items()}}

    def begin_from(self, folder: Path) -> None:
        """Take the networks that another run, or an export, shows as first weights.

        Args:
            folder: of the same game with the same ``hidden``, and with a critic where this run has one.

        Raises:
            CheckpointError: the checkpoint is missing, damaged or of another game, or its networks are of another kind.
        """
        checkpoint = load_checkpoint(folder, game=self.config.game)
        for name in ("hidden", "critic"):
            theirs, ours = getattr(checkpoint.config, name), getattr(self.config, name)
            if theirs != ours:
                raise CheckpointError(f"checkpoint {folder}: made with {name}={theirs!r}, this run has {name}={ours!r}")
        if self.config.ignored and not checkpoint.config.ignored:
            raise CheckpointError(
                f"checkpoint {folder}: made with episode='match', and looks at the score, which a run with episode='deal' does "
                "not; set episode='match'"
            )
        files = {"network": "weights", "critic": "critic"}
        dense = {part: read_weights(checkpoint.folder, checkpoint.manifest, files[part]) for part in self._networks}
        try:
            for part, network in self._networks.items():
                network.load_dense(dense[part])
        except CheckpointError as error:
            raise CheckpointError(f"checkpoint {folder}: {error}, so no run can start from it") from error
        self._averaged = self._copied()
        self.origin["from"] = {"folder": str(folder), "weights_sha256": checkpoint.manifest["files"]["weights"]["sha256"]}

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
            trainer._set_tensors(tensors)
            trainer._set_pool(tensors, progress)
            if "best" in progress:
                trainer.best = progress["best"], _part(tensors, "best"), _part(tensors, "best_critic") or None
            for name in COUNTERS:
                setattr(trainer, name, progress[name])
            trainer.curve, trainer.origin = list(progress["curve"]), dict(progress["origin"])
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

    def _set_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        for part, network in self._networks.items():
            network.load_state_dict(_part(tensors, part))
        averaged = _part(tensors, "averaged")
        self._averaged = {name: averaged[name].to(self.device) for name in self._averaged}
        load_optimizer(self.optimizer, [name for name, _ in self._parameters], tensors)
        games, rows = tensors["games"], self.ranks.share(self.config.num_envs)
        if len(games) != self.config.num_envs:
            raise ValueError(f"{len(games)} games saved for {self.config.num_envs} environments")
        for i, row in enumerate(rows):
            self.env.set_state(i, games[row].numpy().tobytes())
        own = slice(rows.start, rows.stop)
        names = self.rollout.carried()
        self.rollout.set_carried({name: tensors[f"carried.{name}"][:, own].numpy() for name in names})
        generators = tensors["generators"]
        if len(generators) == self.ranks.size:
            self.generator.set_state(generators[self.ranks.rank])
        else:  # as many processes as before would go on with their own; others draw anew
            self.generator.manual_seed(zlib.crc32(generators.numpy().tobytes()) + self.ranks.rank)

    def _set_pool(self, tensors: Mapping[str, Tensor], progress: Mapping[str, Any]) -> None:
        if self.pool is not None:
            self.pool.interval = progress["pool_interval"]
            self.pool.selves = [_part(tensors, f"pool.{k}") for k in range(progress["pool_selves"])]


def _part(tensors: Mapping[str, Tensor], part: str) -> dict[str, Tensor]:
    """The tensors whose names begin with ``part.``, without that."""
    start = f"{part}."
    return {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}
