"""The arena: mirrored deals, intervals, ladders, resuming, processes, and opponents that misbehave."""

import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from settebello import GAMES, BatchEnv
from settebello.arena import (
    ARENA_SEEDS,
    DuelResult,
    LadderResult,
    Progress,
    ProgressBar,
    deal_results,
    duel,
    fit_ratings,
    ladder,
    print_duel,
    print_ladder,
    write_chart,
)
from settebello.arena import run as arena_run
from settebello.arena.play import Chunk, Entrant, Setup, Worker
from settebello.arena.tally import Tally
from settebello.errors import ArenaError, OptionError
from settebello.information import Information
from settebello.opponents import load

GAME = "tressette-2p"
TIMES = ("seconds", "seconds_per_move")


class Lowest:
    """The first legal action."""

    def act(self, information: Information) -> int:
        return information.legal_actions()[0]


class Highest:
    """The last legal action, asked for one game or for many."""

    name = "highest"

    def act(self, information: Information) -> int:
        return information.legal_actions()[-1]

    def act_batch(self, batch: BatchEnv, rows: Any) -> Any:
        return batch.num_actions - 1 - batch.action_mask[rows][:, ::-1].argmax(axis=1)


class LowestBatch(Lowest):
    """The first legal action, of many games at once."""

    def act_batch(self, batch: BatchEnv, rows: Any) -> Any:
        return batch.action_mask[rows].argmax(axis=1)


class Drawing:
    """Random actions from a stream that can be restarted; remembers how often it was."""

    def __init__(self, seed: int = 0) -> None:
        self.seeds: list[int] = []
        self.rng = np.random.default_rng(seed)

    def reseed(self, seed: int) -> None:
        self.seeds.append(seed)
        self.rng = np.random.default_rng(seed)

    def act(self, information: Information) -> int:
        return int(self.rng.choice(information.legal_actions()))


class DrawingBatch(Drawing):
    """The same for many games at once."""

    def act_batch(self, batch: BatchEnv, rows: Any) -> Any:
        mask = batch.action_mask[rows]
        return (self.rng.random(mask.shape) * mask).argmax(axis=1)


class Noisy:
    """Plays the highest card with some probability, else the lowest: of known order of strength."""

    def __init__(self, share: float) -> None:
        self.share = share
        self.reseed(0)

    def reseed(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def act(self, information: Information) -> int:
        return information.legal_actions()[-1]

    def act_batch(self, batch: BatchEnv, rows: Any) -> Any:
        mask = batch.action_mask[rows]
        high = mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)
        return np.where(self.rng.random(len(rows)) < self.share, high, mask.argmax(axis=1))


class Failing:
    """Plays the first legal action until its n-th move, then does what it was made for."""

    name = "failing"

    def __init__(self, moves: int, last: Callable[[Information], Any]) -> None:
        self.moves = moves
        self.last = last

    def act(self, information: Information) -> Any:
        self.moves -= 1
        return information.legal_actions()[0] if self.moves >= 0 else self.last(information)


class FailsInSomeDeal:
    """Raises where it holds the settebello's card as the first to move: in some deals, whatever the process."""

    def act(self, information: Information) -> int:
        if information.legal_actions() == [0]:
            raise ValueError("an ace of coins alone")
        return information.legal_actions()[0]


def drawing(game: str, seed: int) -> DrawingBatch:
    return DrawingBatch(seed)


def slow_drawing(game: str, seed: int) -> Drawing:
    return Drawing(seed)


