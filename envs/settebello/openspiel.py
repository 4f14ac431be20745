"""Tressette for OpenSpiel (Lanctot et al. 2019, "OpenSpiel: a framework for reinforcement learning in games").

Importing this module registers ``settebello_tressette_2p`` and ``settebello_tressette_4p``, one deal each::

    import pyspiel
    import settebello.openspiel

    game = pyspiel.load_game("settebello_tressette_2p", {"deck_cards": "Ad 3d Rd 4d Ac 3c Rc 4c", "hand_size": 2})

Chance is explicit and as late as possible: the hands card by card in rising order, so that every set of hands is reached in one
way only, and each card of the stock when it is drawn. The engine plays; nothing here knows the rules.
"""

import math
from collections.abc import Callable
from typing import Any, Final, Self

import numpy as np

from settebello.cards import NUM_CARDS, NUM_SUITS, card_text, cards_in, cards_text, parse_card
from settebello.errors import OptionError
from settebello.game import Game, get_game, step
from settebello.information import Information
from settebello.jit import kernel
from settebello.options import check_int
from settebello.saved import unpack
from settebello.single import NOBODY, SingleGame
from settebello.tressette.options import TressetteOptions
from settebello.tressette.rules import LAST_TRICK, NAPOLETANA_POINTS, WORTH

try:
    import pyspiel
except ImportError as error:
    raise ImportError("settebello.openspiel needs OpenSpiel: pip install 'settebello[openspiel]'") from error

PARAMETERS: Final[dict[str, Any]] = {
    "deck_cards": "",  # in text form, for example "Ad 3d 4d Ac 3c 4c"; empty: all forty
    "hand_size": 10,
    "napoletana": False,
    "reward": "points",  # of the deal, own side's minus the other side's; or "win": +1, 0, -1
    "dealer": 1,  # the seat after it leads first
}


@kernel
def _step(states: Any, action: int) -> Any:
    """Play a card; returns the seat to move (NOBODY at the end), cards dealt and drawn so far, and the reward of side 0."""
    state = states[0]
    step(state, action)
    return np.int64(state["turn"]), np.int64(state["stock_start"]), np.int64(state["reward"][0])


class TressetteGame(pyspiel.Game):
    """Two-player Tressette as OpenSpiel has games: the deal, its cards dealt by chance.

    Args:
        params: values for ``PARAMETERS``.

    Raises:
        OptionError: a value is not allowed.
    """

    game_id = "tressette-2p"

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        given = PARAMETERS | (params or {})
        self.engine: Game = get_game(self.game_id)
        deck = [parse_card(text) for text in given["deck_cards"].split()] or None
        self.options = TressetteOptions(
            players=self.engine.num_seats,
            deck_cards=deck,
            hand_size=given["hand_size"],
            napoletana=given["napoletana"],
            episode="deal",
            reward=given["reward"],
        )
        self.dealer = check_int("dealer", given["dealer"], 0, self.engine.num_seats - 1)
        self.template = self.options.record()
        self.cards = self.options.cards
        self.dealt = self.engine.num_seats * self.options.hand_size
        most = 1.0
        if self.options.reward == "points":
            most = (int(WORTH[self.cards].sum()) + LAST_TRICK) // 3 + NAPOLETANA_POINTS * NUM_SUITS * self.options.napoletana
        info = pyspiel.GameInfo(
            num_distinct_actions=self.engine.num_actions,
            max_chance_outcomes=NUM_CARDS,
            num_players=self.engine.num_seats,
            min_utility=-most,
            max_utility=most,
            utility_sum=0.0,
            max_game_length=len(self.cards),
        )
        super().__init__(_game_type(self.engine), info, params or {})

    def new_initial_state(self) -> "TressetteState":
        """The state before the first card is dealt."""
        return TressetteState(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: dict[str, Any] | None = None) -> "TressetteObserver":
        """An observer of what one player knows.

        Raises:
            OptionError: parameters were given, or another kind of observation is asked for.
        """
        kind = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        if params:
            raise OptionError(f"observer parameters {params!r}: there are none")
        if not kind.public_info or kind.private_info != pyspiel.PrivateInfoType.SINGLE_PLAYER:
            raise OptionError("observer: only what one player knows, public and private, is provided")
        return TressetteObserver(self, kind.perfect_recall)


