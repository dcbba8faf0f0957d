//! Loading never panics: corrupted files load or are refused.

mod common;

use common::*;
use selkie_elf::{Environment, Sections, load};

#[test]
fn files_with_any_byte_changed_load_or_are_refused() {
    let environments = [
        environment(),
        Environment { labels: true, ..deployment() },
        Environment { optimize_rodata: true, text_at_stack: true, ..environment() },
    ];
    for file in [lenient(), strict()] {
        let mut bytes = file.bytes;
        for index in 0..bytes.len() {
            let before = bytes[index];
            for value in [0, 0x80, 0xff, before ^ 1] {
                bytes[index] = value;
                for environment in &environments {
                    if let Ok(program) = load(&bytes, environment) {
                        let _ = Sections::read(&bytes).function_names(&program);
                    }
                }
            }
            bytes[index] = before;
        }
    }
}

#[test]
fn files_truncated_at_any_byte_load_or_are_refused() {
    for file in [lenient(), strict()] {
        for length in 0..file.bytes.len() {
            assert!(load(&file.bytes[..length], &environment()).is_err(), "{length} bytes");
        }
    }
}
