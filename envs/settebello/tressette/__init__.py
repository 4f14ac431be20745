"""Tressette: two players with stock, or four in teams."""
