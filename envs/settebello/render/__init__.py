"""Renderings of a game for people."""

from settebello.render.text import render
from settebello.render.words import LANGUAGES

__all__ = ["LANGUAGES", "RENDER_MODES", "render"]

RENDER_MODES = ("ansi", "human")  # of every environment
