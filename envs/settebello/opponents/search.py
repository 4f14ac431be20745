"""Opponents that look ahead: ``search`` in worlds that agree with what it knows, ``cheat`` in the true one."""

import dataclasses
import functools
import threading
import time
from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal, Self

import numpy as np
import numpy.typing as npt

from settebello.batch import BatchEnv
from settebello.bazzica.state import NUM_HANDS
from settebello.equity import deal_utility
from settebello.errors import OptionError
from settebello.game import get_game
from settebello.information import Information, redact_first
from settebello.opponents.compiled import check_game, check_rows, check_turn, policy, seed_or_entropy
from settebello.opponents.flat import NUM_SCRATCH, flat_search, hash_record, only_action, only_world
from settebello.opponents.tree import new_tree, tree_search
from settebello.options import check_choice, check_int, check_real, near_name
from settebello.saved import unpack
from settebello.utility import MAX_POINTS, POINT_UTILITY

MAX_COUNT: Final = 1_000_000
MAX_TRIES: Final = 1000
MAX_BUDGET_MS: Final = 3_600_000.0
MATCH_SCALE: Final = 20.0  # winning a match is worth about as many points of a deal
ENDING_CARDS: Final = 10  # two-player endings with more in hand (hand_size above 10) take too long to solve
CALIBRATION_SEED: Final = 7
CALIBRATION_GAMES: Final = 4


@functools.lru_cache(maxsize=256)
def _match_utility(game: str, target: int, napoletana: bool, dealer: int, first: int, second: int) -> npt.NDArray[np.float64]:
    return MATCH_SCALE * deal_utility(game, (first, second), dealer, target, MAX_POINTS, napoletana=napoletana)


def _set(parameters: object, **values: int | float) -> None:
    """Fields of a frozen dataclass, as plain numbers: other types would be compiled for anew."""
    for name, value in values.items():
        object.__setattr__(parameters, name, value)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SearchParameters:
    """How the search opponent thinks.

    Attributes:
        worlds: the budget: about as many play-outs as if each candidate were played out in so many worlds.
        tries: uniform worlds drawn for each that is used; the more, the more the play so far counts.
        doubt: in 0..1, by how much each choice of the others that "medium" would not have made lowers the weight of a world;
            1 weighs all worlds alike.
        caution: by how many standard errors a candidate must be better than what "medium" plays to be preferred to it.
        horizon: bazzica: hands that are played out, the one on the table included; the rest of the deal is estimated.
        exact_cards: four-player Tressette: with so many cards in hand or fewer, all open hands are played perfectly in each
            world instead of by rules of thumb. More than a few is worse: nobody knows all hands.
        exact_share: share of ``worlds`` that are used there.
        play_for: "points", or "match" for the chance to win the match, or "auto": match unless the episode is one deal.
    """

    worlds: int = 64
    tries: int = 4
    doubt: float = 0.5
    caution: float = 1.0
    horizon: int = 1
    exact_cards: int = 2
    exact_share: float = 0.5
    play_for: Literal["auto", "points", "match"] = "auto"

    budget: ClassVar[str] = "worlds"
    most: ClassVar[int] = MAX_COUNT

    def __post_init__(self) -> None:
        _set(
            self,
            worlds=check_int("worlds", self.worlds, 1, MAX_COUNT),
            tries=check_int("tries", self.tries, 1, MAX_TRIES),
            doubt=check_real("doubt", self.doubt, 0.0, 1.0),
            caution=check_real("caution", self.caution, 0.0, 100.0),
            horizon=check_int("horizon", self.horizon, 1, NUM_HANDS),
            exact_cards=check_int("exact_cards", self.exact_cards, 0, 10),
            exact_share=check_real("exact_share", self.exact_share, 0.0, 1.0),
        )
        check_choice("play_for", self.play_for, ("auto", "points", "match"))


@dataclasses.dataclass(frozen=True, kw_only=True)
class CheatParameters:
    """How the cheat thinks.

    Attributes:
        nodes: the budget: play-outs of its tree search.
        exploration: points of a deal that the square root in UCB1 is multiplied by.
        exact_cards: four-player Tressette: with so many cards in hand or fewer it plays perfectly.
        play_for: as for ``SearchParameters``.
    """

    nodes: int = 1000
    exploration: float = 3.0
    exact_cards: int = 8
    play_for: Literal["auto", "points", "match"] = "auto"

    budget: ClassVar[str] = "nodes"
    most: ClassVar[int] = MAX_COUNT

    def __post_init__(self) -> None:
        _set(
            self,
            nodes=check_int("nodes", self.nodes, 2, MAX_COUNT),
            exploration=check_real("exploration", self.exploration, 0.0, 1000.0),
            exact_cards=check_int("exact_cards", self.exact_cards, 0, 10),
        )
        check_choice("play_for", self.play_for, ("auto", "points", "match"))


