"""Where the time of a run went."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """Seconds spent in named parts of the work: ``with clock("network"): ...`` adds to a part. Parts do not nest.

    Attributes:
        seconds: by part.
        total: of all updates, the parts and what lies between them.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.total = 0.0

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        """Add the time of a ``with`` block to a part."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[part] = self.seconds.get(part, 0.0) + time.perf_counter() - start

    @property
    def outside_network(self) -> float:
        """Share of the time that was not network arithmetic (forward, backward, optimiser), 0..1."""
        return 1.0 - self.seconds.get("network", 0.0) / self.total if self.total > 0 else 0.0
