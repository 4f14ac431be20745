"""Small games in sequence form (Koller, Megiddo and von Stengel 1996, "Efficient computation of equilibria for extensive
two-person games"): exact exploitability of any policy, and CFR+, as passes over arrays.

A sequence is an information state of a player and one of its actions there; number 0 is the empty one. Information states in
which there is nothing to choose have none. With perfect recall all that leads to an information state on its player's side is
one sequence, so each player's sequences are a tree, and what the game pays is one table over pairs of sequences.
"""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from settebello_training.errors import TrainingError

Vector = NDArray[np.float64]  # a number for each sequence of a player


@dataclasses.dataclass(frozen=True)
class Level:
    """Information states of one player with as many own choices before them, I of them with S sequences.

    Attributes:
        sequences: (S,) int64, those of a state side by side.
        starts: (I,) int64, where in ``sequences`` those of each state begin.
        state: (S,) int64, place in the level of each sequence's state.
        parent: (I,) int64, the player's sequence that leads to each state.
    """

    sequences: NDArray[np.int64]
    starts: NDArray[np.int64]
    state: NDArray[np.int64]
    parent: NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class Player:
    """What one player can choose, in I information states with S - 1 sequences besides the empty one.

    Attributes:
        names: information state strings, I of them.
        rows: (I, n), what was observed in each.
        state: (S,) int64, information state of each sequence; -1 for the empty one.
        action: (S,) int64, its action; -1 for the empty one.
        uniform: (S,) the uniform policy: 1 over the number of actions; 1 for the empty sequence.
        levels: from the top down.
    """

    names: list[str]
    rows: NDArray[Any]
    state: NDArray[np.int64]
    action: NDArray[np.int64]
    uniform: Vector
    levels: list[Level]

    def plan(self, policy: Vector) -> Vector:
        """The chance that the player's own choices go along each sequence, for a policy (a probability for each sequence)."""
        plan = policy.copy()
        for level in self.levels:
            plan[level.sequences] *= plan[level.parent][level.state]
        return plan

    def best(self, gain: Vector) -> float:
        """What the best policy gets, where following a sequence to its ends gives ``gain``."""
        total = gain.copy()
        for level in reversed(self.levels):
            np.add.at(total, level.parent, np.maximum.reduceat(total[level.sequences], level.starts))
        return float(total[0])

    def regret(self, gain: Vector, policy: Vector) -> Vector:
        """By how much each action beats the policy, weighted by the chance that all but this player get there."""
        total, regret = gain.copy(), np.zeros_like(gain)
        for level in reversed(self.levels):
            of_action = total[level.sequences]
            of_state = np.add.reduceat(policy[level.sequences] * of_action, level.starts)
            regret[level.sequences] = of_action - of_state[level.state]
            np.add.at(total, level.parent, of_state)
        return regret

    def normalised(self, weights: Vector) -> Vector:
        """The policy proportional to weights from 0 up; uniform where all are 0."""
        policy = self.uniform.copy()
        for level in self.levels:
            sums = np.add.reduceat(weights[level.sequences], level.starts)[level.state]
            some = sums > 0
            policy[level.sequences[some]] = weights[level.sequences[some]] / sums[some]
        return policy

    def most_probable(self, policy: Vector) -> Vector:
        """The policy that always takes the action with the highest probability, of equal ones the first."""
        pure = np.zeros_like(policy)
        pure[0] = 1
        for level in self.levels:
            chances = policy[level.sequences]
            highest = np.maximum.reduceat(chances, level.starts)[level.state]
            _, first = np.unique(level.state[chances == highest], return_index=True)
            pure[level.sequences[chances == highest][first]] = 1
        return pure


@dataclasses.dataclass(frozen=True)
class SequenceGame:
    """A two-player zero-sum game.

    Attributes:
        players: both.
        ends: (2, E) int64, pairs of sequences with which plays end.
        payoff: (E,) what player 0 gets there, times the chance of the cards.
    """

    players: tuple[Player, Player]
    ends: NDArray[np.int64]
    payoff: Vector

    def gain(self, player: int, other_plan: Vector) -> Vector:
        """What each sequence of a player gives it at its ends, when the other one follows a plan."""
        payoff = self.payoff if player == 0 else -self.payoff
        own, other = self.ends[player], self.ends[1 - player]
        size = len(self.players[player].action)
        return np.bincount(own, payoff * other_plan[other], size).astype(np.float64)

    def value(self, policies: tuple[Vector, Vector]) -> float:
        """What player 0 gets."""
        first, second = (player.plan(policy) for player, policy in zip(self.players, policies, strict=True))
        return float(self.gain(0, second) @ first)

    def exploitability(self, policies: tuple[Vector, Vector]) -> float:
        """What the best answers to the policies get, mean over the two players; 0 exactly at equilibrium."""
        best = [self.players[k].best(self.gain(k, self.players[1 - k].plan(policies[1 - k]))) for k in range(2)]
        return sum(best) / 2


