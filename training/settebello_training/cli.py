"""The command ``settebello-train``."""

import dataclasses
import datetime
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from settebello.errors import OptionError, SettebelloError
from settebello.opponents.exported import MANIFEST, checkpoint_folder
from settebello_training.checkpoint import load_checkpoint
from settebello_training.config import TrainConfig, merge_settings, parse_setting, read_settings
from settebello_training.errors import CheckpointError, TrainingError
from settebello_training.exact import DECKS, ENOUGH, check_deck, write_results
from settebello_training.exploit import exploit_settings
from settebello_training.export import export_run
from settebello_training.progress import CURVE_PICTURE, RESULT
from settebello_training.ranks import leave
from settebello_training.train import RunResult, train
from settebello_training.trainer import Trainer

PROGRAM: Final = "settebello-train"
# What a checkpoint holds has these shapes and games.
KEPT_ON_RESUME: Final = (
    *("game", "seed", "episode", "reward", "options", "hidden", "critic", "num_envs", "pool_share"),
    *("curve_levels", "reward_scale", "exact_endings"),
)
INTERRUPTED: Final = 130  # what shells return after SIGINT

SeedOption = Annotated[
    int | None, typer.Option(help="Seed of the deals, the first weights and every draw. Default: 0.", show_default=False)
]
OutOption = Annotated[Path | None, typer.Option(help="Folder for the run. Default: a new one under runs/.", show_default=False)]
FromOption = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="FOLDER",
        help="Start with the networks of this run or export, not from nothing.",
        show_default=False,
    ),
]
SettingOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="One setting; may be given several times.", show_default=False),
]

app = typer.Typer(
    name=PROGRAM,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Train agents for Tressette and Scopa-bazzica by self-play.\n\n"
    "Try [bold]settebello-train demo[/] first: about five minutes on two cores. Every run leaves a folder with its weights, "
    "its learning curve as a picture and its result as JSON, and can be resumed from it.",
)


@app.command()
def run(
    context: typer.Context,
    game: Annotated[
        str | None, typer.Option(help="tressette-2p, tressette-4p or bazzica. Default: tressette-2p.", show_default=False)
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(help="Minutes of training; the final evaluation comes on top. Default: 4.", show_default=False),
    ] = None,
    seed: SeedOption = None,
    out: OutOption = None,
    config: Annotated[
        Path | None, typer.Option(help="JSON file with settings, as result.json shows them under config.", show_default=False)
    ] = None,
    start: FromOption = None,
    setting: SettingOption = None,
) -> None:
    """Train an agent and measure it against the levels random, easy and medium on mirrored deals.

    Settings come from --config, then --set, then the other options. For example:

      settebello-train run --game bazzica --minutes 10 --seed 1

      settebello-train run --game tressette-2p --set options.napoletana=true --set "hidden=[512,512]"

    What the settings are: python -c "import settebello_training as t; help(t.TrainConfig)".
    Ctrl-C saves a checkpoint and ends.

    --from takes the networks of another run, or an export, as first weights,
    with their widths: for a second phase with other settings. Give --game too.

    Several processes, on one machine or more, share the games and learn
    together when torchrun starts them:

      torchrun --nproc-per-node 4 -m settebello_training.cli run --minutes 60

    Each takes a GPU of its own where there are GPUs; the first one measures
    and writes. A run may be resumed with another number of processes, all of
    which must see its folder.
    """
    values = {} if start is None else _networks_of(start)
    values = _with_settings(values | ({} if config is None else read_settings(config)), setting)
    given = {"game": game, "minutes": minutes, "seed": seed}
    settings = TrainConfig.from_dict(values | {name: value for name, value in given.items() if value is not None})
    _run_new(settings, out, context.obj, start)


@app.command()
def resume(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="The folder of a run.", metavar="FOLDER", show_default=False)],
    minutes: Annotated[
        float | None,
        typer.Option(help="Train this much longer than so far. Default: what was left of the budget.", show_default=False),
    ] = None,
    setting: SettingOption = None,
) -> None:
    """Go on with a run that was interrupted or should train longer, from its last checkpoint.

    Steps, optimiser, games and random draws continue as if the run had never ended. For example:

      settebello-train resume runs/tressette-2p-seed0-20250101-120000 --minutes 30

    More minutes stretch the schedules of learning rate, entropy and guide:
    they go back to where the new budget puts them. --set changes what may
    change on the way, as in --set lr=0.0001.
    """
    checkpoint = load_checkpoint(path)
    config = checkpoint.config
    if minutes is not None:
        if not minutes > 0:
            raise OptionError(f"minutes={minutes:g}: expected a number above 0, how much longer to train")
        done = float(checkpoint.manifest["progress"].get("seconds", 0.0)) / 60
        config = dataclasses.replace(config, minutes=done + minutes, decisions=None)
    if setting:
        changed = TrainConfig.from_dict(_with_settings(config.to_dict(), setting))
        for name in KEPT_ON_RESUME:
            if getattr(changed, name) != getattr(config, name):
                raise OptionError(f"setting {name!r}: cannot change while a run goes on; start a new one with --from {path}")
        config = changed
    trainer = Trainer.resume(path, config=config)
    if trainer.fraction >= 1 and trainer.evaluations:
        raise OptionError(f"run {path}: its budget is spent; add time, for example --minutes 10")
    _train(trainer, checkpoint_folder(path), context.obj)


