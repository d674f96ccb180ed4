"""Which choice is better, by how much, and where that changes."""
