"""The learned opponent: a policy network, corrected by a look one move ahead in sampled worlds, and exact play where it can be.

The policy is what self-play arrived at (bazzica's: what play-outs by "medium" were worth in games that it played against
itself). What it would play is checked against what a critic, which sees all hands, expects of each action in worlds that agree
with what the seat knows. The critic has learnt what comes of a position when all play on by the policy, and that sees no hidden
cards: so its mean over worlds estimates the worth of the action itself, not what those who see everything would make of it, and
a step from the policy towards it improves on the policy (Sutton and Barto 2018, "Reinforcement learning", section 4.2).
Play-outs by "medium" in the same worlds err in other ways than the critic; the mean of both errs less than either in Tressette.
In bazzica they stop at the end of the hand, and the critic values what they lead to.
"""

import dataclasses
import functools
import math
import os
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from settebello.errors import CheckpointError, OptionError
from settebello.information import Information
from settebello.opponents.compiled import policy
from settebello.opponents.exported import (
    MANIFEST,
    START_ANEW,
    check_fits,
    checkpoint_folder,
    read_manifest,
    read_weights,
)
from settebello.opponents.flat import NO_VALUE, critic_rows, look_one_ahead, only_world, show_known
from settebello.opponents.inputs import inputs_of
from settebello.opponents.network import Network
from settebello.opponents.search import MAX_TRIES, SearchOpponent
from settebello.opponents.shipped import shipped_folder
from settebello.options import check_int, check_real
from settebello.utility import POINT_UTILITY

# What is best is not the same in each game.
GAME_DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "bazzica": {"worlds": 64, "doubt": 0.1, "prior": 0.05, "playouts": 0.0}
}
MAX_MARGIN: Final = 1000.0
MAX_WORLDS: Final = 1000  # all at once: what comes of each action in each is some ten kilobytes
WITHOUT_CRITIC: Final = "with worlds=0 it plays by the policy alone, with playouts=1 by policy and play-outs"


@dataclasses.dataclass(frozen=True, kw_only=True)
class HardParameters:
    """How the learned opponent thinks. ``load`` puts other values in place of some of these in bazzica: see ``GAME_DEFAULTS``.

    Attributes:
        worlds: the budget: in so many worlds each action is looked at; 0: the policy network alone (and exact endings).
        tries, doubt: see ``SearchParameters``.
        prior: points of the deal that an action gains for each factor e by which the policy prefers it.
        margin: an action that the policy gives a logit further than this below its best one's is not looked at; if none is
            left beside the best, nothing is. 1000: all are.
        playouts: share of the judgement of an action that comes from play-outs by "medium" in the same worlds; the critic's is
            the rest. With 1 the critic is not asked. In bazzica the hand at hand is always played out, and this is the share
            of the estimate with which play-outs end there; the critic values the same ends.
        folder: of a training run or an exported one, or its manifest; kept as an absolute path. "": the one that comes with
            settebello.
    """

    worlds: int = 32
    tries: int = 16
    doubt: float = 0.5
    prior: float = 0.2
    margin: float = 6.0
    playouts: float = 0.5
    folder: str = ""

    budget: ClassVar[str] = "worlds"
    most: ClassVar[int] = MAX_WORLDS
    play_for: ClassVar[str] = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "worlds", check_int("worlds", self.worlds, 0, MAX_WORLDS))
        object.__setattr__(self, "tries", check_int("tries", self.tries, 1, MAX_TRIES))
        object.__setattr__(self, "doubt", check_real("doubt", self.doubt, 0.0, 1.0))
        object.__setattr__(self, "playouts", check_real("playouts", self.playouts, 0.0, 1.0))
        object.__setattr__(self, "prior", check_real("prior", self.prior, 0.0, 1000.0))
        object.__setattr__(self, "margin", check_real("margin", self.margin, 0.0, MAX_MARGIN))
        if not isinstance(self.folder, str | os.PathLike):
            raise OptionError(f"folder={self.folder!r}: expected the path of a training run, as in './runs/first'")
        if self.folder == "":
            return
        folder = str(checkpoint_folder(self.folder).absolute())
        if "," in folder:
            raise OptionError(f"folder={folder!r}: expected a path without commas, which separate parameters")
        object.__setattr__(self, "folder", folder)


@functools.lru_cache(maxsize=32)
def _network(game: str, folder: Path, part: str, files: tuple[tuple[str, int, int], ...]) -> Network:
    """The policy ("weights") or the critic in a folder. ``files``, as they are now: changed ones are read anew."""
    weights, critic = read_weights(folder, read_manifest(folder), part), part == "critic"
    high = inputs_of(game).bounds(critic=critic)[1]
    return Network(weights, "value" if critic else "policy", high, alike=critic)


