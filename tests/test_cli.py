"""The command ``settebello``: help, version, and refusals in one line."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import settebello
from settebello.cli import main
from settebello.opponents import LEVELS


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Status, output and error output of the command."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    code = ended.value.code
    out, err = (re.sub(r"\x1b\[[0-9;]*m", "", text) for text in capsys.readouterr())
    return (code if isinstance(code, int) else int(code is not None)), out, err


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--help")
    assert status == 0
    for word in ("tressette-2p", "bazzica", "BatchEnv", "bench", "settebello-train", "--version"):
        assert word in out
    status, out, _ = run(capsys, "bench", "--help")
    assert status == 0
    for word in ("--game", "--repeats", "--json", "--plot", "--quick", "--no-others", "--no-opponents", "settebello[bench]"):
        assert word in out
    for command in ("evaluate", "ladder"):
        status, out, _ = run(capsys, command, "--help")
        assert status == 0
        for word in (
            "--deals",
            "--seed",
            "--until-ci",
            "--episode",
            "--processes",
            "--option",
            "--json",
            "--results",
            "mine:make",
        ):
            assert word in out


def test_without_arguments_it_shows_help(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys)
    assert status != 0
    assert "bench" in out + err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version") == (0, f"settebello {settebello.__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--frobnicate"], "--frobnicate"),
        (["benhc"], "benhc"),
        (["bench", "--frobnicate"], "--frobnicate"),
        (["bench", "--repeats", "0"], "--repeats"),
        (["bench", "--repeats", "many"], "--repeats"),
    ],
)
def test_unknown_arguments_are_refused(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    status, out, err = run(capsys, *arguments)
    assert status != 0
    assert out == ""
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--game", "tresette-2p"], "unknown game 'tresette-2p'; did you mean 'tressette-2p'?"),
        (["--json", "/no/such/folder/speed.json"], "--json /no/such/folder/speed.json: there is no folder"),
        (["--json", "."], "--json .: is a folder"),
        (["--plot", "speed.xyz"], "--plot speed.xyz: its name must end in .png"),
        (["--plot", "speed.png", "--no-others"], "--plot"),
    ],
)
def test_our_errors_are_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = run(capsys, "bench", *arguments)
    assert status == 1
    assert out == ""
    assert err.startswith("settebello: ")
    assert message in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


OPPONENTS = """
class Lowest:
    def act(self, information):
        return information.legal_actions()[0]

class Tired(Lowest):
    left = 400  # 320 moves are a chunk
    def act(self, information):
        Tired.left -= 1
        if not Tired.left:
            raise KeyboardInterrupt
        return super().act(information)

class Bad:
    def act(self, information):
        return 1000

def lowest(game, seed):
    return Lowest()

def tired(game, seed):
    return Tired()

def bad(game, seed):
    return Bad()
"""


@pytest.fixture
def opponents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module of opponents in the working folder, which no installed command looks into by itself."""
    name = f"opponents_of_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(OPPONENTS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    return name


def test_evaluate(capsys: pytest.CaptureFixture[str], opponents: str) -> None:
    arguments = ("evaluate", "bazzica", "random", f"{opponents}:lowest", "--deals", "20", "--option", "low_sum_max=9")
    status, out, _ = run(capsys, *arguments, "--json", "r.json")
    assert status == 0
    result = json.loads(Path("r.json").read_text(encoding="utf-8"))
    assert (result["game"], result["deals"], result["options"]) == ("bazzica", 20, {"low_sum_max": 9})
    assert (result["a"], result["b"]) == ("random", f"{opponents}:lowest")
    assert f"{result['points_per_deal']:+.3f}" in out
    status, out, _ = run(capsys, *arguments[:6], "--episode", "match")
    assert status == 0 and "20 matches" in out


