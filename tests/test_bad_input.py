"""Bad input: a precise error of our own that names what was given and what is allowed, and nothing changed."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import settebello
from settebello import GAMES, BatchEnv, bazzica_v0, errors, tressette_v0
from settebello.aec import AECEnv
from settebello.errors import (
    ArenaError,
    CheckpointError,
    GameOverError,
    IllegalActionError,
    NotResetError,
    OptionError,
    SettebelloError,
    StateError,
)

GAME_IDS = tuple(GAMES)
MAX_SEED = 2**63 - 1
WHOLE_NUMBER = "expected a whole number from"


@pytest.fixture(params=GAME_IDS)
def game(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def play(env: AECEnv, steps: int) -> None:
    """So many legal actions, the first ones of the mask."""
    for _ in range(steps):
        env.step(int(env.action_masks().argmax()))


def everything(env: AECEnv) -> Any:
    """All that an environment shows, to compare with ==."""
    shown = [{key: value.tolist() for key, value in env.observe(agent).items()} for agent in env.possible_agents]
    masks = {agent: info["action_mask"].tolist() for agent, info in env.infos.items()}
    fields = [list(env.agents), env.agent_selection, dict(env.rewards), dict(env._cumulative_rewards)]
    ends = [dict(env.terminations), dict(env.truncations)]
    return [env.get_state(), env.snapshot(), env.events(), env.events(-1), shown, masks, fields, ends, env.state().tolist()]


def test_errors_are_under_one_base() -> None:
    kinds = (OptionError, IllegalActionError, StateError, CheckpointError, NotResetError, GameOverError)
    assert all(issubclass(kind, SettebelloError) for kind in kinds)
    assert all(issubclass(kind, ValueError) for kind in kinds if kind is not NotResetError)
    assert issubclass(NotResetError, AttributeError)
    public = {kind for kind in vars(errors).values() if isinstance(kind, type)}
    assert public == {SettebelloError, ArenaError, *kinds}


# --- games and options -----------------------------------------------------------------------------------------------------

MAKERS: dict[str, Callable[..., Any]] = {
    "aec": AECEnv,
    "batch": lambda game, **options: BatchEnv(game, 2, **options),
}


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "tresette-2p",
            "unknown game 'tresette-2p'; did you mean 'tressette-2p'? (games: tressette-2p, tressette-4p, bazzica)",
        ),
        ("Bazzica", "unknown game 'Bazzica'; did you mean 'bazzica'? (games: tressette-2p, tressette-4p, bazzica)"),
        ("chess", "unknown game 'chess' (games: tressette-2p, tressette-4p, bazzica)"),
        ("", "unknown game '' (games: tressette-2p, tressette-4p, bazzica)"),
        (None, "unknown game None (games: tressette-2p, tressette-4p, bazzica)"),
        (2, "unknown game 2 (games: tressette-2p, tressette-4p, bazzica)"),
        (["bazzica"], "unknown game ['bazzica']"),
    ],
    ids=repr,
)
def test_unknown_game(make: str, name: Any, message: str) -> None:
    with pytest.raises(OptionError, match="^" + re.escape(message)):
        MAKERS[make](name)


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (tressette_v0.env, {"targt": 31}, r"^unknown option 'targt'; did you mean 'target'\? \(options: .*\bnapoletana\b.*\)$"),
        (tressette_v0.env, {"napolitana": True}, r"^unknown option 'napolitana'; did you mean 'napoletana'\?"),
        (tressette_v0.env, {"deck": [1]}, r"^unknown option 'deck'"),
        (tressette_v0.env, {"low_sum_max": 9}, r"^unknown option 'low_sum_max' \(options: .*\btarget\b.*\)$"),
        (tressette_v0.env, {"players": 4, "handsize": 5}, r"^unknown option 'handsize'; did you mean 'hand_size'\?"),
        (
            bazzica_v0.env,
            {"declaration_point": {}},
            r"^unknown option 'declaration_point'; did you mean 'declaration_points'\?",
        ),
        (bazzica_v0.env, {"last_card_scope": True}, r"^unknown option 'last_card_scope'; did you mean 'last_card_scopa'\?"),
        (bazzica_v0.env, {"napoletana": True}, r"^unknown option 'napoletana' \(options: .*\blow_sum_max\b.*\)$"),
        (bazzica_v0.env, {"players": 2}, r"^unknown option 'players'"),
        (bazzica_v0.env, {"max_cycles": 10}, r"^unknown option 'max_cycles'"),
        (MAKERS["batch"], {"game": "bazzica", "taget": 3}, r"^unknown option 'taget'; did you mean 'target'\?"),
        (MAKERS["batch"], {"game": "bazzica", "napoletana": True}, r"^unknown option 'napoletana'"),
        (
            MAKERS["batch"],
            {"game": "tressette-2p", "players": 4},
            r"^option 'players' is fixed to 2 by the game 'tressette-2p'$",
        ),
        (MAKERS["aec"], {"game": "tressette-4p", "players": 4}, r"^option 'players' is fixed to 4 by the game 'tressette-4p'$"),
    ],
)
def test_unknown_option(make: Callable[..., Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make(**options)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    "target", [0, 101, -1, 10**20, 21.0, 21.5, "21", True, False, None, [21], np.float64(21), np.bool_(True)], ids=repr
)
def test_target_out_of_range_or_of_another_type(game: str, make: str, target: Any) -> None:
    with pytest.raises(OptionError, match="^" + re.escape(f"target={target!r}: {WHOLE_NUMBER} 1 to 100") + "$"):
        MAKERS[make](game, target=target)


@pytest.mark.parametrize("target", [1, 21, 100, np.int64(31), np.uint8(41), np.int16(1)], ids=repr)
def test_targets(game: str, target: Any) -> None:
    assert BatchEnv(game, 1, target=target).options.target == int(target)
    assert type(BatchEnv(game, 1, target=target).options.target) is int
    env = AECEnv(game, target=target)
    env.reset(seed=0)
    assert env.information(0).options.target == int(target)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("episode", "game", "'match', 'deal'"),
        ("episode", None, "'match', 'deal'"),
        ("reward", "score", "'win', 'points'"),
        ("reward", 1, "'win', 'points'"),
        ("illegal", "ignore", "'raise', 'terminate'"),
        ("illegal", True, "'raise', 'terminate'"),
    ],
)
def test_choices(game: str, make: str, option: str, value: Any, allowed: str) -> None:
    with pytest.raises(OptionError, match="^" + re.escape(f"{option}={value!r}: allowed are {allowed}") + "$"):
        MAKERS[make](game, **{option: value})


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("mask_in", "observation", "'obs', 'info'"),
        ("mask_in", None, "'obs', 'info'"),
        ("copy", 1, "False, True"),
        ("copy", "False", "False, True"),
        ("render_mode", "rgb_array", "None, 'ansi', 'human'"),
        ("render_mode", "", "None, 'ansi', 'human'"),
        ("language", "de", "'it', 'en', 'fr'"),
        ("language", None, "'it', 'en', 'fr'"),
    ],
)
def test_choices_of_the_pettingzoo_environment(game: str, option: str, value: Any, allowed: str) -> None:
    with pytest.raises(OptionError, match="^" + re.escape(f"{option}={value!r}: allowed are {allowed}") + "$"):
        AECEnv(game, **{option: value})


@pytest.mark.parametrize("players", [0, 1, 3, 5, "2", True, 2.0, None], ids=repr)
def test_players(players: Any) -> None:
    with pytest.raises(OptionError, match="^" + re.escape(f"players={players!r}: allowed are 2, 4") + "$"):
        tressette_v0.env(players=players)


@pytest.mark.parametrize("value", [1, 0, "yes", None], ids=repr)
def test_flags(value: Any) -> None:
    with pytest.raises(OptionError, match=rf"^napoletana={value!r}: allowed are False, True$"):
        tressette_v0.env(napoletana=value)
    with pytest.raises(OptionError, match=rf"^last_card_scopa={value!r}: allowed are False, True$"):
        bazzica_v0.env(last_card_scopa=value)


ACES_AND_THREES = [0, 2, 10, 12, 20, 22, 30, 32]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hand_size": 0}, r"^hand_size=0: expected a whole number from 1 to 20$"),
        ({"hand_size": 21}, r"^hand_size=21: expected a whole number from 1 to 20$"),
        ({"hand_size": 10.0}, r"^hand_size=10.0: expected a whole number from 1 to 20$"),
        ({"hand_size": True}, r"^hand_size=True: "),
        ({"hand_size": None}, r"^hand_size=None: "),
        ({"players": 4, "hand_size": 11}, r"^hand_size=11: expected a whole number from 1 to 10$"),
        ({"players": 4, "hand_size": 9}, r"^hand_size=9: 40 cards for 4 players leave 4; expected none left over$"),
        ({"deck_cards": ACES_AND_THREES, "hand_size": 5}, r"^hand_size=5: expected a whole number from 1 to 4$"),
        ({"deck_cards": ACES_AND_THREES}, r"^hand_size=10: expected a whole number from 1 to 4$"),
        (
            {"deck_cards": [1, 2, 3, 4, 5], "hand_size": 2},
            r"^hand_size=2: 5 cards for 2 players leave 1; expected an even number left",
        ),
        (
            {"deck_cards": ACES_AND_THREES[:6], "hand_size": 1, "players": 4},
            r"^hand_size=1: 6 cards for 4 players leave 2; expected none",
        ),
        ({"deck_cards": [1], "hand_size": 1}, r"^hand_size=1: 1 cards for 2 players leave -1; "),
        ({"deck_cards": [], "hand_size": 1}, r"^(hand_size|deck_cards)="),
        ({"deck_cards": [1, 1, 2, 3], "hand_size": 2}, r"^deck_cards=\[1, 1, 2, 3\]: a card is listed twice$"),
        ({"deck_cards": [1, 2, 3, 40], "hand_size": 2}, r"^deck_cards=40: expected a whole number from 0 to 39$"),
        ({"deck_cards": [1, 2, 3, -1], "hand_size": 2}, r"^deck_cards=-1: expected a whole number from 0 to 39$"),
        ({"deck_cards": [1, 2, 3, 4.0], "hand_size": 2}, r"^deck_cards=4.0: "),
        ({"deck_cards": [1, 2, 3, True], "hand_size": 2}, r"^deck_cards=True: "),
        ({"deck_cards": "7d", "hand_size": 1}, r"^deck_cards='7': "),
        ({"deck_cards": 40, "hand_size": 2}, r"^deck_cards=40: expected a list of card indices$"),
    ],
    ids=str,
)
def test_deck_cards_and_hand_size(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        tressette_v0.env(**options)


def test_deck_cards_of_any_kind() -> None:
    for cards in (
        ACES_AND_THREES,
        tuple(ACES_AND_THREES),
        np.array(ACES_AND_THREES),
        reversed(ACES_AND_THREES),
        set(ACES_AND_THREES),
    ):
        env = tressette_v0.env(deck_cards=cards, hand_size=np.int64(3))
        env.reset(seed=0)
        now = env.snapshot()
        assert sorted([*now["hands"][0], *now["hands"][1], *now["stock"]]) == ACES_AND_THREES
        assert [len(hand) for hand in now["hands"]] == [3, 3]


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (
            {"bazzica": 1},
            r"^a name in declaration_points='bazzica': "
            r"allowed are 'pariglia', 'meno_di_nove', 'pariglia_meno_di_nove', 'bazzicotto'$",
        ),
        ({1: 1}, r"^a name in declaration_points=1: allowed are 'pariglia', "),
        ({"pariglia": -1}, r"^declaration_points\['pariglia'\]=-1: expected a whole number from 0 to 100$"),
        ({"bazzicotto": 101}, r"^declaration_points\['bazzicotto'\]=101: expected a whole number from 0 to 100$"),
        ({"meno_di_nove": 1.5}, r"^declaration_points\['meno_di_nove'\]=1.5: "),
        ({"meno_di_nove": "2"}, r"^declaration_points\['meno_di_nove'\]='2': "),
        ({"meno_di_nove": True}, r"^declaration_points\['meno_di_nove'\]=True: "),
        ({"meno_di_nove": None}, r"^declaration_points\['meno_di_nove'\]=None: "),
        ([1, 2, 3, 7], r"^declaration_points=\[1, 2, 3, 7\]: expected a dict from name to points$"),
        (7, r"^declaration_points=7: expected a dict from name to points$"),
    ],
    ids=str,
)
def test_declaration_points(points: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        bazzica_v0.env(declaration_points=points)
    with pytest.raises(OptionError, match=message):
        BatchEnv("bazzica", 2, declaration_points=points)


def test_declaration_points_are_copied() -> None:
    """Names left out keep their default, and the dict given stays the caller's."""
    given = {"pariglia": np.int64(5)}
    options = BatchEnv("bazzica", 1, declaration_points=given).options
    given["pariglia"] = np.int64(9)
    assert options.declaration_points == {"pariglia": 5, "meno_di_nove": 2, "pariglia_meno_di_nove": 3, "bazzicotto": 7}


