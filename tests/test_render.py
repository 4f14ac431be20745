"""The text rendering: facts that must be on it in every language, and hidden cards that must not."""

import dataclasses
import random
import re
import string
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from settebello import GAMES, BatchEnv, bazzica_v0, tressette_v0
from settebello.aec import AECEnv
from settebello.cards import SUIT_NAMES, card_text, parse_card
from settebello.errors import OptionError
from settebello.render import LANGUAGES, render
from settebello.render.text import WIDTH
from settebello.render.words import BADGES, Words

Sections = dict[str, list[str]]
CARD = re.compile(r"\b[A2-7FCR][dcsb]\b")
CODES = re.compile(r"\x1b\[[0-9;]*m")
SCENARIOS: list[tuple[str, dict[str, Any]]] = [
    ("tressette-2p", {"napoletana": True}),
    ("tressette-2p", {"napoletana": True, "deck_cards": [0, 1, 2, 3, 10, 11, 12, 13], "hand_size": 3, "episode": "deal"}),
    ("tressette-4p", {"napoletana": True, "target": 11}),
    ("bazzica", {"target": 1}),
    ("bazzica", {"low_sum_max": 16, "last_card_scopa": True, "episode": "deal"}),
]
SCENARIO_IDS = [f"{game}-{'-'.join(options)}" for game, options in SCENARIOS]


def make(game: str, **options: Any) -> AECEnv:
    if game == "bazzica":
        return bazzica_v0.env(**options)
    return tressette_v0.env(players=GAMES[game].num_seats, **options)


def positions(game: str, number: int, seed: int, **options: Any) -> Iterator[AECEnv]:
    """So many positions of random play, ends of games included; now and then one is lost by an illegal action."""
    rng = random.Random(seed)
    env = make(game, illegal="terminate", **options)
    env.reset(seed=seed)
    for _ in range(number):
        yield env
        if all(env.terminations.values()):
            env.reset()
        else:
            legal = np.flatnonzero(env.action_masks())
            env.step(int(rng.choice(legal)) if rng.random() > 0.005 else GAMES[game].num_actions)


def deck(text: str) -> list[int]:
    """A full deck that begins with these cards."""
    first = [parse_card(word) for word in text.split()]
    return first + [card for card in range(40) if card not in first]


def sections(text: str) -> Sections:
    """The lines of each section by its title, "" for the first, without the frame."""
    result: Sections = {}
    title = ""
    for line in text.split("\n"):
        if line.startswith(("┌", "├")):
            title = "" if line.startswith("┌") else line.strip("├─┤ ") or "key"
            result[title] = []
        elif not line.startswith("└"):
            result[title].append(line[2:-2].rstrip())
    return result


def register(lines: list[str]) -> list[str]:
    """The entries of the register, read down the left column and then down the right one."""
    entries: list[str] = []
    for line in [line[:36] for line in lines] + [line[39:] for line in lines]:
        number, text = line[:4].strip(), line[4:].strip()
        if number:
            assert number == f"{len(entries) + 1}."
            entries.append(text)
        elif text:
            entries[-1] += f" {text}"
    return entries


def cells(lines: list[str], item: str) -> list[str]:
    """What both sides have for an item of a table."""
    row = next(line for line in lines if line.startswith(f"{item} "))
    return row[len(item) :].split()


def hand_size(hand: Any) -> int:
    return hand["size"] if isinstance(hand, dict) else len(hand)


# --- words -----------------------------------------------------------------------------------------------------------------


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_every_word_with_the_same_placeholders(language: str) -> None:
    assert set(LANGUAGES) == {"it", "en", "fr"}
    for field in dataclasses.fields(Words):
        word = getattr(LANGUAGES[language], field.name)
        assert word.strip(), field.name
        assert placeholders(word) == placeholders(getattr(LANGUAGES["en"], field.name)), field.name


