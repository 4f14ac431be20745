"""``settebello bench``: what it writes, and that its replays play what they say. No time is asserted."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from settebello import bazzica_v0
from settebello.batch import BatchEnv
from settebello.bench import loops, opponents, others, ours, report, run
from settebello.bench.loops import Loop, ReplayError, Workload
from settebello.cards import cards_in
from settebello.cli import main
from settebello.errors import OptionError
from settebello.game import GAMES
from settebello.output import check_chart
from settebello.tressette.rules import WORTH

SMALL = Workload(moves=50, batch_moves=2048, block_seconds=0.001, repeats=2, endings=3, open_hands=2, searches=3, duel_deals=2)
LEVELS = {"act_random", "act_easy", "act_medium", "search_16", "search_128", "hard", "hard_network", "duel"}
OF_OPPONENTS = LEVELS | {"ending", "ending_p95", "ending_batch"}
UNITS = (
    *("moves per CPU-second", "agent steps per CPU-second", "endings per CPU-second"),
    *("CPU-seconds", "CPU-milliseconds", "CPU-nanoseconds", "bytes"),
)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a quick run, made shorter still, writes as JSON."""
    path = tmp_path_factory.mktemp("bench") / "speed.json"
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as ended:
        patch.setattr(run, "QUICK", SMALL)
        main(["bench", "--quick", "--no-others", "--game", "tressette-2p", "--repeats", "1", "--json", str(path)])
    assert ended.value.code == 0
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data


def test_quick_run_measures_everything_of_ours(result: dict[str, Any]) -> None:
    assert result["format"] == 1
    assert result["games"] == ["tressette-2p"]
    assert result["ratios"] == []
    assert result["missing"] == {}
    keys = [figure["key"] for figure in result["figures"]]
    assert len(keys) == len(set(keys))
    assert set(keys) == {
        *("playouts", "batch_1", "batch_256", "batch_1024", "batch_4096", "aec", "aec_no_copy", "gym", "vector_1024"),
        *("row_bytes", "state_bytes", "import", "import_numpy_numba", "first_step_batch_again", "first_step_aec_again"),
        *OF_OPPONENTS,
    }
    assert {figure["key"] for figure in result["figures"] if figure["of_opponents"]} == OF_OPPONENTS


def test_figures_are_positive_medians(result: dict[str, Any]) -> None:
    for figure in result["figures"]:
        assert figure["library"] == "settebello"
        assert figure["game"] == (None if figure["key"].startswith("import") else "tressette-2p")
        assert len(figure["values"]) == 1
        assert all(value > 0 for value in figure["values"])
        assert 0 < figure["low"] <= figure["median"] <= figure["high"]
        assert figure["unit"] in UNITS


def test_targets_are_judged(result: dict[str, Any]) -> None:
    with_target = {figure["key"]: figure for figure in result["figures"] if figure["target"] is not None}
    assert set(with_target) == {
        key for key, targets in run.TARGETS.items() if "tressette-2p" in targets and not key.endswith("_cold")
    }
    assert {key for key in with_target if with_target[key]["target_is"] == "at least"} == {
        *("playouts", "batch_1024", "aec", "vector_1024", "ending_batch")
    }
    for figure in with_target.values():
        reached = figure["median"] - figure["target"]
        assert figure["met"] == (reached >= 0 if figure["target_is"] == "at least" else reached <= 0)
    assert with_target["row_bytes"]["met"] and with_target["state_bytes"]["met"]
    assert all(figure["met"] is None for figure in result["figures"] if figure["key"] not in with_target)


def test_machine_is_described(result: dict[str, Any]) -> None:
    machine = result["machine"]
    assert machine["cpu"] and machine["cpus"] > 0
    assert machine["python"] == ".".join(map(str, sys.version_info[:3]))
    assert {"numpy", "numba", "gymnasium", "pettingzoo"} <= set(machine["packages"])
    assert machine["date"].endswith("+00:00")
    assert machine["command"].strip()
    assert "commit" in machine


@pytest.mark.parametrize("game", ["tressette-4p", "bazzica"])
def test_every_loop_replays_in_the_other_games(game: str) -> None:
    """Preparing plays the session again and raises if it takes another course."""
    for loop in ours.loops(game):
        units, seconds = loop.prepare(SMALL)()
        assert units > 0 and seconds >= 0


@pytest.mark.parametrize("loop", others.loops(), ids=lambda loop: loop.title)
def test_other_libraries_replay(loop: Loop) -> None:
    try:
        replay = loop.prepare(SMALL)
    except ImportError as error:
        pytest.skip(str(error))
    units, seconds = replay()
    assert units >= SMALL.moves and seconds >= 0


def test_a_replay_that_takes_another_course_is_refused() -> None:
    env = bazzica_v0.env(episode="deal")
    games = loops.record_aec(env, 1)
    env.reset(seed=loops.SEED)
    with pytest.raises(ReplayError):
        loops.play_aec(env, [games[0] + games[0][-1:]])

    def short() -> tuple[int, float]:
        env.reset(seed=loops.SEED)
        loops.play_aec(env, [games[0][:-1]])
        return 0, 0.0

    with pytest.raises(ReplayError):
        loops.tried(short)


# --- opponents -----------------------------------------------------------------------------------------------------------

MEASURES = [measure for game in ("tressette-4p", "bazzica") for measure in opponents.measures(game)]


def slow_to_compile(measure: opponents.Measure) -> bool:
    return measure.game == "bazzica" and measure.figures[0][0].startswith("search")


