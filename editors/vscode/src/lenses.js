// Finds the tests of a Rust source. It needs no editor.
"use strict";

/** The last parts of attributes that make a function a test: `#[test]`, `#[tokio::test]`, `#[rstest]`. */
const ATTRIBUTES = new Set(["test", "rstest", "test_case"]);

/** Returns where a block comment ends, which may contain others. */
function endOfComment(text, start) {
  let depth = 0;
  for (const part of text.slice(start).matchAll(/\/\*|\*\//g)) {
    depth += part[0] === "/*" ? 1 : -1;
    if (depth === 0) return start + part.index + 2;
  }
  return text.length;
}

/**
 * Replaces comments and literals by spaces, so that what they contain is not taken for code. Lines keep
 * their numbers.
 */
function codeOf(text) {
  const parts = [
    String.raw`\/\/[^\n]*`,
    String.raw`\/\*`,
    String.raw`\b(?:r|br|cr)(#*)"[^]*?"\1`,
    String.raw`"(?:\\[^]|[^"\\])*"`,
    String.raw`'(?:\\[^\n]+?|[^'\\\n])'`,
  ];
  const part = new RegExp(parts.join("|"), "g");
  let code = "";
  let end = 0;
  for (let found; (found = part.exec(text)); ) {
    if (found[0] === "/*") part.lastIndex = endOfComment(text, found.index);
    code += text.slice(end, found.index);
    code += text.slice(found.index, part.lastIndex).replace(/[^\n]/g, " ");
    end = part.lastIndex;
  }
  return code + text.slice(end);
}

/** Returns where the bracket that opens at `start` is closed. */
function endOfBracket(code, start) {
  let depth = 0;
  for (const { 0: sign, index } of code.slice(start).matchAll(/[[\]]/g)) {
    depth += sign === "[" ? 1 : -1;
    if (depth === 0) return start + index + 1;
  }
  return code.length;
}

/**
 * Returns the functions with an attribute such as `#[test]` or `#[tokio::test]`, in order. `name` has
 * the modules of the source that they are in, as `tests::pays`; lines count from 0: `line` is that of
 * the first attribute, `end` the one with the name.
 */
function findTests(text) {
  const code = codeOf(text);
  const lineOf = (offset) => code.slice(0, offset).split("\n").length - 1;
  const word = /#\[|\bmod\s+(?:r#)?(\w+)\s*\{|\bfn\s+(?:r#)?(\w+)|[{};]/g;
  const tests = [];
  const modules = [];
  let depth = 0;
  // The attributes before an item.
  let attributes = { isTest: false, start: undefined };
  const none = () => ({ isTest: false, start: undefined });
  for (let found; (found = word.exec(code)); ) {
    const [it, module, name] = found;
    if (it === "#[") {
      const end = endOfBracket(code, found.index + 1);
      const path = /^#\[\s*(?:\w+\s*::\s*)*(\w+)\s*[(\]]/.exec(code.slice(found.index, end));
      attributes.isTest ||= path !== null && ATTRIBUTES.has(path[1]);
      attributes.start ??= found.index;
      word.lastIndex = end;
      continue;
    }
    if (name !== undefined && attributes.isTest) {
      const path = [...modules.map((it) => it.name), name].join("::");
      tests.push({ name: path, line: lineOf(attributes.start), end: lineOf(word.lastIndex) });
    }
    if (it.endsWith("{")) depth += 1;
    if (module !== undefined) modules.push({ name: module, depth });
    if (it === "}") {
      if (modules.at(-1)?.depth === depth) modules.pop();
      depth -= 1;
    }
    attributes = none();
  }
  return tests;
}

/** Returns the test that a line is in, or the last one above it; `undefined` if there is none. */
function testAt(text, line) {
  return findTests(text).findLast((it) => it.line <= line);
}

module.exports = { findTests, testAt };
