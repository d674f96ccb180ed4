#!/bin/sh
# Exits with 1 if the congestion control in file $1 is worse than before.py, and names the run that shows it.
here=$(realpath "$(dirname "$0")")
exec crossfade compare "$here/link.toml" --by tcp.congestion --quiet \
    --over "tcp.congestion=$(realpath "$1"),$here/before.py" \
    --fail-if lower --fail-if "difference<-2%"
