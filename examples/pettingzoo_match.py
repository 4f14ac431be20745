"""A match of Tressette in teams through PettingZoo, random cards, told as it happens."""

import numpy as np

from settebello import tressette_v0

env = tressette_v0.env(players=4, target=21, render_mode="ansi")
env.reset(seed=7)
rng = np.random.default_rng(7)
while not env.terminations[env.agent_selection]:
    deal = env.snapshot()["deal_number"]
    env.step(int(rng.choice(np.flatnonzero(env.action_masks()))))
    snapshot = env.snapshot()
    if snapshot["over"] or snapshot["deal_number"] != deal:  # the step that plays a deal's last card counts it
        sheet = snapshot["last_deal"]
        print(f"deal {deal}: {sheet['points']}, last trick to side {sheet['last_trick']}, match {snapshot['score']}")
print(f"side {env.snapshot()['winner']} wins; rewards {env.rewards}")
