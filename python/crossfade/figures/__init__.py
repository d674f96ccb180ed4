"""Figures of tables: choice of their axes and curves, and their drawing."""
