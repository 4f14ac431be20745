"""Match equity: by hand, against an exact forward count, against matches played out; its data, and the command."""

import itertools
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import settebello.arena
import settebello.equity
from settebello import BatchEnv, bazzica_v0, match_equity, tressette_v0
from settebello.arena.measure import count_results, measure_equity
from settebello.cli import main
from settebello.equity import DATA_FILE, VARIANTS, deal_distribution, deal_utility, equity_table, variant_name
from settebello.errors import OptionError
from settebello.game import get_game
from settebello.opponents import load

Tiny = Callable[[list[list[int]]], None]


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tiny]:
    """Makes bazzica a game of these results: points of the dealer's side, of the other side, how often."""

    def forget() -> None:
        deal_distribution.cache_clear()
        equity_table.cache_clear()

    def use(results: list[list[int]]) -> None:
        file = tmp_path / "deal_results.json"
        file.write_text(json.dumps({"bazzica": {"results": results}}), encoding="utf-8")
        monkeypatch.setattr(settebello.equity, "DATA_FILE", file)
        forget()

    yield use
    forget()


def chance_forward(chances: Any, score_a: int, score_b: int, dealer: int, target: int) -> float:
    """The chance that a wins, by following all matches forward until next to none is left."""
    results = [(i, j, float(chances[i, j])) for i, j in np.argwhere(chances).tolist()]
    going, won = {(score_a, score_b, dealer): 1.0}, 0.0
    while sum(going.values()) > 1e-12:
        later: dict[tuple[int, int, int], float] = defaultdict(float)
        for (a, b, deals), weight in going.items():
            for own, other, chance in results:
                x, y = (a + own, b + other) if deals == 0 else (a + other, b + own)
                if x == y and x > target:
                    x = y = target  # so that there are few scores
                if max(x, y) < target or x == y:
                    later[x, y, 1 - deals] += weight * chance
                elif x > y:
                    won += weight * chance
        going = later
    return won


# --- by hand -------------------------------------------------------------------------------------------------------------


def test_the_dealer_always_wins_a_point(tiny: Tiny) -> None:
    tiny([[1, 0, 5]])
    for target in (1, 2, 7):
        assert match_equity("bazzica", 0, 0, 0, target) == 1  # who deals first gets there first
        assert match_equity("bazzica", 0, 0, 1, target) == 0
    assert match_equity("bazzica", 0, 1, 0, 2) == 0  # 1-1, and b deals
    assert match_equity("bazzica", 1, 0, 1, 2) == 1
    assert match_equity("bazzica", 5, 5, 0, 3) == 1  # level past the target: the next point decides
    assert match_equity("bazzica", 5, 5, 1, 3) == 0


def test_deals_without_points_pass_the_deal_on(tiny: Tiny) -> None:
    tiny([[0, 0, 3], [1, 0, 1]])
    assert match_equity("bazzica", 0, 0, 0, 1) == pytest.approx(4 / 7)  # x = 1/4 + 3/4 (1 - x)
    assert match_equity("bazzica", 0, 0, 1, 1) == pytest.approx(3 / 7)
    assert match_equity("bazzica", 9, 9, 1, 1) == pytest.approx(3 / 7)
    # b has 0 of 2, a 1; x: b's chance when it deals, y: when a does
    x = 1 - match_equity("bazzica", 1, 0, 1, 2)
    y = 1 - match_equity("bazzica", 1, 0, 0, 2)
    assert x == pytest.approx(1 / 4 * 3 / 7 + 3 / 4 * y)
    assert y == pytest.approx(3 / 4 * x)


def test_level_scores_at_or_past_the_target_play_on(tiny: Tiny) -> None:
    tiny([[3, 3, 4], [3, 1, 3], [1, 3, 1]])
    dealer = 7 / 12  # x = 3/8 + 1/2 (1 - x)
    for score in (3, 4, 5, 1000):
        assert match_equity("bazzica", score, score, 0, 3) == pytest.approx(dealer)
        assert match_equity("bazzica", score, score, 1, 3) == pytest.approx(1 - dealer)
    assert match_equity("bazzica", 2, 2, 0, 3) == pytest.approx(3 / 8 + 1 / 2 * (1 - dealer))  # 5-5 plays on
    # 3-1 leads to 4-4 only by another 1-3 (then a deals), 3-3 is over: 6-4
    assert match_equity("bazzica", 3, 1, 0, 4) == pytest.approx(1 / 2 + 3 / 8 + 1 / 8 * (1 - dealer))
    assert match_equity("bazzica", 3, 1, 1, 4) == pytest.approx(1 / 2 + 1 / 8 + 3 / 8 * dealer)


