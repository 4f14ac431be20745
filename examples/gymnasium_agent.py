"""Points per deal of a simple rule at Scopa-bazzica against the random player, through Gymnasium."""

import gymnasium as gym
import numpy as np

import settebello  # noqa: F401  (registers the environments)

DEALS = 200
DECLARE = 100

env = gym.make("settebello/Bazzica-v0", opponent="random", episode="deal", reward="points")
rng = np.random.default_rng(0)
points = []
for deal in range(DEALS):
    observation, info = env.reset(seed=deal)
    total, over = 0.0, False
    while not over:
        legal = np.flatnonzero(info["action_mask"])
        action = DECLARE if DECLARE in legal else rng.choice(legal)  # declares whenever it may, else plays at random
        observation, reward, terminated, truncated, info = env.step(int(action))
        total += reward
        over = terminated or truncated
    points.append(total)
error = 1.96 * np.std(points, ddof=1) / np.sqrt(DEALS)
print(f"{np.mean(points):+.2f} points per deal, 95% interval {np.mean(points) - error:+.2f} to {np.mean(points) + error:+.2f}")
