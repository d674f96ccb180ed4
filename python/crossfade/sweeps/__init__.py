"""Execution of plans: by threads of this process, in shards, or on a cluster."""
