"""Results as text, tables and a picture, and progress while they come."""

from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Final, Self

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as RichProgress
from rich.table import Table

from settebello.arena.ladder import LadderResult
from settebello.arena.run import Progress
from settebello.arena.tally import Z95, DuelResult
from settebello.errors import OptionError
from settebello.output import check_chart

LINE_SECONDS: Final = 20.0  # between two lines where the console is no terminal


class ProgressBar:
    """Shows progress with the time left, or now and then a line where the console is no terminal; a context manager.

    Args:
        console: should write to stderr, so that results can be piped.

    Attributes:
        last: what was shown last, None before the first chunk.
    """

    def __init__(self, console: Console) -> None:
        self.last: Progress | None = None
        self._console = console
        self._bar = RichProgress(
            BarColumn(bar_width=15),
            TextColumn("{task.description}"),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task("starting ...", total=None)
        self._first: tuple[float, int] | None = None  # time and deals at the first chunk: what was resumed took no time
        self._line_at = monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bar.stop()

    def __call__(self, progress: Progress) -> None:
        """Show it."""
        self.last = progress
        now = monotonic()
        if self._first is None:
            self._first = now, progress.deals
        since, before = self._first
        left = "-:--"
        if progress.deals > before:
            left = time_text((now - since) * (progress.expected - progress.deals) / (progress.deals - before))
        text = f"{progress.deals:,}/{progress.expected:,} deals, {left} left  {progress_text(progress)}"
        self._bar.update(self._task, completed=progress.deals, total=progress.expected, description=escape(text))
        if not self._console.is_terminal and now - self._line_at > LINE_SECONDS:
            self._line_at = now
            self._console.print(text, highlight=False, markup=False, soft_wrap=True)


def progress_text(progress: Progress) -> str:
    """Who leads by how much."""
    return f"{progress.a} - {progress.b} {progress.points_per_deal:+.2f} ±{progress.half_width:.2f}"


def time_text(seconds: float) -> str:
    """Hours, minutes and seconds, as ``3:07`` or ``1:02:07``."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def duration(seconds: float) -> str:
    """A short time with its unit: ``1.3 µs``, ``25 ms``."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


# --- tables --------------------------------------------------------------------------------------------------------------


def print_duel(result: DuelResult, console: Console) -> None:
    """Print a duel in a few lines."""
    unit = "matches" if result.episode == "match" else "deals"
    low, high = result.ci95
    win, win_low, win_high = (100 * rate for rate in (result.win_rate, *result.win_ci95))
    options = "".join(f", {name}={value}" for name, value in result.options.items())
    lines = [
        f"{result.a} (a) against {result.b} (b): {result.game}{options}",
        f"{result.deals:,} {unit}, each played twice with sides changed; seed {result.seed}",
        "",
        f"  points per deal   {result.points_per_deal:+.3f} for a   (95% interval {low:+.3f} to {high:+.3f})",
        f"  {unit + ' won':<18}{win:.1f}% by a   (95% interval {win_low:.1f}% to {win_high:.1f}%; equal ones half)",
        f"  CPU time a move   a {duration(result.seconds_per_move[0])}, b {duration(result.seconds_per_move[1])}",
    ]
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def rating_table(result: LadderResult) -> Table:
    """The opponents, best first, with rating and speed."""
    table = _table(f"{result.game}: points per deal against the field")
    table.add_column("", justify="right")
    table.add_column("opponent", overflow="fold")
    table.add_column("rating", justify="right", no_wrap=True)
    table.add_column("95% interval", justify="right", no_wrap=True)
    table.add_column("CPU time a move", justify="right", no_wrap=True)
    for rank, i in enumerate(result.ranking):
        rating, margin = result.ratings[i], Z95 * result.standard_errors[i]
        name = result.names[i]
        seconds = [duel.seconds_per_move[0 if duel.a == name else 1] for duel in result.duels if name in (duel.a, duel.b)]
        table.add_row(
            str(rank + 1),
            escape(name),
            f"{rating:+.3f}",
            f"{rating - margin:+.3f} to {rating + margin:+.3f}",
            duration(float(np.median(seconds))),
        )
    return table


def matrix_table(result: LadderResult) -> Table:
    """Points per deal of the row's opponent against the column's, half the width of the 95% interval, and plays won."""
    table = _table("row against column: points per deal, half its 95% interval, plays won")
    table.add_column("", justify="right")
    table.add_column("", overflow="fold")
    points, margins, wins = result.points, result.half_widths, result.win_rates
    for rank in range(len(result.names)):
        table.add_column(str(rank + 1), justify="right", no_wrap=True)
    for rank, i in enumerate(result.ranking):
        cells = [f"{points[i, j]:+.2f}\n±{margins[i, j]:.2f}\n{100 * wins[i, j]:.0f}%" for j in result.ranking]
        cells[rank] = ""
        table.add_row(str(rank + 1), escape(result.names[i]), *cells)
    return table


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, show_edge=False, pad_edge=False)


