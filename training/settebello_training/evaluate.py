"""Evaluation: a network as an opponent in settebello's arena, on mirrored deals that no training ever sees."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from settebello import BatchEnv, arena
from settebello.arena import DuelResult
from settebello.errors import OptionError
from settebello.opponents.endings import ending_action, solve_or_choose
from settebello.opponents.inputs import inputs_of
from settebello_training.config import TrainConfig
from settebello_training.network import Policy, exported_network, masked_log_probs, sample, use_threads

# Arena seeds. The final result comes from other deals than the curve, so that whoever chooses a run or a setting by its curve
# has not chosen by luck of those cards.
CURVE_SEED: Final = 0
FINAL_SEED: Final = 1


class NetworkOpponent:
    """Plays a network's most probable legal action, or draws one as likely as the network says.

    Args:
        game: id of the game that the network was made for.
        network: plays with the weights it has when asked, so that training goes on behind it.
        greedy: False draws.
        exact_endings: two-player Tressette: perfect play once the stock is empty.
        seed: 0..2**63-1, of the draws.

    Attributes:
        game: as given.
        name: what results call it.
        network: as given.
        greedy: as given.
    """

    name = "network"

    def __init__(self, game: str, network: Policy, *, greedy: bool = True, exact_endings: bool = False, seed: int = 0) -> None:
        self.game = game
        self.exact_endings = exact_endings
        self.network = network
        self.greedy = greedy
        self._generator = torch.Generator()
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        """Start the draws anew."""
        self._generator.manual_seed(seed)

    def act(self, information: Any) -> int:
        """An action of the seat to move, given the ``Information`` of that seat.

        Raises:
            OptionError: the seat is not to move, or the information is of another game.
        """
        self._check_game(information.game)
        mask = information.action_mask()
        if not mask.any():
            raise OptionError(f"seat {information.seat} is not to move")
        best = ending_action(information) if self.exact_endings else -1
        if best >= 0:
            return best
        return int(self._choose(inputs_of(self.game).of_information(information)[None], mask[None])[0])

    def act_batch(self, batch: BatchEnv, rows: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """An action int64 ``(n,)`` for the seat to move of each of these rows ``(n,)``.

        Raises:
            OptionError: the games are other ones.
        """
        self._check_game(batch.game)
        if not self.exact_endings:
            return self._choose(inputs_of(self.game).of_batch(batch, rows), batch.action_mask[rows])
        return solve_or_choose(batch, rows, self._choose)

    def _check_game(self, game: str) -> None:
        if game != self.game:
            raise OptionError(f"a network for {self.game!r} cannot play {game!r}")

    def _choose(self, shown: NDArray[np.int8], mask: NDArray[np.int8]) -> NDArray[np.int64]:
        with torch.inference_mode():
            logits, _ = self.network(torch.from_numpy(shown))
            log_probs = masked_log_probs(logits, torch.from_numpy(mask))
            chosen = log_probs.argmax(-1) if self.greedy else sample(log_probs, self._generator)
        actions: NDArray[np.int64] = chosen.numpy()
        return actions


def evaluate(config: TrainConfig, weights: Mapping[str, Tensor], level: str, deals: int, seed: int) -> DuelResult:
    """Play a run's exported weights against a level, with the run's options.

    The deals cannot be training deals: all training seeds are far below the arena's, which start at 2**62.

    Args:
        config: settings of the run.
        weights: of a ``PolicyValueNetwork``, which plays all seats of one side, then of the other.
        level: an opponent, as commands take it.
        deals: distinct deals (matches, where the run's episodes are), each played twice with the sides swapped.
        seed: of the arena: of the deals and of all draws.

    Raises:
        ArenaError: the network chose an illegal action, as it can with weights that are no numbers.
    """
    network = exported_network(config.game, config.hidden, weights)
    opponent = NetworkOpponent(config.game, network, greedy=config.greedy, exact_endings=config.settles)
    threads = torch.get_num_threads()
    use_threads(1)  # the arena asks for some 64 actions at a time: more threads gain nothing, and on a busy machine lose much
    try:
        return arena.duel(config.game, opponent, level, deals, seed, episode=config.episode, **config.options)
    finally:
        use_threads(threads)
