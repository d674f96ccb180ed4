"""Explorer: a local page with exact curves beside one simulated connection."""
