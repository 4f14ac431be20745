"""The command ``settebello``."""

import dataclasses
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import typer
from rich.console import Console

import settebello
from settebello.errors import OptionError, SettebelloError
from settebello.game import GAMES, get_game
from settebello.options import check_choice
from settebello.output import check_chart, check_output, write_json

Result = TypeVar("Result")

INTERRUPTED: Final = 130  # exit status of a command ended by Ctrl-C, as shells have it

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

    Try [bold]settebello bench --quick[/] to see how fast they are here, and [bold]settebello evaluate --help[/] to measure
    opponents. The command that trains agents is settebello-train.
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
    opponents: Annotated[bool, typer.Option(help="The opponents too: exact play, levels, search, hard, a duel.")] = True,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write all figures there.", show_default=False)
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the ratios there (.png, .svg, .pdf); needs matplotlib.", show_default=False),
    ] = None,
) -> None:
    """Measure how fast the environments are, beside other libraries in the same run.

    Per game and CPU-second: compiled random playouts, BatchEnv at several sizes,
    the PettingZoo and Gymnasium environments; bytes of a state; the time to
    import and to the first step. All loops take turns, so that a busy machine
    slows them alike. Then the opponents: the CPU time of an exact solution, of a
    decision, of a search, of a duel. For example:

      settebello bench --json speed.json --plot speed.png

      settebello bench --game bazzica --no-others --repeats 9

      settebello bench --no-opponents

    The other libraries come with pip install 'settebello\\[bench]'. Everything
    takes about four minutes, and one more the first time, to compile the
    opponents.
    """
    from settebello.bench import report as tables  # its imports are for this command alone
    from settebello.bench import run as runner

    games = list(dict.fromkeys(get_game(name).id for name in game or GAMES))
    if json_file is not None:
        check_output("--json", json_file)
    if plot is not None:
        check_output("--plot", plot)
        check_chart("--plot", plot)
        if not others:
            raise OptionError("--plot draws the ratios to other libraries: not with --no-others")
    workload = runner.QUICK if quick else runner.FULL
    if repeats is not None:
        workload = dataclasses.replace(workload, repeats=repeats)
    with tables.ProgressBar(Console(stderr=True)) as progress:
        report = runner.run(games, workload, compare=others, play=opponents, cold=not quick, tracker=progress)
    tables.print_report(report, Console())
    if json_file is not None:
        write_json(report.to_dict(), json_file)
    if plot is not None:
        tables.write_chart(report, plot)


# --- arena ---------------------------------------------------------------------------------------------------------------

DealsOption = Annotated[
    int, typer.Option(min=1, help="Distinct deals (with --episode match: matches); with --until-ci at most so many.")
]
SeedOption = Annotated[int, typer.Option(help="Of the deals and of the opponents' random streams.")]
UntilOption = Annotated[
    float | None,
    typer.Option(metavar="POINTS", help="Stop once the 95% interval is at most so much to each side.", show_default=False),
]
EpisodeOption = Annotated[str, typer.Option(metavar="deal|match", help="What is played twice.")]
ProcessesOption = Annotated[int, typer.Option(min=1, help="Processes that play; results do not depend on it.")]
GameOption = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="Option of the game; may be given several times.", show_default=False),
]
JsonOption = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the result there.", show_default=False)]
ResultsOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Keep all results there on the way; go on from what it holds.", show_default=False),
]


