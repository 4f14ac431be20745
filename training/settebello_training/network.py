"""The networks: a trunk, a masked policy and a value, on int8 rows; in training one that shares weights between equal suits."""

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from settebello.errors import CheckpointError
from settebello.opponents.inputs import inputs_of
from settebello.opponents.network import input_scale
from settebello_training.config import SUITS_AND_REST

# What an illegal action's logit becomes: so low that its probability is exactly 0 in float32, and finite, so that
# 0 * log(0) in the entropy is 0 and not NaN.
ILLEGAL_LOGIT: Final = -1e9

TOLERANCE: Final = 1e-5  # of weights that should be equal, in units of the largest: they were added up in float32


def suit_widths(width: int, suits: int) -> tuple[int, int]:
    """Features of each suit and of the rest in a hidden layer of a width; suits come first, one after the other."""
    each = max(1, width // SUITS_AND_REST)
    return each, max(1, width - suits * each)


class PolicyValueNetwork(nn.Module):
    """Multi-layer perceptron with a policy head and a value head on a shared trunk: what is exported.

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
        # Not saved: it follows from the observation spec, whose hash a checkpoint carries.
        self.register_buffer("scale", _scale(high), persistent=False)
        widths = [len(high), *hidden]
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


class SuitLayer(nn.Module):
    """A linear layer that does to each equal suit the same.

    Its input and output are features of each of S suits and features of the rest. A suit's output is its own input times one
    matrix, plus what all suits on average and the rest give to every suit; the rest's output comes from that average and the
    rest. Exchanging suits in the input exchanges them in the output: the linear maps with this property are exactly these
    (Zaheer et al. 2017, "Deep sets"), and they are an ordinary dense layer with many weights tied (``dense``).

    Args:
        suits: S.
        inputs, outputs: features of a suit and features of the rest, each.
    """

    def __init__(self, suits: int, inputs: tuple[int, int], outputs: tuple[int, int]) -> None:
        super().__init__()
        self.suits = suits
        self.inputs = inputs
        self.outputs = outputs
        self.own = _linear(inputs[0], outputs[0], bias=False) if outputs[0] else None
        self.shared = _linear(sum(inputs), sum(outputs))

    def forward(self, by_suit: Tensor, rest: Tensor) -> tuple[Tensor, Tensor]:
        """Output (batch, S, k') and (batch, m') of input (batch, S, k) and (batch, m)."""
        shared = self.shared(torch.cat((by_suit.mean(1), rest), dim=1))
        width = self.outputs[0]
        if self.own is None:
            return by_suit[:, :, :0], shared
        return self.own(by_suit) + shared[:, None, :width], shared[:, width:]

    def initialise(self, gain: float, generator: torch.Generator) -> None:
        """Draw first weights; half the variance comes from a suit's own input, half from what is shared."""
        for layer in (self.own, self.shared):
            if layer is not None:
                _initialise(layer, gain if self.own is None else gain / math.sqrt(2.0), generator)

    def dense(self) -> tuple[Tensor, Tensor]:
        """Weight (outputs, inputs) and bias (outputs,) of the ordinary layer that does the same; suits come first, one after
        the other, then the rest.
        """
        device, k, width = self.shared.weight.device, self.inputs[0], self.outputs[0]
        shared, bias = self.shared.weight.detach().cpu().clone(), self.shared.bias.detach().cpu()
        shared[:, :k] /= self.suits  # there the sum over suits, here their average
        weight = torch.cat([shared[:, :k].repeat(1, self.suits), shared[:, k:]], dim=1)
        weight = torch.cat([weight[:width].repeat(self.suits, 1), weight[width:]])
        if self.own is not None:
            own = self.own.weight.detach().cpu()
            for suit in range(self.suits):
                weight[suit * width : (suit + 1) * width, suit * k : (suit + 1) * k] += own
        return weight.to(device), torch.cat([bias[:width].repeat(self.suits), bias[width:]]).to(device)

    def load_dense(self, weight: NDArray[np.float32], bias: NDArray[np.float32]) -> None:
        """Take the weights of the ordinary layer that does what this one is to do.

        Raises:
            CheckpointError: it does not treat suits alike.
        """
        k, width, suits = self.inputs[0], self.outputs[0], self.suits
        ordinary, first = torch.from_numpy(weight), torch.from_numpy(bias)
        other = ordinary[:width, k : 2 * k]  # what a suit takes from another one
        to_suits = torch.cat([other, ordinary[:width, suits * k :]], dim=1)
        to_rest = torch.cat([ordinary[suits * width :, :k], ordinary[suits * width :, suits * k :]], dim=1)
        found = SuitLayer(suits, self.inputs, self.outputs)
        with torch.no_grad():
            if found.own is not None:
                found.own.weight.copy_(ordinary[:width, :k] - other)
            found.shared.weight.copy_(torch.cat([to_suits, to_rest]))
            found.shared.weight[:, :k] *= suits  # as in ``dense``
            found.shared.bias.copy_(torch.cat([first[:width], first[suits * width :]]))
        for ours, theirs in zip(found.dense(), (ordinary, first), strict=True):
            if not torch.allclose(ours, theirs, rtol=0, atol=TOLERANCE * float(theirs.abs().max())):
                raise CheckpointError("the network does not treat equal suits alike, as those of settebello-train do")
        self.load_state_dict(found.state_dict())


class SuitNetwork(nn.Module):
    """A policy and a value, or a value alone, on rows in which equal suits are treated alike.

    Args:
        game: id of the game.
        hidden: widths of the hidden layers; a fifth of each is for each equal suit, the others for the rest.
        generator: source of the first weights; None leaves them unset, for loading.
        ignored: parts of the observation that it does not look at.
        critic: it looks at critics' rows (see ``settebello.opponents.inputs``), with all hands, and has no policy head.
        whole_rows: it is given critics' rows, of which it looks at what is a policy's.
    """

    scale: Tensor
    columns: Tensor
    order: Tensor
    action_order: Tensor

    def __init__(
        self,
        game: str,
        hidden: Sequence[int],
        generator: torch.Generator | None = None,
        *,
        ignored: Collection[str] = (),
        critic: bool = False,
        whole_rows: bool = False,
    ) -> None:
        super().__init__()
        of = inputs_of(game)
        rows, actions = of.suits(critic=critic), of.game.action_suits()
        self.suits, self.per_suit = rows.by_suit.shape
        columns = np.concatenate([rows.by_suit.reshape(-1), rows.rest])
        high = of.bounds(critic=critic)[1].astype(np.float32)
        for name, start, stop, *_ in of.spec(critic=critic):
            if name in ignored:
                high[start:stop] = 0
        order = of.policy_part()[columns] if whole_rows and not critic else columns
        self.register_buffer("columns", torch.from_numpy(columns), persistent=False)
        self.register_buffer("order", torch.from_numpy(order), persistent=False)
        self.register_buffer("scale", _scale(high)[self.columns], persistent=False)
        action_order = np.argsort(np.concatenate([actions.by_suit.reshape(-1), actions.rest]))
        self.register_buffer("action_order", torch.from_numpy(action_order), persistent=False)
        widths = [(self.per_suit, len(rows.rest)), *(suit_widths(width, self.suits) for width in hidden)]
        self.trunk = nn.ModuleList(SuitLayer(self.suits, inputs, outputs) for inputs, outputs in itertools.pairwise(widths))
        policy = SuitLayer(self.suits, widths[-1], (actions.by_suit.shape[1], len(actions.rest)))
        self.policy = None if critic else policy
        self.value = SuitLayer(self.suits, widths[-1], (0, 1))
        if generator is not None:
            for layer in self.trunk:
                _suit_layer(layer).initialise(math.sqrt(2.0), generator)
            if self.policy is not None:
                self.policy.initialise(0.01, generator)  # near-uniform first policy
            self.value.initialise(1.0, generator)

    def _features(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        inputs = rows.index_select(1, self.order).to(torch.float32) * self.scale  # cast here: int8 is what travels
        split = self.suits * self.per_suit
        by_suit, rest = inputs[:, :split].view(-1, self.suits, self.per_suit), inputs[:, split:]
        for layer in self.trunk:
            by_suit, rest = layer(by_suit, rest)
            by_suit, rest = torch.relu(by_suit), torch.relu(rest)
        return by_suit, rest

    def forward(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (batch, actions) float32, not yet masked, and values (batch,) float32 of rows (batch, n) int8."""
        assert self.policy is not None
        by_suit, rest = self._features(rows)
        of_suits, of_rest = self.policy(by_suit, rest)
        logits = torch.cat((of_suits.flatten(1), of_rest), dim=1).index_select(1, self.action_order)
        return logits, self.value(by_suit, rest)[1].squeeze(-1)

    def values(self, rows: Tensor) -> Tensor:
        """Values (batch,) float32 of rows (batch, n) int8."""
        values: Tensor = self.value(*self._features(rows))[1].squeeze(-1)
        return values

    def dense(self) -> dict[str, Tensor]:
        """Weights by name of the ``PolicyValueNetwork`` that computes the same (without ``policy`` where there is none)."""
        weights: dict[str, Tensor] = {}
        with torch.no_grad():
            for k, layer in enumerate(self.trunk):
                weight, bias = _suit_layer(layer).dense()
                if k == 0:  # what it does not look at, an exported network may
                    weight = torch.empty_like(weight).index_copy_(1, self.columns, weight * (self.scale > 0))
                weights |= {f"trunk.{k}.weight": weight, f"trunk.{k}.bias": bias}
            if self.policy is not None:
                weight, bias = self.policy.dense()
                weights |= {"policy.weight": weight[self.action_order], "policy.bias": bias[self.action_order]}
            weight, bias = self.value.dense()
            weights |= {"value.weight": weight, "value.bias": bias}
        return {name: weight.contiguous() for name, weight in weights.items()}

    def load_dense(self, weights: Mapping[str, NDArray[np.float32]]) -> None:
        """Take weights as ``dense`` gives them.

        Raises:
            CheckpointError: they do not treat equal suits alike.
        """
        layers = {f"trunk.{k}": _suit_layer(layer) for k, layer in enumerate(self.trunk)} | {"value": self.value}
        if self.policy is not None:
            layers["policy"] = self.policy
        columns, actions = self.columns.cpu().numpy(), np.argsort(self.action_order.cpu().numpy())
        for name, layer in layers.items():
            weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
            if name == "trunk.0":
                weight = weight[:, columns]
            elif name == "policy":
                weight, bias = weight[actions], bias[actions]
            layer.load_dense(weight, bias)


Policy = PolicyValueNetwork | SuitNetwork


def exported_network(game: str, hidden: Sequence[int], weights: Mapping[str, Tensor]) -> PolicyValueNetwork:
    """The network of a game that has these weights, on the CPU."""
    of = inputs_of(game)
    network = PolicyValueNetwork(of.bounds()[1], of.game.num_actions, hidden)
    network.load_state_dict({name: tensor.cpu() for name, tensor in weights.items()})
    return network


def _suit_layer(layer: nn.Module) -> SuitLayer:
    assert isinstance(layer, SuitLayer)
    return layer


def _scale(high: NDArray[Any]) -> Tensor:
    """What each element of a row is multiplied by: 1 over the most it can be, 0 where that is 0."""
    return torch.from_numpy(input_scale(np.asarray(high)))


def _linear(inputs: int, outputs: int, *, bias: bool = True) -> nn.Linear:
    """A layer without weights yet: the usual ones would come from torch's global generator."""
    layer: nn.Linear = nn.utils.skip_init(nn.Linear, inputs, outputs, bias=bias)  # type: ignore[no-untyped-call]
    return layer


def _initialise(layer: nn.Module, gain: float, generator: torch.Generator) -> None:
    assert isinstance(layer, nn.Linear)
    nn.init.orthogonal_(layer.weight, gain, generator=generator)
    if layer.bias is not None:
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
    """Draw one action (batch,) int64 per row, by the Gumbel-max trick: no row is renormalised or checked.

    The generator may be on another device than the rows, so that a GPU draws what a CPU would.
    """
    noise = torch.empty_like(log_probs, device=generator.device).exponential_(generator=generator)
    gumbel = -noise.clamp_(min=1e-30).log()  # clamped: -log(0) would make an illegal action win
    return (log_probs + gumbel.to(log_probs.device)).argmax(-1)


def use_threads(threads: int) -> None:
    """Set how many CPU threads torch computes with."""
    torch.set_num_threads(threads)
