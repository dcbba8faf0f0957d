//! Identical code folding, and what keeps functions in a program.

use selkie_isa::Version;
use selkie_link::{Icf, Input, Linked, Options, link};

use crate::{
    machine::{VERSIONS, run},
    object::{Object, Section, word},
    parts::{CALL, EXIT, function, report, symbol, undefined},
};

#[track_caller]
fn check(object: &Object, icf: Icf, functions: usize, expected: u64) -> Linked {
    let bytes = object.write();
    let linked = VERSIONS.map(|version| {
        let options = Options { version, icf, ..Options::default() };
        let linked = link(&[Input { name: "a.o", bytes: &bytes }], &options).expect("it links");
        assert_eq!(linked.functions.len(), functions, "{version}, {icf:?}: {}", linked.map());
        let run = run(&linked.elf, &[]);
        assert_eq!(run.result, Ok(()), "{version}, {icf:?}");
        assert_eq!(run.data, expected.to_le_bytes(), "{version}, {icf:?}");
        linked
    });
    let [_, last] = linked;
    last
}

fn constant(object: &mut Object, name: &str, section: &str, data: &[u8]) {
    symbol(object, name, section, data.len() as u64, 0x01);
    object.sections.push(Section {
        name: section.to_owned(),
        kind: 1,
        flags: 2,
        align: 1,
        data: data.to_vec(),
        ..Section::default()
    });
}

#[test]
fn equal_functions_share_an_address_unless_it_is_compared() {
    let mut object = Object::default();
    let mut main = vec![
        CALL,
        word(0xbf, 6, 0, 0, 0),
        CALL,
        word(0x0f, 6, 0, 0, 0),
        word(0x18, 1, 0, 0, 0),
        [0; 8],
        word(0x18, 2, 0, 0, 0),
        [0; 8],
        word(0x1d, 1, 2, 1, 0),
        word(0x07, 6, 0, 0, 2),
        word(0xbf, 0, 6, 0, 0),
    ];
    main.extend(report());
    let relocations = [(0, 10, "called"), (16, 10, "also"), (32, 1, "pointed"), (48, 1, "other")];
    function(&mut object, "entrypoint", &main, &relocations);
    for (name, value) in [("called", 20), ("also", 20), ("pointed", 1), ("other", 1)] {
        function(&mut object, name, &[word(0xb7, 0, 0, 0, value), EXIT], &[]);
    }
    check(&object, Icf::None, 5, 42);
    let safe = check(&object, Icf::Safe, 4, 42);
    assert_eq!(safe.functions[1].folded, ["also"]);
    check(&object, Icf::All, 3, 40);
}

/// Two functions with equal constants that call two equal functions, of which one calls itself.
#[test]
fn functions_that_refer_to_equal_ones_are_equal() {
    let mut object = Object::default();
    let mut main = vec![CALL, word(0xbf, 6, 0, 0, 0), CALL, word(0x0f, 0, 6, 0, 0)];
    main.extend(report());
    function(&mut object, "entrypoint", &main, &[(0, 10, "first"), (16, 10, "second")]);
    let outer = [word(0x18, 1, 0, 0, 0), [0; 8], word(0x71, 1, 1, 1, 0), CALL, EXIT];
    function(&mut object, "first", &outer, &[(0, 1, "one"), (24, 10, "down")]);
    function(&mut object, "second", &outer, &[(0, 1, "two"), (24, 10, "under")]);
    let inner = [
        word(0xbf, 0, 1, 0, 0),
        word(0x15, 1, 0, 2, 0),
        word(0x07, 1, 0, 0, -1),
        CALL,
        word(0x07, 0, 0, 0, 21),
        EXIT,
    ];
    function(&mut object, "down", &inner, &[(24, 10, "down")]);
    function(&mut object, "under", &inner, &[(24, 10, "under")]);
    constant(&mut object, "one", ".rodata..L1", &[9, 0]);
    constant(&mut object, "two", ".rodata..L2", &[9, 0]);
    let linked = check(&object, Icf::Safe, 3, 42);
    assert_eq!(linked.data.len(), 1);
    assert_eq!(linked.functions[1].folded, ["second"]);
    let user = linked.functions[2].user.as_ref().expect("it is called");
    assert_eq!((user.name.as_str(), user.addr), ("first", linked.functions[1].addr));
}

#[test]
fn variables_with_equal_values_keep_their_addresses() {
    let mut object = Object::default();
    let mut main = vec![
        word(0x18, 1, 0, 0, 0),
        [0; 8],
        word(0x18, 2, 0, 0, 0),
        [0; 8],
        word(0xb7, 0, 0, 0, 1),
        word(0x5d, 1, 2, 1, 0),
        word(0xb7, 0, 0, 0, 2),
    ];
    main.extend(report());
    function(&mut object, "entrypoint", &main, &[(0, 1, "one"), (16, 1, "two")]);
    constant(&mut object, "one", ".rodata.one", &[9, 0]);
    constant(&mut object, "two", ".rodata.two", &[9, 0]);
    check(&object, Icf::All, 1, 1);
}

#[test]
fn errors_tell_what_keeps_their_function() {
    let mut object = Object::default();
    let mut main = vec![CALL];
    main.extend(report());
    function(&mut object, "entrypoint", &main, &[(0, 10, "middle")]);
    function(&mut object, "middle", &[CALL, EXIT], &[(0, 10, "inner")]);
    function(&mut object, "inner", &[CALL, EXIT], &[(0, 10, "lost")]);
    undefined(&mut object, "lost");
    let options = Options { version: Version::V3, ..Options::default() };
    let bytes = object.write();
    let errors = link(&[Input { name: "a.o", bytes: &bytes }], &options).expect_err("it is lost");
    assert_eq!(errors[0].symbol.as_deref(), Some("inner"));
    assert_eq!(errors[0].kept_by, ["middle", "entrypoint"]);
    assert_eq!(errors[0].note().as_deref(), Some("used by middle ← entrypoint"));
}
