"""The command ``settebello``."""

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import settebello
from settebello.errors import OptionError, SettebelloError
from settebello.game import GAMES, get_game

app = typer.Typer(
    name="settebello",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"settebello {settebello.__version__}")
        raise typer.Exit


@app.callback()
def _settebello(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Fast environments and strong opponents for Tressette and Scopa-bazzica.

    The games are [bold]tressette-2p[/], [bold]tressette-4p[/] and [bold]bazzica[/]. In Python, after import settebello:

      settebello.BatchEnv("tressette-2p", 1024)         many games at once

      settebello.tressette_v0.env(players=4)            PettingZoo

      gymnasium.make("settebello/Bazzica-v0")           Gymnasium, and make_vec

    Try [bold]settebello bench --quick[/] to see how fast they are here. The command that trains agents is settebello-train.
    """


@app.command()
def bench(
    game: Annotated[
        list[str] | None,
        typer.Option(help="Measure this game only; may be given several times. Default: all.", show_default=False),
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(min=1, help="Rounds to take the medians of. Default: 5, with --quick 2.", show_default=False)
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Rough figures in some seconds; no cold compilation.")] = False,
    others: Annotated[bool, typer.Option(help="Measure other libraries too, where they are installed.")] = True,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write all figures there.", show_default=False)
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the ratios there (.png, .svg, .pdf); needs matplotlib.", show_default=False),
    ] = None,
) -> None:
    """Measure how fast the environments are, beside other libraries in the same run.

    Per game and CPU-second: compiled random playouts, BatchEnv at several sizes, the PettingZoo and Gymnasium environments;
    bytes of a state; the time to import and to the first step. All loops take turns, so that a busy machine slows them alike.
    For example:

      settebello bench --json speed.json --plot speed.png

      settebello bench --game bazzica --no-others --repeats 9

    The other libraries come with pip install 'settebello\\[bench]'. Everything takes about three minutes.
    """
    from settebello.bench import report as output  # its imports are for this command alone
    from settebello.bench import run as runner

    games = list(dict.fromkeys(get_game(name).id for name in game or GAMES))
    if json_file is not None:
        output.check_output("--json", json_file)
    if plot is not None:
        output.check_output("--plot", plot)
        output.check_chart("--plot", plot)
        if not others:
            raise OptionError("--plot draws the ratios to other libraries: not with --no-others")
    workload = runner.QUICK if quick else runner.FULL
    if repeats is not None:
        workload = dataclasses.replace(workload, repeats=repeats)
    with output.ProgressBar(Console(stderr=True)) as progress:
        report = runner.run(games, workload, compare=others, cold=not quick, tracker=progress)
    output.print_report(report, Console())
    if json_file is not None:
        output.write_json(report, json_file)
    if plot is not None:
        output.write_chart(report, plot)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: our own errors end the command with one line on stderr and status 1."""
    try:
        app(args=None if arguments is None else list(arguments), prog_name="settebello")
    except SettebelloError as error:
        print(f"settebello: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
