#!/bin/sh
# Exit with 1 where the congestion control in $1 is worse than before.py, and name the run that shows it.
here=$(realpath "$(dirname "$0")")
exec crossfade compare "$here/link.toml" --by tcp.congestion --quiet \
    --over "tcp.congestion=$(realpath "$1"),$here/before.py" \
    --fail-if lower --fail-if "difference<-2%"