def test_ladder(capsys: pytest.CaptureFixture[str], opponents: str) -> None:
    pytest.importorskip("matplotlib")
    arguments = ("ladder", "tressette-2p", "random", f"{opponents}:lowest", "--deals", "20", "--results", "all.json")
    status, out, _ = run(capsys, *arguments, "--json", "r.json", "--plot", "p.png")
    assert status == 0 and "95% interval" in out
    result = json.loads(Path("r.json").read_text(encoding="utf-8"))
    assert result["names"] == ["random", f"{opponents}:lowest"]
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")
    before = Path("all.json").read_bytes()
    assert run(capsys, *arguments)[0:2] == (0, out)
    assert Path("all.json").read_bytes() == before


def test_a_ladder_without_names_is_of_all_levels(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "ladder", "tressette-2p", "--deals", "2")
    assert status == 0, err
    assert all(re.search(rf"\b{level}\b", out) for level in LEVELS)


def test_interrupted_evaluation_says_how_to_go_on(capsys: pytest.CaptureFixture[str], opponents: str) -> None:
    arguments = ("evaluate", "tressette-2p", "random", f"{opponents}:tired", "--deals", "40")
    status, out, err = run(capsys, *arguments, "--results", "r.json")
    assert (status, out) == (130, "")
    assert err == (
        "settebello: interrupted after 8 of 40 deals; they are saved in r.json; the same command goes on from there\n"
    )
    status, out, _ = run(capsys, *arguments, "--results", "r.json")  # this time it is not tired
    assert status == 0 and "40 deals" in out


def test_interrupted_without_results(capsys: pytest.CaptureFixture[str], opponents: str) -> None:
    status, out, err = run(capsys, "evaluate", "tressette-2p", "random", f"{opponents}:tired", "--deals", "40")
    assert (status, out) == (130, "")
    assert err == "settebello: interrupted after 8 of 40 deals; nothing was saved; with --results FILE it can go on later\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "tresette-2p", "random", "random"], "did you mean 'tressette-2p'?"),
        (["evaluate", "bazzica", "random", "randm"], "randm"),
        (["evaluate", "bazzica", "random", "random", "--option", "target"], "--option target: expected NAME=VALUE"),
        (["evaluate", "bazzica", "random", "random", "--option", "targt=3"], "did you mean 'target'?"),
        (["evaluate", "bazzica", "random", "random", "--option", "target=x"], "target='x'"),
        (["evaluate", "bazzica", "random", "random", "--option", "episode=deal"], "use --episode"),
        (["evaluate", "bazzica", "random", "random", "--option", "processes=2"], "unknown option 'processes'"),
        (["evaluate", "bazzica", "random", "random", "--until-ci", "-1"], "until_ci=-1.0"),
        (["evaluate", "bazzica", "random", "random", "--json", "no/r.json"], "--json no/r.json: there is no folder"),
        (["evaluate", "bazzica", "random", "random", "--results", "no/r.json"], "no/r.json: there is no folder"),
        (["evaluate", "bazzica", "random", "MODULE:bad"], "illegal action 1000"),
        (["ladder", "bazzica", "random"], "at least two"),
        (["ladder", "bazzica", "random", "MODULE:bad", "--plot", "p.xyz"], "must end in"),
    ],
)
def test_arena_errors_are_one_line(
    capsys: pytest.CaptureFixture[str], opponents: str, arguments: list[str], message: str
) -> None:
    status, out, err = run(capsys, *(argument.replace("MODULE", opponents) for argument in arguments))
    assert (status, out) == (1, "")
    assert err.startswith("settebello: ") and err.count("\n") == 1
    assert message in err


def test_as_a_module() -> None:
    """A real process: status and streams are what a shell sees."""
    command = [sys.executable, "-m", "settebello.cli", "bench", "--game", "briscola"]
    path = os.pathsep.join([str(Path(settebello.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    child = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": path})
    assert child.returncode == 1
    assert child.stdout == ""
    assert child.stderr == "settebello: unknown game 'briscola' (games: tressette-2p, tressette-4p, bazzica)\n"
