// Profiles as others read them: speedscope, Datadog's pprof-format, and Go's pprof if it is there.
//
//   node profiles.mjs FOLDER
//
// The folder has the profiles, and what Selkie says itself: `profile.json` and `trace.json`.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { Profile } from "pprof-format";
import { profiles } from "./speedscope.mjs";

const folder = process.argv[2];
const json = (name) => JSON.parse(readFileSync(join(folder, name), "utf8"));
const { transactions } = json("trace.json");
const { compute_units, functions, programs, syscalls } = json("profile.json");

const sum = (numbers) => numbers.reduce((left, right) => left + Number(right), 0);
const units = sum(transactions.map((it) => it.compute_units));
const steps = sum(transactions.map((it) => it.steps));
assert.equal(compute_units, units, "the profile has the units of the receipts");
assert.ok(functions.length > 10 && transactions.length > 1, "there is something to read");

/** Adds up by name what two programs may have under one name. */
function byName(rows) {
  const result = {};
  for (const [name, number] of rows) {
    if (Number(number) !== 0) result[name] = (result[name] ?? 0) + Number(number);
  }
  return result;
}

// What Selkie's own tables say of each name: programs, of which builtin ones have no functions, functions
// and syscalls; the units without those below, and with them.
const inside = [...functions, ...syscalls];
const expected = programs.map(({ name, own, total }) => {
  const below = sum(inside.filter((it) => it.program === name).map((it) => it.own));
  return { name, self: own - below, total };
});
expected.push(...inside.map(({ name, own, total }) => ({ name, self: own, total })));

/** Checks a table of names with units. */
function check(reader, rows, nameIn = (name) => name) {
  for (const column of ["self", "total"]) {
    const found = byName(rows.map((it) => [it.name, it[column]]));
    const wanted = byName(expected.map((it) => [nameIn(it.name), it[column]]));
    assert.deepEqual(found, wanted, `${reader}: the units of each name, ${column}`);
  }
}

for (const [file, name, unit] of [
  ["units.speedscope.json", "units.speedscope.json", "none"],
  ["units.cpuprofile", "units.cpuprofile", "microseconds"],
  ["units.folded", "units.collapsedstack.txt", "none"],
]) {
  const [profile, ...others] = await profiles(join(folder, file), name);
  assert.equal(others.length, 0, `${file} has one profile`);
  assert.equal(profile.total, units, `${file}: the units of the receipts`);
  assert.equal(profile.unit, unit, `${file}: the unit`);
  // Folded stacks use semicolons themselves.
  const nameIn = (name) => (file.endsWith(".folded") ? name.replaceAll(";", ":") : name);
  check(`speedscope on ${file}`, profile.frames, nameIn);
  console.log(`speedscope    ${file}: ${profile.total} units`);
}

// speedscope shows the outermost of inlined functions only, so that the names are checked below.
const [pprof] = await profiles(join(folder, "units.pb"), "units.pb");
assert.equal(pprof.total, units, "units.pb in speedscope: the units of the receipts");
console.log(`speedscope    units.pb: ${pprof.total} units`);

const profile = Profile.decode(gunzipSync(readFileSync(join(folder, "units.pb"))));
const text = (index) => profile.stringTable.strings[Number(index)];
const types = profile.sampleType.map((it) => `${text(it.type)}/${text(it.unit)}`);
const at = (name) => {
  const index = types.findIndex((it) => it.startsWith(`${name}/`));
  assert.ok(index >= 0, `units.pb has samples of ${name}: ${types}`);
  return index;
};
const column = (index) => sum(profile.sample.map((it) => it.value[index]));
assert.equal(column(at("compute_units")), units, "units.pb: the units of the receipts");
assert.equal(column(at("instructions")), steps, "units.pb: the steps of the transactions");
assert.equal(text(profile.defaultSampleType), "compute_units", "units.pb: what readers show first");
const functionNames = new Map(profile.function.map((it) => [it.id, text(it.name)]));
const lines = new Map(profile.location.map((it) => [it.id, it.line]));
const rows = profile.sample.flatMap((sample) => {
  const names = sample.locationId.flatMap((id) => lines.get(id)).map((it) => functionNames.get(it.functionId));
  const value = sample.value[at("compute_units")];
  const above = [...new Set(names)].map((name) => ({ name, self: 0, total: value }));
  return [{ name: names[0], self: value, total: 0 }, ...above];
});
check("pprof-format", rows);
console.log(`pprof-format  units.pb: ${column(at("compute_units"))} units, ${column(at("instructions"))} instructions`);

const go = (sample) => {
  const options = ["tool", "pprof", "-top", "-nodecount=100000", "-nodefraction=0", "-edgefraction=0"];
  const args = [...options, `-sample_index=${sample}`, join(folder, "units.pb")];
  return spawnSync("go", args, { encoding: "utf8" });
};
const printed = go("compute_units");
if (printed.error) {
  console.log("go tool pprof is not installed");
} else {
  assert.equal(printed.status, 0, printed.stderr);
  const number = (text) => Number(text.match(/^[\d.]+/)[0]);
  const table = (output) => {
    const rows = output.split("\n").map((it) => it.match(/^\s*(\S+)\s+\S+%\s+\S+%\s+(\S+)\s+\S+%\s+(.*)$/));
    return rows.filter(Boolean).map(([, self, total, name]) => {
      return { name: name.replace(/ \(inline\)$/, ""), self: number(self), total: number(total) };
    });
  };
  const sumOf = (output) => sum(table(output).map((it) => it.self));
  assert.equal(sumOf(printed.stdout), units, `go tool pprof: ${printed.stdout}`);
  check("go tool pprof", table(printed.stdout));
  const instructions = sumOf(go("instructions").stdout);
  assert.equal(instructions, steps, "go tool pprof: the steps of the transactions");
  console.log(`go tool pprof units.pb: ${sumOf(printed.stdout)} units, ${instructions} instructions`);
}