class Unrestarted:
    """Random actions from a stream that cannot be restarted, of many games at once."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def act(self, information: Information) -> int:
        return int(self.rng.choice(information.legal_actions()))

    def act_batch(self, batch: BatchEnv, rows: Any) -> Any:
        mask = batch.action_mask[rows]
        return (self.rng.random(mask.shape) * mask).argmax(axis=1)


def fresh(game: str, seed: int) -> Unrestarted:
    return Unrestarted(seed)


FRESH = f"{__name__}:fresh"
DRAWING = f"{__name__}:drawing"
SLOW_DRAWING = f"{__name__}:slow_drawing"


def numbers(result: DuelResult) -> dict[str, Any]:
    """All of a result that does not depend on the clock."""
    return {name: value for name, value in result.to_dict().items() if name not in TIMES}


# --- mirrored deals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", [GAME, "bazzica"])
def test_identical_opponents_win_exactly_nothing(game: str) -> None:
    result = duel(game, LowestBatch(), LowestBatch(), 70, 3)
    assert result.points_per_deal == 0 and result.ci95 == (0, 0) and result.std == 0
    assert result.win_rate == 0.5 and result.win_ci95 == (0.5, 0.5)
    assert result.deals == 70 and result.deals_played == 140


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("episode", ["deal", "match"])
def test_changing_names_changes_signs(game: str, episode: str) -> None:
    first = duel(game, LowestBatch(), Highest(), 40, 1, episode=episode, target=11)
    second = duel(game, Highest(), LowestBatch(), 40, 1, episode=episode, target=11)
    assert first.points_per_deal == -second.points_per_deal != 0
    assert first.ci95 == (-second.ci95[1], -second.ci95[0])
    assert first.win_rate == pytest.approx(1 - second.win_rate)
    assert first.moves == second.moves[::-1]


def test_asked_one_by_one_or_together_they_play_the_same() -> None:
    together = deal_results("tressette-4p", LowestBatch(), Highest(), 20, 5)
    one_by_one = deal_results("tressette-4p", Lowest(), Highest(), 20, 5)
    assert np.array_equal(together, one_by_one)


@pytest.mark.parametrize("game", GAMES)
def test_results_are_those_of_the_environments(game: str) -> None:
    """Each deal played by hand in an environment with the arena's seed, with a as side 0 and as side 1."""
    options = {} if game == "bazzica" else {"napoletana": True}
    results = deal_results(game, LowestBatch(), Highest(), 12, 2, **options)
    assert results.shape == (12, 2, 3) and results.dtype == np.int64
    for number in range(12):
        for play in range(2):
            env = BatchEnv(game, 1, ARENA_SEEDS + 2 * 2**32 + number, episode="deal", **options)
            dealer = env.information(0, 0).snapshot()["dealer"]
            done = False
            while not done:
                legal = np.flatnonzero(env.action_mask[0])
                done = bool(env.step([legal[0] if env.seat[0] % 2 == play else legal[-1]])[1][0])
            assert results[number, play].tolist() == [*env.final_score[0].tolist(), dealer % 2]


def test_matches_are_mirrored_on_the_same_decks() -> None:
    """In a match between equals both plays are the same match, deal for deal."""
    seen: list[tuple[int, tuple[Any, ...]]] = []

    class Watching(LowestBatch):
        def act_batch(self, batch: BatchEnv, rows: Any) -> Any:
            for row in rows:
                snapshot = batch.information(int(row), int(batch.seat[row])).snapshot()
                known = (snapshot["deal_number"], snapshot["dealer"], snapshot["turn"], str(snapshot["hands"]))
                seen.append((int(row), (*known, str(snapshot["score"]))))
            return super().act_batch(batch, rows)

    pairs = 3
    result = duel(GAME, Watching(), Watching(), pairs, 0, episode="match", target=15)
    assert result.points_per_deal == 0 and result.win_rate == 0.5
    assert result.deals == pairs and result.deals_played > 2 * pairs
    for pair in range(pairs):
        plays = [[known for row, known in seen if row == place] for place in (pair, pair + pairs)]
        assert plays[0] == plays[1]
        assert len({known[0] for known in plays[0]}) > 1  # several deals


def test_numbers_are_what_numpy_says() -> None:
    result = duel("bazzica", Highest(), DrawingBatch(), 150, 0)
    results = deal_results("bazzica", Highest(), DrawingBatch(), 150, 0)
    margins = (results[..., 0] - results[..., 1]) * [1, -1]
    samples = margins.mean(axis=1)
    half = 1.959964 * samples.std(ddof=1) / math.sqrt(150)
    assert result.points_per_deal == pytest.approx(samples.mean())
    assert result.std == pytest.approx(samples.std(ddof=1))
    assert result.ci95 == pytest.approx((samples.mean() - half, samples.mean() + half))
    wins = (np.sign(margins) + 1) / 2
    assert result.win_rate == pytest.approx(wins.mean())
    win_half = 1.959964 * wins.mean(axis=1).std(ddof=1) / math.sqrt(150)
    assert result.win_ci95 == pytest.approx((wins.mean() - win_half, wins.mean() + win_half))
    assert sum(result.moves) > 150 * 2 * 36 and min(result.seconds_per_move) > 0
    assert result.illegal_moves == (0, 0)


