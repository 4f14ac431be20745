"""A run's figures as tables and as a chart."""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from settebello.bench import ours
from settebello.bench.loops import BYTES, CPU_MILLISECONDS, CPU_NANOSECONDS, CPU_SECONDS
from settebello.bench.opponents import BATCH_SIZE
from settebello.bench.run import COMPARED, Figure, Ratio, Report, Tracker
from settebello.errors import OptionError

HOW: Final = """\
Speeds: per CPU-second; the median of the rounds, the lowest and the highest.
Actions are random and legal. They are drawn before the timed part, which only
replays them, resets included; only the playouts choose inside.
  random playouts  one compiled call, no observations
  BatchEnv         check, step, observation, mask, auto-reset of N games
  PettingZoo env   env.last() and env.step()
  Gymnasium env    the learner's steps, against the random opponent
  VectorEnv        the same for N games, Gymnasium's vector interface, native
  start            CPU-seconds of a new process up to its first step, imports
                   included; cold: no compiled kernels on disk yet
"""
OPPONENTS_HOW: Final = f"""\
Opponents: CPU time for one, the median of the rounds; positions of deals
played at random, the same ones in each round.
  ending           two players, stock just empty: exact value and best cards
  solve_batch      the same, many in one call
  open hands       four hands of so many cards, all seen: the exact value
  last hand        bazzica: the exact value of each action
  random ...       a level's own play, {BATCH_SIZE} games in one call
  search, hard     the mean over moves that are not forced
  duel             easy against medium in the arena, each deal played twice;
                   fewer deals are played, and the time scaled up
"""
RATIOS_HOW: Final = """\
Times as fast: first our PettingZoo env, then BatchEnv at N=1024, each to the
other library's loop; the median over the rounds. OpenSpiel: through Python,
its nodes for dealing included. Every library plays a game of its own here."""

SHORT_UNITS: Final = {
    CPU_SECONDS: "s",
    CPU_MILLISECONDS: "ms",
    CPU_NANOSECONDS: "ns",
    BYTES: "bytes",
    "moves": "moves/s",
    "agent steps": "steps/s",
    "endings": "endings/s",
}


class ProgressBar(Tracker):
    """Shows progress with the time left, or where the console is no terminal one line at the start; a context manager."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            BarColumn(bar_width=20),
            TimeRemainingColumn(),
            TextColumn("left  {task.description}"),
            console=console,
            disable=not console.is_terminal,
            auto_refresh=False,  # it would take a thread, whose CPU time would count as the loops'
            transient=True,
        )
        self._task = self._bar.add_task("", total=None)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bar.stop()

    def begin(self, total: float) -> None:
        """Show an empty bar."""
        if not self._console.is_terminal:
            self._console.print(f"measuring: about {total:.0f} seconds, more on a busy machine ...", highlight=False)
        self._bar.update(self._task, total=total)

    def doing(self, what: str) -> None:
        """Show what is going on."""
        self._bar.update(self._task, description=what, refresh=True)

    def advance(self, seconds: float) -> None:
        """Move the bar."""
        self._bar.advance(self._task, seconds)


# --- tables ------------------------------------------------------------------------------------------------------------


def print_report(report: Report, console: Console) -> None:
    """Print everything as tables."""
    machine = report.machine
    versions = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    commit = f" ({machine['commit']})" if machine["commit"] else ""
    console.print(f"settebello {machine['settebello']}{commit}, {machine['date']}", highlight=False)
    console.print(f"{machine['cpu']}, {machine['cpus']} CPUs; Python {machine['python']}, {versions}", highlight=False)
    for game in report.games:
        own = [figure for figure in report.figures if figure.game == game]
        for title, of_opponents in ((game, False), (f"{game}: opponents", True)):
            figures = [figure for figure in own if figure.of_opponents == of_opponents]
            if figures:
                console.print()
                console.print(game_table(title, figures))
    start = [figure for figure in report.figures if figure.library == ours.LIBRARY and figure.game is None]
    console.print()
    console.print(game_table("all games", start))
    console.print()
    console.print(HOW, highlight=False)
    if any(figure.of_opponents for figure in report.figures):
        console.print(OPPONENTS_HOW, highlight=False)
    if report.ratios:
        console.print(ratio_table(report))
        console.print()
        console.print(RATIOS_HOW, highlight=False)
    if report.missing:
        missing = ", ".join(report.missing)
        console.print(f"not installed: {missing}; to compare with them: pip install 'settebello\\[bench]'", highlight=False)


def game_table(title: str, figures: Sequence[Figure]) -> Table:
    """Our figures for a game, with targets."""
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("")
    table.add_column("median", justify="right", no_wrap=True)
    table.add_column("lowest to highest", justify="right")
    table.add_column("target", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for figure in figures:
        spread = "" if len(figure.values) == 1 else f"{amount(min(figure.values))} to {amount(max(figure.values))}"
        target, met = "", ""
        if figure.target is not None:
            target = ("≥ " if figure.is_speed else "≤ ") + amount(figure.target)
            met = "[green]met[/]" if figure.met else "[red]not met[/]"
        table.add_row(figure.title, f"{amount(figure.median)} {short_unit(figure)}", spread, target, met)
    return table


def ratio_table(report: Report) -> Table:
    """The other libraries' figures, and how many times as fast ours are."""
    table = Table(
        title="beside other libraries",
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
    )
    table.add_column("")
    table.add_column("moves/s", justify="right", no_wrap=True)
    for game in report.games:
        table.add_column(game, justify="right", no_wrap=True)
    for theirs, ratios in ratios_by_other(report):
        pairs = (ratios[i : i + len(COMPARED)] for i in range(0, len(ratios), len(COMPARED)))
        table.add_row(theirs.title, amount(theirs.median), *(", ".join(map(times, pair)) for pair in pairs))
    return table