class _Sequences:
    """Information states and sequences of a player while the tree is walked."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self.rows: list[Any] = []
        self.first: list[int] = []
        self.parent: list[int] = []
        self.action = [-1]
        self.state = [-1]

    def first_sequence(
        self, state: Any, player: int, actions: list[int], parent: int, observe: Callable[[Any, int], Any]
    ) -> int:
        """Number of the first sequence of an information state."""
        name = state.information_state_string(player)
        place = self.places.setdefault(name, len(self.places))
        if place == len(self.first):
            self.rows.append(observe(state, player))
            self.first.append(len(self.action))
            self.parent.append(parent)
            self.action += actions
            self.state += [place] * len(actions)
        if self.parent[place] != parent:
            raise TrainingError(f"information state {name!r}: reached by other choices of player {player}; no perfect recall")
        return self.first[place]

    def finish(self) -> Player:
        """All of it as arrays."""
        state, first, parent = np.array(self.state), np.array(self.first), np.array(self.parent)
        count = np.bincount(state[1:], minlength=len(first))
        depth = np.zeros(len(first), np.int64)
        for place in range(len(first)):  # parents come before their children
            depth[place] = depth[state[parent[place]]] + 1 if parent[place] else 0
        levels = []
        for number in range(int(depth.max()) + 1 if len(first) else 0):
            chosen = np.flatnonzero(depth == number)
            starts = np.cumsum(count[chosen]) - count[chosen]
            of = np.repeat(np.arange(len(chosen)), count[chosen])
            levels.append(Level(first[chosen][of] + np.arange(len(of)) - starts[of], starts, of, parent[chosen]))
        uniform = np.ones(len(state))
        uniform[1:] /= count[state[1:]]
        return Player(list(self.places), np.array(self.rows), state, np.array(self.action), uniform, levels)


def sequence_form(game: Any, observe: Callable[[Any, int], Any]) -> SequenceGame:
    """Walk through the whole tree of a game of OpenSpiel's.

    Args:
        game: for two players, zero-sum, with explicit chance and information state strings of perfect recall.
        observe: what is to be kept of each information state, of (state, player).

    Raises:
        TrainingError: an information state string forgets what its player chose.
    """
    sides = (_Sequences(), _Sequences())
    ends: list[tuple[int, int]] = []
    payoff: list[float] = []
    stack = [(game.new_initial_state(), 1.0, (0, 0))]
    while stack:
        state, chance, at = stack.pop()
        if state.is_terminal():
            ends.append(at)
            payoff.append(chance * state.returns()[0])
        elif state.is_chance_node():
            stack += [(state.child(card), chance * share, at) for card, share in state.chance_outcomes()]
        else:
            player, actions = state.current_player(), state.legal_actions()
            if len(actions) == 1:
                state.apply_action(actions[0])
                stack.append((state, chance, at))
                continue
            first = sides[player].first_sequence(state, player, actions, at[player], observe)
            for place, action in enumerate(actions):
                then = (first + place, at[1]) if player == 0 else (at[0], first + place)
                stack.append((state.child(action), chance, then))
    first_player, second_player = (side.finish() for side in sides)
    pairs = np.array(ends).T
    _, kept, same = np.unique(pairs[0] * len(second_player.action) + pairs[1], return_index=True, return_inverse=True)
    merged = np.bincount(same, np.array(payoff)).astype(np.float64)
    return SequenceGame((first_player, second_player), pairs[:, kept], merged)


def cfr_plus(game: SequenceGame) -> Iterator[tuple[Vector, Vector]]:
    """Average policies of CFR+ after each iteration, without end (Tammelin 2014, "Solving large imperfect information games
    using CFR+"): alternating updates, regrets not below 0, iteration t weighs t in the average."""
    players = game.players
    policy = [player.uniform for player in players]
    regret = [np.zeros_like(player.uniform) for player in players]
    average = [np.zeros_like(player.uniform) for player in players]
    iteration = 0
    while True:
        iteration += 1
        for k, player in enumerate(players):
            average[k] += iteration * player.plan(policy[k])
            gain = game.gain(k, players[1 - k].plan(policy[1 - k]))
            regret[k] = np.maximum(regret[k] + player.regret(gain, policy[k]), 0)
            policy[k] = player.normalised(regret[k])
        yield players[0].normalised(average[0]), players[1].normalised(average[1])