def test_points_of_matches_are_per_deal() -> None:
    """One pair of matches: all points of a minus b over all deals."""
    result = duel(GAME, Highest(), LowestBatch(), 1, 4, episode="match")
    points, deals = 0, 0
    for play in range(2):
        env = BatchEnv(GAME, 1, ARENA_SEEDS + 4 * 2**32)
        done = False
        while not done:
            deal = env.information(0, 0).snapshot()["deal_number"]
            legal = np.flatnonzero(env.action_mask[0])
            done = bool(env.step([legal[-1] if env.seat[0] % 2 == play else legal[0]])[1][0])
        points += int(env.final_score[0, play] - env.final_score[0, 1 - play])
        deals += deal
    assert result.deals_played == deals
    assert result.points_per_deal == pytest.approx(points / deals)
    assert result.ci95 == (-math.inf, math.inf)


def test_intervals_cover_the_truth() -> None:
    """Random against random is worth nothing: about 19 of 20 intervals say so."""
    results = [duel(GAME, "random", "random", 64, seed) for seed in range(60)]
    covered = sum(result.ci95[0] <= 0 <= result.ci95[1] for result in results)
    assert 50 <= covered <= 60
    assert np.std([result.points_per_deal for result in results]) == pytest.approx(
        np.mean([result.std for result in results]) / 8, rel=0.3
    )


# --- one result, however it is reached -----------------------------------------------------------------------------------


def test_chunks_do_not_depend_on_those_before() -> None:
    """Each chunk by a worker that played nothing else: a loaded opponent that is restarted equals one that is loaded anew."""
    for opponent, size in ((DRAWING, 64), (SLOW_DRAWING, 8), (FRESH, 64)):
        setup = Setup(GAME, (Entrant("a", opponent), Entrant("b", Highest())), 9, "deal", {})
        tally = Tally(setup, 0, 1, size + 7, size, None)
        for number in (1, 0):
            task = tally.task(number)
            assert task is not None
            outcome = Worker(setup).play(task)
            assert isinstance(outcome, Chunk)
            tally.add(number, outcome)
        assert tally.finished
        alone = duel(GAME, opponent, Highest(), size + 7, 9)
        assert {**numbers(tally.result()), "a": opponent, "b": "highest"} == numbers(alone)
        assert numbers(duel(GAME, opponent, Highest(), size + 7, 10)) != numbers(alone)


def test_processes_do_not_change_results() -> None:
    alone = duel(GAME, DRAWING, Highest(), 2000, 9, until_ci=0.25)
    assert 128 < alone.deals < 2000
    assert numbers(duel(GAME, DRAWING, Highest(), 2000, 9, until_ci=0.25, processes=2)) == numbers(alone)


def test_objects_are_restarted_like_specs() -> None:
    used = DrawingBatch(77)
    result = duel(GAME, used, Highest(), 100, 9)
    assert len(used.seeds) == len(set(used.seeds)) == 2  # chunks
    assert {**numbers(result), "a": DRAWING} == numbers(duel(GAME, DRAWING, Highest(), 100, 9))


def test_levels_draw_the_same_again() -> None:
    assert numbers(duel(GAME, "random", "random", 70, 0)) == numbers(duel(GAME, "random", "random", 70, 0))


class Interrupting:
    """Interrupts as Ctrl-C does, after so many chunks."""

    def __init__(self, chunks: int) -> None:
        self.chunks = chunks
        self.told: list[Progress] = []

    def __call__(self, progress: Progress) -> None:
        self.told.append(progress)
        if len(self.told) == self.chunks:
            raise KeyboardInterrupt


