"""Playing a chunk of mirrored deals: the same deck and dealer twice, the opponents changing sides in between."""

import dataclasses
import pickle
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from settebello.batch import BatchEnv
from settebello.errors import OptionError
from settebello.opponents import LEVELS, check_opponent, from_spec
from settebello.options import whole_number

IntArray = npt.NDArray[np.int64]

# Deal k of arena seed s is the first deal of environment seed ARENA_SEEDS + s * 2**32 + k. All seeds below ARENA_SEEDS are
# left to training, so that nothing is measured on deals it learnt from.
ARENA_SEEDS: Final = 2**62
MAX_SEED: Final = 2**29 - 1
MAX_DEALS: Final = 2**32

# Deals of a chunk. It decides which random numbers opponents see, so it depends on nothing but what they can do.
BATCH_CHUNK: Final = 64  # both opponents have act_batch
SINGLE_CHUNK: Final = 8

SIDES: Final = ("a", "b")


@dataclasses.dataclass(frozen=True)
class Entrant:
    """An opponent that takes part.

    Attributes:
        label: its name in results.
        source: what ``from_spec`` reads, or the opponent itself.
        folder: of the checkpoint that an opponent read from text plays by, or None.
    """

    label: str
    source: Any
    folder: Path | None = None


@dataclasses.dataclass(frozen=True)
class Setup:
    """What all chunks of a duel or ladder share; worker processes are given it.

    Attributes:
        game: id of the game.
        entrants: who takes part.
        seed: of deals and opponents.
        episode: "deal" or "match".
        options: further options of the game that differ from the default.
    """

    game: str
    entrants: tuple[Entrant, ...]
    seed: int
    episode: str
    options: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Task:
    """A chunk to play: entrants number ``a`` and ``b`` on deals ``first`` to ``first + pairs - 1``."""

    a: int
    b: int
    number: int
    first: int
    pairs: int


@dataclasses.dataclass(frozen=True)
class Chunk:
    """What came of a task. In play 0 of each deal ``a`` is side 0, in play 1 it is side 1.

    Attributes:
        scores: final points, int ``(2, pairs, 2)`` by play, deal (or match) and side of the table.
        deals: deals dealt, int ``(2, pairs)``: all ones unless matches are played.
        dealers: side of the first dealer, int ``(pairs,)``.
        moves: of a and b.
        cpu: CPU-seconds inside the calls of a and of b.
        seconds: wall-clock seconds of everything.
        warm: whether these two had played in this process before, so that nothing was compiled or loaded on the way.
    """

    scores: IntArray
    deals: IntArray
    dealers: IntArray
    moves: tuple[int, int]
    cpu: tuple[float, float]
    seconds: float
    warm: bool

    @property
    def pairs(self) -> int:
        """Distinct deals (or matches)."""
        return len(self.dealers)

    @property
    def margins(self) -> IntArray:
        """Points of a minus b, int ``(2, pairs)``."""
        lead: IntArray = self.scores[..., 0] - self.scores[..., 1]
        return np.stack([lead[0], -lead[1]])

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        arrays = {name: getattr(self, name).tolist() for name in ("scores", "deals", "dealers")}
        return arrays | {"moves": self.moves, "cpu": self.cpu, "seconds": self.seconds, "warm": self.warm}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Chunk":
        """The chunk that ``to_dict`` described.

        Raises:
            ValueError: the numbers do not fit together.
        """
        scores, deals, dealers = (np.array(values[name], np.int64) for name in ("scores", "deals", "dealers"))
        if scores.shape != (2, len(dealers), 2) or deals.shape != (2, len(dealers)) or not (deals > 0).all():
            raise ValueError("a chunk whose numbers do not fit together")
        (moves_a, moves_b), (cpu_a, cpu_b) = values["moves"], values["cpu"]
        return cls(
            scores=scores,
            deals=deals,
            dealers=dealers,
            moves=(int(moves_a), int(moves_b)),
            cpu=(float(cpu_a), float(cpu_b)),
            seconds=float(values["seconds"]),
            warm=bool(values["warm"]),
        )


@dataclasses.dataclass(frozen=True)
class Fault:
    """Why a task could not be played to its end.

    Attributes:
        side: 0 for a, 1 for b.
        message: says all.
        illegal: whether the cause is an action that is not legal (or no action at all).
        cause: what the opponent raised, if it did.
    """

    side: int
    message: str
    illegal: bool
    cause: Exception | None = None


class OpponentError(Exception):
    """Carries a fault out of the loop; never seen outside."""

    def __init__(self, message: str, illegal: bool = False) -> None:
        super().__init__(message)
        self.illegal = illegal


def deal_seed(seed: int, number: int) -> int:
    """The environment seed of an arena deal."""
    return ARENA_SEEDS + seed * MAX_DEALS + number


def opponent_seed(seed: int, number: int, side: int) -> int:
    """The seed of an opponent's random streams in chunk ``number``."""
    word = np.random.SeedSequence((seed, number, side)).generate_state(1, np.uint64)[0]
    return int(word >> np.uint64(1))


