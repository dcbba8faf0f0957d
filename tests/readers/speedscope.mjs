// speedscope's own importers. The package has them only inside of its page's script, so that runs here
// without a page: up to where it would draw, and from there with the function for files as its result.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import vm from "node:vm";

const FOLDER = "node_modules/speedscope/dist/release";

/** Where the script has loaded everything and begins to draw. */
const DRAWS = "console.log(`speedscope v";
/** Where it gives its function for files to others. */
const IMPORTER = /loadFileFromBase64:\((\w+),(\w+)\)=>\{this\.loadProfile\(\(\)=>(\w+)\(\1,\2\)\)/;

/** Returns the function that imports a file by its name and its content in Base64. */
function importer() {
  const name = readdirSync(FOLDER).find((it) => /^speedscope-.*\.js$/.test(it));
  const script = readFileSync(join(FOLDER, name), "utf8");
  const end = script.lastIndexOf(DRAWS);
  const found = script.match(IMPORTER);
  if (end < 0 || !found) throw new Error("speedscope's script is not as it was");
  const text = `${script.slice(0, end)}globalThis.imported = ${found[3]};})();`;
  const ignored = () => {};
  const element = () => ({ style: {}, appendChild: ignored, setAttribute: ignored });
  const page = {
    window: globalThis,
    document: { createElement: element, addEventListener: ignored, head: element(), body: element() },
    location: new URL("file:///index.html"),
    matchMedia: () => ({ matches: false, addEventListener: ignored, addListener: ignored }),
    localStorage: { getItem: () => null, setItem: ignored },
    addEventListener: ignored,
    requestAnimationFrame: ignored,
  };
  Object.assign(globalThis, page);
  vm.runInThisContext(text);
  return globalThis.imported;
}

const importFile = importer();

/** Imports a file, and returns its profiles: unit, total, and the names and weights of functions. */
export async function profiles(path, name) {
  const group = await importFile(name, readFileSync(path).toString("base64"));
  if (!group) throw new Error(`speedscope does not know the format of ${name}`);
  return group.profiles.map((profile) => {
    const frames = [];
    profile.forEachFrame((it) => {
      const { name, file, line } = it;
      frames.push({ name, file, line, self: it.getSelfWeight(), total: it.getTotalWeight() });
    });
    return { unit: profile.getWeightUnit(), total: profile.getTotalWeight(), frames };
  });
}
