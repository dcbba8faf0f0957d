//! The sBPF virtual machine: verifier, memory map, interpreter.