def ratios_by_other(report: Report) -> list[tuple[Figure, list[Ratio]]]:
    """For each figure of another library the ratios to it: of each game, in the order of COMPARED."""
    rows = []
    for theirs in (figure for figure in report.figures if figure.library != ours.LIBRARY):
        of_theirs = {(ratio.ours.game, ratio.ours.key): ratio for ratio in report.ratios if ratio.theirs is theirs}
        rows.append((theirs, [of_theirs[game, key] for game in report.games for key in COMPARED]))
    return rows


def amount(number: float) -> str:
    """A number with three digits that count: ``20.2 M``, ``411 k``, ``328``, ``0.556``."""
    for factor, letter in ((1e6, " M"), (1e3, " k")):
        if number >= factor:
            return f"{number / factor:.3g}{letter}" if number < 1000 * factor else f"{number / factor:,.0f}{letter}"
    return f"{number:.3g}"


def short_unit(figure: Figure) -> str:
    """The unit as a table has it."""
    return SHORT_UNITS[figure.unit]


def times(ratio: Ratio) -> str:
    """A ratio as text: ``947x``, ``6.8x``, ``0.31x``."""
    value = ratio.median
    return f"{value:,.0f}x" if value >= 10 else f"{value:.1f}x" if value >= 1 else f"{value:.2f}x"


# --- chart ---------------------------------------------------------------------------------------------------------------


def write_chart(report: Report, path: Path) -> None:
    """Draw the ratios, in the format that the file's name says.

    Raises:
        OptionError: there are none, since no other library is installed, or the file cannot be written.
    """
    if not report.ratios:
        raise OptionError(
            f"no chart {path}: it shows ratios, and no other library is installed; pip install 'settebello[bench]'"
        )
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # no window: Agg, without pyplot's global state
    from matplotlib.figure import Figure as Chart

    rows = ratios_by_other(report)
    bars = [(game, key) for game in report.games for key in COMPARED]
    names = {"aec": "PettingZoo env", "batch_1024": "BatchEnv, N=1024"}
    shades = {"aec": 0.45, "batch_1024": 1.0}
    height = 0.8 / len(bars)
    chart = Chart(figsize=(8, 1.2 + len(rows) * (0.3 + 0.14 * len(bars))), dpi=120, layout="constrained")
    FigureCanvasAgg(chart)
    axes = chart.add_subplot()
    axes.set_xscale("log")
    for i, (game, key) in enumerate(bars):
        values = [ratios[i].median for _, ratios in rows]
        places = [row - 0.4 + height * (i + 0.5) for row in range(len(rows))]
        lengths = [value - 1 for value in values]  # bars begin where both are equally fast
        color = f"C{report.games.index(game)}"
        axes.barh(places, lengths, height, left=1, color=color, alpha=shades[key], label=f"{game}, {names[key]}")
        for place, value, (_, ratios) in zip(places, values, rows, strict=True):
            side, gap = ("left", 3) if value >= 1 else ("right", -3)
            axes.annotate(
                times(ratios[i]), (value, place), (gap, 0), textcoords="offset points", ha=side, va="center", fontsize=6
            )
    axes.axvline(1, color="0.3", linewidth=1)
    axes.margins(x=0.12)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g}x")
    axes.set_yticks(range(len(rows)), [f"{theirs.title}\n{amount(theirs.median)} moves/s" for theirs, _ in rows])
    axes.invert_yaxis()
    axes.set_xlabel("times as fast, per CPU-second (median of rounds in one run)")
    axes.set_title("settebello beside other libraries")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(fontsize=7, loc="lower right")
    try:
        chart.savefig(path)
    except OSError as error:
        raise OptionError(f"{path}: not written ({error.strerror})") from error