def test_interrupted_and_resumed_it_gives_the_same(tmp_path: Path) -> None:
    path = tmp_path / "duel.json"
    whole = duel(GAME, DRAWING, "random", 300, 1)
    stop = Interrupting(2)
    with pytest.raises(KeyboardInterrupt):
        duel(GAME, DRAWING, "random", 300, 1, path=path, progress=stop)
    saved = json.loads(path.read_text(encoding="utf-8"))
    assert len(saved["cells"][0]) == 2 and saved["result"]["deals"] == 128
    assert stop.told[1].deals == 128 and stop.told[1].expected == 300
    go_on = Interrupting(0)
    resumed = duel(GAME, DRAWING, "random", 300, 1, path=str(path), progress=go_on)
    assert numbers(resumed) == numbers(whole)
    assert [progress.deals for progress in go_on.told] == [192, 256, 300]
    again = Interrupting(1)
    assert duel(GAME, DRAWING, "random", 300, 1, path=path, progress=again) == resumed
    assert not again.told
    # More deals: the chunk that was cut short is played anew.
    assert numbers(duel(GAME, DRAWING, "random", 330, 1, path=path)) == numbers(duel(GAME, DRAWING, "random", 330, 1))
    assert [entry.name for entry in tmp_path.iterdir()] == ["duel.json"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 2}, "seed=1, not 2"),
        ({"b": LowestBatch()}, "LowestBatch"),
        ({"target": 11}, "options="),
        ({"episode": "match"}, "episode='deal', not 'match'"),
        ({"until_ci": 0.5}, "until_ci=None, not 0.5"),
        ({"deals": 64}, "deals=70, more than 64"),
        ({"game": "tressette-4p"}, "game='tressette-2p', not 'tressette-4p'"),
    ],
)
def test_results_of_other_settings_are_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "duel.json"
    settings: dict[str, Any] = {"game": GAME, "a": "random", "b": Highest(), "deals": 70, "seed": 1}
    duel(**settings, path=path)
    before = path.read_bytes()
    with pytest.raises(OptionError, match=r"duel\.json") as error:
        duel(**(settings | change), path=path)
    assert message in str(error.value)
    assert path.read_bytes() == before


