#!/bin/sh
# Compiles for bench/fuzz.py as cargo says; what this repository holds with LLVM's SanitizerCoverage, so that its edges
# are counted. Functions stay functions: an edge that is inlined or unrolled ten times is still one.
case "$CARGO_PKG_NAME $*" in
crossfade*--target*)
    exec "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
        -Copt-level=s -Cllvm-args=-inline-threshold=0
    ;;
esac
exec "$@"