@pytest.mark.parametrize("value", [2, 31, -8, 8.0, "8", True, None], ids=repr)
def test_low_sum_max(value: Any) -> None:
    with pytest.raises(OptionError, match=rf"^low_sum_max={value!r}: expected a whole number from 3 to 30$"):
        bazzica_v0.env(low_sum_max=value)


@pytest.mark.parametrize("number", [0, -1, 1.0, True, "4", None], ids=repr)
def test_number_of_environments(game: str, number: Any) -> None:
    with pytest.raises(OptionError, match=rf"^num_envs={number!r}: expected a whole number from 1 to "):
        BatchEnv(game, number)


# --- reset -----------------------------------------------------------------------------------------------------------------

BAD_RESETS: list[tuple[Any, Any, str]] = [
    (0, {"deck": list(range(39))}, r"^deck: expected each of 40 cards once, got 39; doubled \[\], missing \[39\]"),
    (0, {"deck": [*range(39), 0]}, r"^deck: .* got 40; doubled \[0\], missing \[39\], not in this game \[\]$"),
    (0, {"deck": [*range(39), 40]}, r"^deck\[39\]=40: expected a whole number from 0 to 39$"),
    (0, {"deck": [*range(39), -1]}, r"^deck\[39\]=-1: "),
    (0, {"deck": [*range(39), 39.0]}, r"^deck\[39\]=39.0: "),
    (0, {"deck": [*range(40), 0]}, r"^deck: .* got 41; doubled \[0\]"),
    (0, {"deck": []}, r"^deck: expected each of 40 cards once, got 0"),
    (0, {"deck": 7}, r"^deck=7: expected a list of card indices, or a list of such lists$"),
    (0, {"deck": set(range(40))}, r"^deck=\{.*\}: expected a list"),
    (0, {"deck": "7d"}, r"^deck='7d': expected a list"),
    (0, {"deck": [list(range(40)), list(range(39))]}, r"^deck\[1\]: expected each of 40 cards once, got 39"),
    (0, {"deck": [list(range(40)), 5]}, r"^deck\[1\]=5: expected a list of card indices$"),
    (0, {"dealer": -1}, r"^dealer=-1: expected a whole number from 0 to [13]$"),
    (0, {"dealer": 4}, r"^dealer=4: "),
    (0, {"dealer": 0.0}, r"^dealer=0.0: "),
    (0, {"dealer": True}, r"^dealer=True: "),
    (0, {"score": 3}, r"^score=3: expected match points of both sides$"),
    (0, {"score": [1]}, r"^score=\[1\]: expected match points of both sides$"),
    (0, {"score": [1, 2, 3]}, r"^score=\[1, 2, 3\]: "),
    (0, {"score": [0, -1]}, r"^score\[1\]=-1: expected a whole number from 0 to "),
    (0, {"score": [0.5, 1]}, r"^score\[0\]=0.5: "),
    (0, {"score": [0, 10**9]}, r"^score\[1\]=1000000000: "),
    (0, {"deck": np.array(5)}, r"^deck="),
    (0, {"score": np.array(5)}, r"^score="),
    (0, {"dealer": np.array([1])}, r"^dealer="),
    (0, {"score": "12"}, r"^score='12': expected match points"),
    (0, [1], r"^options=\[1\]: expected a dict$"),
    (-1, None, rf"^seed=-1: expected a whole number from 0 to {MAX_SEED}$"),
    (2**63, None, rf"^seed={2**63}: expected a whole number from 0 to {MAX_SEED}$"),
    (1.0, None, r"^seed=1.0: "),
    (True, None, r"^seed=True: "),
    (np.array([1]), None, r"^seed="),
    (int, None, r"^seed="),
    ("1", None, r"^seed='1': "),
    (np.float64(1), None, r"^seed=.*1.0.*: "),
    (-1, {"deck": list(range(40))}, r"^seed=-1: "),
]