@app.command()
def evaluate(
    game: Annotated[str, typer.Argument(help="tressette-2p, tressette-4p or bazzica.")],
    a: Annotated[str, typer.Argument(help="An opponent.")],
    b: Annotated[str, typer.Argument(help="The other.")],
    deals: DealsOption = 2000,
    seed: SeedOption = 0,
    until_ci: UntilOption = None,
    episode: EpisodeOption = "deal",
    processes: ProcessesOption = 1,
    option: GameOption = None,
    json_file: JsonOption = None,
    results: ResultsOption = None,
) -> None:
    """Measure how much one opponent wins from another.

    Each deal is played twice with the same cards, the opponents changing sides in
    between, so that luck cancels: 2000 deals show differences of about a tenth of
    a point. For example:

      settebello evaluate tressette-2p medium easy

      settebello evaluate bazzica medium mine:make --until-ci 0.05 --deals 100000

      settebello evaluate tressette-4p medium easy --episode match

      settebello evaluate tressette-2p runs/mine search:budget_ms=5 --deals 200

      settebello evaluate bazzica search medium --processes 2 --results r.json

    An opponent is a level (random, easy, medium, hard, search; cheat sees all
    cards), perhaps with parameters as in search:worlds=16; or the folder of a
    trained one; or PACKAGE.MODULE:FUNCTION, which is called with game and seed and
    returns an object with act(information).
    With --results the command can be interrupted; given again it goes on.
    """
    from settebello import arena  # its imports are for the arena's commands alone

    _find_modules_here()
    if json_file is not None:
        check_output("--json", json_file)
    options = _game_options(game, option or ())

    limits: dict[str, Any] = {"until_ci": until_ci, "processes": processes}
    result = _play(partial(arena.duel, game, a, b, deals, seed, episode=episode, **limits, **options), results)
    arena.print_duel(result, Console())
    if json_file is not None:
        write_json(result.to_dict(), json_file)


@app.command()
def ladder(
    game: Annotated[str, typer.Argument(help="tressette-2p, tressette-4p or bazzica.")],
    opponents: Annotated[list[str] | None, typer.Argument(help="Who plays. Default: all levels.", show_default=False)] = None,
    deals: DealsOption = 2000,
    seed: SeedOption = 0,
    until_ci: UntilOption = None,
    episode: EpisodeOption = "deal",
    processes: ProcessesOption = 1,
    option: GameOption = None,
    json_file: JsonOption = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the matrix there (.png, .svg, .pdf); needs matplotlib.", show_default=False),
    ] = None,
    results: ResultsOption = None,
) -> None:
    """Play several opponents against each other and rate them.

    All against all on the same mirrored deals, each pair as with settebello
    evaluate. The ratings are fitted to all results: points per deal against the
    field, 0 on average; the difference of two estimates what one wins from the
    other. For example:

      settebello ladder tressette-2p --processes 2 --results ladder.json

      settebello ladder bazzica easy medium mine:make --plot ladder.png

    Interrupted, the command given again goes on from the file of --results.
    """
    from settebello import arena  # its imports are for the arena's commands alone
    from settebello.opponents import LEVELS

    _find_modules_here()
    if json_file is not None:
        check_output("--json", json_file)
    if plot is not None:
        check_output("--plot", plot)
        check_chart("--plot", plot)
    options = _game_options(game, option or ())

    limits: dict[str, Any] = {"until_ci": until_ci, "processes": processes}
    names = opponents or list(LEVELS)
    result = _play(partial(arena.ladder, game, names, deals, seed, episode=episode, **limits, **options), results)
    arena.print_ladder(result, Console())
    if json_file is not None:
        result.save(json_file)
    if plot is not None:
        arena.write_chart(result, plot)


def _game_options(game: str, texts: Sequence[str]) -> dict[str, Any]:
    """Options of a game from ``name=value``, checked; values are read as JSON where they are JSON, as text otherwise."""
    options: dict[str, Any] = {}
    for text in texts:
        name, equals, written = text.partition("=")
        if not equals or not name.strip():
            raise OptionError(f"--option {text}: expected NAME=VALUE, for example target=31")
        if name.strip() == "episode":
            raise OptionError(f"--option {text}: use --episode")
        try:
            options[name.strip()] = json.loads(written.lower() if written in ("True", "False") else written)
        except ValueError:
            options[name.strip()] = written
    get_game(game).options(**options)
    return options


def _find_modules_here() -> None:
    """Opponents given as module:function may lie in the working folder, which an installed command does not look into."""
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.append(os.getcwd())


def _play(play: Callable[..., Result], results: Path | None) -> Result:
    """Run a duel or ladder with its results in a file and with progress; Ctrl-C ends the command and says what is kept."""
    from settebello.arena import ProgressBar

    with ProgressBar(Console(stderr=True)) as bar:
        try:
            return play(path=results, progress=bar)
        except KeyboardInterrupt:
            done = bar.last
    so_far = "before the first results" if done is None else f"after {done.deals:,} of {done.expected:,} deals"
    if results is None:
        hint = "nothing was saved; with --results FILE it can go on later"
    else:
        hint = f"they are saved in {results}; the same command goes on from there"
        if done is None:
            hint = f"the same command starts again, or goes on from {results}"
    print(f"settebello: interrupted {so_far}; {hint}", file=sys.stderr)
    raise typer.Exit(INTERRUPTED)