def test_over() -> None:
    for game, napoletana in VARIANTS:
        for dealer in (0, 1):
            assert match_equity(game, 35, 32, dealer, 31, napoletana=napoletana) == 1.0
            assert match_equity(game, 30, 31, dealer, 31, napoletana=napoletana) == 0.0
            assert 0 < match_equity(game, 31, 31, dealer, 31, napoletana=napoletana) < 1


# --- against other ways --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("results", [[[0, 0, 2], [2, 1, 3], [1, 1, 1], [0, 3, 2]], [[4, 0, 1], [0, 1, 3], [2, 2, 2]]])
def test_agrees_with_a_forward_count(tiny: Tiny, results: list[list[int]]) -> None:
    tiny(results)
    for target in (1, 2, 5):
        scores = [*itertools.product(range(target), repeat=2), (target, target), (target + 3, target + 3)]
        for (a, b), dealer in itertools.product(scores, (0, 1)):
            expected = chance_forward(deal_distribution("bazzica"), a, b, dealer, target)
            assert match_equity("bazzica", a, b, dealer, target) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(("game", "napoletana"), VARIANTS)
def test_agrees_with_a_forward_count_of_the_real_results(game: str, napoletana: bool) -> None:
    chances = deal_distribution(game, napoletana)
    for a, b, dealer, target in ((0, 0, 0, 11), (14, 9, 1, 21), (20, 20, 1, 21), (12, 18, 0, 21)):
        expected = chance_forward(chances, a, b, dealer, target)
        assert match_equity(game, a, b, dealer, target, napoletana=napoletana) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("game", "napoletana", "target", "scores", "dealer"),
    [
        ("tressette-2p", False, 21, (15, 17), 0),
        ("tressette-4p", True, 21, (12, 10), 2),
        ("tressette-4p", False, 11, (0, 0), 3),
        ("bazzica", False, 31, (28, 28), 1),
    ],
)
def test_agrees_with_matches_played_out(game: str, napoletana: bool, target: int, scores: tuple[int, int], dealer: int) -> None:
    """Two medium players, who do not look at the score, start whole matches from there."""
    number = 2000
    options: dict[str, Any] = {"target": target} | ({"napoletana": True} if napoletana else {})
    single = bazzica_v0.env(**options) if game == "bazzica" else tressette_v0.env(players=int(game[-2]), **options)
    batch = BatchEnv(game, number, **options)
    for i in range(number):
        single.reset(seed=10_000 + i, options={"score": list(scores), "dealer": dealer})
        batch.set_state(i, single.get_state())
    player = load(game, "medium", 3)
    rows = np.arange(number)
    final = np.zeros((number, 2), np.int64)
    playing = np.ones(number, np.bool_)
    while playing.any():
        _, done = batch.step(player.act_batch(batch, rows))  # type: ignore[attr-defined]
        final[done & playing] = batch.final_score[done & playing]
        playing &= ~done
    assert (final.max(axis=1) >= target).all() and (final >= scores).all()
    expected = match_equity(game, *scores, dealer % 2, target, napoletana=napoletana)
    sigma = np.sqrt(expected * (1 - expected) / number)
    assert abs((final[:, 0] > final[:, 1]).mean() - expected) < 4 * sigma


@pytest.mark.parametrize(("game", "napoletana"), VARIANTS)
def test_symmetric_and_monotone(game: str, napoletana: bool) -> None:
    for target in (1, 21, 31):
        table = equity_table(game, target, napoletana)
        assert np.allclose(table[0] + table[1].T, 1, rtol=0, atol=1e-12)
        inside = table[:, : target + 1, : target + 1]
        assert (np.diff(inside, axis=1) >= -1e-12).all()  # a point more for a never hurts it
        assert (np.diff(inside, axis=2) <= 1e-12).all()
        assert ((table >= 0) & (table <= 1)).all()
    one = match_equity(game, 13, 8, 0, 21, napoletana=napoletana)
    assert one + match_equity(game, 8, 13, 1, 21, napoletana=napoletana) == pytest.approx(1)
    assert 0.5 < one < 1


def test_long_matches_even_out() -> None:
    """Who deals first matters less and less."""
    for game, napoletana in VARIANTS:
        edges = [abs(match_equity(game, 0, 0, 0, target, napoletana=napoletana) - 0.5) for target in (1, 100)]
        assert edges[1] < edges[0]


