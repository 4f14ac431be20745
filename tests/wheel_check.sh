#!/usr/bin/env bash
# Builds sdist and from it the wheel, installs that with its core dependencies alone into a new venv, and plays with it in
# an empty folder. Usage: tests/wheel_check.sh [python with the package "build"]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
python=$(realpath -s "${1:-$root/.venv/bin/python}")
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT

"$python" -m build --outdir "$temp/dist" "$root" >"$temp/log" 2>&1 || { cat "$temp/log"; exit 1; }
"$python" -m venv "$temp/venv"
"$temp/venv/bin/python" -m pip install -q --no-compile "$temp"/dist/*.whl -c "$root/constraints.txt"
mkdir "$temp/empty"
cd "$temp/empty"

# -I: neither this folder nor PYTHONPATH is searched. Everything is played uncompiled, and then one game compiled.
NUMBA_DISABLE_JIT=1 "$temp/venv/bin/python" -I -W ignore::RuntimeWarning - "$temp"/dist/*.whl <<'PYTHON'
import importlib.util
import sys
import zipfile

import gymnasium
import numpy as np

import settebello
from settebello import bazzica_v0, tressette_v0
from settebello.opponents import load
from settebello.opponents.shipped import shipped_folder

for module in ("torch", "onnx", "onnxruntime"):
    assert importlib.util.find_spec(module) is None, f"the core dependencies bring {module}"
assert settebello.__file__.startswith(sys.prefix), settebello.__file__

names = zipfile.ZipFile(sys.argv[1]).namelist()
assert {"settebello/py.typed", "settebello_training/py.typed"} <= set(names), names
foreign = [n for n in names if not n.startswith(("settebello/", "settebello_training/", "settebello-"))]
assert not foreign, f"does not belong in the wheel: {foreign}"

for env in (tressette_v0.env(episode="deal"), tressette_v0.env(players=4, episode="deal"), bazzica_v0.env(episode="deal")):
    env.reset(seed=7)
    while env.agents:
        observation, _, termination, truncation, _ = env.last()
        env.step(None if termination or truncation else int(np.flatnonzero(observation["action_mask"])[0]))

for name in ("Tressette2p", "Tressette4p", "Bazzica"):
    env = gymnasium.make(f"settebello/{name}-v0", opponent="random", episode="deal")
    _, info = env.reset(seed=7)
    done = False
    while not done:
        _, _, terminated, truncated, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
        done = terminated or truncated

for game in ("tressette-2p", "tressette-4p", "bazzica"):
    batch = settebello.BatchEnv(game, 8)
    for _ in range(100):
        batch.step(batch.action_mask.argmax(axis=1))
    folder = f"settebello/checkpoints/{game}"
    files = {"manifest.json", "weights.safetensors", "critic.safetensors", "policy.onnx"}
    assert {n for n in names if n.startswith(f"{folder}/")} == {f"{folder}/{file}" for file in files}, names
    assert str(shipped_folder(game)).startswith(sys.prefix), shipped_folder(game)
    load(game, "hard", 1)  # with its critic
    rows = np.arange(8)  # looking ahead compiles for half a minute, and is no other code than in the tests
    assert batch.action_mask[rows, load(game, "hard", 1, worlds=0).act_batch(batch, rows)].all()
PYTHON
"$temp/venv/bin/python" -I - <<'PYTHON'
import settebello

batch = settebello.BatchEnv("tressette-2p", 8)
batch.step(batch.action_mask.argmax(axis=1))
PYTHON
"$temp/venv/bin/settebello" --help >/dev/null
echo "wheel: installed, played, no torch"