@pytest.mark.parametrize(
    ("seed", "options", "message"), BAD_RESETS, ids=[f"{seed}-{str(options)[:30]}" for seed, options, _ in BAD_RESETS]
)
def test_bad_resets_leave_the_game_as_it_was(game: str, seed: Any, options: Any, message: str) -> None:
    env, other = AECEnv(game), AECEnv(game)
    with pytest.raises(OptionError, match=message):
        env.reset(seed=seed, options=options)
    with pytest.raises(NotResetError):
        env.last()
    for each in (env, other):
        each.reset(seed=8)
        play(each, 9)
    before = everything(env)
    with pytest.raises(OptionError, match=message):
        env.reset(seed=seed, options=options)
    assert everything(env) == before
    env.reset()
    other.reset()
    assert everything(env) == everything(other)


@pytest.mark.parametrize(
    ("deck", "message"),
    [
        (
            ACES_AND_THREES[:7],
            r"^deck: expected each of 8 cards once, got 7; doubled \[\], missing \[32\], not in this game \[\]$",
        ),
        (
            [*ACES_AND_THREES[:7], 0],
            r"^deck: expected each of 8 cards once, got 8; doubled \[0\], missing \[32\], not in this game \[\]$",
        ),
        (
            [*ACES_AND_THREES[:7], 39],
            r"^deck: expected each of 8 cards once, got 8; doubled \[\], missing \[32\], not in this game \[39\]$",
        ),
        (
            list(range(40)),
            r"^deck: expected each of 8 cards once, got 40; doubled \[\], missing \[\], not in this game \[1, 3, ",
        ),
    ],
    ids=str,
)
def test_deck_of_a_small_game(deck: list[int], message: str) -> None:
    env = tressette_v0.env(deck_cards=ACES_AND_THREES, hand_size=2)
    env.reset(seed=1)
    before = everything(env)
    with pytest.raises(OptionError, match=message):
        env.reset(seed=2, options={"deck": deck})
    assert everything(env) == before
    env.reset(options={"deck": ACES_AND_THREES[::-1], "dealer": 1})
    assert (env.snapshot()["hands"], env.snapshot()["stock"]) == ([[30, 32], [20, 22]], [12, 10, 2, 0])


