"""Proximal policy optimisation (Schulman et al. 2017, "Proximal policy optimization algorithms"): the loss and the update."""

import dataclasses
import math
from typing import NamedTuple

import torch
from torch import Tensor

from settebello_training.advantage import Advantages
from settebello_training.clock import Clock
from settebello_training.errors import TrainingError
from settebello_training.network import Policy, SuitNetwork, entropy, masked_log_probs
from settebello_training.ranks import Ranks
from settebello_training.rollout import Rollout


class Batch(NamedTuple):
    """Decisions to learn from, B of them.

    Attributes:
        observation: (B, n) int8, rows for a policy or for a critic, see ``settebello.opponents.inputs``.
        mask: (B, A) int8.
        worth: (B, A) float32, of each action by play-outs, less the mean over the legal ones.
        action: (B,) int64.
        log_prob: (B,) float32, of the action when it was drawn.
        advantage: (B,) float32.
        target: (B,) float32, what the value should be.
    """

    observation: Tensor
    mask: Tensor
    worth: Tensor
    action: Tensor
    log_prob: Tensor
    advantage: Tensor
    target: Tensor

    def select(self, index: Tensor) -> "Batch":
        """The decisions of an index (M,) int64."""
        return Batch(*(part.index_select(0, index) for part in self))

    def to(self, device: torch.device | None) -> "Batch":
        """The same on a device; None: where they are."""
        return self if device is None else Batch(*(part.to(device) for part in self))


@dataclasses.dataclass(frozen=True)
class Losses:
    """Loss of a minibatch and what it is made of; scalars (0-d tensors)."""

    total: Tensor
    policy: Tensor
    value: Tensor
    entropy: Tensor
    kl: Tensor
    clipped: Tensor


def make_batch(rollout: Rollout, advantages: Advantages, device: torch.device | None = None) -> Batch:
    """The decisions of a rollout whose outcome is known, as tensors on a device."""
    index = torch.from_numpy(advantages.closed.reshape(-1).nonzero()[0])
    advantage = torch.from_numpy(advantages.advantage.reshape(-1))
    value = torch.from_numpy(rollout.value.reshape(-1))
    whole = Batch(
        observation=torch.from_numpy(rollout.observation).flatten(0, 1),
        mask=torch.from_numpy(rollout.mask).flatten(0, 1),
        worth=torch.from_numpy(rollout.worth).flatten(0, 1),
        action=torch.from_numpy(rollout.action).flatten(),
        log_prob=torch.from_numpy(rollout.log_prob).flatten(),
        advantage=advantage,
        target=advantage + value,
    )
    batch = whole.select(index).to(device)
    legal = (batch.mask != 0).float()
    return batch._replace(worth=(batch.worth - _legal_mean(batch.worth, legal)) * legal)


