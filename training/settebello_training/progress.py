"""What a run shows while it goes and leaves behind: progress with time left, tensorboard, the learning curve, the result."""

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from settebello.arena import DuelResult
from settebello_training.checkpoint import write_atomically
from settebello_training.config import TrainConfig
from settebello_training.trainer import Trainer

CURVE_PICTURE: Final = "learning_curve.png"
RESULT: Final = "result.json"


class Report:
    """Progress bar on the console and scalars for tensorboard; a context manager.

    Where the console is no terminal, each measurement of the curve prints one line instead of the bar.

    Args:
        trainer: the run.
        folder: tensorboard's files go to ``tensorboard/`` in it.
        console: where to show progress; it should write to stderr, so that results can be piped.
    """

    def __init__(self, trainer: Trainer, folder: Path, console: Console) -> None:
        self.trainer = trainer
        self.console = console
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=10),  # all of it fits 80 columns
            TaskProgressColumn(),
            TextColumn("{task.fields[left]} left{task.fields[note]}"),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task(trainer.config.game, total=1.0, left=time_text(seconds_left(trainer)), note="")
        self._writer: Any = None
        if trainer.config.tensorboard:
            from torch.utils.tensorboard import SummaryWriter  # heavy: only when wanted

            # A run that was killed wrote points beyond its last checkpoint: what follows takes their place.
            self._writer = SummaryWriter(str(folder / "tensorboard"), purge_step=trainer.decisions or None)
        self._last = ""

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bar.stop()
        if self._writer is not None:
            self._writer.close()

    def updated(self, metrics: Mapping[str, float]) -> None:
        """Show an update's metrics and the time left."""
        trainer = self.trainer
        speed = metrics["decisions"] / max(metrics["update_seconds"], 1e-9)
        self._show(f", {speed / 1000:.0f}k decisions/s{self._last}")
        self._scalars("train", {**metrics, "decisions_per_second": speed, "outside_network": trainer.clock.outside_network})

    def measured(self, results: Mapping[str, DuelResult]) -> None:
        """Show a point of the learning curve."""
        points = [f"{result.points_per_deal:+.2f} against {level}" for level, result in results.items()]
        self._last = f", {points[-1]}"
        self._show(self._last)
        for level, result in results.items():
            name = level.replace("/", "_").replace(":", "_")
            self._scalars(f"against_{name}", {"points_per_deal": result.points_per_deal, "win_rate": result.win_rate})
        if not self.console.is_terminal:
            trainer = self.trainer
            halves = [(result.ci95[1] - result.ci95[0]) / 2 for result in results.values()]
            against = ", ".join(f"{text} (±{half:.2f})" for text, half in zip(points, halves, strict=True))
            self.console.print(
                f"{100 * trainer.fraction:5.1f} %  {time_text(trainer.seconds)}  {trainer.decisions:>11,} decisions  "
                f"points per deal: {against}",
                highlight=False,
                soft_wrap=True,
            )

    def _show(self, note: str) -> None:
        self._bar.update(self._task, completed=self.trainer.fraction, left=time_text(seconds_left(self.trainer)), note=note)

    def _scalars(self, group: str, values: Mapping[str, float]) -> None:
        if self._writer is not None:
            for name, value in values.items():
                self._writer.add_scalar(f"{group}/{name}", value, self.trainer.decisions)


def seconds_left(trainer: Trainer) -> float:
    """Seconds until the budget is spent, at the pace so far."""
    if trainer.fraction <= 0:
        return 0.0 if trainer.config.minutes is None else 60 * trainer.config.minutes
    return trainer.seconds * (1 - trainer.fraction) / trainer.fraction


def time_text(seconds: float) -> str:
    """Hours, minutes and seconds, as ``3:07`` or ``1:02:07``."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def write_curve(path: Path, curve: Sequence[Mapping[str, Any]], config: TrainConfig) -> None:
    """Draw points per deal against each opponent, with 95% intervals, over minutes (below) and decisions (above), as PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # heavy, and no window: Agg without pyplot's global state
    from matplotlib.figure import Figure

    minutes = [point["seconds"] / 60 for point in curve]
    figure = Figure(figsize=(7.5, 4.5), dpi=120, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.axhline(0, color="0.4", linewidth=1, linestyle="--")
    axes.text(1.0, 0.0, "as good ", transform=axes.get_yaxis_transform(), ha="right", va="bottom", color="0.4")
    for k, level in enumerate(curve[-1]["against"]):
        results = [point["against"][level] for point in curve]
        low, high = ([result["ci95"][end] for result in results] for end in range(2))
        axes.fill_between(minutes, low, high, alpha=0.25, color=f"C{k}", linewidth=0)
        points = [result["points_per_deal"] for result in results]
        axes.plot(minutes, points, color=f"C{k}", marker="o", markersize=4, label=f"against {level}")
    learnt = [result["ci95"] for point in curve[1:] for result in point["against"].values()]
    if learnt:  # the untrained network is far below all that follows, which would be a flat line
        lowest, highest = min(0.0, *(low for low, _ in learnt)), max(0.0, *(high for _, high in learnt))
        axes.set_ylim(bottom=max(axes.get_ylim()[0], lowest - 0.2 * (highest - lowest)))
    axes.legend(loc="lower right")
    axes.set_xlabel("minutes of training")
    axes.set_ylabel("points per deal\n(mirrored deals, 95% interval)")
    what = "training" if config.exploits is None else f"a best response to {config.exploits}"
    axes.set_title(f"{config.game}: {what}")
    axes.grid(alpha=0.3)
    if curve[-1]["decisions"]:
        decisions = curve[-1]["decisions"] / minutes[-1] / 1e6  # millions a minute; the pace is steady
        top = axes.secondary_xaxis("top", functions=(lambda x: x * decisions, lambda x: x / decisions))
        top.set_xlabel("million decisions")
    picture = io.BytesIO()
    canvas.print_png(picture)  # type: ignore[no-untyped-call]
    write_atomically(path, picture.getvalue())


def write_result(path: Path, values: Mapping[str, Any]) -> None:
    """Write a result as JSON."""
    write_atomically(path, (json.dumps(values, indent=1) + "\n").encode())


def source_commit() -> str | None:
    """The commit of the checkout this package runs from, read from its files; None for an installed copy."""
    git = Path(__file__).resolve().parents[2] / ".git"
    try:
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref: "):
            return head or None
        name = head.removeprefix("ref: ")
        if (git / name).exists():
            return (git / name).read_text(encoding="utf-8").strip() or None
        for line in (git / "packed-refs").read_text(encoding="utf-8").splitlines():
            if line.endswith(f" {name}"):
                return line.split()[0]
    except OSError:
        pass
    return None