# --- play ------------------------------------------------------------------------------------------------------------------


def test_stepping_with_no_reset(game: str) -> None:
    env = AECEnv(game)
    for action in (0, None, -1, 10**30):
        with pytest.raises(NotResetError, match=r"no game yet; call reset\(\) first"):
            env.step(action)
    assert not hasattr(env, "agents")


def refuses(env: AECEnv, action: int, message: str) -> None:
    """See that an action is refused with these words, and nothing changed."""
    before = everything(env)
    with pytest.raises(IllegalActionError, match="^" + re.escape(message) + "$"):
        env.step(action)
    assert everything(env) == before


@pytest.mark.parametrize("players", [2, 4])
def test_illegal_cards_of_tressette(players: int) -> None:
    """The error names card, hand and legal cards."""
    env = tressette_v0.env(players=players)
    env.reset(options={"deck": [*range(5), *range(10, 15), *range(5, 10), *range(15, 20), *range(20, 40)], "dealer": 0})
    env.step(3)
    rest = f"by player_{2 % players}, who holds 6d 7d Fd Cd Rd 6c 7c Fc Cc Rc; legal: 5 (6d), 6 (7d), 7 (Fd), 8 (Cd), 9 (Rd)"
    refuses(env, 15, f"illegal action 15 (6c) {rest}")  # follow suit
    refuses(env, 3, f"illegal action 3 (4d) {rest}")
    for action in (40, -1, 10**30):
        refuses(env, action, f"illegal action {action} (no such action) {rest}")


