"""Results of runs: rows, results, and the files that keep them."""