def _files(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Name, size and time of the last change of each file."""
    with os.scandir(folder) as entries:
        stats = [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
    return tuple(sorted((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats))


def _points(folder: Path, manifest: Mapping[str, Any]) -> float:
    """By how much the critic's values are to be multiplied to be points of the deal.

    Raises:
        CheckpointError: there is no critic, or it values something else.
    """
    config = manifest["config"]
    if "critic" not in manifest["files"]:
        raise CheckpointError(
            f"checkpoint {folder}: holds no critic to look ahead with; {WITHOUT_CRITIC}, or take a run with critic='all'"
        )
    for name, wanted in (("episode", "deal"), ("reward", "points"), ("gamma", 1.0)):
        if config.get(name) != wanted:
            raise CheckpointError(
                f"checkpoint {folder}: its critic was trained with {name}={reprlib.repr(config.get(name))}, not {wanted!r}, "
                f"and so does not tell points of the deal; {WITHOUT_CRITIC}"
            )
    scale = config.get("reward_scale")
    if isinstance(scale, bool) or not isinstance(scale, int | float) or not 0 < scale < math.inf or 1 / scale == math.inf:
        raise CheckpointError(
            f"checkpoint {folder}: {MANIFEST} gives reward_scale={reprlib.repr(scale)}, expected a number above 0; {START_ANEW}"
        )
    return 1 / scale


class HardOpponent(SearchOpponent):
    """Plays by what self-play has taught a network, and looks ahead; see the top of this file.

    Where the game is open its play is perfect, as that of "search" is; in a match it looks at the score only there, elsewhere
    at the points of the deal. What ``values`` says is there the mean of what critic and play-outs expect of each legal action,
    NaN with worlds=0; it plays the action whose value and policy together are best (``prior``), of those within ``margin``.

    Args:
        game: id of the game.
        seed: of the worlds it samples; None takes the system's entropy.
        parameters: see ``HardParameters``.

    Attributes:
        folder: where its networks lie.

    Raises:
        OptionError: unknown game, or the seed is not a whole number in 0..2**63-1.
        CheckpointError: the networks are missing, damaged, or of another game, version or observation; or there is no critic
            that tells points of the deal, and it would be asked.
    """

    level = "hard"
    game_defaults = GAME_DEFAULTS
    parameters_type: ClassVar[Any] = HardParameters

    def __init__(self, game: str, seed: int | None = None, parameters: Any = None) -> None:
        super().__init__(game, seed, parameters)
        of, chosen = self._game, self.parameters.folder
        self.folder = Path(chosen) if chosen else shipped_folder(of.id)
        manifest = read_manifest(self.folder)
        check_fits(self.folder, manifest, of.id)
        files = _files(self.folder)
        self._policy = _network(of.id, self.folder, "weights", files)
        if self.parameters.worlds and self.parameters.playouts < 1:
            self._points = _points(self.folder, manifest)
            self._critic = _network(of.id, self.folder, "critic", files)
        self._inputs = inputs_of(of.id)
        self._row = np.zeros((1, of.obs_size), np.int8)
        self._mask = np.zeros((1, of.mask_size), np.int8)
        self._states = np.zeros(0, of.dtype)
        self._hand_by_hand = of.id == "bazzica"  # play-outs stop there before the deal is over
        self._explains = False  # looks at all actions, also those that are out of the question

    def values(self, information: Information) -> dict[int, float]:
        with self._lock:
            self._explains = True
            try:
                return super().values(information)
            finally:
                self._explains = False

    def _for_match(self, state: Any) -> bool:
        return super()._for_match(state) and self._is_open(state)

    def _look_ahead(self, record: npt.NDArray[Any]) -> int:
        own, seat, word = self.parameters, int(record[0]["turn"]), self._word(record)
        if self._is_open(record[0]):
            return self._play_known(only_world(record, seat, self._tables, self._scratch, word), word)
        show_known(record, seat, self._row[0], self._row.view(np.uint64)[0], self._mask.view(np.uint64)[0])
        shown = self._inputs.with_hints(self._row, record, np.zeros(1, np.int64))
        actions = np.flatnonzero(self._mask[0])
        logits = self._policy(shown)[0, actions].astype(np.float64)
        self._values[:] = NO_VALUE
        if own.worlds == 0:
            self._values[actions] = np.nan
            return int(actions[logits.argmax()])
        if not self._explains:
            near = logits >= logits.max() - own.margin
            actions, logits = actions[near], logits[near]
            if len(actions) == 1:
                return int(actions[0])
        worth = self._worth(record, seat, actions, word)
        self._values[actions] = worth
        return int(actions[(worth + own.prior * logits).argmax()])

    def _worth(
        self, record: npt.NDArray[Any], seat: int, actions: npt.NDArray[np.int64], word: np.uint64
    ) -> npt.NDArray[np.float64]:
        """Points of the deal that each action is expected to bring the seat's side, own minus the other's."""
        own, count = self.parameters, self.parameters.worlds * len(actions)
        if len(self._states) < count:
            self._states = np.zeros(count, self._game.dtype)
        states = self._states[:count]
        sampling = (own.worlds, own.tries, own.doubt, self._tables, self._scratch, policy(self.game, "medium"))
        worth, outcomes, known = np.zeros(count), np.zeros(count), np.zeros(count, np.bool_)
        played = (own.playouts > 0, self._hand_by_hand)
        look_one_ahead(record, seat, *sampling, actions, states, *played, POINT_UTILITY, outcomes, word)
        self._exact.leaf_values(states, seat, self._memory, worth, known)
        places = np.flatnonzero(~known)
        if own.playouts == 1:
            worth[places] = outcomes[places]
        elif len(places):
            rows, seats = np.zeros((len(places), self._game.state_size), np.int8), np.zeros(len(places), np.int64)
            critic_rows(states, places, rows, rows.view(np.uint64), seats)
            expected = self._points * self._critic(self._inputs.with_hints(rows, states, places))[:, 0].astype(np.float64)
            worth[places] += np.where(seats % 2 == seat % 2, expected, -expected)
            worth[places] += own.playouts * (outcomes[places] - worth[places])
        mean: npt.NDArray[np.float64] = worth.reshape(own.worlds, len(actions)).mean(axis=0)
        return mean