def print_ladder(result: LadderResult, console: Console) -> None:
    """Print ratings and matrix."""
    console.print(rating_table(result))
    console.print()
    console.print(matrix_table(result))
    unit = "matches" if result.episode == "match" else "deals"
    counts = sorted({duel.deals for duel in result.duels})
    number = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    console.print(f"\n{number} {unit} each, played twice with sides changed; seed {result.seed}", highlight=False)


# --- picture -------------------------------------------------------------------------------------------------------------


def write_chart(result: LadderResult, path: Path) -> None:
    """Draw matrix and ratings with their 95% intervals, in the format that the file's name says.

    Raises:
        OptionError: matplotlib is not installed, the format is unknown, or the file cannot be written.
    """
    check_chart("chart", path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # no window: Agg, without pyplot's global state
    from matplotlib.figure import Figure as Chart

    order = result.ranking
    names = [result.names[i] for i in order]
    points, margins = result.points[np.ix_(order, order)], result.half_widths[np.ix_(order, order)]
    size = 0.85 * len(names)
    chart = Chart(figsize=(6 + size, 2 + size), dpi=120, layout="constrained")
    FigureCanvasAgg(chart)
    matrix, bars = chart.subplots(1, 2, width_ratios=[1 + len(names), 3])
    limit = max(float(np.abs(points).max()), 1e-9)
    matrix.imshow(points, cmap="RdBu", vmin=-1.3 * limit, vmax=1.3 * limit)
    for i in range(len(names)):
        for j in range(len(names)):
            if i != j:
                text = f"{points[i, j]:+.2f}\n±{margins[i, j]:.2f}"
                color = "white" if abs(points[i, j]) > 0.8 * limit else "black"
                matrix.text(j, i, text, ha="center", va="center", fontsize=8, color=color)
    matrix.set_xticks(range(len(names)), names, rotation=35, ha="right", rotation_mode="anchor")
    matrix.set_yticks(range(len(names)), names)
    matrix.set_title("points per deal, row against column", fontsize=10)
    _draw_ratings(bars, [result.ratings[i] for i in order], [Z95 * result.standard_errors[i] for i in order])
    chart.suptitle(f"{result.game}: mirrored {'matches' if result.episode == 'match' else 'deals'}, with 95% intervals")
    try:
        chart.savefig(path)
    except OSError as error:
        raise OptionError(f"{path}: not written ({error.strerror})") from error


def _draw_ratings(axes: object, ratings: Sequence[float], margins: Sequence[float]) -> None:
    from matplotlib.axes import Axes

    assert isinstance(axes, Axes)
    axes.axvline(0, color="0.6", linewidth=1)
    axes.errorbar(ratings, range(len(ratings)), xerr=margins, fmt="o", color="#1f5fa8", capsize=3)
    axes.set_ylim(len(ratings) - 0.5, -0.5)
    axes.set_yticks([])
    axes.margins(x=0.15)
    axes.set_xlabel("points per deal")
    axes.set_title("rating", fontsize=10)
    axes.grid(axis="x", alpha=0.3)
