//! Assembles two texts to objects and links them. If that succeeds, the program must load by the rules
//! of deployment, and verify.

#![no_main]

mod linked;

use libfuzzer_sys::fuzz_target;
use selkie_asm::assemble_object;
use selkie_isa::Version;
use selkie_link::{Input, Options, link};

fuzz_target!(|input: (u8, &str, &str)| {
    let (choice, first, second) = input;
    let version = if choice & 1 == 0 { Version::V0 } else { Version::V3 };
    let options =
        selkie_asm::Options { version, strip: choice & 2 != 0, ..selkie_asm::Options::default() };
    let objects = [first, second].map(|source| {
        let output = assemble_object(source, &options);
        let _ = output.render(false);
        assert_eq!(output.assembly.is_some(), output.error_count() == 0);
        output.assembly.map(|object| object.elf)
    });
    let names = ["a.o", "b.o"];
    let objects = objects.iter().flatten();
    let inputs: Vec<Input<'_>> =
        objects.zip(names).map(|(bytes, name)| Input { name, bytes }).collect();
    let options = Options { version, strip: choice & 4 != 0, ..Options::default() };
    let linked = match link(&inputs, &options) {
        Ok(linked) => linked,
        Err(errors) => {
            assert!(errors.iter().all(|it| !it.message.contains("broken")), "{errors:?}");
            return;
        }
    };
    linked::check(&linked);
});