def enter(game: str, name: str, label: str | None, source: Any) -> tuple[Entrant, Any]:
    """An entrant and its opponent, checked.

    Args:
        game: id of the game.
        name: of the argument, for messages.
        label: its name in results; None takes the spec, or the object's ``name``, or its type's name.
        source: a spec, or an opponent.

    Raises:
        OptionError: it is neither, or plays another game.
    """
    opponent = from_spec(game, source, 0) if isinstance(source, str) else source
    check_opponent(name, opponent, cheats=True)
    spec = source
    if isinstance(source, str) and source.partition(":")[0] in LEVELS:
        # A budget in milliseconds is a count from here on, the same in every process.
        source = getattr(opponent, "spec", source)
    its_game = getattr(opponent, "game", None)
    if isinstance(its_game, str) and its_game != game:
        raise OptionError(f"{name}={source!r}: plays {its_game}, not {game}")
    if label is None:
        own_name = getattr(opponent, "name", None)
        label = spec if isinstance(spec, str) else own_name if isinstance(own_name, str) else type(opponent).__name__
    folder = getattr(opponent, "folder", None) if isinstance(source, str) else None
    return Entrant(label, source, folder if isinstance(folder, Path) else None), opponent


def chunk_size(a: Any, b: Any) -> int:
    """Deals of a chunk for two opponents."""
    return BATCH_CHUNK if all(callable(getattr(one, "act_batch", None)) for one in (a, b)) else SINGLE_CHUNK


class Worker:
    """Plays tasks. Loads each opponent once, and restarts its random streams for each task.

    Args:
        setup: what the tasks share.
        stopped: asked before each step; once it says True, tasks are given up.
    """

    def __init__(self, setup: Setup, stopped: Callable[[], bool] | None = None) -> None:
        self._setup = setup
        self._stopped = stopped
        self._opponents: dict[int, Any] = {}
        self._met: set[tuple[int, int]] = set()

    def play(self, task: Task) -> Chunk | Fault | None:
        """The chunk, or why it could not be played; None if it was given up.

        What an opponent raises is returned, not raised.
        """
        start = perf_counter()
        table = _Table(self._setup, task)
        for side, entrant in enumerate((task.a, task.b)):
            try:
                table.opponents[side] = self._restarted(entrant, opponent_seed(self._setup.seed, task.number, side))
            except (Exception, SystemExit) as error:
                label = self._setup.entrants[entrant].label
                message = f"opponent {label!r} ({SIDES[side]}) could not be restarted: {type(error).__name__}: {error}"
                return Fault(side, message, illegal=False, cause=error if isinstance(error, Exception) else None)
        while table.playing.any():
            if self._stopped is not None and self._stopped():
                return None
            for side in range(2):
                try:
                    table.choose(side)
                except OpponentError as error:
                    cause = error.__cause__ if isinstance(error.__cause__, Exception) else None  # SystemExit would end a worker
                    return Fault(side, str(error), error.illegal, cause)
            table.step()
        warm = (task.a, task.b) in self._met
        self._met.add((task.a, task.b))
        return table.chunk(perf_counter() - start, warm)

    def _restarted(self, entrant: int, seed: int) -> Any:
        source = self._setup.entrants[entrant].source
        opponent = self._opponents.get(entrant)
        if opponent is None:
            opponent = from_spec(self._setup.game, source, seed) if isinstance(source, str) else source
            self._opponents[entrant] = opponent
        elif isinstance(source, str) and not hasattr(opponent, "reseed"):
            opponent = from_spec(self._setup.game, source, seed)
        if hasattr(opponent, "reseed"):
            opponent.reseed(seed)
        return opponent


