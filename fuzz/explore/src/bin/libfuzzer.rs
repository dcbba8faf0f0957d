//! libFuzzer: the map is a static in the section of its extra counters. Nothing is built for fuzzing:
//! the branches of programs alone guide the search.

#![no_main]

use std::{cell::RefCell, path::Path, sync::LazyLock};

use libfuzzer_sys::fuzz_target;
use selkie_explore::{Harness, Target, folder};

/// The counters. libFuzzer clears them before each run and reads them after it.
#[unsafe(link_section = "__libfuzzer_extra_counters")]
static mut MAP: [u8; 1 << 16] = [0; 1 << 16];

static TARGET: LazyLock<Target> = LazyLock::new(selkie_fuzz_explore::target);

thread_local! {
    static HARNESS: RefCell<Harness<'static>> = RefCell::new(Harness::new(&TARGET));
}

fuzz_target!(|input: &[u8]| {
    HARNESS.with_borrow_mut(|harness| {
        let case = harness.case(input);
        // SAFETY: libFuzzer has one thread, and does not touch the counters during a run.
        let map = unsafe { (&raw mut MAP).as_mut().expect("it is a static") };
        if harness.run(&case, map).is_none() {
            return;
        }
        let finding = harness.finding(&case).expect("it fails again");
        let written = folder::write_finding(Path::new("target/selkie-findings"), &finding, None);
        panic!("{}: {}\n{}\n{written:?}", finding.what, finding.detail, finding.text);
    });
});
