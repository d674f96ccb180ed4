"""Results of runs: rows of runs, points with estimates, and the files that keep them."""
