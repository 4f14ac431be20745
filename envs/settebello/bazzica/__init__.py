"""Scopa-bazzica: two players, Neapolitan deck."""
