"""A page on this machine to think with: exact curves beside one simulated connection."""
