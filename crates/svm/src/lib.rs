//! The Solana runtime: accounts, instructions, syscalls.