@pytest.mark.parametrize(("game", "napoletana"), VARIANTS)
@pytest.mark.parametrize("dealer", [0, 1])
def test_utility_of_a_deal(game: str, napoletana: bool, dealer: int) -> None:
    for scores in ((0, 0), (18, 20), (19, 9), (25, 25)):
        utility = deal_utility(game, scores, dealer, 21, 40, napoletana=napoletana)
        assert utility.shape == (41, 41)
        for first in (0, 1, 5, 11, 40):
            for second in (0, 2, 6, 40):
                after = scores[0] + first, scores[1] + second
                expected = match_equity(game, *after, 1 - dealer, 21, napoletana=napoletana)
                assert utility[first, second] == pytest.approx(expected, abs=1e-12)
        # The chance before a deal is that after it, on average.
        chances = deal_distribution(game, napoletana)
        chances = (chances if dealer == 0 else chances.T)[:41, :41]
        mean = float((chances * utility[: len(chances), : len(chances)]).sum())
        assert mean == pytest.approx(match_equity(game, *scores, dealer, 21, napoletana=napoletana), abs=1e-3)


# --- the data ------------------------------------------------------------------------------------------------------------


def test_data_file() -> None:
    entries = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    assert list(entries) == [variant_name(game, napoletana) for game, napoletana in VARIANTS]
    for game, napoletana in VARIANTS:
        entry = entries[variant_name(game, napoletana)]
        assert list(entry) == ["level", "deals", "seed", "command", "results"]
        assert entry["level"] == "medium" and entry["deals"] >= 100_000
        assert entry["command"] == f"settebello equity --measure --deals {entry['deals']} --seed {entry['seed']}"
        results = [(dealer, other) for dealer, other, _ in entry["results"]]
        assert results == sorted(set(results))
        assert all(count > 0 for _, _, count in entry["results"])
        assert sum(count for _, _, count in entry["results"]) == 2 * entry["deals"]
        sums = {dealer + other for dealer, other in results}
        if game == "bazzica":
            assert min(sums) >= 1  # somebody takes the settebello
        elif napoletana:
            assert min(sums) == 11 and len(sums) > 2 and all((points - 11) % 3 == 0 for points in sums)
        else:
            assert sums == {11}
        chances = deal_distribution(game, napoletana)
        assert chances.sum() == pytest.approx(1) and chances.shape[0] == chances.shape[1]
        for dealer, other, count in entry["results"]:
            assert chances[dealer, other] == pytest.approx(count / (2 * entry["deals"]))


@pytest.mark.parametrize(("game", "napoletana"), VARIANTS)
def test_data_are_what_medium_plays_now(game: str, napoletana: bool) -> None:
    deals = 2000
    rows = np.array(count_results(game, napoletana, deals, seed=77))
    assert rows[:, 2].sum() == 2 * deals
    chances = deal_distribution(game, napoletana)
    dealer, other = np.indices(chances.shape)
    for measure in (dealer - other, dealer + other, (dealer - other) ** 2):
        mean = (chances * measure).sum()
        spread = np.sqrt((chances * (measure - mean) ** 2).sum())
        sample = (measure[rows[:, 0], rows[:, 1]] * rows[:, 2]).sum() / (2 * deals)
        assert abs(sample - mean) <= 4.5 * spread / np.sqrt(deals)


@pytest.mark.parametrize(("game", "napoletana"), VARIANTS)
def test_results_are_the_dealers_first(game: str, napoletana: bool) -> None:
    counts: dict[tuple[int, int], int] = defaultdict(int)
    options = {"napoletana": True} if napoletana else {}
    for plays in settebello.arena.deal_results(game, "medium", "medium", 90, 4, **options).tolist():
        for *points, dealer in plays:
            counts[points[dealer], points[1 - dealer]] += 1
    assert count_results(game, napoletana, 90, 4) == sorted([own, other, count] for (own, other), count in counts.items())


def test_measuring_is_repeatable(tmp_path: Path) -> None:
    lines: list[tuple[str, float]] = []
    measure_equity(tmp_path / "one.json", 20, 5, lambda name, lead: lines.append((name, lead)))
    measure_equity(tmp_path / "two.json", 20, 5)
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    entries = json.loads((tmp_path / "one.json").read_text(encoding="utf-8"))
    assert [name for name, _ in lines] == list(entries)
    for name, lead in lines:
        results = np.array(entries[name]["results"])
        assert lead == pytest.approx(((results[:, 0] - results[:, 1]) * results[:, 2]).sum() / 40)
        assert entries[name]["command"] == "settebello equity --measure --deals 20 --seed 5"
    with pytest.raises(OptionError, match="deals=0"):
        measure_equity(tmp_path / "three.json", 0)
    with pytest.raises(OptionError, match="there is no folder"):
        measure_equity(tmp_path / "no" / "three.json", 20)