class Lookahead:
    """What both share. Its choice depends on the record it is shown, its seed and its parameters alone: it has no memory, and
    the same position is always answered alike, by ``act`` and by ``act_batch``.
    """

    level: ClassVar[str]
    parameters_type: ClassVar[Any]
    game_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {}  # by game, where they are not those of the type

    def __init__(self, game: str, seed: int | None = None, parameters: Any = None) -> None:
        self._game = get_game(game)
        self.parameters = self._defaults(self._game.id) if parameters is None else parameters
        self.reseed(seed)
        self._tables = self._game.new_tables()
        self._scratch = np.zeros(NUM_SCRATCH, self._game.dtype)
        self._values = np.zeros(self._game.num_actions, np.float64)
        self._exact, self._memory = _exact_player(self._game.id)
        self._lock = threading.RLock()

    @classmethod
    def create(cls, game: str, seed: int | None = None, /, *, budget_ms: float | None = None, **parameters: Any) -> Self:
        """One with these parameters.

        Args:
            game: id of the game.
            seed: as above.
            budget_ms: CPU time a move in milliseconds, on average over the moves that are not forced; turned into the count
                ``worlds`` (``nodes``) here and now, by timing this machine.
            **parameters: those of the level.

        Raises:
            OptionError: a parameter is unknown or its value not allowed, or both a count and ``budget_ms`` are given.
        """
        names = [field.name for field in dataclasses.fields(cls.parameters_type)]
        for name in parameters:
            if name not in names:
                hint = near_name(name, [*names, "budget_ms"])
                raise OptionError(
                    f"unknown parameter {name!r} of level {cls.level!r}{hint} (parameters: budget_ms, {', '.join(names)})"
                )
        opponent = cls(game, seed, cls._defaults(game, **parameters))
        if budget_ms is not None:
            check_real("budget_ms", budget_ms, 0.001, MAX_BUDGET_MS)
            count = opponent.parameters.budget
            if count in parameters:
                raise OptionError(f"budget_ms={budget_ms!r} and {count}={parameters[count]!r}: give one of them")
            opponent.parameters = opponent._with_budget(opponent._count_within(budget_ms / 1000))
        return opponent

    @classmethod
    def _defaults(cls, game: str, /, **parameters: Any) -> Any:
        """Parameters for a game, those that are not given as they are best there."""
        return cls.parameters_type(**{**cls.game_defaults.get(get_game(game).id, {}), **parameters})

    @property
    def game(self) -> str:
        """Id of the game it plays."""
        return self._game.id

    @property
    def spec(self) -> str:
        """Text from which ``from_spec`` makes one with the same parameters."""
        default = self._defaults(self.game)
        given = dataclasses.asdict(self.parameters).items()
        named = [f"{name}={value}" for name, value in given if value != getattr(default, name) or name == default.budget]
        return f"{self.level}:{','.join(named)}"

    @property
    def name(self) -> str:
        """What results call it."""
        return self.spec

    def reseed(self, seed: int | None) -> None:
        """Search with other random numbers; None takes the system's entropy.

        Raises:
            OptionError: the seed is not a whole number in 0..2**63-1.
        """
        self.seed = seed_or_entropy(seed)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.game, self.seed, self.parameters)

    def __repr__(self) -> str:
        return f"<{self.spec} for {self.game}>"

    def _choose(self, record: npt.NDArray[Any]) -> int:
        """The action for the seat to move of an array of one record."""
        only = int(only_action(record))
        if only >= 0:
            return only
        with self._lock:  # its scratch space serves one thread at a time
            return self._look_ahead(record)

    def _look_ahead(self, record: npt.NDArray[Any]) -> int:
        raise NotImplementedError

    def _word(self, record: npt.NDArray[Any]) -> np.uint64:
        return np.uint64(hash_record(record.view(np.uint64), self.seed))

    def _for_match(self, state: Any) -> bool:
        wanted = self.parameters.play_for
        return bool(wanted == "match" or (wanted == "auto" and not state["single_deal"]))

    def _utility(self, state: Any) -> npt.NDArray[np.float64]:
        if not self._for_match(state):
            return POINT_UTILITY
        first, second = (int(state["score"][side]) - int(state["deal_points"][side]) for side in range(2))
        napoletana = self._game.id != "bazzica" and bool(state["napoletana"])
        return _match_utility(self.game, int(state["target"]), napoletana, int(state["dealer"]) % 2, first, second)

    def _is_open(self, state: Any) -> bool:
        """Whether each seat can work out every card, and few enough are left to play perfectly."""
        if self._game.id == "bazzica":
            return bool(state["hand_number"] == NUM_HANDS)
        no_stock = self._game.num_seats == 2 and bool(state["stock_start"] == state["deck_size"])
        return no_stock and _cards_in_hand(state) <= ENDING_CARDS

    def _play_known(self, worlds: npt.NDArray[Any], word: np.uint64) -> int:
        """Perfect play in the first of full records, where it can be computed."""
        seat, utility, medium = int(worlds[0]["turn"]), self._utility(worlds[0]), policy(self.game, "medium")
        return int(self._exact.choose_known(worlds, seat, self._memory, utility, medium, self._values, word))

    def _with_budget(self, count: int) -> Any:
        return dataclasses.replace(self.parameters, **{self.parameters.budget: count})

    def _count_within(self, seconds: float) -> int:
        """The count that takes so much CPU time a move, on average over moves that are not forced."""
        few, many = 4, 64
        times = {}
        for count in (few, few, many):  # the first compiles
            player = type(self)(self.game, CALIBRATION_SEED, self._with_budget(count))
            times[count] = player._time_moves()
        each = max(1e-9, (times[many] - times[few]) / (many - few))
        fixed = max(0.0, times[few] - few * each)
        return int(np.clip(round((seconds - fixed) / each), 2, self.parameters.most))

    def _time_moves(self) -> float:
        """CPU-seconds a move in the same few deals each time, which are played at random."""
        batch = BatchEnv(self.game, CALIBRATION_GAMES, seed=CALIBRATION_SEED, episode="deal")
        rng = np.random.default_rng(CALIBRATION_SEED)
        done = np.zeros(CALIBRATION_GAMES, np.bool_)
        moves, spent = 0, 0.0
        while not done.any():
            rows = np.flatnonzero(batch.action_mask.sum(axis=1) > 1)
            start = time.process_time()
            self.act_batch(batch, rows)
            spent += time.process_time() - start
            moves += len(rows)
            _, done = batch.step(np.argmax(rng.random(batch.action_mask.shape) * batch.action_mask, axis=1))
        return spent / moves

    def act_batch(self, batch: BatchEnv, rows: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
        """An action for the seat to move of each of these rows.

        Args:
            batch: the games.
            rows: ``(n,)``, any integer dtype.

        Returns:
            int64 ``(n,)``.

        Raises:
            OptionError: rows are not whole numbers in 0..N-1, or the games are other ones.
        """
        check_game(self.game, batch.game)
        chosen = check_rows(batch, rows)
        return np.array([self._choose(self._seen(batch._states[row : row + 1].copy())) for row in chosen], np.int64)

    def _seen(self, record: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """What it may see of a full record."""
        raise NotImplementedError


class SearchOpponent(Lookahead):
    """Looks ahead in worlds that agree with what it knows, weighed by how plausible the play so far is in them.

    Where the game is open (two-player Tressette without stock, bazzica's last hand) its play is perfect; with few cards left in
    four-player Tressette it plays all open hands perfectly in each world; elsewhere the candidates are played out by the rules
    of thumb of "medium", and one is preferred to what "medium" plays if it is better by more than chance explains.

    Args:
        game: id of the game.
        seed: of the worlds it samples; None takes the system's entropy.
        parameters: see ``SearchParameters``.

    Raises:
        OptionError: unknown game, or the seed is not a whole number in 0..2**63-1.
    """

    level = "search"
    parameters_type = SearchParameters

    def act(self, information: Information) -> int:
        """An action of the seat that knows this.

        Raises:
            OptionError: that seat is not to move, or the information is of another game.
        """
        check_game(self.game, information.game)
        record = information.record()
        check_turn(record, information.seat)
        return self._choose(record)

    def values(self, information: Information) -> dict[int, float]:
        """What it thinks of each legal action, for an interface that explains: the mean worth to the seat's side.

        In points of the deal, own side's minus the other's; playing for the match in chances to win it, times 20. Actions that
        were dropped early were looked at less, and an action is only preferred to what "medium" plays if it is better by more
        than chance explains (``caution``): what it plays need not have the highest mean.
        A single legal action is not thought about: its value is NaN.

        Raises:
            OptionError: as ``act``.
        """
        with self._lock:
            self.act(information)
            values = self._values.copy()
        legal = information.legal_actions()
        if len(legal) == 1:
            return {legal[0]: float("nan")}
        # What a match is worth to side 1 is minus the other side's chance, up to here.
        shift = MATCH_SCALE if information.seat % 2 == 1 and self._for_match(information.record()[0]) else 0.0
        return {action: float(values[action]) + shift for action in legal}

    def _seen(self, record: npt.NDArray[Any]) -> npt.NDArray[Any]:
        redact_first(record, int(record["turn"][0]))
        return record

    def _look_ahead(self, record: npt.NDArray[Any]) -> int:
        state, own, word = record[0], self.parameters, self._word(record)
        seat, tables, scratch = int(state["turn"]), self._tables, self._scratch
        if self._is_open(state):
            return self._play_known(only_world(record, seat, tables, scratch, word), word)
        utility, medium, values = self._utility(state), policy(self.game, "medium"), self._values
        if self._game.num_seats == 4 and _cards_in_hand(state) <= own.exact_cards:
            few = (max(1, round(own.worlds * own.exact_share)), own.tries, own.doubt)
            return int(
                self._exact.choose_open(record, seat, *few, tables, scratch, self._memory, utility, medium, values, word)
            )
        sampling = (own.worlds, own.tries, own.doubt, own.caution, own.horizon)
        return int(flat_search(record, seat, *sampling, tables, scratch, utility, medium, values, word))


class CheatOpponent(Lookahead):
    """Sees all cards, and those to come: a ceiling for the others. Only the arena lets it play.

    Tree search with play-outs by the rules of thumb of "medium", and perfect play where that can be computed.

    Args:
        game: id of the game.
        seed: of its play-outs; None takes the system's entropy.
        parameters: see ``CheatParameters``.

    Raises:
        OptionError: unknown game, or the seed is not a whole number in 0..2**63-1.
    """

    level = "cheat"
    parameters_type = CheatParameters
    needs_state = True

    def __init__(self, game: str, seed: int | None = None, parameters: Any = None) -> None:
        super().__init__(game, seed, parameters)
        self._tree = new_tree(self.parameters.nodes)

    def act(self, information: Information, state: bytes | None = None) -> int:
        """An action of the seat that knows this, chosen with the state in sight.

        Raises:
            OptionError: there is no state: it plays in the arena only.
            StateError: the state is damaged, or of another game or other options.
        """
        if state is None:
            raise OptionError("level 'cheat' sees all cards, and plays in the arena only")
        check_game(self.game, information.game)
        record, _ = unpack(self._game, information.options.record(), state)
        check_turn(record, information.seat)
        return self._choose(record)

    def _seen(self, record: npt.NDArray[Any]) -> npt.NDArray[Any]:
        record["reward"] = 0  # of the step before: saved states have none
        return record

    def _look_ahead(self, record: npt.NDArray[Any]) -> int:
        state, own, word = record[0], self.parameters, self._word(record)
        if self._is_open(state) or (self._game.num_seats == 4 and _cards_in_hand(state) <= own.exact_cards):
            return self._play_known(record, word)
        if len(self._tree) <= own.nodes:
            self._tree = new_tree(own.nodes)
        utility, medium = self._utility(state), policy(self.game, "medium")
        budget = (own.nodes, own.exploration)
        return int(tree_search(record, *budget, self._scratch, utility, medium, self._tree, self._values, word))


def _cards_in_hand(state: Any) -> int:
    """Of the seat to move."""
    return int(state["hand"][int(state["turn"])]).bit_count()


def _exact_player(game: str) -> tuple[Any, npt.NDArray[Any]]:
    """The module that plays a game perfectly where it is open, and its scratch space; imported, and so compiled, at need."""
    if game == "bazzica":
        from settebello.bazzica.solver import new_scratch
        from settebello.opponents import bazzica_moves

        return bazzica_moves, new_scratch()
    from settebello.opponents import tressette_moves
    from settebello.tressette import open_hands, solver

    return tressette_moves, (solver if game == "tressette-2p" else open_hands).new_table()