class _Table:
    """The games of a task, all at once: row i and row pairs + i are the two plays of a deal."""

    def __init__(self, setup: Setup, task: Task) -> None:
        self._setup = setup
        self._task = task
        seeds = [deal_seed(setup.seed, number) for number in range(task.first, task.first + task.pairs)]
        # Equal seeds deal equal cards, in all deals of a match: a game's random stream serves its deals alone.
        self._env = BatchEnv(setup.game, 2 * task.pairs, seeds + seeds, episode=setup.episode, **setup.options)
        self._labels = [setup.entrants[entrant].label for entrant in (task.a, task.b)]
        self._side_of_a = np.repeat([0, 1], task.pairs)
        self._dealers = self._env._states["dealer"][: task.pairs].astype(np.int64) % 2
        self._actions = np.zeros(2 * task.pairs, np.int64)
        self._scores = np.zeros((2 * task.pairs, 2), np.int64)
        self._deals = np.zeros(2 * task.pairs, np.int64)
        self._moves, self._cpu = [0, 0], [0.0, 0.0]
        self.opponents: list[Any] = [None, None]
        self.playing = np.ones(2 * task.pairs, np.bool_)

    def choose(self, side: int) -> None:
        """Ask one opponent for its actions in all rows where it is to move.

        Raises:
            OpponentError: it raised, or answered with anything but legal actions.
        """
        rows = np.flatnonzero(self.playing & ((self._env.seat % 2 == self._side_of_a) == (side == 0)))
        if not len(rows):
            return
        if callable(getattr(self.opponents[side], "act_batch", None)):
            self._actions[rows] = self._ask_batch(side, rows)
        else:
            for row in rows.tolist():
                self._actions[row] = self._ask(side, row)
        self._moves[side] += len(rows)

    def _ask(self, side: int, row: int) -> int:
        opponent = self.opponents[side]
        information = self._env.information(row, int(self._env.seat[row]))
        given = (information, self._env.get_state(row)) if getattr(opponent, "needs_state", False) is True else (information,)
        start = process_time()
        try:
            action = opponent.act(*given)
        except (Exception, SystemExit) as error:  # an opponent must not end the program
            raise OpponentError(f"{self._who(side)} raised {type(error).__name__}: {error}; {self._where(row)}") from error
        self._cpu[side] += process_time() - start
        number = whole_number(action)
        if number is None or not 0 <= number < self._env.num_actions or not self._env.action_mask[row, number]:
            raise self._illegal(side, row, action)
        return number

    def _ask_batch(self, side: int, rows: IntArray) -> npt.NDArray[np.integer[Any]]:
        start = process_time()
        try:
            actions = self.opponents[side].act_batch(self._env, rows.copy())
        except (Exception, SystemExit) as error:
            what = f"{self._who(side)} raised {type(error).__name__} in act_batch: {error}"
            raise OpponentError(f"{what}; {self._where(int(rows[0]), len(rows))}") from error
        self._cpu[side] += process_time() - start
        if not isinstance(actions, np.ndarray) or actions.shape != rows.shape or actions.dtype.kind not in "iu":
            got = type(actions).__name__
            if isinstance(actions, np.ndarray):
                got = f"an array of shape {actions.shape}, dtype {actions.dtype}"
            what = f"{self._who(side)}: act_batch returned {got}, expected an array of {len(rows)} integers"
            raise OpponentError(f"{what}; {self._where(int(rows[0]), len(rows))}", illegal=True)
        inside = (actions >= 0) & (actions < self._env.num_actions)
        legal = inside & (self._env.action_mask[rows, np.where(inside, actions, 0)] == 1)
        if not legal.all():
            first = int(np.flatnonzero(~legal)[0])
            raise self._illegal(side, int(rows[first]), int(actions[first]))
        return actions

    def _who(self, side: int) -> str:
        return f"opponent {self._labels[side]!r} ({SIDES[side]})"

    def _where(self, row: int, rows: int = 1) -> str:
        play, pair = divmod(row, self._task.pairs)
        number = self._task.first + pair
        return (
            f"as player_{self._env.seat[row]} of {self._setup.game}, {self._setup.episode} {number} "
            f"(environment seed {deal_seed(self._setup.seed, number)}), play {play + 1} of 2"
            + (f", the first of {rows} rows" if rows > 1 else "")
        )

    def _illegal(self, side: int, row: int, action: Any) -> OpponentError:
        text = self._env._game.action_text
        legal = ", ".join(f"{number} ({text(number)})" for number in np.flatnonzero(self._env.action_mask[row]).tolist())
        return OpponentError(
            f"{self._who(side)}: illegal action {action!r}; {self._where(row)}; legal: {legal}",
            illegal=True,
        )

    def step(self) -> None:
        """Take the chosen actions; rows that are done play on with anything legal, and count no more."""
        env = self._env
        idle = np.flatnonzero(~self.playing)
        if len(idle):
            self._actions[idle] = env.action_mask[idle].argmax(axis=1)
        deal_numbers = env._states["deal_number"].copy()  # where a game ends here, its deals
        _, done = env.step(self._actions)
        ended = np.flatnonzero(done & self.playing)
        if len(ended):
            self._scores[ended] = env.final_score[ended]
            self._deals[ended] = deal_numbers[ended]
            self.playing[ended] = False

    def chunk(self, seconds: float, warm: bool) -> Chunk:
        """What came of it."""
        return Chunk(
            scores=self._scores.reshape(2, self._task.pairs, 2),
            deals=self._deals.reshape(2, self._task.pairs),
            dealers=self._dealers,
            moves=(self._moves[0], self._moves[1]),
            cpu=(self._cpu[0], self._cpu[1]),
            seconds=seconds,
            warm=warm,
        )


def portable(fault: Fault) -> Fault:
    """The fault as another process can read it: with the traceback as a note, and a plain error if need be."""
    cause = fault.cause
    if cause is None:
        return fault
    note = "in a worker process:\n" + "".join(traceback.format_exception(cause))
    try:
        cause = pickle.loads(pickle.dumps(cause))
    except Exception:
        cause = RuntimeError(f"{type(cause).__name__}: {cause}")
    cause.add_note(note)
    return dataclasses.replace(fault, cause=cause)