# --- match equity --------------------------------------------------------------------------------------------------------


@app.command()
def equity(
    game: Annotated[str | None, typer.Argument(help="tressette-2p, tressette-4p or bazzica.", show_default=False)] = None,
    score_a: Annotated[int | None, typer.Argument(help="Match points of side a.", show_default=False)] = None,
    score_b: Annotated[int | None, typer.Argument(help="Match points of side b.", show_default=False)] = None,
    dealer: Annotated[str, typer.Option(metavar="a|b", help="Who deals next.")] = "a",
    target: Annotated[
        int | None, typer.Option(help="Points that end the match. Default: the game's own.", show_default=False)
    ] = None,
    napoletana: Annotated[bool, typer.Option("--napoletana", help="That option of Tressette is on.")] = False,
    json_file: JsonOption = None,
    measure: Annotated[bool, typer.Option("--measure", help="Measure anew how deals end, in all games.")] = False,
    deals: Annotated[
        int | None, typer.Option(min=1, help="To measure, in each game. Default: 200000.", show_default=False)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of what is measured. Default: 0.", show_default=False)] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write what is measured there, not into the package.", show_default=False),
    ] = None,
) -> None:
    """Say who wins a match from a score, and how likely, between equal players.

    Asked at the start of a deal. It tells how much a point is worth: much where
    the match is near its end, little before. For example:

      settebello equity tressette-2p 15 18 --dealer b

      settebello equity tressette-4p 29 29 --target 31 --napoletana

      settebello equity bazzica 24 30 --json equity.json

    It follows from how often each result of a deal comes up between two players
    of the level medium, under the rules' defaults. These figures are in the
    package; --measure makes them anew, in about five minutes:

      settebello equity --measure --deals 200000 --output deal_results.json
    """
    asked, measuring = (game, score_a, score_b, target, json_file), (deals, seed, output)
    if measure:
        if napoletana or any(value is not None for value in asked):
            raise OptionError("--measure plays all games: it takes --deals, --seed and --output alone")
        _measure_equity(*measuring)
        return
    if any(value is not None for value in measuring):
        raise OptionError("--deals, --seed and --output are for --measure")
    if game is None or score_a is None or score_b is None:
        raise OptionError("equity: expected GAME SCORE_A SCORE_B, for example: settebello equity bazzica 24 30")
    if json_file is not None:
        check_output("--json", json_file)
    check_choice("--dealer", dealer, ("a", "b"))
    target = get_game(game).options().target if target is None else target
    chance = settebello.match_equity(game, score_a, score_b, "ab".index(dealer), target, napoletana=napoletana)
    option = ", napoletana on" if napoletana else ""
    print(f"{game}{option}: a has {score_a}, b has {score_b}, {dealer} deals, the match is to {target}")
    print(f"\n  a wins   {100 * chance:5.1f}%\n  b wins   {100 * (1 - chance):5.1f}%")
    if json_file is not None:
        arguments = {"game": game, "scores": [score_a, score_b], "dealer": dealer, "target": target, "napoletana": napoletana}
        write_json(arguments | {"chances": [chance, 1 - chance]}, json_file)


def _measure_equity(deals: int | None, seed: int | None, output: Path | None) -> None:
    """Measure how deals end; a line for each game once it is played."""
    from settebello.arena.measure import MEASURED_DEALS, measure_equity
    from settebello.equity import DATA_FILE

    deals, seed = MEASURED_DEALS if deals is None else deals, 0 if seed is None else seed
    path = DATA_FILE if output is None else output
    check_output("--output", path)
    measure_equity(path, deals, seed, lambda name, lead: print(f"{name:<23} the dealer makes {lead:+.3f} points a deal"))
    print(f"{deals:,} deals each, written to {path}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: our own errors end the command with one line on stderr and status 1."""
    try:
        app(args=None if arguments is None else list(arguments), prog_name="settebello")
    except SettebelloError as error:
        print(f"settebello: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
