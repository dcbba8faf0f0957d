#!/bin/sh
# Makes the objects of this folder again. They are here so that tests need no compiler: one of each
# processor, from compilers of several ages. `zig` is `python -m ziglang` of the package ziglang.
set -e
cd "$(dirname "$0")/.."
# Without the name of the folder that they were made in.
common="-O2 -ffreestanding -fwrapv -w -fdebug-compilation-dir=."
make() {
    compiler=$1 program=$2 cpu=$3
    shift 3
    "$compiler" -target bpf -mcpu="$cpu" $common "$@" -c "$program.c" -o "objects/$program.$cpu.$compiler.o"
}
stack="-mllvm -bpf-stack-size=4096"
make clang-14 program v1
make clang-19 program v2 $stack
make clang-22 program v3 $stack
make clang-22 program v4 $stack -ffunction-sections -fdata-sections
make clang-19 signed v4 $stack
make clang-14 atomics v3
make clang-22 atomics v4 $stack
make clang-19 lines v1 $stack -g
make clang-22 lines v4 $stack -g
make clang-22 lines v3 $stack -g -gdwarf-4 -ffunction-sections
make clang-19 deep v2 -mllvm -bpf-stack-size=65536 -g
python3 -m ziglang cc -target bpfel-freestanding -mcpu=v2 $common $stack -c program.c \
    -o objects/program.v2.zig.o
# With assembly beside them.
for folder in mixed/*/; do
    [ -f "$folder/program.c" ] || continue
    (cd "$folder" && clang-19 -target bpf -mcpu=v4 $common $stack -ffunction-sections \
        -fdata-sections -g -c program.c -o program.o)
done
# The examples, as their sources say.
for program in hello counter; do
    clang-22 -target bpf -mcpu=v2 -O2 -ffreestanding -I ../../include \
        -c "../../examples/c/$program.c" -o "objects/$program.o"
done
for program in program signed atomics; do
    host=$(mktemp)
    gcc -O1 -fwrapv -w -DHOST "$program.c" -o "$host"
    "$host" > "objects/$program.expected"
    rm -f "$host"
done

# Rust needs a `core` for the target first, made of the sources that fit the compiler (Debian: rustc-web
# and rust-web-src), with any crate of the name compiler_builtins beside it:
#
#     export RUSTC_BOOTSTRAP=1
#     rustc --crate-name core --edition 2024 library/core/src/lib.rs --crate-type rlib \
#         --target bpfel-unknown-none -Copt-level=3 -Cpanic=abort -Zforce-unstable-if-unmarked
#     rustc --crate-name rust --edition 2024 rust.rs.txt --crate-type staticlib \
#         --target bpfel-unknown-none -Copt-level=2 \
#         -Cpanic=abort -Clto=fat -Ctarget-cpu=v3 -L . -o librust.a
#     ar x librust.a
#     clang-22 -target bpf -mcpu=v3 -O2 -mllvm -bpf-stack-size=4096 -x ir -c rust.*.o \
#         -o objects/rust.v3.rustc-1.96.o
