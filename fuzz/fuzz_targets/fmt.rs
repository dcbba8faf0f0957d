//! Formats any text. The program must stay the same, and a second pass must change nothing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use selkie_asm::{Assembly, Options, assemble, format};
use selkie_isa::Version;

fuzz_target!(|input: (u8, &str)| {
    let (choice, source) = input;
    // Loops take long to assemble, here four times; `asm_parse` covers them.
    let mut words = source.split(|it: char| !it.is_ascii_alphanumeric());
    if source.contains(".rep") && words.any(|it| it.len() > 3 && it.starts_with(char::is_numeric)) {
        return;
    }
    let Ok(formatted) = format(source, "fuzz.s") else { return };
    let again = format(&formatted, "fuzz.s").expect("what was formatted can be read");
    assert_eq!(formatted, again);
    let options = Options {
        version: Version::ALL[usize::from(choice) % Version::ALL.len()],
        ..Options::default()
    };
    let (before, after) = (assemble(source, &options), assemble(&formatted, &options));
    let messages = |output: &selkie_asm::Output| -> Vec<String> {
        output.diagnostics.iter().map(|it| it.message.clone()).collect()
    };
    assert_eq!(messages(&before), messages(&after));
    let elf = |output: selkie_asm::Output| output.assembly.as_ref().map(Assembly::to_elf);
    assert_eq!(elf(before), elf(after));
});