@app.command()
def demo(
    context: typer.Context,
    out: OutOption = None,
    game: Annotated[str, typer.Option(help="tressette-2p, tressette-4p or bazzica.")] = "tressette-2p",
    minutes: Annotated[float, typer.Option(help="Minutes of training; the final evaluation comes on top.")] = 4.0,
    seed: Annotated[int, typer.Option(help="Seed of the run.")] = 0,
) -> None:
    """See an agent learn two-player Tressette from nothing and beat the random player, in about five minutes.

    Prints what it won per deal against the levels random, easy and medium, with 95% intervals, and the folder where weights,
    learning curve and result are.
    """
    _run_new(TrainConfig(game=game, minutes=minutes, seed=seed), out, context.obj)


@app.command()
def exploit(
    context: typer.Context,
    against: Annotated[
        str,
        typer.Option(
            help="Whom to beat: a level (medium), one with parameters (search:worlds=8), the folder of a run, or "
            "package.module:function.",
            show_default=False,
        ),
    ],
    game: Annotated[str, typer.Option(help="tressette-2p, tressette-4p or bazzica.")] = "tressette-2p",
    minutes: Annotated[
        float | None,
        typer.Option(help="Minutes of training; the final evaluation comes on top. Default: 10.", show_default=False),
    ] = None,
    deals: Annotated[
        int | None, typer.Option(help="Mirrored deals of the final evaluation. Default: 20,000.", show_default=False)
    ] = None,
    seed: SeedOption = None,
    start: FromOption = None,
    out: OutOption = None,
    setting: SettingOption = None,
) -> None:
    """Find out how far an opponent is from unbeatable: train a player whose only aim is to win from it.

    In every training game the opponent plays one side and stays as it is; the
    learner plays the other and adapts. What it wins per deal in the end, with
    a 95% interval, is a lower bound: the opponent loses at least that much to
    somebody who has studied it. An interval that reaches 0 or less means that
    no weakness was found in the time given, not that there is none. Examples:

      settebello-train exploit --against medium --minutes 30

      settebello-train exploit --against runs/mine --from runs/mine

    The bound grows with the minutes and with a good start: --from takes any
    run or export of the game, also the one to beat, which must not be trained on
    meanwhile. The opponent's own thinking takes from the minutes: give slow
    ones hours, and fewer deals (--set curve_deals=100). Two-player Tressette
    counts on perfect endings of both sides, which is learnt soonest; with
    much time, --set exact_endings=false also learns how opponents err there.

    To go on: settebello-train resume FOLDER --minutes 30
    """
    given = _with_settings({} if start is None else _networks_of(start), setting)
    named = {"minutes": minutes, "eval_deals": deals, "seed": seed}
    given |= {name: value for name, value in named.items() if value is not None}
    _run_new(TrainConfig.from_dict(exploit_settings(game, against, given)), out, context.obj, start)


@app.command()
def exact(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder for the result and the picture.")] = Path("runs/exact"),
    deck: Annotated[
        list[int] | None,
        typer.Option(help="A small deck by number, from 1; may be given several times. Default: all.", show_default=False),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="One setting of the training; may be given several times."),
    ] = None,
) -> None:
    """Check the recipe where everything is exact: small decks of two-player Tressette, with OpenSpiel.

    Computes how much the best answer wins, in points of the deal, against uniform play, against CFR+ by iterations and
    against self-play by decisions trained on. Fails where self-play does not come below 5 % of uniform's. Needs
    pip install 'settebello\\[openspiel]'.
    """
    numbers = deck or list(range(1, len(DECKS) + 1))
    for number in numbers:
        if not 1 <= number <= len(DECKS):
            raise OptionError(f"deck={number}: expected a number from 1 to {len(DECKS)}")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"out={out}: cannot be written ({error})") from error
    results = []
    for number in numbers:
        results.append(check_deck(DECKS[number - 1], _with_settings({}, setting), print))
        write_results(out, results, context.obj)
    print(f"result and picture: {out}/")
    far = [result["deck"]["name"] for result in results if not result["enough"]]
    if far:
        raise TrainingError(f"self-play stays above {ENOUGH:.0%} of uniform's exploitability: {'; '.join(far)}")


