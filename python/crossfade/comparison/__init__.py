"""Comparison of choices: which is better, by how much, and where that changes."""