def test_badges_are_those_of_the_rules() -> None:
    assert dict(BADGES) == {"bazzicotto": "B", "pariglia": "P", "pariglia_meno_di_nove": "P9", "meno_di_nove": "9"}


# --- facts, in every position ----------------------------------------------------------------------------------------------


def check_standing(part: Sections, snapshot: dict[str, Any], words: Words, label: list[str], target: int | None) -> None:
    """Who is to move or has won, dealer and opener, what is left, and the match."""
    top = " ".join(part[""])
    sides = [" + ".join(label[side::2]) for side in range(2)]
    if snapshot["over"]:
        winner = words.nobody if snapshot["winner"] is None else sides[snapshot["winner"]]
        assert f"{words.winner}{words.colon}{winner}" in top
    else:
        assert f"{words.turn}{words.colon}{label[snapshot['turn']]}" in top
    assert f"{words.dealer}{words.colon}{label[snapshot['dealer']]}" in top
    assert f"{words.opener}{words.colon}{label[(snapshot['dealer'] + 1) % len(label)]}" in top
    if len(label) == 2:
        stock = snapshot["stock"] if isinstance(snapshot["stock"], int) else len(snapshot["stock"])
        assert f"{words.deck_left}{words.colon}{stock}" in top
    assert (words.single_deal if target is None else words.target.format(number=target)) in top
    assert cells(part[words.score], words.match_points) == [str(points) for points in snapshot["score"]]
    assert cells(part[words.score], words.cards_taken) == [str(len(cards)) for cards in snapshot["taken"]]


def check_hands(part: Sections, snapshot: dict[str, Any], words: Words, label: list[str]) -> None:
    """Each hand's cards, the mark of the seat to move, and how many are hidden."""
    lines = part[words.hands]
    starts = [next(i for i, line in enumerate(lines) if line[2:].startswith(f"{name} ")) for name in label]
    for seat, hand in enumerate(snapshot["hands"]):
        own = " ".join(lines[starts[seat] : [*starts, len(lines)][seat + 1]])
        assert own.startswith("▶") == (seat == snapshot["turn"])
        if isinstance(hand, dict):
            assert {*CARD.findall(own)} == {*map(card_text, hand["known"])}
            hidden = hand["size"] - len(hand["known"])
            assert (words.hidden.format(number=hidden) in own) == (hidden > 0)
        else:
            assert {*CARD.findall(own)} == {*map(card_text, hand)}
            known = snapshot["known"][seat] if "known" in snapshot else [card for card in hand if card in snapshot["baptised"]]
            assert (words.shown.split("{")[0] in own) == bool(known)


def check_bazzica(part: Sections, snapshot: dict[str, Any], words: Words) -> None:
    top = " ".join(part[""])
    left = 7 - snapshot["hand_number"]
    assert (f"{words.hands_left}{words.colon}{left}" in top) == (not snapshot["over"])
    assert ("ultima mano" in top) == (left == 1 and not snapshot["over"])
    assert cells(part[words.score], words.scope) == [str(scope) for scope in snapshot["scope"]]
    assert cells(part[words.score], words.declared) == [BADGES[name] if name else "–" for name in snapshot["declared"]]
    for name in {*snapshot["declared"]} - {None}:
        assert any(line.startswith(f"{BADGES[name]} {name.replace('_', ' ')}") for line in part["key"])
    table = part[words.table]
    marked = {card_text(card) + (f"={value}" if card in snapshot["baptised"] else "") for card, value in snapshot["table"]}
    assert {*" ".join(table[:1]).split()} == (marked or {words.none})
    assert len(table) - 1 == (0 if snapshot["pending"] is None else 1 + len(snapshot["candidates"]))
    for line, cards in zip(table[2:], snapshot["candidates"], strict=False):
        assert CARD.findall(line) == [*map(card_text, cards)]
    if snapshot["pending"] is not None:
        assert CARD.findall(table[1]) == [card_text(snapshot["pending"])]
    for card, value in snapshot["baptised"].items():
        assert any(line.startswith(f"{card_text(card)}={value}") for line in part["key"])
    sheet = snapshot["last_deal"]
    if sheet is not None:
        lines = next(lines for title, lines in part.items() if title.startswith(words.sheet.split("{")[0]))
        for item in ("carte", "denari", "settebello", "primiera"):
            assert cells(lines, getattr(words, item)) == ["1" if sheet[item] == side else "–" for side in range(2)]
        assert cells(lines, words.scope) == [str(scope) for scope in sheet["scope"]]
        assert cells(lines, words.declarations) == [str(points) for points in sheet["declarations"]]
        assert cells(lines, words.total) == [str(points) for points in sheet["points"]]


