#!/bin/sh
# Example of the command line: a figure, a table and the best choice. Usage: sh examples/throughput.sh [FOLDER]
set -eu
folder=${1:-out/throughput}
mkdir -p "$folder"
cd "$folder"

# Changed axes of the shipped scenario: fewer loss rates, two TCP variants.
set -- --over channel.p_e=0.01,0.03,0.1 --over tcp.variant=tahoe,reno --quiet

crossfade sweep quickstart "$@" --runs 20 --out results.sqlite
crossfade plot results.sqlite --y throughput_per_slot --out throughput.png
crossfade export results.sqlite --to csv --out results.csv
crossfade best results.sqlite --choose tcp.variant
crossfade cite --text
