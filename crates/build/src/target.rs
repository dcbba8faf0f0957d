//! The target specification for rustc.

use serde_json::json;

use crate::{collect, llvm::Llvm};

/// Arguments that rustc passes to LLVM: large frames are allowed, since the linker checks those of
/// functions that are used; operations without an instruction become calls; `switch` does not use
/// jump tables, for which sBPF has no instruction.
///
/// Memory is copied and set in place with up to 8 stores, and by a syscall beyond. Token takes 1.7 % more
/// compute units with 4 stores; with LLVM's own limit, it takes 0.9 % more, and 7 % more bytes.
///
/// A call behind many checks is cold to LLVM, since it takes each check for a coin that is tossed, and
/// is inlined only below a cost of 45. That is just too little for serde's reading of a byte, whose
/// call costs more than itself: the last 23 of the 32 bytes of an address were read by calls.
const LLVM_ARGUMENTS: &[&str] = &[
    "-bpf-stack-size=1048576",
    "-bpf-allows-libcalls",
    "-disable-gotox",
    "-bpf-max-stores-per-memfunc=8",
    "-inline-cold-callsite-threshold=55",
];

/// The name of the target, which is also that of its file and of cargo's folder for it. All versions
/// of sBPF share it, since only linking differs.
pub(crate) const NAME: &str = "sbpf-selkie-solana";

/// The environment variable that tells cargo the linker of the target.
pub(crate) const LINKER_VARIABLE: &str = "CARGO_TARGET_SBPF_SELKIE_SOLANA_LINKER";

/// Returns the target specification as JSON.
///
/// The CPU is v4, since older ones lack signed division; the linker expands the instructions that
/// sBPF lacks. The target has a single thread, so LLVM makes atomic accesses plain ones where it can;
/// [`crate::overlay`] does it for those of the standard library.
pub(crate) fn specification(llvm: &Llvm) -> String {
    let target = json!({
        "arch": "bpf",
        "os": "solana",
        "vendor": "solana",
        "target-family": ["solana"],
        "llvm-target": "bpfel",
        "data-layout": llvm.data_layout(),
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
    fn linker_variable_has_the_name_that_cargo_derives() {
        let name = NAME.to_uppercase().replace('-', "_");
        assert_eq!(LINKER_VARIABLE, format!("CARGO_TARGET_{name}_LINKER"));
    }
}
