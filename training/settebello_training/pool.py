"""Whom the learner plays besides itself: levels of settebello and older selves, in a share of the games.

Playing against a mixture of what it was before keeps a policy from chasing its own tail, and from forgetting how to beat what
it has left behind (fictitious self-play; Heinrich, Lanctot and Silver 2015, "Fictitious self-play in extensive-form games").
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from settebello import BatchEnv
from settebello.opponents import Opponent, ask, check_opponent, from_spec
from settebello_training.network import SuitNetwork, masked_log_probs, sample

GROUPS: Final = 4  # at a time so many of the pool play


class Pool:
    """The others, and which rows they play in.

    In the first ``rows`` games one of the pool plays side ``row % 2``. These rows are cut into groups; ``draw`` gives each
    group a member, a level or an older self, each as likely as any other.

    Args:
        game: id of the game.
        rows: games that the pool plays in.
        levels: specs of opponents, as commands take them.
        size: older selves that are kept at most; when there are more, every second is forgotten, and new ones come half as
            often.
        interval: updates between two older selves, at first.
        network: makes one for an older self, without weights.

    Attributes:
        selves: weights by name of each older self, oldest first.
        interval: updates between two of them.

    Raises:
        OptionError: one of the levels is unknown, or sees all cards.
        CheckpointError: one of them is the folder of a run that is damaged or of another game.
    """

    def __init__(
        self, game: str, rows: int, levels: tuple[str, ...], size: int, interval: int, network: Callable[[], SuitNetwork]
    ) -> None:
        self.rows = rows
        self.size = size
        self.interval = interval
        self.selves: list[dict[str, Tensor]] = []
        self._levels = [training_opponent(game, level, "pool_levels") for level in levels]
        self._networks = [network() for _ in range(GROUPS)]
        self._groups = np.array_split(np.arange(rows), GROUPS)
        self._playing: list[Any] = [None] * GROUPS

    def remember(self, updates: int, weights: dict[str, Tensor]) -> None:
        """Keep these weights if it is time for an older self."""
        if not self.size or updates % self.interval:
            return
        self.selves.append({name: tensor.detach().cpu().clone() for name, tensor in weights.items()})
        if len(self.selves) > self.size:
            self.selves = self.selves[1::2]
            self.interval *= 2

    def draw(self, generator: torch.Generator) -> None:
        """Choose who plays in each group from now on."""
        members = len(self._levels) + len(self.selves)
        for group, network in enumerate(self._networks):
            if not members:
                self._playing[group] = None
                continue
            chosen = int(torch.randint(members, (1,), generator=generator))
            if chosen < len(self._levels):
                self._playing[group] = self._levels[chosen]
                reseed(self._levels[chosen], generator)
            else:
                network.load_state_dict(self.selves[chosen - len(self._levels)])
                self._playing[group] = network

    def to_move(self, seat: NDArray[np.integer]) -> NDArray[np.bool_]:
        """(N,) bool, the rows in which one of the pool is to move, given the seats to move (N,)."""
        moves = np.zeros(len(seat), np.bool_)
        if self._playing[0] is not None:
            moves[: self.rows] = seat[: self.rows] % 2 == np.arange(self.rows) % 2
        return moves

    def act(
        self,
        env: BatchEnv,
        shown: NDArray[np.int8],
        moves: NDArray[np.bool_],
        action: NDArray[np.int64],
        generator: torch.Generator,
    ) -> None:
        """Put the actions of the pool into the rows in which it is to move; ``shown`` (N, n) is what networks see."""
        for group, member in zip(self._groups, self._playing, strict=True):
            rows = group[moves[group]]
            if not len(rows):
                continue
            if isinstance(member, SuitNetwork):
                logits, _ = member(torch.from_numpy(shown[rows]))
                log_probs = masked_log_probs(logits, torch.from_numpy(env.action_mask[rows]))
                action[rows] = sample(log_probs, generator).numpy()
            else:
                action[rows] = ask_rows(member, env, rows)


def training_opponent(game: str, spec: str, name: str) -> Opponent:
    """An opponent that plays in training, from the text that commands take; ``name`` is the setting's, for messages.

    Raises:
        OptionError: it is unknown, or sees all cards.
        CheckpointError: it is the folder of a run that is damaged or of another game.
    """
    opponent = from_spec(game, spec, 0)
    check_opponent(name, opponent)
    return opponent


def reseed(opponent: Opponent, generator: torch.Generator) -> None:
    """Give an opponent that draws new random streams, so that a resumed run sees the same ones."""
    if hasattr(opponent, "reseed"):
        opponent.reseed(int(torch.randint(2**31, (1,), generator=generator)))


def ask_rows(opponent: Opponent, env: BatchEnv, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """An opponent's actions (n,) for the seats to move in these rows (n,)."""
    act_batch = getattr(opponent, "act_batch", None)
    if act_batch is not None:
        actions: NDArray[np.int64] = act_batch(env, rows)
        return actions
    return np.array([ask(opponent, env.information(int(row), int(env.seat[row]))) for row in rows], np.int64)
