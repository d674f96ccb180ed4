"""The command ``crossfade``: its parts, and a module for each command."""
