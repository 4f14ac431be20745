"""A trained network in a program of your own: the ONNX file plays four-player Tressette, with onnxruntime and NumPy alone.

Another file, written by `settebello-train export`: python examples/onnx_opponent.py exported/mine/policy.onnx
(Where two-player Tressette has no stock left, settebello's own opponents solve the ending; the file alone does not.)
"""

import sys

import gymnasium as gym
import numpy as np
import onnxruntime

import settebello  # noqa: F401  (registers the environments)
from settebello.opponents.inputs import inputs_of
from settebello.opponents.shipped import shipped_folder

DEALS = 200
IDS = {"bazzica": "Bazzica", "tressette-2p": "Tressette2p", "tressette-4p": "Tressette4p"}

path = sys.argv[1] if len(sys.argv) > 1 else str(shipped_folder("tressette-4p") / "policy.onnx")
session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
game = session.get_modelmeta().custom_metadata_map["game"]
env = gym.make(f"settebello/{IDS[game]}-v0", opponent="medium", episode="deal", reward="points")
points = []
for deal in range(DEALS):
    observation, _ = env.reset(seed=deal)
    total, over = 0.0, False
    while not over:
        # "observation" and "action_mask", int8 as they are, in a batch of one; illegal actions get a logit of -1e9.
        given = {name: array[None] for name, array in observation.items()}
        if game == "bazzica":  # what each card would take comes from the engine
            shown = inputs_of(game).of_information(env.unwrapped.information())
            given["hints"] = shown[None, observation["observation"].size :]
        (logits,) = session.run(["logits"], given)
        observation, reward, terminated, truncated, _ = env.step(int(logits[0].argmax()))
        total += reward
        over = terminated or truncated
    points.append(total)
error = 1.96 * np.std(points, ddof=1) / np.sqrt(DEALS)
mean = np.mean(points)
print(f"{game} against medium: {mean:+.2f} points per deal, 95% interval {mean - error:+.2f} to {mean + error:+.2f}")
