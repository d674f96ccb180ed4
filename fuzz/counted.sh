#!/bin/sh
# Compiler wrapper of bench/fuzz.py: runs the compiler as cargo asks, and adds LLVM's SanitizerCoverage for crates of
# this repository, so that their edges are counted. Functions are not inlined: an inlined edge would count several times.
case "$CARGO_PKG_NAME $*" in
crossfade*--target*)
    exec "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
        -Copt-level=s -Cllvm-args=-inline-threshold=0
    ;;
esac
exec "$@"
