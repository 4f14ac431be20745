"""A whole run: train until the budget is spent or someone interrupts, then measure what came out."""

import dataclasses
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from rich.console import Console

import settebello
from settebello.arena import DuelResult
from settebello_training.errors import CheckpointError
from settebello_training.evaluate import CURVE_SEED, FINAL_SEED
from settebello_training.exploit import meaning
from settebello_training.progress import CURVE_PICTURE, RESULT, Report, source_commit, write_curve, write_result
from settebello_training.trainer import Trainer


class Stop:
    """Whether someone asked the run to end. Once asked, a second interrupt ends the process at once."""

    def __init__(self) -> None:
        self.asked = False

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Let SIGINT and SIGTERM ask, inside a ``with`` block. Python allows that in the main thread only."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

        def ask(number: int, frame: FrameType | None) -> None:
            self.asked = True
            for one, handler in before.items():
                signal.signal(one, handler)

        for number in before:
            signal.signal(number, ask)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@dataclasses.dataclass(frozen=True)
class RunResult:
    """How a run ended.

    Attributes:
        finished: the budget was spent; False when the run was interrupted.
        evaluations: the final evaluations by level, empty when interrupted.
        decisions: trained on.
        decisions_per_second: over the updates, evaluations not counted.
        outside_network: share of the updates' time that was not network arithmetic.
        folder: where checkpoint, picture and result are.
        meaning: of a best response, what its result says of the opponent; None: the run is none, or was interrupted.
    """

    finished: bool
    evaluations: Mapping[str, DuelResult]
    decisions: int
    decisions_per_second: float
    outside_network: float
    folder: Path
    meaning: str | None = None


def train(trainer: Trainer, folder: Path, console: Console, command: str) -> RunResult:
    """Train until the budget is spent, with checkpoints, and leave checkpoint, learning curve and result in a folder.

    SIGINT and SIGTERM end the run after the update at hand, with a checkpoint. Of several processes rank 0 measures, shows and
    writes; the others are done when the training is.

    Args:
        trainer: a new or a resumed run.
        folder: where everything goes.
        console: where progress is shown.
        command: how the run was started, for the result.

    Raises:
        CheckpointError: a checkpoint cannot be written.
        TrainingError: the loss is no longer a number, or another process has ended.
    """
    stop, first = Stop(), trainer.ranks.rank == 0
    trainer.origin = {"command": command, "commit": source_commit()} | trainer.origin  # a resumed run keeps its own
    trainer.save(folder)  # at once: a folder that cannot be written should say so now, not in an hour
    report = Report(trainer, folder, console) if first else None
    with stop.on_signals(), report or nullcontext():
        _train(trainer, folder, report, stop)
    trainer.save(folder)
    finished = trainer.fraction >= 1
    if finished and first:
        against = ", ".join(trainer.config.final_levels)
        console.print(f"evaluating on {trainer.config.eval_deals:,} mirrored deals against {against} ...", highlight=False)
        trainer.final_evaluation()
        trainer.save_evaluations(folder)
    evaluations = trainer.evaluations if finished else {}
    result = RunResult(
        finished=finished,
        evaluations=evaluations,
        decisions=trainer.decisions,
        decisions_per_second=trainer.decisions / trainer.clock.total if trainer.clock.total > 0 else 0.0,
        outside_network=trainer.clock.outside_network,
        folder=folder,
        meaning=meaning(trainer.config.exploits, evaluations),
    )
    if first:
        try:
            if trainer.curve:
                write_curve(folder / CURVE_PICTURE, trainer.curve, trainer.config)
            write_result(folder / RESULT, _result_values(trainer, result, command))
        except OSError as error:
            raise CheckpointError(
                f"folder {folder}: the result cannot be written ({error}); the checkpoint is saved"
            ) from error
    return result


def _train(trainer: Trainer, folder: Path, report: Report | None, stop: Stop) -> None:
    config, ranks = trainer.config, trainer.ranks
    before = trainer.seconds
    start = last_save = time.perf_counter()
    measuring = 0.0  # seconds that are not training
    while True:
        # Time is rank 0's, and any rank may be interrupted: all must go on, measure, save and end together.
        now = time.perf_counter()
        trainer.seconds = before + now - start - measuring
        save_due, measure_due = now - last_save >= 60 * config.checkpoint_minutes, trainer.measure_due
        shared = torch.tensor([trainer.seconds, save_due, measure_due], dtype=torch.float64)
        trainer.seconds, save_due, measure_due = ranks.from_first(shared).tolist()
        if ranks.sum(torch.tensor(int(stop.asked))):
            break
        if trainer.updates and (save_due or measure_due):  # a measurement may take longer than an interval
            trainer.save(folder)
            last_save = time.perf_counter()
        if measure_due:
            if report is not None:
                begun = time.perf_counter()
                report.measured(trainer.measure())
                measuring += time.perf_counter() - begun
            continue
        if trainer.fraction >= 1:
            break
        metrics = trainer.update()
        if report is not None:
            report.updated(metrics)


def _result_values(trainer: Trainer, result: RunResult, command: str) -> dict[str, Any]:
    config = trainer.config
    seeds = config.training_seeds
    values: Mapping[str, Any] = {
        "game": config.game,
        "command": command,
        "settebello": settebello.__version__,
        "commit": source_commit(),
        "origin": trainer.origin,
        "finished": result.finished,
        "evaluations": {level: evaluation.to_dict() for level, evaluation in result.evaluations.items()},
        "meaning": result.meaning,
        "seeds": {
            "run": config.seed,
            "training_first": seeds.start,
            "training_last": seeds.stop - 1,
            "arena_curve": CURVE_SEED,
            "arena_final": FINAL_SEED,
        },
        "counters": trainer.counters,
        "decisions_per_second": result.decisions_per_second,
        "outside_network": result.outside_network,
        "processes": trainer.ranks.size,
        "time_by_part": trainer.clock.seconds,
        "curve": trainer.curve,
        "config": config.to_dict(),
    }
    return dict(values)
