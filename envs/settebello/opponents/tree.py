"""Monte Carlo tree search with all cards open, for the opponent that cheats."""

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from settebello.bits import advance, below
from settebello.game import play_out, step, write_mask
from settebello.jit import call, kernel
from settebello.opponents.flat import MAX_ACTIONS, NO_VALUE, PLAYED
from settebello.utility import deal_worth

MAX_DEPTH: Final = 256
NODE_DTYPE: Final = np.dtype(
    [
        ("total", np.float64),  # worth to the side that took the action
        ("visits", np.int32),
        ("child", np.int32),  # first one; 0: none
        ("sibling", np.int32),  # next one; 0: none
        ("action", np.int32),
    ],
    align=True,
)


def new_tree(nodes: int) -> npt.NDArray[Any]:
    """Room for a tree of so many nodes besides the root."""
    return np.zeros(nodes + 1, NODE_DTYPE)


@kernel
def tree_search(
    states: Any,
    nodes: int,
    exploration: float,
    scratch: Any,
    utility: Any,
    policy: Any,
    tree: Any,
    values: Any,
    word: Any,
) -> int:
    """The action most visited by UCT (Kocsis and Szepesvári 2006) with play-outs by a policy.

    Args:
        states: array of one full record.
        nodes: play-outs, each of which adds a node.
        exploration: points of a deal that the square root in UCB1 is multiplied by.
        scratch: array of records with the options of ``states``.
        utility: see ``settebello.utility``.
        policy: see ``play_out``.
        tree: of ``new_tree(nodes)``.
        values: float64 ``(num_actions,)``, filled with mean worths to the side of the seat to move; NO_VALUE where not legal.
        word: of the random stream.
    """
    mask8 = np.zeros(MAX_ACTIONS, np.int8)
    mask64 = mask8.view(np.uint64)
    path = np.empty(MAX_DEPTH, np.int64)
    sides = np.empty(MAX_DEPTH, np.int64)
    tree[0]["child"] = 0
    for new in range(1, nodes + 1):
        scratch[PLAYED] = states[0]
        state = scratch[PLAYED]
        state["single_deal"] = 1
        node = np.int64(0)
        depth = np.int64(0)
        result = 0.0
        while True:
            if state["over"]:
                result = deal_worth(state, utility)
                break
            write_mask(state, mask64)
            visits = 0.0
            child = np.int64(tree[node]["child"])
            while child != 0:
                mask8[np.int64(tree[child]["action"])] = 0
                visits += np.float64(tree[child]["visits"])
                child = np.int64(tree[child]["sibling"])
            untried = np.int64(0)
            for action in range(len(values)):
                untried += mask8[action]
            sides[depth] = np.int64(state["turn"]) % 2
            if untried > 0:
                word = advance(word)
                chosen = np.int64(call(policy, state, word))
                if not mask8[chosen]:
                    place = below(word, untried)
                    for action in range(len(values)):
                        if mask8[action]:
                            if place == 0:
                                chosen = np.int64(action)
                            place -= 1
                for action in range(len(values)):
                    mask8[action] = 0
                tree[new]["action"] = chosen
                tree[new]["total"] = 0.0
                tree[new]["visits"] = 0
                tree[new]["child"] = 0
                tree[new]["sibling"] = tree[node]["child"]
                tree[node]["child"] = new
                path[depth] = new
                depth += 1
                result = play_out(state, chosen, policy, np.int64(MAX_DEPTH), utility, word)
                break
            best = np.int64(0)
            best_bound = -np.inf
            child = np.int64(tree[node]["child"])
            while child != 0:
                tried = np.float64(tree[child]["visits"])
                bound = tree[child]["total"] / tried + exploration * math.sqrt(math.log(visits) / tried)
                if bound > best_bound:
                    best_bound = bound
                    best = child
                child = np.int64(tree[child]["sibling"])
            step(state, np.int64(tree[best]["action"]))
            path[depth] = best
            depth += 1
            node = best
        for k in range(depth):
            tree[path[k]]["visits"] += 1
            tree[path[k]]["total"] += result if sides[k] == 0 else -result
    for action in range(len(values)):
        values[action] = NO_VALUE
    best = np.int64(0)
    child = np.int64(tree[0]["child"])
    while child != 0:
        values[np.int64(tree[child]["action"])] = tree[child]["total"] / tree[child]["visits"]
        if best == 0 or tree[child]["visits"] > tree[best]["visits"]:
            best = child
        child = np.int64(tree[child]["sibling"])
    return np.int64(tree[best]["action"])
