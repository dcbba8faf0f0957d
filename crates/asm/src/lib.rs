//! The sBPF assembler: source to loadable program, with diagnostics that teach.
