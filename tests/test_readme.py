"""README: its Python blocks run, its commands exist, its links lead somewhere, its figures are those in docs/results."""

import json
import re
import runpy
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_python_blocks_run(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / f"block_{number}.py"
    script.write_text(BLOCKS[number])
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")


def test_blocks_were_found() -> None:
    assert len(BLOCKS) >= 5


@pytest.mark.parametrize(
    ("script", "argument"),
    [*((path, None) for path in EXAMPLES), (ROOT / "examples/onnx_opponent.py", ROOT / "checkpoints/bazzica/policy.onnx")],
    ids=lambda value: value and value.stem,
)
def test_examples_run(
    script: Path, argument: Path | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [str(script), *([str(argument)] if argument else [])])
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("command", sorted(set(re.findall(r"^(settebello(?:-train)? [a-z]+)", README, re.MULTILINE))))
def test_commands_exist(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    program, subcommand = command.split()
    assert (Path(sys.executable).parent / program).exists()
    (script,) = entry_points(group="console_scripts", name=program)
    with pytest.raises(SystemExit) as ended:
        script.load()([subcommand, "--help"])
    assert not ended.value.code
    assert subcommand in capsys.readouterr().out


def test_make_targets_exist() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = re.findall(r"^`?make ([a-z-]+)|`make ([a-z-]+)", README, re.MULTILINE)
    assert named
    assert {first or second for first, second in named} <= set(targets)


def test_links_lead_somewhere() -> None:
    titles = re.findall(r"^#+ (.*)$", README, re.MULTILINE)
    anchors = {"#" + re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles}
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert target in anchors if target.startswith("#") else (ROOT / target).exists(), target


def test_strength_of_hard() -> None:
    table = README[README.index("| `hard` against |") :].split("\n\n")[0]
    header, _, *rows = ([cell.strip(" `") for cell in line.strip("|").split("|")] for line in table.splitlines())
    shown = {(row[0], level): cell for row in rows for level, cell in zip(header[1:], row[1:], strict=True) if cell}
    measured = {}
    for path in (ROOT / "docs/results").glob("*.json"):
        result = json.loads(path.read_text())
        assert (result["a"], result["illegal_moves"]) == ("hard", [0, 0])
        assert result["deals"] >= 20_000
        low, high = result["ci95"]
        level = result["b"].split(":")[0]
        measured[result["game"], level] = f"{result['points_per_deal']:+.2f} ±{(high - low) / 2:.2f}"
    assert shown == measured
