// Bundles the extension, and collects the licences of what is bundled: `node build.mjs FOLDER`.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { build } from "esbuild";

const [folder] = process.argv.slice(2);
const { metafile } = await build({
  entryPoints: [join(import.meta.dirname, "src/extension.js")],
  absWorkingDir: import.meta.dirname,
  outfile: join(folder, "dist/extension.js"),
  bundle: true,
  platform: "node",
  // That of the oldest Visual Studio Code that package.json names.
  target: "node20",
  format: "cjs",
  external: ["vscode"],
  minify: true,
  metafile: true,
  logLevel: "warning",
});

const packages = new Set(
  Object.keys(metafile.inputs)
    .map((it) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(it)?.[1])
    .filter((it) => it !== undefined),
);
const notices = [...packages].sort().map((name) => {
  const root = join(import.meta.dirname, name);
  const { version, license, name: title } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const file = readdirSync(root).find((it) => /^licen[cs]e/i.test(it));
  if (file === undefined) throw new Error(`${name} has no file with its licence`);
  return `${title} ${version} (${license})\n\n${readFileSync(join(root, file), "utf8").trim()}\n`;
});
writeFileSync(
  join(folder, "ThirdPartyNotices.txt"),
  `The file dist/extension.js contains these packages.\n\n${notices.join(`\n${"-".repeat(80)}\n\n`)}`,
);
