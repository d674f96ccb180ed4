"""Plans carried out: by threads, in shards, on a cluster."""
