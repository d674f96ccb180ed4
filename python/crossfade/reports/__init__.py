"""HTML pages of results, of fitted links and of suites."""
