//! README.md, so that its Rust is compiled and run as documentation tests.
#![doc = include_str!("../../README.md")]