class TressetteTeamsGame(TressetteGame):
    """Four-player Tressette; partners get the same."""

    game_id = "tressette-4p"


class TressetteState(pyspiel.State):
    """A point of a deal. Actions of players and of chance are card indices.

    Args:
        game: made by ``TressetteGame.new_initial_state``.
    """

    # Attributes are immutable: OpenSpiel clones a state by copying each of them deeply.

    def __init__(self, game: TressetteGame) -> None:
        super().__init__(game)
        self._deck: tuple[int, ...] = ()  # what chance has decided: the hands, then the cards drawn
        self._record = b""  # the game, once all hands are dealt; cards it drew beyond _deck are still open
        self._taken = game.dealt  # cards dealt and drawn in it
        self._turn = NOBODY
        self._return = 0  # of side 0
        self._before = (b"", 0, 0)  # the game before the last move, what it had returned, and that move

    # --- OpenSpiel ---------------------------------------------------------------------------------------------------------

    def current_player(self) -> int:
        """The seat to move, or OpenSpiel's id of chance or of the end."""
        if self._open:
            return int(pyspiel.PlayerId.CHANCE)
        return int(pyspiel.PlayerId.TERMINAL) if self._turn == NOBODY else self._turn

    @property
    def _open(self) -> bool:
        """Whether a card is to be dealt or drawn now."""
        return len(self._deck) < self._taken

    def is_terminal(self) -> bool:
        """Whether the deal is over."""
        return self._turn == NOBODY and not self._open

    def _legal_actions(self, player: int) -> list[int]:
        return cards_in(self._states()["legal"][0])

    def _states(self, record: bytes | None = None) -> Any:
        """An array of the record, not to be changed unless it is another one."""
        return np.frombuffer(bytearray(record or self._record), self.get_game().engine.dtype)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Cards that chance may turn up, sorted, each with its probability."""
        game = self.get_game()
        left = [card for card in game.cards if card not in self._deck]
        if self._record:
            return [(card, 1 / len(left)) for card in left]
        # Each hand in rising order: as often as the rest of the hand can be chosen from what is higher.
        place = len(self._deck) % game.options.hand_size
        if place:
            left = [card for card in left if card > self._deck[-1]]
        wanted = game.options.hand_size - place
        ways = [math.comb(len(left) - 1 - i, wanted - 1) for i in range(len(left))]
        return [(card, way / sum(ways)) for card, way in zip(left, ways, strict=True) if way]

    def _apply_action(self, action: int) -> None:
        if not self._open:
            self._before = (self._record, self._return, action)
            self._play()
            return
        self._deck += (action,)
        game = self.get_game()
        if len(self._deck) < game.dealt:
            return
        deck = [*self._deck, *(card for card in game.cards if card not in self._deck)]
        if self._record:  # the last move again, with the card now known
            record, *move = self._before
            states = self._states(record)
            states["deck"][0, : len(deck)] = deck
            self._before = (states.tobytes(), *move)
            self._play()
        else:
            single = SingleGame(game.engine, game.options)
            single.reset(0, {"deck": deck, "dealer": game.dealer})
            self._record, self._turn = single.states.tobytes(), single.turn

    def _play(self) -> None:
        record, returned, action = self._before
        states = self._states(record)
        self._turn, self._taken, reward = _step(states, action)
        self._return = returned + reward
        self._record = states.tobytes()

    def _action_to_string(self, player: int, action: int) -> str:
        return card_text(action)

    def returns(self) -> list[float]:
        """What each player got: 0 until the deal is over."""
        own = float(self._return) if self.is_terminal() else 0.0
        return [own if seat % 2 == 0 else -own for seat in range(self.get_game().engine.num_seats)]

    def __str__(self) -> str:
        return " ".join(self._texts()) if self._record else f"dealing {cards_text(self._deck)}"

    def resample_from_infostate(self, player: int, rng: Callable[[], float]) -> Self:
        """A state that the player cannot tell from this one, its hidden cards drawn uniformly over all that agree.

        Args:
            player: the seat that knows what is kept.
            rng: gives numbers from 0 to 1.

        Raises:
            OptionError: a card is to be dealt or drawn now.
        """
        game = self.get_game()
        words = [int(rng() * 2**32) for _ in range(4)]
        world, _ = unpack(game.engine, game.template, self.information(player).sample_world(np.random.default_rng(words)))
        deck = world[0]["deck"][: game.dealt].reshape(-1, game.options.hand_size)
        events = game.engine.events(world[0], 0)
        played = [event["card"] for event in events if event["kind"] in ("lead", "follow", "draw")]
        state = game.new_initial_state()
        for card in [*np.sort(deck).ravel().tolist(), *played]:
            state.apply_action(card)
        return state  # type: ignore[no-any-return]

    # --- settebello --------------------------------------------------------------------------------------------------------

    def information(self, player: int) -> Information:
        """What a seat knows.

        Raises:
            OptionError: a card is to be dealt or drawn now.
        """
        if self._open:
            raise OptionError("information: a card is to be dealt or drawn now; ask at a move or at the end")
        game = self.get_game()
        return Information(game.engine, game.options, self._states(), player)

    def row(self, player: int) -> Any:
        """The seat's observation, int8 ``(obs_size,)``; while cards are drawn that before the move, before the deal zeros."""
        game = self.get_game()
        record = self._before[0] if self._open else self._record
        if not record:
            return np.zeros(game.engine.obs_size, np.int8)
        return Information(game.engine, game.options, self._states(record), player).observation()

    def known(self, player: int) -> str:
        """All that a seat knows as text: its own cards, and what happened in the open, in order."""
        game = self.get_game()
        if not self._record:
            size = game.options.hand_size
            start = (player - game.dealer - 1) % game.engine.num_seats * size
            return f"p{player} {cards_text(self._deck[start : start + size])}"
        state = self._states()[0]
        hidden = state["deck"][len(self._deck) : self._taken].tolist()
        hand = [card for card in cards_in(state["hand"][player]) if card not in hidden]
        return f"p{player} {cards_text(hand)} | {' '.join(self._texts())}"

    def _texts(self) -> list[str]:
        """What happened in the open, a word each: ``Ad`` played, ``+Ad`` drawn, ``/0`` a trick of seat 0, ``!Ad`` shown."""
        texts = []
        game = self.get_game()
        left = len(self._deck) - game.dealt  # draws decided
        for event in game.engine.events(self._states()[0], 0):
            kind = event["kind"]
            if kind == "draw":
                left -= 1
                if left < 0:
                    break
                texts.append("+" + card_text(event["card"]))
            elif kind in ("lead", "follow"):
                texts.append(card_text(event["card"]))
            elif kind == "trick":
                texts.append(f"/{event['seat']}")
            elif kind == "napoletana":
                texts.append("!" + card_text(event["cards"][0]))
        return texts


