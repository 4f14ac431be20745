"""The command ``settebello``: help, version, and refusals in one line."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import settebello
from settebello.cli import main


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
    for word in ("--game", "--repeats", "--json", "--plot", "--quick", "--no-others", "settebello[bench]"):
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


def test_as_a_module() -> None:
    """A real process: status and streams are what a shell sees."""
    command = [sys.executable, "-m", "settebello.cli", "bench", "--game", "briscola"]
    path = os.pathsep.join([str(Path(settebello.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    child = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": path})
    assert child.returncode == 1
    assert child.stdout == ""
    assert child.stderr == "settebello: unknown game 'briscola' (games: tressette-2p, tressette-4p, bazzica)\n"
