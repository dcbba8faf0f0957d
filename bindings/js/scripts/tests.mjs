/**
 * Compiles and runs the tests: those of `test/`, and `chain.test.ts` once more with the import changed to
 * the `litesvm` package, which has the same interface.
 */

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const [OURS, PEERS] = ["selkie-svm", "litesvm"];

/** Runs a command, and ends with its exit code if it fails. */
function run(...command) {
  const { status, error } = spawnSync(command[0], command.slice(1), { cwd: root, stdio: "inherit" });
  if (status !== 0) {
    console.error(`failed: ${command.join(" ")} (${error ?? `exit code ${status}`})`);
    process.exit(1);
  }
}

/** Compiles tests, importing from a package, into a folder of `build`, and runs them. */
function check(name, packageName, tests) {
  const folder = join(root, "build", name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(join(root, "test", "tsconfig.json"), join(folder, "tsconfig.json"));
  for (const test of tests) {
    const text = readFileSync(join(root, "test", test), "utf8");
    writeFileSync(join(folder, test), text.replaceAll(`"${OURS}"`, `"${packageName}"`));
  }
  run("npx", "tsc", "--project", join("build", name, "tsconfig.json"));
  const compiled = tests.map((test) => join("build", name, test.replace(/ts$/, "js")));
  run("node", "--test", ...compiled);
}

const all = readdirSync(join(root, "test")).filter((name) => name.endsWith(".test.ts"));
check("ours", OURS, all);
check("peers", PEERS, ["chain.test.ts"]);
