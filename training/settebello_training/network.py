"""The network: one trunk, a masked policy and a value, on int8 observations."""

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

# What an illegal action's logit becomes: so low that its probability is exactly 0 in float32, and finite, so that
# 0 * log(0) in the entropy is 0 and not NaN.
ILLEGAL_LOGIT: Final = -1e9


class PolicyValueNetwork(nn.Module):
    """Multi-layer perceptron with a policy head and a value head on a shared trunk.

    Args:
        high: (n,) the most each observation element can be; elements are divided by it, those that are always 0 stay 0.
        num_actions: size of the action space.
        hidden: widths of the hidden layers.
        generator: source of the first weights; None leaves them unset, for loading.
    """

    scale: Tensor

    def __init__(
        self, high: NDArray[Any], num_actions: int, hidden: Sequence[int], generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        bound = torch.tensor(np.asarray(high, np.float32))
        # Not saved: it follows from the observation spec, whose hash a checkpoint carries.
        self.register_buffer("scale", torch.where(bound > 0, 1 / bound.clamp(min=1), 0.0), persistent=False)
        widths = [len(bound), *hidden]
        self.trunk = nn.ModuleList(_linear(inputs, outputs) for inputs, outputs in itertools.pairwise(widths))
        self.policy = _linear(widths[-1], num_actions)
        self.value = _linear(widths[-1], 1)
        if generator is not None:
            for layer in self.trunk:
                _initialise(layer, math.sqrt(2.0), generator)
            _initialise(self.policy, 0.01, generator)  # near-uniform first policy
            _initialise(self.value, 1.0, generator)

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (batch, actions) float32, not yet masked, and values (batch,) float32 of observations (batch, n) int8."""
        hidden = observation.to(torch.float32) * self.scale  # cast here: int8 is what travels
        for layer in self.trunk:
            hidden = torch.relu(layer(hidden))
        return self.policy(hidden), self.value(hidden).squeeze(-1)


def _linear(inputs: int, outputs: int) -> nn.Linear:
    """A layer without weights yet: the usual ones would come from torch's global generator."""
    layer: nn.Linear = nn.utils.skip_init(nn.Linear, inputs, outputs)  # type: ignore[no-untyped-call]
    return layer


def _initialise(layer: nn.Module, gain: float, generator: torch.Generator) -> None:
    assert isinstance(layer, nn.Linear)
    nn.init.orthogonal_(layer.weight, gain, generator=generator)
    nn.init.zeros_(layer.bias)


def masked_log_probs(logits: Tensor, mask: Tensor) -> Tensor:
    """Log-probabilities (batch, actions) over the legal actions.

    Masking the logits is the gradient of the renormalised policy: illegal logits get none (Huang & Ontañón 2022, "A closer
    look at invalid action masking in policy gradient algorithms").

    Args:
        logits: (batch, actions) float32.
        mask: (batch, actions) int8 or bool, nonzero where legal; at least one in each row.
    """
    return torch.log_softmax(torch.where(mask != 0, logits, ILLEGAL_LOGIT), dim=-1)


def entropy(log_probs: Tensor) -> Tensor:
    """Entropy (batch,) in nats of log-probabilities (batch, actions)."""
    return -(log_probs.exp() * log_probs).sum(-1)


def sample(log_probs: Tensor, generator: torch.Generator) -> Tensor:
    """Draw one action (batch,) int64 per row, by the Gumbel-max trick: no row is renormalised or checked."""
    noise = torch.empty_like(log_probs).exponential_(generator=generator)
    return (log_probs - noise.clamp_(min=1e-30).log()).argmax(-1)  # clamped: -log(0) would make an illegal action win


def spec_bounds(spec: Iterable[Sequence[Any]]) -> NDArray[np.float32]:
    """High value (n,) of each observation element, from an environment's ``obs_spec()``."""
    return np.concatenate([np.broadcast_to(np.asarray(high, np.float32), stop - start) for _, start, stop, _, high, _ in spec])


def use_threads(threads: int) -> None:
    """Set how many CPU threads torch computes with."""
    torch.set_num_threads(threads)