@pytest.mark.parametrize(
    "measure",
    [pytest.param(measure, marks=[pytest.mark.long] if slow_to_compile(measure) else []) for measure in MEASURES],
    ids=lambda measure: f"{measure.game}-{measure.figures[0][0]}",
)
def test_opponents_of_the_other_games(measure: opponents.Measure) -> None:
    play = measure.prepare(SMALL)
    for _ in range(2):
        values = play()
        assert len(values) == len(measure.figures)
        assert all(value > 0 for value in values)
        assert list(values) == sorted(values)  # the 95th percentile is not below the median
    assert all(unit in ("endings", "CPU-seconds", "CPU-milliseconds", "CPU-nanoseconds") for _, _, unit in measure.figures)


def test_what_is_measured_of_each_game() -> None:
    keys = {game: {key for measure in opponents.measures(game) for key, _, _ in measure.figures} for game in GAMES}
    assert keys["tressette-2p"] == OF_OPPONENTS
    assert keys["tressette-4p"] == LEVELS | {"open_6", "open_7", "open_8"}
    assert keys["bazzica"] == LEVELS | {"last_hand", "last_hand_p95"}
    every = set().union(*keys.values())
    for key in every & run.TARGETS.keys():
        assert run.TARGETS[key].keys() == {game for game in GAMES if key in keys[game]}


def test_endings_are_whole() -> None:
    """Two hands of ten cards, none of them in both, and the thirds of the others taken or still to be counted."""
    hands, leaders, thirds = opponents.ending_rows(20)
    assert len(hands) == len(leaders) == len(thirds) == 20
    assert (np.bitwise_count(hands) == 10).all() and (hands[:, 0] & hands[:, 1] == 0).all()
    assert len(np.unique(hands, axis=0)) == 20 and set(leaders.tolist()) == {0, 1}
    in_play = np.array([sum(int(WORTH[card]) for card in cards_in(int(both))) for both in hands[:, 0] | hands[:, 1]])
    assert (thirds.sum(axis=1) + in_play == 32).all()


@pytest.mark.parametrize("game", GAMES)
def test_searched_positions_leave_a_choice(game: str) -> None:
    states = opponents.unforced(game, 50)
    assert len(states) == 50
    env = BatchEnv(game, 50, episode="deal")
    env._states[:] = states
    for row in range(50):
        assert len(env.information(row, int(states["turn"][row])).legal_actions()) > 1
    left = np.bitwise_count(states["hand"]).max(axis=1)
    assert len(set(left.tolist())) > 2  # all stages of a deal


def test_a_solver_starts_each_position_with_an_empty_memory() -> None:
    memory = np.zeros(3, np.int64)
    seen = []

    def solve(i: int) -> None:
        seen.append((i, memory.any()))
        memory.fill(1)

    low, high = opponents._percentiles(4, solve, memory, (50, 95))
    assert seen == [(i, False) for i in range(4)]
    assert 0 < low <= high


def figure(library: str, game: str | None, key: str, *values: float) -> run.Figure:
    return run.Figure(key=key, library=library, game=game, title=f"{library} {key}", unit="moves", values=values)


def made_report(*theirs: run.Figure, **missing: str) -> run.Report:
    """A report on bazzica with made-up figures."""
    mine = (figure("settebello", "bazzica", "aec", 3, 30, 20), figure("settebello", "bazzica", "batch_1024", 300, 3000, 1000))
    machine: dict[str, Any] = {
        "settebello": "0",
        "commit": None,
        "date": "now",
        "cpu": "some",
        "cpus": 1,
        "python": "3",
        "packages": {},
    }
    return run.Report(games=("bazzica",), workload=SMALL, figures=(*mine, *theirs), missing=missing, machine=machine)


def test_ratios_are_taken_round_by_round() -> None:
    made = made_report(figure("Other", "whist", "loop", 1, 10, 5))
    assert [ratio.values for ratio in made.ratios] == [(3, 3, 4), (300, 300, 200)]
    assert [ratio["median"] for ratio in made.to_dict()["ratios"]] == [3, 300]
    assert [report.times(ratio) for ratio in made.ratios] == ["3.0x", "300x"]


def test_tables_show_ratios_and_what_is_missing() -> None:
    output = io.StringIO()
    console = Console(file=output, width=100)
    report.print_report(made_report(figure("Other", "whist", "loop", 1, 10, 5), euchre="no module"), console)
    text = output.getvalue()
    assert "3.0x, 300x" in text
    assert "not installed: euchre; to compare with them: pip install 'settebello[bench]'" in text


def test_opponents_have_a_table_of_their_own() -> None:
    search = run.Figure(
        key="search_16",
        library="settebello",
        game="bazzica",
        title="search, 16 worlds",
        unit="CPU-milliseconds",
        values=(0.25, 0.5, 1.0),
        target=0.4,
        of_opponents=True,
    )
    texts = []
    for figures in ((search,), ()):
        output = io.StringIO()
        report.print_report(made_report(*figures), Console(file=output, width=80))
        texts.append(output.getvalue())
    assert search.met is False
    assert "bazzica: opponents" in texts[0] and "bazzica: opponents" not in texts[1]
    row = next(line for line in texts[0].splitlines() if line.startswith("search, 16 worlds"))
    assert row.split()[3:] == ["0.5", "ms", "0.25", "to", "1", "≤", "0.4", "not", "met"]
    assert "Opponents:" in texts[0] and "Opponents:" not in texts[1]


def test_chart(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "ratios.png"
    check_chart("--plot", path)
    report.write_chart(made_report(figure("Other", "whist", "loop", 1, 10, 5)), path)
    assert path.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(OptionError, match="no other library is installed"):
        report.write_chart(made_report(), path)


@pytest.mark.parametrize(
    ("number", "text"),
    [(20_234_567.0, "20.2 M"), (1_234_567_890.0, "1,235 M"), (410_800.0, "411 k"), (328, "328"), (0.5561, "0.556")],
)
def test_amounts(number: float, text: str) -> None:
    assert report.amount(number) == text