def test_illegal_actions_of_bazzica() -> None:
    """Cards, picks, baptisms and declarations; before the first card and while a capture is chosen."""
    env = bazzica_v0.env()
    env.reset(options={"deck": list(range(40)), "dealer": 0})  # seat 1 opens with Ad 2d 3d; 7d Fd Cd Rd on the table
    rest = "by player_1, who holds Ad 2d 3d; legal: 0 (play Ad), 1 (play 2d), 2 (play 3d), 100 (declare)"
    for action, text in ((9, "play Rd"), (46, "pick 7d"), (83, "baptise 7d as 4"), (99, "baptise Rd as 10")):
        refuses(env, action, f"illegal action {action} ({text}) {rest}")
    for action in (101, -1, 10**30):
        refuses(env, action, f"illegal action {action} (no such action) {rest}")
    env.step(0)  # 8 = 1+7, 9 = 1+8, 10 = 1+9
    rest = "by player_1, who holds 2d 3d; legal: 46 (pick 7d), 47 (pick Fd), 48 (pick Cd), 49 (pick Rd)"
    for action, text in ((0, "play Ad"), (1, "play 2d"), (45, "pick 6d"), (100, "declare")):
        refuses(env, action, f"illegal action {action} ({text}) {rest}")


def test_step_after_the_end(game: str) -> None:
    env = AECEnv(game, episode="deal")
    env.reset(seed=0)
    while not env.terminations["player_0"]:
        play(env, 1)
    before = everything(env)
    with pytest.raises(GameOverError, match=rf"^{game}: the game is over for player_0, whose only action is None, not 3$"):
        env.step(3)
    assert everything(env) == before
    for _ in env.possible_agents:
        env.step(None)
    for action in (3, None):
        with pytest.raises(
            GameOverError, match=rf"^{game}: the game is over and every agent has left; reset\(\) starts the next$"
        ):
            env.step(action)
    env.reset()
    play(env, 1)


