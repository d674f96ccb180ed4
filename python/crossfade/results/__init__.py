"""What a run gives: rows, results, and the files that keep them."""