class TressetteObserver:
    """What one player knows, as OpenSpiel's observers give it.

    The string is all of it, perfect recall. The tensor, without perfect recall only, is the observation of this package's
    environments; ``dict`` holds its parts by name.
    """

    def __init__(self, game: TressetteGame, perfect_recall: bool) -> None:
        self.tensor: Any = None
        self.dict: dict[str, Any] = {}
        if not perfect_recall:
            self.tensor = np.zeros(game.engine.obs_size, np.float32)
            self.dict = {name: self.tensor[start:stop] for name, start, stop, *_ in game.engine.obs_spec()}

    def set_from(self, state: TressetteState, player: int) -> None:
        """Fill the tensor with what a player sees."""
        if self.tensor is not None:
            self.tensor[:] = state.row(player)

    def string_from(self, state: TressetteState, player: int) -> str:
        """All that a player knows as text."""
        return state.known(player)


def _game_type(game: Game) -> Any:
    kinds = pyspiel.GameType
    return kinds(
        short_name=f"settebello_{game.env_name}",
        long_name=f"Tressette for {game.num_seats} players, one deal",
        dynamics=kinds.Dynamics.SEQUENTIAL,
        chance_mode=kinds.ChanceMode.EXPLICIT_STOCHASTIC,
        information=kinds.Information.IMPERFECT_INFORMATION,
        utility=kinds.Utility.ZERO_SUM,
        reward_model=kinds.RewardModel.TERMINAL,
        max_num_players=game.num_seats,
        min_num_players=game.num_seats,
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=PARAMETERS,
    )


# OpenSpiel holds what is registered beyond the interpreter's end: a function would be freed then, and crash; classes are not.
for _class in (TressetteGame, TressetteTeamsGame):
    pyspiel.register_game(_game_type(get_game(_class.game_id)), _class)
