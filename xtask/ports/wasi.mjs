// Runs a test program for wasm32-wasip1. It may read and write below the folder WASI_ROOT.
import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";

const [, , file, ...args] = process.argv;
const root = process.env.WASI_ROOT;
const wasi = new WASI({
  version: "preview1",
  args: [file, ...args],
  env: process.env,
  preopens: { [root]: root },
});
const module = await WebAssembly.compile(await readFile(file));
const instance = await WebAssembly.instantiate(module, wasi.getImportObject());
process.exit(wasi.start(instance));