@pytest.mark.parametrize("agent", ["player_9", "", 0, None], ids=repr)
def test_agents_that_are_not_there(game: str, agent: Any) -> None:
    env = AECEnv(game)
    env.reset(seed=0)
    with pytest.raises(OptionError, match=rf"^agent={agent!r}: allowed are player_0, player_1"):
        env.observe(agent)


@pytest.mark.parametrize("seat", [-1, 4, 1.0, True, "player_0"], ids=repr)
def test_seats_that_are_not_there(game: str, seat: Any) -> None:
    env = AECEnv(game, render_mode="ansi")
    env.reset(seed=0)
    for use in (env.information, env.render):
        with pytest.raises(OptionError, match=rf"^seat={seat!r}: expected a whole number from 0 to "):
            use(seat)


@pytest.mark.parametrize("deal", [1, -2, 2, None, "0"], ids=repr)
def test_deals_that_are_not_there(game: str, deal: Any) -> None:
    env = AECEnv(game)
    env.reset(seed=0)
    message = "^" + re.escape(f"deal={deal!r}: allowed are 0 (the deal on the table) and -1 (the deal counted last)") + "$"
    for owner in (env, env.information(0)):
        with pytest.raises(OptionError, match=message):
            owner.events(deal)


# --- saved states ----------------------------------------------------------------------------------------------------------


def other_game(game: str) -> bytes:
    env = AECEnv(next(other for other in GAME_IDS if other != game))
    env.reset(seed=0)
    return env.get_state()


def with_options(game: str, **options: Any) -> bytes:
    env = AECEnv(game, **options)
    env.reset(seed=0)
    return env.get_state()


