"""The worked cases of the rules as data, and how any implementation is driven through them.

`data/worked_cases.json` is a list of cases: `name`, `rule` (what it shows), `game`, `options` (the constructor's, without the
number of players), `decks` (one for each deal), `dealer` of the first deal, `score` at the start, and `script`: actions, and
between them what is expected at that point.

Cards are written in the short form, `7d` for the settebello; a deck is one string of them, dealt from its front. Actions are
`7d` (play it), `pick 4c`, `baptise 7d 4` and `declare`. What is expected is an object with any of
  `turn`      the seat to move, null when the game is over
  `legal`     all legal actions
  `rewards`   by side, of the last action
  `snapshot`  some of the snapshot's entries, each in full (of `last_deal` only the items that are named)
  `events`    the newest entries of this deal's register
"""

import json
import re
from pathlib import Path
from typing import Any, Protocol

WORKED_CASES_PATH = Path(__file__).parent / "data" / "worked_cases.json"

Case = dict[str, Any]

_RANKS, _SUITS = "A234567FCR", "dcsb"
_CARD = re.compile(f"[{_RANKS}][{_SUITS}]")
_FIRST_PICK, _FIRST_BAPTISM, _DECLARE = 40, {"7d": 80, "Rd": 90}, 100


class Adapter(Protocol):
    """What a case is played on: a game built with the case's options. `events` only for the cases that ask for them."""

    @property
    def turn(self) -> int | None: ...
    def start(self, decks: list[list[int]], dealer: int, score: list[int]) -> None: ...
    def legal_actions(self) -> list[int]: ...
    def step(self, action: int) -> list[int]: ...
    def snapshot(self) -> dict[str, Any]: ...
    def events(self) -> list[dict[str, Any]]: ...


def card_index(text: str) -> int:
    """`7d` -> 6."""
    return _SUITS.index(text[1]) * 10 + _RANKS.index(text[0])


def action_index(text: str) -> int:
    """`7d`, `pick 4c`, `baptise 7d 4` or `declare` -> the action's number."""
    match text.split():
        case ["declare"]:
            return _DECLARE
        case ["pick", card]:
            return _FIRST_PICK + card_index(card)
        case ["baptise", jolly, value]:
            return _FIRST_BAPTISM[jolly] + int(value) - 1
        case [card]:
            return card_index(card)
    raise ValueError(f"no such action: {text!r}")


def load_cases() -> list[Case]:
    """All worked cases, cards and actions turned into their numbers."""
    return [_decode_case(case) for case in json.loads(WORKED_CASES_PATH.read_text(encoding="utf-8"))]


def run_case(case: Case, adapter: Adapter) -> None:
    """Play a case's script; AssertionError where something is not as expected."""
    adapter.start(case["decks"], case["dealer"], case["score"])
    rewards = None
    for position, item in enumerate(case["script"]):
        where = f"{case['name']}, script[{position}]"
        if isinstance(item, dict):
            _check(item, adapter, rewards, where)
        else:
            assert item in adapter.legal_actions(), f"{where}: {item} is not legal: {adapter.legal_actions()}"
            rewards = adapter.step(item)


def _check(expected: dict[str, Any], adapter: Adapter, rewards: list[int] | None, where: str) -> None:
    snapshot = adapter.snapshot()
    for what, value in expected.items():
        if what == "turn":
            assert adapter.turn == snapshot["turn"] == value, f"{where}: {adapter.turn} is to move, not {value}"
        elif what == "legal":
            legal = sorted(adapter.legal_actions())
            assert legal == sorted(value), f"{where}: legal are {legal}, not {sorted(value)}"
        elif what == "rewards":
            assert rewards is not None and list(rewards) == value, f"{where}: rewards are {rewards}, not {value}"
        elif what == "events":
            newest = adapter.events()[-len(value) :]
            assert newest == value, f"{where}: the newest events are {newest}, not {value}"
        elif what == "snapshot":
            for key, entry in value.items():
                found = snapshot[key]
                if key == "last_deal" and entry is not None:
                    found = {item: found[item] for item in entry}
                assert found == entry, f"{where}: {key} is {found}, not {entry}"
        else:
            raise ValueError(f"{where}: nothing called {what!r} can be expected")


def _decode_case(case: Case) -> Case:
    script = [_decode_expectation(item) if isinstance(item, dict) else action_index(item) for item in case["script"]]
    decks = [[card_index(card) for card in deck.split()] for deck in case["decks"]]
    options = _decode(case["options"])
    if "deck_cards" in options:
        options["deck_cards"] = [card_index(card) for card in case["options"]["deck_cards"].split()]
    return {**case, "options": options, "decks": decks, "script": script}


def _decode_expectation(expected: dict[str, Any]) -> dict[str, Any]:
    decoded = {what: _decode(value) for what, value in expected.items()}
    if "legal" in expected:
        decoded["legal"] = [action_index(text) for text in expected["legal"]]
    return decoded


def _decode(value: Any) -> Any:
    """Every card written in the short form, wherever it stands, as its index."""
    if isinstance(value, str):
        return card_index(value) if _CARD.fullmatch(value) else value
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if isinstance(value, dict):
        return {_decode(key): _decode(item) for key, item in value.items()}
    return value
