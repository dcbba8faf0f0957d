"use strict";

const assert = require("node:assert");
const test = require("node:test");

const { findTests, testAt } = require("../src/lenses.js");

const found = (lines) => findTests(lines.join("\n")).map(({ name, line }) => [name, line]);

test("tests are found with the lines of their first attributes", () => {
  const source = [
    "#[test]",
    "fn pays() {}",
    "fn helper() {}",
    "#[should_panic]",
    '#[tokio::test(flavor = "multi_thread", worker_threads = (1))]',
    "pub async fn r#fails() {}",
    "#[rstest]",
    "#[case::small([1, 2])]",
    "fn cases(#[case] it: [u8; 2]) {}",
    "#[test_case(1; \"one\")]",
    "#[test_case(2)]",
    "fn twice(it: u8) {}",
  ];
  assert.deepStrictEqual(found(source), [["pays", 0], ["fails", 3], ["cases", 6], ["twice", 9]]);
});

test("names have the modules that tests are in", () => {
  const source = [
    "mod one {",
    "    pub mod two { struct It { a: u8 } #[test] fn inner() { if true {} } }",
    "    #[test] fn outer() {}",
    "}",
    "mod elsewhere;",
    "#[test] fn last() {}",
  ];
  assert.deepStrictEqual(found(source), [["one::two::inner", 1], ["one::outer", 2], ["last", 5]]);
});

test("tests in calls of macros are found, and those that macros define are not", () => {
  const source = [
    "macro_rules! tests { ($name:ident) => { #[test] fn $name() {} } }",
    "tests! { not_here }",
    "proptest! { #[test] fn holds(it in 0..9u8) { prop_assert!(it < 9); } }",
  ];
  assert.deepStrictEqual(found(source), [["holds", 2]]);
});

test("comments, literals and other attributes have no tests", () => {
  const source = [
    "// #[test] fn a() {}",
    "/* /* */ #[test]",
    "fn b() {} */",
    'const C: &str = "#[test] fn c() {}";',
    'const D: &[u8] = br#"" #[test] fn d() {}"#;',
    "const E: char = '\"'; const BRACE: char = '{';",
    "fn life<'a>(it: &'a str) -> &'a str { it }",
    "#[cfg(test)]",
    "#[attribute(test)]",
    "fn g() {}",
    "#[test]",
    "const H: u8 = 0; fn h() {}",
    "#[cfg(test)]",
    "mod tests {",
    "    #[test]",
    "    fn f() {}",
    "}",
  ];
  assert.deepStrictEqual(found(source), [["tests::f", 14]]);
});

test("the test at a line is the last one that begins above it", () => {
  const source = "use a;\n#[test]\nfn one() {\n}\n#[test]\nfn two() {}\n";
  const names = [0, 1, 3, 4, 9].map((line) => testAt(source, line)?.name);
  assert.deepStrictEqual(names, [undefined, "one", "one", "two", "two"]);
});