def check_tressette(part: Sections, snapshot: dict[str, Any], words: Words, label: list[str]) -> None:
    if snapshot["trick"]:
        assert len(part[words.trick]) == len(snapshot["trick"])
        for line, (seat, card) in zip(part[words.trick], snapshot["trick"], strict=True):
            assert line.startswith(label[seat])
            assert CARD.findall(line) == [card_text(card)]
        assert [words.leads in line for line in part[words.trick]] == [True] + [False] * (len(snapshot["trick"]) - 1)
        assert sum(words.winning in line for line in part[words.trick]) == 1
    elif not snapshot["over"]:
        assert part[words.trick][0].split() == [*label[snapshot["turn"]].split(), words.leads]
    expected = [f"{label[seat]} · {SUIT_NAMES[suit]}" for seat, suit in snapshot["napoletane"]]
    assert part.get(words.napoletane, []) == expected
    sheet = snapshot["last_deal"]
    if sheet is not None:
        lines = next(lines for title, lines in part.items() if title.startswith(words.sheet.split("{")[0]))
        napoletane = [3 * sum(seat % 2 == side for seat, _ in sheet["napoletane"]) for side in range(2)]
        assert cells(lines, words.last_trick) == ["1" if sheet["last_trick"] == side else "–" for side in range(2)]
        whole = [re.sub("[⅓⅔]", "", cell) or "0" for cell in cells(lines, words.tricks)]
        assert whole == [str(thirds // 3) for thirds in sheet["thirds"]]
        assert cells(lines, words.total) == [str(a + b) for a, b in zip(sheet["points"], napoletane, strict=True)]


def check_register(entries: list[str], events: list[dict[str, Any]], names: list[str]) -> None:
    """A numbered line for each event, a play and what it took on one; each names its seat and its cards."""
    shown = [event for event in events if event["kind"] != "capture"]
    assert len(entries) == len(shown)
    for entry, event in zip(entries, shown, strict=True):
        if event["seat"] is not None:
            assert re.search(rf"\b{names[event['seat']]}\b", entry)
        cards = [event["card"]] if "card" in event else []
        cards += event.get("cards", [])
        after = events[events.index(event) + 1 :][:1]
        if event["kind"] == "play" and after and after[0]["kind"] == "capture":
            cards += after[0]["cards"]
        assert CARD.findall(entry) == [*map(card_text, cards)]
        if event["kind"] in ("scopa", "declare", "napoletana"):
            assert f"+{event['points']}" in entry
        if event["kind"] == "declare":
            assert event["value"].replace("_", " ") in entry
        if event["kind"] == "baptise":
            assert re.search(rf"\b{event['value']}$", entry)
        if event["kind"] == "count":
            assert re.findall(r" (\d+)", entry) == [str(points) for points in event["points"]]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("game", "options"), SCENARIOS, ids=SCENARIO_IDS)
def test_facts_are_on_the_screen(game: str, options: dict[str, Any], language: str) -> None:
    words = LANGUAGES[language]
    kinds: set[str] = set()
    for count, env in enumerate(positions(game, 350, seed=6, **options)):
        seat = [None, *range(len(env.possible_agents))][count % (len(env.possible_agents) + 1)]
        information = None if seat is None else env.information(seat)
        snapshot = env.snapshot() if information is None else information.snapshot()
        given = env.information(0).options
        text = render(snapshot, env.events(), language=language, options=given)
        assert {len(line) for line in text.split("\n")} == {WIDTH}
        part = sections(text)
        names = env.possible_agents
        label = [f"{name} ({words.you})" if k == seat else name for k, name in enumerate(names)]
        head = text.split("\n")[0]
        assert getattr(words, game.replace("-", "_")) in head
        assert words.deal.format(number=snapshot["deal_number"]) in head
        check_standing(part, snapshot, words, label, None if given.episode == "deal" else given.target)
        check_hands(part, snapshot, words, label)
        if game == "bazzica":
            check_bazzica(part, snapshot, words)
        else:
            check_tressette(part, snapshot, words, label)
        check_register(register(part[words.register]), env.events(), names)
        if seat is None and snapshot["stock"]:
            assert CARD.findall(" ".join(part[words.deck_order])) == [*map(card_text, snapshot["stock"])]
        else:
            assert words.deck_order not in part
        if any(snapshot["taken"]):
            taken = {card_text(card) for cards in snapshot["taken"] for card in cards}
            assert {*CARD.findall(" ".join(part[words.taken]))} == taken
        kinds |= {event["kind"] for event in env.events()}
    played = "play capture scopa declare baptise sweep" if game == "bazzica" else "lead follow trick napoletana"
    assert {"deal", "count", *played.split()} <= kinds


# --- known games, in words written out -------------------------------------------------------------------------------------


LITERAL_BAZZICA = {
    "en": (
        *("to move: player_1 (you)", "opener: player_1 (you) · dealer: player_0", "hands left in the deal: 6"),
        *("cards left in the deck: 30", "player_1 declares meno di nove, +2", "player_1 baptises 7d as 4"),
        *("player_1 plays 7d=4 and chooses", "player_1 (you) has played 7d=4 and chooses what to take:", "9 meno di nove: 2"),
        *("7d=4: baptised, counts as 4", "hidden: 3", "player_0 deals, on the table 4c 4s 4b Rb", "match to 31 points"),
    ),
    "it": (
        *("tocca a: player_1 (tu)", "di mano: player_1 (tu) · mazziere: player_0", "mani rimaste nella smazzata: 6"),
        *("carte nel mazzo: 30", "player_1 dichiara meno di nove, +2", "player_1 battezza 7d: vale 4"),
        *("player_1 gioca 7d=4 e sceglie", "player_1 (tu) ha giocato 7d=4 e sceglie la presa:", "9 meno di nove: 2"),
        *("7d=4: battezzato, vale 4", "coperte: 3", "player_0 dà le carte, in tavola 4c 4s 4b Rb", "partita ai 31 punti"),
    ),
    "fr": (
        *("à jouer : player_1 (vous)", "entame : player_1 (vous) · donneur : player_0", "mains restantes dans la donne : 6"),
        *("cartes au talon : 30", "player_1 déclare meno di nove, +2", "player_1 baptise 7d : vaut 4"),
        *("player_1 joue 7d=4 et choisit", "player_1 (vous) a joué 7d=4 et choisit sa prise :", "9 meno di nove : 2"),
        *("7d=4 : baptisé, vaut 4", "cachées : 3", "player_0 donne, sur le tapis 4c 4s 4b Rb", "partie en 31 points"),
    ),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_bazzica_declared_baptised_and_pending(language: str) -> None:
    env = bazzica_v0.env()
    env.reset(seed=0, options={"deck": deck("7d Ac 2c 6b 5d 3s 4c 4s 4b Rb"), "dealer": 0})
    for action in (80 + 3, 100, 6):  # settebello as 4, declared with ace and 2, played on three fours
        env.step(action)
    information = env.information(1)
    text = render(information.snapshot(), information.events(), language=language, options=information.options)
    part = sections(text)
    entries = register(part[LANGUAGES[language].register])
    for fact in LITERAL_BAZZICA[language]:
        assert fact in entries or fact in text
    lines = part[LANGUAGES[language].table]
    assert [CARD.findall(line) for line in lines[2:]] == [["4c"], ["4s"], ["4b"]]
    assert "6b" not in text
    assert {"6b", "5d", "3s"} <= {*CARD.findall(render(env.snapshot(), language=language))}


def test_points_of_declarations_are_those_of_the_options() -> None:
    env = bazzica_v0.env(declaration_points={"meno_di_nove": 20})
    env.reset(seed=0, options={"deck": deck("3d Ac 2c 6b 5d 3s 4c 4s 4b Rb"), "dealer": 0})
    env.step(100)
    information = env.information(0)
    assert "9 meno di nove: 20" in render(information.snapshot(), options=information.options)
    assert "9 meno di nove: 2 " in render(information.snapshot())


LITERAL_TRESSETTE = {
    "en": (
        *(
            "player_1 has the napoletana di coppe: Ac 2c 3c, +3",
            "player_1 leads 2c",
            "player_0 plays 4c",
            "player_1 wins 2c 4c",
        ),
        *("player_1 draws 5s", "player_0 draws 6s", "with napoletana", "trick 2 of 20", "cards left in the deck: 18"),
    ),
    "it": (
        *(
            "player_1 accusa napoletana di coppe: Ac 2c 3c, +3",
            "player_1 esce con 2c",
            "player_0 gioca 4c",
            "player_1 prende 2c 4c",
        ),
        *("player_1 pesca 5s", "player_0 pesca 6s", "con napoletana", "presa 2 di 20", "carte nel mazzo: 18"),
    ),
    "fr": (
        *(
            "player_1 annonce napoletana di coppe : Ac 2c 3c, +3",
            "player_1 entame 2c",
            "player_0 joue 4c",
            "player_1 remporte 2c 4c",
        ),
        *("player_1 pioche 5s", "player_0 pioche 6s", "avec napoletana", "pli 2 sur 20", "cartes au talon : 18"),
    ),
}
SAID_OF_PLAYER_1 = {"en": "3c Ac  5s · hidden: 7", "it": "3c Ac  5s · coperte: 7", "fr": "3c Ac  5s · cachées : 7"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_tressette_draws_and_napoletana(language: str) -> None:
    env = tressette_v0.env(napoletana=True, render_mode="ansi", language=language)
    hands = "Ac 2c 3c 4d 5d 6d 7d Fd Cd Rd", "4c 5c 6c 7c Fc Cc Rc 2s 3s 4s"
    env.reset(seed=0, options={"deck": deck(f"{hands[0]} {hands[1]} 5s 6s"), "dealer": 0})
    for card in ("2c", "4c"):
        env.step(parse_card(card))
    information = env.information(0)
    text = render(information.snapshot(), information.events(), language=language, options=information.options)
    words = LANGUAGES[language]
    entries = register(sections(text)[words.register])
    for fact in LITERAL_TRESSETTE[language]:
        assert fact in entries or fact in text
    assert SAID_OF_PLAYER_1[language] in text
    assert "Rd" not in text
    assert cells(sections(text)[words.score], words.match_points) == ["0", "3"]
    assert cells(sections(text)[words.score], words.points_taken) == ["0", "⅓"]
    assert env.render() == render(env.snapshot(), env.events(), language=language, options=information.options)


# --- what must not be seen -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game", "options"), SCENARIOS, ids=SCENARIO_IDS)
def test_hidden_cards_are_not_on_the_screen(game: str, options: dict[str, Any]) -> None:
    for env in positions(game, 150, seed=2, **options):
        snapshot, events = env.snapshot(), env.events()
        for seat in range(len(env.possible_agents)):
            information = env.information(seat)
            seen = information.snapshot()
            text = render(seen, events, options=information.options)
            hidden = {card_text(card) for card in snapshot["stock"]}
            for other, hand in enumerate(snapshot["hands"]):
                if other != seat:
                    hidden |= {card_text(card) for card in hand if card not in seen["hands"][other]["known"]}
            assert not {*CARD.findall(text)} & hidden


@pytest.mark.parametrize(("game", "options"), SCENARIOS, ids=SCENARIO_IDS)
def test_worlds_a_seat_cannot_tell_apart_look_the_same(game: str, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(4)
    env = BatchEnv(game, 1, seed=8, **options)
    world = BatchEnv(game, 1, **options)
    for _ in range(120):
        for seat in range(env.num_seats):
            information = env.information(0, seat)
            text = render(information.snapshot(), information.events(), options=env.options)
            world.set_state(0, information.sample_world(rng))
            sampled = world.information(0, seat)
            assert render(sampled.snapshot(), sampled.events(), options=world.options) == text
        env.step([rng.choice(np.flatnonzero(env.action_mask[0]))])


# --- form ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("game", "options"), SCENARIOS, ids=SCENARIO_IDS)
def test_long_names_and_big_numbers_keep_the_width(game: str, options: dict[str, Any], language: str) -> None:
    names = [f"Massimiliano-Maria {k}" for k in range(GAMES[game].num_seats)]
    for env in positions(game, 120, seed=9, **options):
        information = env.information(0)
        snapshot = information.snapshot() | {"score": [20000, 19999], "deal_number": 12345}
        for shown in (snapshot, env.snapshot()):
            text = render(
                shown, env.events(), language=language, options=information.options, names=names, matches=(1234, 5678)
            )
            assert {len(line) for line in text.split("\n")} == {WIDTH}
            assert "Massimiliano-Ma…" in text
        assert cells(sections(text)[LANGUAGES[language].score], LANGUAGES[language].matches) == ["1234", "5678"]


@pytest.mark.parametrize("game", GAMES)
def test_colour_adds_codes_and_nothing_else(game: str) -> None:
    for env in positions(game, 60, seed=1):
        snapshot, events = env.snapshot(), env.events()
        plain = render(snapshot, events, language="it")
        coloured = render(snapshot, events, language="it", colour=True)
        assert "\x1b" not in plain
        assert CODES.sub("", coloured) == plain
        assert len({code for code in CODES.findall(coloured) if code != "\x1b[0m"}) == 5  # four suits, and bold


def test_names_are_shown_instead_of_agents() -> None:
    env = tressette_v0.env(players=4)
    env.reset(seed=0)
    text = render(env.information(2).snapshot(), env.events(), names=["Ada", "Bruno", "Carla", "Dino"])
    assert "Carla (you)" in text
    assert "player_" not in text


def test_snapshot_alone_is_enough() -> None:
    env = bazzica_v0.env()
    env.reset(seed=0)
    assert "match to" not in render(env.snapshot())
    assert LANGUAGES["en"].register not in sections(render(env.snapshot()))


def test_bad_arguments_are_refused() -> None:
    env = bazzica_v0.env()
    env.reset(seed=0)
    snapshot = env.snapshot()
    for language in ("de", "EN", None):
        with pytest.raises(OptionError, match=f"language={language!r}: allowed are 'it', 'en', 'fr'"):
            render(snapshot, language=language)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="unknown game 'briscola'"):
        render(snapshot | {"game": "briscola"})
    with pytest.raises(OptionError, match="bazzica has 2 seats"):
        render(snapshot, names=["Ada"])
    for name in ("\x1b[2J", "two\nlines", " "):
        with pytest.raises(OptionError, match="cannot be printed"):
            render(snapshot, names=["Ada", name])
    with pytest.raises(OptionError, match="two sides"):
        render(snapshot, matches=[1])
    with pytest.raises(OptionError, match="unknown kind 'misdeal'"):
        render(snapshot, [{"kind": "misdeal", "seat": 0}])
