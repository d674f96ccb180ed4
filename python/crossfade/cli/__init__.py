"""The command ``crossfade``: its entry point, a module for each subcommand, and their shared parts."""
