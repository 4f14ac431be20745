"""Training on several processes: what they must agree on. With one process all of it does nothing."""

import dataclasses
import datetime
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Self

import torch
import torch.distributed as dist
from torch import Tensor, nn

from settebello_training.errors import TrainingError

TIMEOUT: Final = datetime.timedelta(hours=2)  # the others wait while rank 0 measures


@dataclasses.dataclass(frozen=True)
class Ranks:
    """This process among those that train together: ``rank`` of ``size``, as ``torchrun`` starts them.

    Whatever the ranks do together raises a TrainingError when one of them has ended.

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
            with _others():
                dist.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo", timeout=TIMEOUT)
        return cls(dist.get_rank(), dist.get_world_size())

    def share(self, count: int) -> range:
        """Which of so many rows are this rank's; ``size`` divides ``count``."""
        each = count // self.size
        return range(self.rank * each, (self.rank + 1) * each)

    def sum(self, values: Tensor) -> Tensor:
        """The sum over all ranks, in place."""
        if self.size > 1:
            with _others():
                dist.all_reduce(values)
        return values

    def least(self, count: int) -> int:
        """The least of all ranks' numbers."""
        if self.size == 1:
            return count
        least = torch.tensor(count)
        with _others():
            dist.all_reduce(least, dist.ReduceOp.MIN)
        return int(least)

    def average_gradients(self, parameters: Iterable[nn.Parameter], weight: int) -> None:
        """Make each gradient the mean over all ranks' decisions, of which this rank's are so many."""
        if self.size == 1:
            return
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        flat = torch.cat([gradient.flatten() * weight for gradient in gradients] + [gradients[0].new_tensor([weight])])
        flat = self.sum(flat)
        flat = flat[:-1] / flat[-1]
        sizes = [gradient.numel() for gradient in gradients]
        for gradient, mean in zip(gradients, torch.split(flat, sizes), strict=True):
            gradient.copy_(mean.view_as(gradient))

    def from_first(self, values: Tensor) -> Tensor:
        """Rank 0's values, in place."""
        if self.size > 1:
            with _others():
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
            with _others():
                dist.all_gather(parts, plain)
            joined[name] = torch.cat([part.view(tensor.dtype) for part in parts], dim)
        return joined


def leave() -> None:
    """End what ``Ranks.join`` began; nothing where it began nothing."""
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()


def own_device() -> torch.device:
    """Where this process computes: a GPU of its own, number ``LOCAL_RANK`` under ``torchrun``; the CPU where there is none.

    Raises:
        TrainingError: there are GPUs, but fewer than processes on this machine.
    """
    if not torch.cuda.is_available():
        return torch.device("cpu")
    number, count = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
    if number >= count:
        raise TrainingError(
            f"process {number + 1} on this machine has no GPU of its own, there are {count}: start no more processes than "
            "that, or train on CPUs with CUDA_VISIBLE_DEVICES= (nothing after it)"
        )
    torch.cuda.set_device(number)
    return torch.device("cuda", number)


@contextmanager
def _others() -> Iterator[None]:
    """Make one of our errors of what torch raises when another process is gone."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        told = str(error).partition("\n")[0].partition(". ")[0]
        raise TrainingError(
            f"another process of this run has ended or cannot be reached ({told}); resume from the last checkpoint"
        ) from error
