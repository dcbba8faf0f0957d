//! The programs that are part of the Solana runtime.

#![forbid(unsafe_code)]
