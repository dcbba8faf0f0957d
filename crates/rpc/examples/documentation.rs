//! Prints `docs/rpc.md`, for `cargo xtask codegen`.

#![allow(clippy::print_stdout, reason = "the text is for a pipe")]

fn main() {
    print!("{}", selkie_rpc::documentation());
}
