"""Puts the environments into Gymnasium's and PettingZoo's registries."""

import gymnasium
import pettingzoo

from settebello.game import GAMES, Game


def gymnasium_id(game: Game) -> str:
    """Id of a game in Gymnasium's registry, for example ``settebello/Tressette2p-v0``."""
    return f"settebello/{game.gym_name}-v{game.version}"


def register_gymnasium() -> None:
    """Register every game for ``gymnasium.make`` and ``gymnasium.make_vec``; what is registered already stays.

    ``make`` returns the environment without any wrapper: it checks all it is given itself.
    """
    for game in GAMES.values():
        if gymnasium_id(game) not in gymnasium.registry:
            gymnasium.register(
                id=gymnasium_id(game),
                entry_point="settebello.gym:LearnerEnv",
                vector_entry_point="settebello.vector:LearnerVectorEnv",
                order_enforce=False,
                disable_env_checker=True,
                kwargs={"game": game.id},
            )


def register_pettingzoo() -> None:
    """Register every game as ``aec`` environment, where PettingZoo has a registry (from 1.27 on)."""
    register = getattr(pettingzoo, "register", None)
    if register is None:
        return
    for game in GAMES.values():
        module = "bazzica_v0" if game.id == "bazzica" else "tressette_v0"
        name = f"settebello/{game.env_name}_v{game.version}"
        if name.replace("_v", "-v") in pettingzoo.aec_registry:  # as PettingZoo spells it
            continue
        register("aec", name, entry_point=f"settebello.{module}:env", kwargs=dict(game.fixed_options))


register_gymnasium()
register_pettingzoo()