# --- bad input, and the command ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"game": "tresette-2p"}, "did you mean 'tressette-2p'"),
        ({"score_a": -1}, "score_a=-1: expected a whole number from 0"),
        ({"score_b": 1.5}, "score_b=1.5"),
        ({"score_b": True}, "score_b=True"),
        ({"score_a": 1001}, "score_a=1001"),
        ({"dealer": 2}, "dealer=2: allowed are 0, 1"),
        ({"dealer": "a"}, "dealer='a'"),
        ({"target": 0}, "target=0: expected a whole number from 1 to 100"),
        ({"target": 101}, "target=101"),
        ({"napoletana": 1}, "napoletana=1: allowed are False, True"),
        ({"game": "bazzica", "napoletana": True}, "bazzica has no such option"),
    ],
)
def test_bad_input(changes: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"game": "tressette-4p", "score_a": 3, "score_b": 4, "dealer": 0, "target": 21}
    with pytest.raises(OptionError, match=message.replace("(", r"\(")):
        match_equity(**(arguments | changes))


def test_numpy_integers_are_fine() -> None:
    plain = match_equity("bazzica", 20, 25, 1, 31)
    assert match_equity("bazzica", np.int64(20), np.int8(25), np.int64(1), np.int32(31)) == plain  # type: ignore[arg-type]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Status, output and error output of the command."""
    with pytest.raises(SystemExit) as ended:
        main(["equity", *arguments])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "e.json"
    status, out, _ = run(capsys, "tressette-4p", "15", "18", "--dealer", "b", "--napoletana", "--json", str(file))
    chance = match_equity("tressette-4p", 15, 18, 1, 21, napoletana=True)
    assert status == 0
    assert f"a wins   {100 * chance:5.1f}%" in out and f"b wins   {100 - 100 * chance:5.1f}%" in out
    assert "napoletana on" in out and "b deals" in out and "21" in out
    assert json.loads(file.read_text(encoding="utf-8")) == {
        "game": "tressette-4p",
        "scores": [15, 18],
        "dealer": "b",
        "target": 21,
        "napoletana": True,
        "chances": [chance, 1 - chance],
    }
    status, out, _ = run(capsys, "bazzica", "40", "38", "--target", "41")
    assert status == 0
    assert f"{100 * match_equity('bazzica', 40, 38, 0, 41):5.1f}%" in out
    assert f"to {get_game('bazzica').options().target}" in run(capsys, "bazzica", "0", "0")[1]


def test_command_measures(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    before = DATA_FILE.read_bytes()
    file = tmp_path / "m.json"
    status, out, _ = run(capsys, "--measure", "--deals", "20", "--seed", "5", "--output", str(file))
    assert status == 0
    entries = json.loads(file.read_text(encoding="utf-8"))
    assert all(name in out for name in entries) and str(file) in out.replace("\n", "")
    assert entries["bazzica"]["results"] == count_results("bazzica", False, 20, 5)
    assert DATA_FILE.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected GAME SCORE_A SCORE_B"),
        (["bazzica", "3"], "expected GAME SCORE_A SCORE_B"),
        (["bazica", "3", "4"], "did you mean 'bazzica'?"),
        (["bazzica", "3", "4", "--dealer", "c"], "--dealer='c': allowed are 'a', 'b'"),
        (["bazzica", "3", "4", "--target", "0"], "target=0"),
        (["bazzica", "3", "4", "--napoletana"], "bazzica has no such option"),
        (["bazzica", "3", "4", "--json", "/no/such/e.json"], "--json /no/such/e.json: there is no folder"),
        (["bazzica", "3", "4", "--deals", "9"], "are for --measure"),
        (["bazzica", "--measure"], "--measure plays all games"),
        (["--measure", "--napoletana"], "--measure plays all games"),
        (["--measure", "--output", "/no/such/m.json"], "--output /no/such/m.json: there is no folder"),
        (["--measure", "--seed", "-1"], "seed=-1"),
    ],
)
def test_command_refuses_in_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (1, "")
    assert err.startswith("settebello: ") and err.count("\n") == 1
    assert message in err
