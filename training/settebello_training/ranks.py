"""Training on several processes: what they must agree on. With one process all of it does nothing."""

import dataclasses
import datetime
import os
from collections.abc import Iterable, Mapping
from typing import Final, Self

import torch
import torch.distributed as dist
from torch import Tensor, nn

from settebello_training.errors import TrainingError

TIMEOUT: Final = datetime.timedelta(hours=2)  # the others wait while rank 0 measures


@dataclasses.dataclass(frozen=True)
class Ranks:
    """This process among those that train together: ``rank`` of ``size``, as ``torchrun`` starts them.

    Attributes:
        rank: 0..size-1; rank 0 measures, shows progress and writes.
        size: how many there are.
    """

    rank: int = 0
    size: int = 1

    @classmethod
    def join(cls, device: torch.device) -> Self:
        """Meet the others if ``torchrun`` started this process; alone otherwise.

        Raises:
            TrainingError: the others cannot be reached.
        """
        if int(os.environ.get("WORLD_SIZE", "1")) == 1:
            return cls()
        if not dist.is_initialized():
            try:
                dist.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo", timeout=TIMEOUT)
            except (RuntimeError, ValueError) as error:
                raise TrainingError(f"the other processes cannot be reached: {error}") from error
        return cls(dist.get_rank(), dist.get_world_size())

    def share(self, count: int) -> range:
        """Which of so many rows are this rank's; ``size`` divides ``count``."""
        each = count // self.size
        return range(self.rank * each, (self.rank + 1) * each)

    def sum(self, values: Tensor) -> Tensor:
        """The sum over all ranks, in place."""
        if self.size > 1:
            dist.all_reduce(values)
        return values

    def least(self, count: int) -> int:
        """The least of all ranks' numbers."""
        if self.size == 1:
            return count
        least = torch.tensor(count)
        dist.all_reduce(least, dist.ReduceOp.MIN)
        return int(least)

    def average_gradients(self, parameters: Iterable[nn.Parameter], weight: int) -> None:
        """Make each gradient the mean over all ranks' decisions, of which this rank's are so many."""
        if self.size == 1:
            return
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        flat = torch.cat([gradient.flatten() * weight for gradient in gradients] + [gradients[0].new_tensor([weight])])
        dist.all_reduce(flat)
        flat = flat[:-1] / flat[-1]
        sizes = [gradient.numel() for gradient in gradients]
        for gradient, mean in zip(gradients, torch.split(flat, sizes), strict=True):
            gradient.copy_(mean.view_as(gradient))

    def from_first(self, values: Tensor) -> Tensor:
        """Rank 0's values, in place."""
        if self.size > 1:
            dist.broadcast(values, 0)
        return values

    def gather(self, tensors: Mapping[str, Tensor], dim: int = 0) -> dict[str, Tensor]:
        """All ranks' tensors of equal shapes, joined along a dimension in the order of the ranks."""
        if self.size == 1:
            return dict(tensors)
        joined = {}
        for name, tensor in tensors.items():
            plain = tensor.contiguous().view(torch.uint8) if tensor.dtype == torch.bool else tensor.contiguous()
            parts = [torch.empty_like(plain) for _ in range(self.size)]
            dist.all_gather(parts, plain)
            joined[name] = torch.cat([part.view(tensor.dtype) for part in parts], dim)
        return joined
