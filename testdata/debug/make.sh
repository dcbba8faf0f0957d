#!/bin/sh
# Makes the programs of this folder again, with the compilers whose debug information tests are about.
# In a folder that is not of this machine alone, since debug information names it.
set -e
cd "$(dirname "$0")"
place="$(dirname "$(mktemp -u)")/stack"
mkdir -p "$place"
cp stack.c "$place"
for compiler in clang-19 clang-22 ziglang; do
    (cd "$place" && XDG_CACHE_HOME="$place" selkie build stack.c --toolchain "$compiler" --debug -o stack.so)
    cp "$place/stack.so" "stack.$compiler.so"
done
rm -r "$place"
