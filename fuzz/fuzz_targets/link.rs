//! Links any bytes as an object or an archive. If that succeeds, the program must load by the rules
//! of deployment, and verify.

#![no_main]

mod linked;

use libfuzzer_sys::fuzz_target;
use selkie_isa::Version;
use selkie_link::{Icf, Input, Options, Statics, link};

fuzz_target!(|bytes: &[u8]| {
    // Flags come last, so that objects can be seeds as they are.
    let flags = bytes.last().copied().unwrap_or_default();
    let options = Options {
        version: if flags & 1 == 0 { Version::V0 } else { Version::V3 },
        strip: flags & 2 != 0,
        statics: if flags & 4 == 0 { Statics::Heap } else { Statics::Refuse },
        icf: if flags & 8 == 0 { Icf::Safe } else { Icf::All },
        ..Options::default()
    };
    let Ok(linked) = link(&[Input { name: "a.o", bytes }], &options) else { return };
    linked::check(&linked);
});