def ppo_loss(
    logits: Tensor, value: Tensor, batch: Batch, advantage: Tensor, *, clip: float, ent_coef: float, vf_coef: float
) -> Losses:
    """Clipped surrogate, squared value error and entropy bonus.

    ``total = -mean(min(ratio * A, clamp(ratio, 1-clip, 1+clip) * A)) + vf_coef * mean((value - target)**2) / 2
    - ent_coef * mean(entropy)``.

    Args:
        logits: (M, A) float32, not yet masked.
        value: (M,) float32.
        batch: the M decisions.
        advantage: (M,) float32, the advantages as they enter the loss (normalised or not).
        clip: bound on how far the ratio may leave 1.
        ent_coef: weight of the entropy.
        vf_coef: weight of the value error.
    """
    log_probs = masked_log_probs(logits, batch.mask)
    log_ratio = log_probs.gather(1, batch.action[:, None])[:, 0] - batch.log_prob
    ratio = log_ratio.exp()
    policy = -torch.min(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()
    value_error = value_loss(value, batch.target)
    mean_entropy = entropy(log_probs).mean()
    with torch.no_grad():
        kl = (ratio - 1 - log_ratio).mean()  # unbiased and never negative
        clipped = ((ratio - 1).abs() > clip).float().mean()
    return Losses(policy + vf_coef * value_error - ent_coef * mean_entropy, policy, value_error, mean_entropy, kl, clipped)


def guide_loss(logits: Tensor, batch: Batch) -> Tensor:
    """Minus the mean worth of what the policy draws: its gradient is over all actions, not the one that was drawn."""
    return -(masked_log_probs(logits, batch.mask).exp() * batch.worth).sum(-1).mean()


def _legal_mean(values: Tensor, legal: Tensor) -> Tensor:
    """Mean (M, 1) over the legal actions of values (M, A)."""
    return (values * legal).sum(-1, keepdim=True) / legal.sum(-1, keepdim=True)


def value_loss(value: Tensor, target: Tensor) -> Tensor:
    """Half the mean squared error of values (M,)."""
    return (value - target).square().mean() / 2


def _moments(values: Tensor, ranks: Ranks) -> tuple[float, float, float]:
    """How many values all ranks hold, their mean and their standard deviation."""
    wide = values.double()
    count, total = ranks.sum(torch.stack((wide.new_tensor(len(values)), wide.sum()))).tolist()
    mean = total / count
    (squares,) = ranks.sum((wide - mean).square().sum()[None]).tolist()
    return count, mean, math.sqrt(squares / count)


def worth_loss(logits: Tensor, value: Tensor, batch: Batch, *, temperature: float, vf_coef: float) -> Losses:
    """Squared error of the logits, less their mean over the legal actions, as worths in units of a temperature; and of values.

    With no error left the policy is softmax(worth / temperature). Where a policy gradient hardly moves an action of low
    probability, this moves all alike. Clipped and KL divergence are 0.
    """
    legal = (batch.mask != 0).float()
    error = (logits - _legal_mean(logits, legal) - batch.worth / temperature) * legal
    policy = temperature / 2 * error.square().sum(-1).mean()
    value_error = value_loss(value, batch.target)
    none = torch.zeros_like(policy)
    mean_entropy = entropy(masked_log_probs(logits, batch.mask)).mean()
    return Losses(policy + vf_coef * value_error, policy, value_error, mean_entropy, none, none)


def ppo_update(
    network: Policy,
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    generator: torch.Generator,
    clock: Clock,
    *,
    critic: SuitNetwork | None = None,
    ranks: Ranks = Ranks(),  # noqa: B008  (frozen)
    guide_coef: float = 0.0,
    worth_temperature: float | None = None,
    epochs: int,
    minibatch: int,
    clip: float,
    ent_coef: float,
    vf_coef: float,
    max_grad_norm: float,
) -> dict[str, float]:
    """Several passes over a batch in minibatches; advantages are normalised over the whole batch.

    Args:
        network: learns its policy and its value.
        optimizer: of its parameters, and the critic's.
        batch: this rank's decisions.
        generator: of the order of the decisions.
        clock: takes the time of network arithmetic.
        critic: learns to value critics' rows; None: there is none.
        ranks: who learns together: gradients are averaged over all their decisions.
        guide_coef: weight of ``guide_loss``, with worths in units of their standard deviation.
        worth_temperature: learn the worths, see ``worth_loss``, in place of a policy gradient; None: do not.
        epochs: passes.
        minibatch: decisions per step of the optimiser, of all ranks together.
        clip, ent_coef, vf_coef: see ``ppo_loss``.
        max_grad_norm: bound on the norm of the gradient.

    Returns:
        Means over all minibatches and ranks of the losses and their parts, and the share of the targets' variance that the
        value explained before the update.

    Raises:
        TrainingError: the loss is not a finite number.
    """
    size = len(batch.action)
    count, mean, deviation = _moments(batch.advantage, ranks)
    advantage = (batch.advantage - mean) / (deviation + 1e-8)
    target_deviation = _moments(batch.target, ranks)[2]
    old_value = batch.target - batch.advantage
    explained = 1 - deviation**2 / (target_deviation**2 + 1e-8)
    worth_deviation = 1.0
    if guide_coef:
        legal = batch.mask != 0
        squares, entries = ranks.sum(torch.stack((batch.worth.double().square().sum(), legal.sum().double()))).tolist()
        worth_deviation = math.sqrt(squares / entries) + 1e-8
    parts = max(1, min(round(count / minibatch), ranks.least(size)))
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    sums = torch.zeros(7)
    for _ in range(epochs):
        order = torch.randperm(size, generator=generator)
        for index in order.tensor_split(parts):
            some = batch.select(index.to(batch.action.device))
            some_advantage = advantage[index.to(advantage.device)]
            with clock("network"):
                logits, value = network(some.observation)
                if worth_temperature is not None:
                    losses = worth_loss(logits, value, some, temperature=worth_temperature, vf_coef=vf_coef)
                else:
                    losses = ppo_loss(logits, value, some, some_advantage, clip=clip, ent_coef=ent_coef, vf_coef=vf_coef)
                total = losses.total
                if guide_coef:
                    total = total + guide_coef / worth_deviation * guide_loss(logits, some)
                if critic is not None:
                    total = total + vf_coef * value_loss(critic.values(some.observation), some.target)
                optimizer.zero_grad()
                total.backward()  # type: ignore[no-untyped-call]
                ranks.average_gradients(parameters, len(index))
                norm = torch.nn.utils.clip_grad_norm_(parameters, max_grad_norm)
                if not torch.isfinite(norm):  # of the gradient: if the loss is no number, this is none
                    raise TrainingError(
                        "the loss is no longer a finite number; resume from the last checkpoint with a lower lr"
                    )
                optimizer.step()
            with torch.no_grad():
                values = (total, losses.policy, losses.value, losses.entropy, losses.kl, losses.clipped, norm)
                sums += torch.stack(values).cpu()
    names = ("loss", "policy_loss", "value_loss", "entropy", "kl", "clipped", "grad_norm", "mean_value", "mean_target")
    means = torch.cat((sums / (epochs * parts), torch.stack((old_value.mean(), batch.target.mean())).cpu()))
    means = ranks.sum(means.double() * size) / count  # each rank's counts as much as it has decisions
    return dict(zip(names, means.tolist(), strict=True)) | {"explained_variance": explained}