@app.command()
def export(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(help="The folder of a run.", metavar="RUN_FOLDER", show_default=False)],
    out: Annotated[Path, typer.Argument(help="The folder to write.", metavar="OUT_FOLDER", show_default=False)],
    onnx: Annotated[bool, typer.Option(help="Also the policy as an ONNX graph, policy.onnx; needs the extra onnx.")] = True,
    critic: Annotated[bool, typer.Option(help="Also the critic, with which level hard looks ahead.")] = True,
    evaluation: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="A result for the manifest, written by settebello evaluate --json; may be given several times.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an export of another game, or a damaged one.")] = False,
) -> None:
    """Write what a run ships: policy, critic, ONNX graph, and a manifest that says where they come from.

    A folder that holds an export of the same game is replaced; one that holds anything else is left alone. The exported
    folder is an opponent, and needs NumPy only. For example:

      settebello-train export runs/mine exported/mine

      settebello evaluate bazzica hard:folder=exported/mine medium
    """
    manifest = export_run(run, out, context.obj, onnx=onnx, critic=critic, force=force, evaluations=tuple(evaluation or ()))
    for entry in manifest["files"].values():
        print(f"{entry['bytes']:>11,} bytes  {out / entry['name']}")
    print(f"manifest of {manifest['game']} with {len(manifest['evaluations'])} results: {out / MANIFEST}")


def _with_settings(values: Mapping[str, Any], settings: Sequence[str] | None) -> dict[str, Any]:
    """Settings with those of ``--set`` on top."""
    merged = dict(values)
    for text in settings or []:
        name, value = parse_setting(text)
        merged = merge_settings(merged, {name: value})
    return merged


def _networks_of(folder: Path) -> dict[str, Any]:
    """The settings that say which networks a run has."""
    config = load_checkpoint(folder).config
    return {"hidden": config.hidden, "critic": config.critic}


def _run_new(config: TrainConfig, out: Path | None, command: str, start: Path | None = None) -> None:
    kind = config.game if config.exploits is None else f"exploit-{config.game}"
    folder = out or Path("runs") / f"{kind}-seed{config.seed}-{datetime.datetime.now():%Y%m%d-%H%M%S}"
    if (folder / MANIFEST).exists():
        raise CheckpointError(
            f"folder {folder}: holds a run already; choose another --out, or go on with: settebello-train resume {folder}"
        )
    trainer = Trainer(config)
    if start is not None:
        trainer.begin_from(start)
    _train(trainer, folder, command)


def _train(trainer: Trainer, folder: Path, command: str) -> None:
    config, ranks = trainer.config, trainer.ranks
    budgets = [] if config.minutes is None else [f"{config.minutes:.3g} minutes"]
    budget = " or ".join(budgets + ([] if config.decisions is None else [f"{config.decisions:,} decisions"]))
    processes = (
        f"{ranks.size} processes, each {config.num_threads} threads" if ranks.size > 1 else f"{config.num_threads} threads"
    )
    aim = "" if config.exploits is None else f", a best response to {config.exploits}"
    progress = Console(stderr=True, quiet=ranks.rank > 0)
    progress.print(
        f"{config.game}{aim}, seed {config.seed}, {budget}, {processes}; everything goes to {folder}/",
        highlight=False,
        soft_wrap=True,
    )
    result = train(trainer, folder, progress, command)
    if not result.finished:
        progress.print(
            f"interrupted; saved. Go on with: settebello-train resume {shlex.quote(str(folder))}",
            highlight=False,
            soft_wrap=True,
        )
        raise typer.Exit(INTERRUPTED)
    if ranks.rank == 0:
        _print_result(trainer, result)


def _print_result(trainer: Trainer, result: RunResult) -> None:
    config = trainer.config
    played = "deals" if config.episode == "deal" else "matches"
    title = f"{config.game}, {config.eval_deals:,} mirrored {played} against each"
    table = Table(title=title, title_justify="left")
    table.add_column("against")
    for name in ("points per deal", "95% interval", f"{played} won"):
        table.add_column(name, justify="right")
    for level, evaluation in result.evaluations.items():
        low, high = evaluation.ci95
        points, won = f"{evaluation.points_per_deal:+.2f}", f"{100 * evaluation.win_rate:.1f} %"
        table.add_row(level, points, f"{low:+.2f} to {high:+.2f}", won)
    console = Console()
    console.print(table)
    if result.meaning is not None:
        console.print(f"{result.meaning}\n", highlight=False, markup=False)
    illegal = sum(evaluation.illegal_moves[0] for evaluation in result.evaluations.values())
    lines = [
        ("illegal moves", f"{illegal}"),
        ("trained on", f"{result.decisions:,} decisions in {trainer.seconds / 60:.1f} minutes"),
        ("speed", f"{result.decisions_per_second:,.0f} decisions/s"),
        ("outside the network", f"{100 * result.outside_network:.0f} % of the time"),
        ("folder", f"{result.folder}"),
        ("weights", f"{result.folder / _weights_file(result.folder)}"),
        ("result", f"{result.folder / RESULT}"),
    ]
    if trainer.curve:
        lines.append(("learning curve", f"{result.folder / CURVE_PICTURE}"))
    for name, text in lines:
        print(f"{name:<21}{text}")


def _weights_file(folder: Path) -> str:
    """Name of the weights' file in a run's folder."""
    name: str = load_checkpoint(folder).manifest["files"]["weights"]["name"]
    return name


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: our own errors end the command with one line on stderr and status 1."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        app(args=given, prog_name=PROGRAM, obj=shlex.join([PROGRAM, *given]))  # obj: the command, for the result
    except SettebelloError as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:  # before or after the training itself, which saves and ends
        print(f"{PROGRAM}: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    finally:
        leave()


if __name__ == "__main__":
    main()