def test_results_of_other_code_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels of the same name may have become stronger since."""
    path = tmp_path / "duel.json"
    duel(GAME, "easy", "random", 70, 1, path=path)
    before = path.read_bytes()
    copied = tmp_path / "settebello"
    copied.mkdir()
    (copied / "__init__.py").write_text("LEVELS = 6\n")
    monkeypatch.setattr(arena_run, "PACKAGE", copied)
    arena_run._code.cache_clear()
    try:
        with pytest.raises(OptionError, match=r"duel\.json: its results are of code='settebello sha256:.*another file"):
            duel(GAME, "easy", "random", 140, 1, path=path)
    finally:
        arena_run._code.cache_clear()
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', "no json", b"\xff"])
def test_damaged_results_are_refused(tmp_path: Path, text: str | bytes) -> None:
    path = tmp_path / "duel.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(OptionError, match="not a file of arena results"):
        duel(GAME, "random", "random", 10, 0, path=path)


def test_damaged_chunks_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "duel.json"
    duel(GAME, "random", "random", 10, 0, path=path)
    saved = json.loads(path.read_text(encoding="utf-8"))
    saved["cells"][0][0]["scores"][0].pop()
    path.write_text(json.dumps(saved), encoding="utf-8")
    with pytest.raises(OptionError, match="damaged"):
        duel(GAME, "random", "random", 10, 0, path=path)


def test_sequential_stop() -> None:
    whole = duel(GAME, "random", Highest(), 2000, 0)
    stopped = duel(GAME, "random", Highest(), 2000, 0, until_ci=0.25)
    assert 128 <= stopped.deals < 2000 and stopped.deals % 64 == 0
    assert stopped.half_width <= 0.25
    assert numbers(stopped) == numbers(duel(GAME, "random", Highest(), stopped.deals, 0))
    shorter = duel(GAME, "random", Highest(), stopped.deals - 64, 0)
    assert shorter.half_width > 0.25 > whole.half_width
    at_most = duel(GAME, "random", Highest(), 150, 0, until_ci=0.001)
    assert at_most.deals == 150


def test_a_wide_interval_stops_after_the_least_number() -> None:
    assert duel(GAME, "random", "random", 500, 0, until_ci=50.0).deals == 128


# --- opponents that misbehave --------------------------------------------------------------------------------------------


def raising(information: Information) -> int:
    raise ZeroDivisionError("no idea")


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (lambda information: 40, ("illegal action 40", "legal: ")),
        (lambda information: -1, ("illegal action -1",)),
        (lambda information: next(set(range(40)).difference(information.legal_actions()).__iter__()), ("illegal action",)),
        (lambda information: None, ("illegal action None",)),
        (lambda information: 3.0, ("illegal action 3.0",)),
        (lambda information: True, ("illegal action True",)),
        (lambda information: [1], ("illegal action [1]",)),
        (raising, ("raised ZeroDivisionError: no idea",)),
    ],
)
def test_bad_actions_end_the_duel(tmp_path: Path, last: Callable[[Information], Any], words: tuple[str, ...]) -> None:
    path = tmp_path / "duel.json"
    with pytest.raises(ArenaError) as caught:
        duel(GAME, Highest(), Failing(400, last), 64, 6, path=path)  # 320 moves of each in a chunk of 8 deals
    text = str(caught.value)
    for word in (*words, "opponent 'failing' (b)", "player_", GAME, "play "):
        assert word in text
    number = int(text.split(", deal ")[1].split()[0])
    assert 8 <= number < 16 and f"environment seed {ARENA_SEEDS + 6 * 2**32 + number}" in text
    partial = caught.value.partial
    assert isinstance(partial, DuelResult) and partial.deals == 8
    assert partial.illegal_moves == (0, 0 if last is raising else 1)
    assert isinstance(caught.value.__cause__, ZeroDivisionError) == (last is raising)
    assert json.loads(path.read_text(encoding="utf-8"))["result"]["deals"] == 8


def test_the_first_chunk_leaves_no_partial_result() -> None:
    with pytest.raises(ArenaError) as caught:
        duel(GAME, Failing(3, lambda information: 99), Highest(), 10, 0)
    assert caught.value.partial is None


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda batch, rows: batch.action_mask[rows].argmax(axis=1).tolist(), "act_batch returned list"),
        (lambda batch, rows: batch.action_mask[rows].argmax(axis=1)[1:], "act_batch returned an array of shape"),
        (lambda batch, rows: batch.action_mask[rows].argmax(axis=1) * 1.0, "dtype float64"),
        (lambda batch, rows: batch.action_mask[rows].argmax(axis=1) == 1, "dtype bool"),
        (lambda batch, rows: None, "act_batch returned NoneType"),
        (lambda batch, rows: batch.action_mask[rows].argmax(axis=1) - 40, "illegal action -"),
        (lambda batch, rows: np.full(len(rows), 2**64 - 1, np.uint64), f"illegal action {2**64 - 1}"),
        (lambda batch, rows: (batch.action_mask[rows] == 0).argmax(axis=1), "illegal action"),
        (lambda batch, rows: 1 // 0, "raised ZeroDivisionError in act_batch"),
    ],
)
def test_bad_answers_for_many_games_end_the_duel(answer: Callable[..., Any], words: str) -> None:
    class Bad(Lowest):
        def act_batch(self, batch: BatchEnv, rows: Any) -> Any:
            return answer(batch, rows)

    with pytest.raises(ArenaError) as caught:
        duel(GAME, Bad(), Highest(), 10, 0)
    assert words in str(caught.value) and "opponent 'Bad' (a)" in str(caught.value)


def test_errors_come_through_from_other_processes() -> None:
    errors = []
    for processes in (1, 2):
        with pytest.raises(ArenaError) as caught:
            duel(GAME, FailsInSomeDeal(), "random", 200, 0, processes=processes)
        assert isinstance(caught.value.__cause__, ValueError)
        errors.append(caught.value)
    assert str(errors[0]) == str(errors[1]) and "an ace of coins alone" in str(errors[0])
    partials = [error.partial and numbers(error.partial) for error in errors if isinstance(error.partial, DuelResult | None)]
    assert partials[0] == partials[1]
    assert "in a worker process" in errors[1].__cause__.__notes__[0]  # type: ignore[union-attr]


def test_what_cannot_be_sent_to_other_processes_is_refused() -> None:
    opponent = Failing(0, lambda information: information.legal_actions()[0])
    assert duel(GAME, opponent, "random", 3, 0).deals == 3
    with pytest.raises(OptionError, match=r"opponent 'failing' cannot be sent to other processes .*processes=1"):
        duel(GAME, opponent, "random", 3, 0, processes=2)


def test_only_those_who_ask_see_the_state() -> None:
    calls: list[Any] = []

    class Cheat:
        needs_state = True

        def act(self, information: Information, state: bytes) -> int:
            env = BatchEnv(GAME, 1, episode="deal", target=9)
            env.set_state(0, state)
            assert env.seat[0] == information.seat
            assert np.array_equal(env.observation[0], information.observation())
            calls.append(state)
            return information.legal_actions()[0]

    class Honest:
        def act(self, *given: Any) -> int:
            (information,) = given
            assert type(information) is Information
            return int(information.legal_actions()[0])

    result = duel(GAME, Cheat(), Honest(), 2, 0, target=9)
    assert len(calls) == result.moves[0] == 80
    assert result.points_per_deal == 0


def test_rows_given_to_an_opponent_are_its_own() -> None:
    class Scribbling(LowestBatch):
        def act_batch(self, batch: BatchEnv, rows: Any) -> Any:
            answer = super().act_batch(batch, rows)
            rows[:] = 0
            return answer

    assert duel(GAME, Scribbling(), LowestBatch(), 20, 0).points_per_deal == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"game": "tresette-2p"}, "did you mean 'tressette-2p'"),
        ({"a": "randm"}, "randm"),
        ({"a": 7}, "a=7"),
        ({"b": Lowest}, "b=<class"),
        ({"deals": 0}, "deals=0"),
        ({"deals": 2.0}, "deals=2.0"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": 2**29}, f"from 0 to {2**29 - 1}"),
        ({"episode": "matches"}, "episode='matches'"),
        ({"until_ci": 0}, "until_ci=0"),
        ({"until_ci": math.nan}, "until_ci=nan"),
        ({"until_ci": "0.1"}, "until_ci='0.1'"),
        ({"processes": 0}, "processes=0"),
        ({"path": 5}, "path=5"),
        ({"path": "/no/such/folder/x.json"}, "there is no folder"),
        ({"targt": 11}, "did you mean 'target'"),
        ({"target": 0}, "target=0"),
        ({"reward": "win"}, "'reward' is the arena's own"),
        ({"illegal": "terminate"}, "'illegal' is the arena's own"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_played(change: dict[str, Any], message: str) -> None:
    settings: dict[str, Any] = {"game": GAME, "a": "random", "b": "random", "deals": 10, "seed": 0}
    with pytest.raises(OptionError) as error:
        duel(**(settings | change), progress=lambda progress: pytest.fail("it played"))
    assert message in str(error.value)


def test_opponents_of_another_game_are_refused() -> None:
    class Specialist(Lowest):
        game = "bazzica"

    assert duel("bazzica", Specialist(), "random", 2, 0).deals == 2
    with pytest.raises(OptionError, match="plays bazzica, not tressette-2p"):
        duel(GAME, Specialist(), "random", 2, 0)


# --- results -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deals", [1, 30])
def test_results_survive_json(deals: int) -> None:
    result = duel("bazzica", "random", Highest(), deals, 0, declaration_points={"pariglia": 2}, low_sum_max=9)
    assert result.options == {
        "low_sum_max": 9,
        "declaration_points": {"pariglia": 2, "meno_di_nove": 2, "pariglia_meno_di_nove": 3, "bazzicotto": 7},
    }
    text = json.dumps(result.to_dict(), allow_nan=False)
    assert DuelResult.from_dict(json.loads(text)) == result
    assert (result.a, result.b) == ("random", "highest")


def test_results_are_shown() -> None:
    output = io.StringIO()
    result = duel(GAME, "random", Highest(), 20, 0, deck_cards=list(range(10)) + list(range(20, 30)), hand_size=5)
    print_duel(result, Console(file=output, width=80))
    for text in (
        "random (a) against highest (b)",
        "20 deals",
        f"{result.points_per_deal:+.3f}",
        "CPU time a move",
        "hand_size=5",
    ):
        assert text in output.getvalue()


def test_progress_is_shown() -> None:
    output = io.StringIO()
    with ProgressBar(Console(file=output, width=100, force_terminal=True)) as bar:
        duel(GAME, "random", "random", 200, 0, progress=bar)
    assert "200/200 deals" in output.getvalue() and "left" in output.getvalue()
    assert bar.last is not None and bar.last.deals == 200


# --- ladders -------------------------------------------------------------------------------------------------------------

NOISY = {"never": Noisy(0.0), "half": Noisy(0.5), "always": Noisy(1.0), "random": "random"}


@pytest.fixture(scope="module")
def made() -> LadderResult:
    return ladder(GAME, NOISY, 200, 0)


def test_a_ladder_is_made_of_duels(made: LadderResult) -> None:
    assert made.names == ("never", "half", "always", "random")
    assert [(one.a, one.b) for one in made.duels] == [
        *(("never", "half"), ("never", "always"), ("never", "random")),
        *(("half", "always"), ("half", "random"), ("always", "random")),
    ]
    one = duel(GAME, Noisy(0.5), "random", 200, 0)
    assert {**numbers(made.duels[4]), "a": "Noisy"} == numbers(one)
    points = made.points
    assert points[1, 3] == -points[3, 1] == one.points_per_deal
    assert made.win_rates[1, 3] == pytest.approx(1 - made.win_rates[3, 1]) == one.win_rate
    assert made.half_widths[1, 3] == made.half_widths[3, 1] == one.half_width
    assert np.diag(points).tolist() == [0] * 4 and np.diag(made.win_rates).tolist() == [0.5] * 4


def test_ratings_tell_who_is_stronger(made: LadderResult) -> None:
    """Which of the two plain players is better is measured; the mixture lies between them."""
    better = made.points[2, 0]
    assert abs(better) > made.half_widths[2, 0]  # else the test says nothing
    never, half, always, _ = made.ratings
    assert (never < half < always) if better > 0 else (never > half > always)
    assert sum(made.ratings) == pytest.approx(0, abs=1e-9)
    assert made.ranking[0] == (2 if better > 0 else 0)
    assert always - never == pytest.approx(better, abs=3 * made.half_widths[2, 0])
    assert all(0 < error < 0.5 for error in made.standard_errors)


def test_fitted_ratings_are_least_squares() -> None:
    """Against the normal equations with the mean fixed, on samples of unequal number and spread."""
    rng = np.random.default_rng(0)
    truth = np.array([1.0, 0.2, -0.3, -0.9])
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    samples = [truth[i] - truth[j] + rng.normal(0, 1 + i, 400 + 100 * j) for i, j in pairs]
    ratings, errors = fit_ratings(4, samples)
    weights = np.diag([len(one) / one.var(ddof=1) for one in samples])
    design = np.array([[(k == i) - (k == j) for k in range(4)] for i, j in pairs], float)
    system = design.T @ weights @ design + np.ones((4, 4))
    expected = np.linalg.solve(system, design.T @ weights @ np.array([one.mean() for one in samples]))
    assert ratings == pytest.approx(expected, abs=1e-9)
    assert ratings.sum() == pytest.approx(0, abs=1e-9)
    assert ratings == pytest.approx(truth, abs=0.4)
    independent = np.sqrt(np.diag(np.linalg.inv(system) - np.ones((4, 4)) / 16))
    assert errors == pytest.approx(independent, rel=0.15)  # the samples are independent here


def test_standard_errors_take_in_that_deals_are_shared() -> None:
    """With the same luck in all duels of one opponent its rating is less certain than independent duels would make it."""
    rng = np.random.default_rng(1)
    estimates, errors = [], []
    for _ in range(200):
        luck = rng.normal(0, 1, 100)
        samples = [luck + rng.normal(0, 0.3, 100), luck + rng.normal(0, 0.3, 100), rng.normal(0, 0.3, 100)]
        ratings, error = fit_ratings(3, samples)
        estimates.append(ratings[0])
        errors.append(error[0])
    assert np.mean(errors) == pytest.approx(np.std(estimates), rel=0.15)


def test_opponents_that_play_alike_have_equal_ratings() -> None:
    result = ladder(GAME, {"one": LowestBatch(), "two": LowestBatch(), "random": "random"}, 60, 0)
    assert result.points[0, 1] == 0
    assert result.ratings[0] == pytest.approx(result.ratings[1], abs=0.01)
    same = ladder(GAME, {"one": LowestBatch(), "two": LowestBatch()}, 20, 0)
    assert same.ratings == pytest.approx((0, 0)) and same.standard_errors == (0, 0)


def without_times(result: LadderResult) -> dict[str, Any]:
    values = result.to_dict()
    values["duels"] = [numbers(one) for one in result.duels]
    return values


def test_ladders_resume_and_share_processes(tmp_path: Path, made: LadderResult) -> None:
    path = tmp_path / "ladder.json"
    with pytest.raises(KeyboardInterrupt):
        ladder(GAME, NOISY, 200, 0, path=path, processes=2, progress=Interrupting(5))
    saved = json.loads(path.read_text(encoding="utf-8"))
    chunks = sum(map(len, saved["cells"]))
    assert saved["result"] is None and 5 <= chunks < 24
    told = Interrupting(0)
    resumed = ladder(GAME, NOISY, 200, 0, path=path, progress=told)
    assert without_times(resumed) == without_times(made)
    assert len(told.told) == 6 * 4 - chunks and told.told[-1].deals == told.told[-1].expected == 1200
    assert ladder(GAME, NOISY, 200, 0, path=path, progress=Interrupting(1)) == resumed
    with pytest.raises(OptionError, match="opponents="):
        ladder(GAME, {**NOISY, "more": "random"}, 200, 0, path=path)
    with pytest.raises(OptionError, match="kind='ladder', not 'duel'"):
        duel(GAME, "random", "random", 200, 0, path=path)


def test_ladders_stop_each_pair_when_it_is_sure() -> None:
    result = ladder(GAME, {"one": LowestBatch(), "two": LowestBatch(), "random": "random"}, 400, 0, until_ci=0.3)
    assert result.duels[0].deals == 128 < result.duels[1].deals <= 400
    assert all(one.half_width <= 0.3 for one in result.duels)


def test_ladders_survive_json(tmp_path: Path, made: LadderResult) -> None:
    path = tmp_path / "result.json"
    made.save(path)
    values = json.loads(path.read_text(encoding="utf-8"))
    assert LadderResult.from_dict(values) == made
    assert [entry["rating"] for entry in values["table"]] == sorted(made.ratings, reverse=True)
    with pytest.raises(OptionError, match="not written"):
        made.save(tmp_path / "none" / "result.json")


def test_ladders_are_shown(tmp_path: Path, made: LadderResult) -> None:
    output = io.StringIO()
    print_ladder(made, Console(file=output, width=80))
    text = output.getvalue()
    for name in made.names:
        assert name in text
    assert f"{made.points[1, 3]:+.2f}" in text and f"±{made.half_widths[1, 3]:.2f}" in text
    assert max(map(len, text.splitlines())) <= 80
    pytest.importorskip("matplotlib")
    path = tmp_path / "ladder.png"
    write_chart(made, path)
    assert path.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(OptionError, match="must end in"):
        write_chart(made, tmp_path / "ladder.xyz")


@pytest.mark.parametrize(
    ("opponents", "message"),
    [
        (["random"], "at least two"),
        (["random", "random"], "'random' is there twice"),
        ([Lowest(), Lowest()], "'Lowest' is there twice"),
        ({"a": "random", 3: "random"}, "3 is not text"),
        ("random", "expected a list"),
        (["random", 5], r"opponents[1]=5"),
    ],
)
def test_bad_ladders_are_refused(opponents: Any, message: str) -> None:
    with pytest.raises(OptionError) as error:
        ladder(GAME, opponents, 10, 0)
    assert message in str(error.value)


def test_one_deal_makes_no_ladder() -> None:
    with pytest.raises(OptionError, match="deals=1"):
        ladder(GAME, ["random", Lowest()], 1, 0)


def test_an_opponent_object_can_be_ours() -> None:
    assert duel(GAME, load(GAME, "random", 3), "random", 10, 0).a == "random"
    assert duel(GAME, load(GAME, "search", 3, worlds=2), "random", 2, 0).a == "search:worlds=2"


class Leaves:
    """Tries to end the program."""

    def act(self, information: Information) -> int:
        raise SystemExit(0)


class LeavesInBatches(Leaves):
    def act_batch(self, batch: Any, rows: Any) -> Any:
        raise SystemExit(0)


@pytest.mark.parametrize("kind", [Leaves, LeavesInBatches])
def test_an_opponent_cannot_end_the_program(kind: type[Leaves]) -> None:
    with pytest.raises(ArenaError, match="raised SystemExit"):
        duel(GAME, kind(), "random", 4, 0)


@pytest.mark.parametrize("until_ci", [0, -1, float("inf"), float("nan"), True, "0.1"])
def test_until_ci_is_a_number_of_points(until_ci: Any) -> None:
    with pytest.raises(OptionError, match="until_ci="):
        duel(GAME, "random", "random", 4, 0, until_ci=until_ci)


def test_an_edited_module_is_another_opponent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "edited_opponent.py"
    lines = (
        "class P:",
        "    def act(self, known):",
        "        return known.legal_actions()[{}]",
        "make = lambda game, seed: P()",
    )
    code = "\n".join(lines)
    module.write_text(code.format(0))
    duel(GAME, "edited_opponent:make", "random", 4, 0, path=tmp_path / "results.json")
    module.write_text(code.format(-1))
    with pytest.raises(OptionError, match="opponents"):
        duel(GAME, "edited_opponent:make", "random", 4, 0, path=tmp_path / "results.json")
