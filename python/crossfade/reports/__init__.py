"""Results as a page for a browser."""
