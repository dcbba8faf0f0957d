//! The target that rustc compiles for, and what it says to its linker.

use serde_json::json;

use crate::collect;

/// What rustc passes to LLVM: frames may be as large as they like, since the linker judges those of
/// functions that are used; what has no instruction is a call; `switch` is no jump through a table,
/// which sBPF has no instruction for.
const LLVM_ARGUMENTS: &[&str] =
    &["-bpf-stack-size=1048576", "-bpf-allows-libcalls", "-disable-gotox"];

/// The name of the target: of its file, and of cargo's folder for it. It is one for every version
/// of sBPF: in that linking differs, and nothing before.
pub(crate) const NAME: &str = "sbpf-selkie-solana";

/// The variable by which cargo is told the linker of the target.
pub(crate) const LINKER_VARIABLE: &str = "CARGO_TARGET_SBPF_SELKIE_SOLANA_LINKER";

/// The target as rustc reads it.
///
/// eBPF's newest instructions: what sBPF has not is expressed by the linker, and those of before v4
/// cannot divide signed numbers. It is one thread's machine, so that what is atomic elsewhere is a
/// plain access (`-Cpasses=lower-atomic`).
pub(crate) fn specification() -> String {
    let target = json!({
        "arch": "bpf",
        "os": "solana",
        "vendor": "unknown",
        "llvm-target": "bpfel",
        "data-layout": "e-m:e-p:64:64-i64:64-i128:128-n32:64-S128",
        "target-pointer-width": 64,
        "cpu": "v4",
        "features": "+allows-misaligned-mem-access",
        "llvm-args": LLVM_ARGUMENTS,
        "max-atomic-width": 64,
        "atomic-cas": true,
        "singlethread": true,
        "panic-strategy": "abort",
        "merge-functions": "disabled",
        "no-builtins": false,
        "obj-is-bitcode": false,
        "dynamic-linking": true,
        "position-independent-executables": true,
        "crt-objects-fallback": "false",
        "linker-flavor": "bpf",
        "linker-is-gnu": false,
        "pre-link-args": { "bpf": [collect::ARGUMENT] },
    });
    format!("{target:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_is_named_as_cargo_derives_it() {
        let name = NAME.to_uppercase().replace('-', "_");
        assert_eq!(LINKER_VARIABLE, format!("CARGO_TARGET_{name}_LINKER"));
    }
}
