"""Figures of a table: what they show, how they are drawn."""
