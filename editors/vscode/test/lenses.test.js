// Run by `node --test editors/vscode/test/`.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const test = require("node:test");

const { RECORDINGS, debugArguments, findTests, lastRecording, recordingsAbove } = require("../lenses.js");

test("tests are found with the lines of their attributes", () => {
  const source = [
    "#[test]",
    "fn pays() {}",
    "fn helper() {}",
    "#[tokio::test(flavor = \"multi_thread\")]",
    "#[should_panic]",
    "pub async fn r#fails() {}",
  ].join("\n");
  assert.deepStrictEqual(findTests(source), [
    { name: "pays", line: 0 },
    { name: "fails", line: 3 },
  ]);
});

test("comments and literals have no tests", () => {
  const source = [
    "// #[test] fn a() {}",
    "/* #[test]",
    "fn b() {} */",
    'const C: &str = "#[test] fn c() {}";',
    'const D: &str = r#"" #[test] fn d() {}"#;',
    "const E: char = '\"';",
    "fn life<'a>(it: &'a str) -> &'a str { it }",
    "#[cfg(test)]",
    "mod tests {",
    "    #[test]",
    "    fn f() {}",
    "}",
  ].join("\n");
  assert.deepStrictEqual(findTests(source), [{ name: "f", line: 9 }]);
});

test("a test is debugged by its name, and a recording without one", () => {
  assert.deepStrictEqual(debugArguments("runs", "pays"), ["debug", "--test", "pays", "runs"]);
  assert.deepStrictEqual(debugArguments("runs/a"), ["debug", "runs/a"]);
});

test("recordings are those of the nearest folder, and the last one is the newest", () => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "selkie-lenses-"));
  try {
    const source = path.join(root, "program", "tests", "pays.rs");
    assert.strictEqual(recordingsAbove(source), undefined);
    const folder = path.join(root, RECORDINGS);
    fs.mkdirSync(folder, { recursive: true });
    assert.strictEqual(recordingsAbove(source), folder);
    assert.strictEqual(lastRecording(folder), undefined);
    for (const [name, time] of [["a", 20], ["b", 10]]) {
      fs.writeFileSync(path.join(folder, name), "");
      fs.utimesSync(path.join(folder, name), time, time);
    }
    assert.strictEqual(lastRecording(folder), path.join(folder, "a"));
  } finally {
    fs.rmSync(root, { recursive: true });
  }
});