BAD_STATES: dict[str, tuple[Callable[[str, bytes], Any], str]] = {
    "empty": (lambda game, data: b"", r"0 bytes that do not begin like a settebello state$"),
    "foreign": (lambda game, data: b"PK\x03\x04" + data, r"bytes that do not begin like a settebello state$"),
    "header only": (lambda game, data: data[:40], r"truncated, \d+ bytes where \d+ were expected$"),
    "truncated": (lambda game, data: data[:-1], r"truncated"),
    "longer": (lambda game, data: data + b"\0", r"damaged or truncated"),
    "one byte changed": (
        lambda game, data: data[:100] + bytes([data[100] ^ 1]) + data[101:],
        r"damaged or truncated \(its checksum",
    ),
    "another format": (lambda game, data: data[:8] + b"\x63\0" + data[10:], r"format 99, this release reads format 1$"),
    "another version": (
        lambda game, data: data[:10] + b"\x07\0" + data[12:],
        r"of \S+ version 7, this release plays version 0$",
    ),
    "another game": (lambda game, data: other_game(game), r"of the game '\S+', expected '\S+'$"),
    "another target": (lambda game, data: with_options(game, target=22), r"option target was 22, expected (21|31)$"),
    "another episode": (lambda game, data: with_options(game, episode="deal"), r"option single_deal was 1, expected 0$"),
    "text": (lambda game, data: "SETTEBEL", r"expected bytes, got str$"),
    "nothing": (lambda game, data: None, r"expected bytes, got NoneType$"),
}


@pytest.mark.parametrize("kind", BAD_STATES)
def test_bad_states(game: str, kind: str) -> None:
    make, message = BAD_STATES[kind]
    env, batch = AECEnv(game), BatchEnv(game, 2, seed=3)
    with pytest.raises(StateError, match=r"^saved state: .*" + message):
        env.set_state(make(game, batch.get_state(0)))
    assert not hasattr(env, "agents")
    env.reset(seed=3)
    play(env, 7)
    data = make(game, env.get_state())
    before, rows = everything(env), [batch.get_state(i) for i in range(2)]
    with pytest.raises(StateError, match=r"^saved state: .*" + message):
        env.set_state(data)
    assert everything(env) == before
    with pytest.raises(StateError, match=r"^saved state: .*" + message):
        batch.set_state(1, data)
    assert [batch.get_state(i) for i in range(2)] == rows


def test_other_kinds_of_bytes_are_states_too(game: str) -> None:
    env = AECEnv(game)
    env.reset(seed=3)
    play(env, 7)
    data = env.get_state()
    for kind in (bytes, bytearray, memoryview):
        env.reset()
        env.set_state(kind(data))
        assert env.get_state() == data


def test_public_names() -> None:
    assert set(settebello.__all__) <= set(dir(settebello))


def test_misspelt_arguments_of_the_environments_are_named_too() -> None:
    with pytest.raises(OptionError, match=r"^unknown option 'mask_inn'; did you mean 'mask_in'\?"):
        bazzica_v0.env(mask_inn="info")
    with pytest.raises(OptionError, match=r"^unknown option 'ilegal'; did you mean 'illegal'\?"):
        BatchEnv("bazzica", 2, ilegal="raise")


def test_numpy_scalars_are_what_they_stand_for() -> None:
    env = tressette_v0.env(players=np.int64(4), napoletana=np.True_, episode=np.str_("deal"), copy=np.False_)
    env.reset(seed=1)
    assert len(env.agents) == 4
    with pytest.raises(OptionError, match=r"^players=.*: allowed are 2, 4$"):
        tressette_v0.env(players=np.int64(3))


def test_odd_arguments_of_what_a_seat_knows() -> None:
    env = bazzica_v0.env()
    env.reset(seed=1)
    for deal in (0.0, False, None, 1, np.array([0, 1])):
        with pytest.raises(OptionError, match=r"^deal=.*: allowed are 0"):
            env.events(deal)
    for rng in (None, 5, np.random.RandomState(1)):
        with pytest.raises(OptionError, match=r"^rng=.*: expected a NumPy Generator"):
            env.information(0).sample_world(rng)
    with pytest.raises(OptionError, match=r"^agent=\['a'\]: allowed are player_0, player_1"):
        env.observe(["a"])
