// Finds the tests of a Rust source, and makes the commands that debug them. It needs no editor.
"use strict";

const fs = require("node:fs");
const path = require("node:path");

/** The folder to which failed transactions are written, within the folder of the package. */
const RECORDINGS = "target/selkie-replays";

/**
 * Replaces comments and literals by spaces, so that what they contain is not taken for code. Lines keep
 * their numbers.
 */
function codeOf(text) {
  const parts = [
    String.raw`\/\/[^\n]*`,
    String.raw`\/\*[^]*?\*\/`,
    String.raw`\br(#*)"[^]*?"\1`,
    String.raw`"(?:\\[^]|[^"\\])*"`,
    String.raw`'(?:\\[^\n]+?|[^'\\\n])'`,
  ];
  return text.replace(new RegExp(parts.join("|"), "g"), (it) => it.replace(/[^\n]/g, " "));
}

/**
 * Returns the functions with an attribute `#[test]`, or one that ends in `::test` such as
 * `#[tokio::test]`: `{ name, line }`, with the line of the attribute from 0.
 */
function findTests(text) {
  const code = codeOf(text);
  const attribute = /#\[\s*(?:\w+\s*::\s*)*test\s*(?:\([^)]*\)\s*)?\]/g;
  // Other attributes and qualifiers may stand between the attribute and `fn`.
  const item = /^\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?(?:unsafe\s+)?fn\s+(?:r#)?(\w+)/;
  const tests = [];
  for (const found of code.matchAll(attribute)) {
    const name = item.exec(code.slice(found.index + found[0].length));
    if (name) {
      const line = code.slice(0, found.index).split("\n").length - 1;
      tests.push({ name: name[1], line });
    }
  }
  return tests;
}

/** Returns the nearest folder above a file that has recordings, or `undefined`. */
function recordingsAbove(file) {
  let folder = path.dirname(file);
  while (!fs.existsSync(path.join(folder, RECORDINGS))) {
    if (path.dirname(folder) === folder) return undefined;
    folder = path.dirname(folder);
  }
  return path.join(folder, RECORDINGS);
}

/** Returns the file in a folder of recordings that was written last, or `undefined`. */
function lastRecording(folder) {
  const files = fs.readdirSync(folder, { withFileTypes: true }).filter((it) => it.isFile());
  const dated = files.map(({ name }) => {
    const file = path.join(folder, name);
    return { file, time: fs.statSync(file).mtimeMs };
  });
  return dated.sort((a, b) => b.time - a.time)[0]?.file;
}

/** Returns the arguments of `selkie` that debug a test's failed transaction, or without a name any. */
function debugArguments(recordings, name) {
  return ["debug", ...(name === undefined ? [] : ["--test", name]), recordings];
}

module.exports = { RECORDINGS, findTests, recordingsAbove, lastRecording, debugArguments };
