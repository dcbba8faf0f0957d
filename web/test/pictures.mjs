// The pictures of the explorer in the documentation. `cargo xtask web --pictures` runs it.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { play, start } from "./scene.mjs";

const { SELKIE, FOLDER, IMAGES, CHROMIUM = "/usr/bin/chromium" } = process.env;

mkdirSync(IMAGES, { recursive: true });
const node = await start(SELKIE, FOLDER);
const scene = await play(SELKIE, FOLDER, node.url);
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });

const PICTURES = [
  { name: "explorer-failure", path: `/tx/${scene.failed}`, there: ".source .here", height: 630 },
  { name: "explorer-debugger", path: `/debug/${scene.failed}`, there: ".code-row.here code", width: 1060, height: 806, colorScheme: "dark" },
  { name: "explorer-flame", path: `/flame/${scene.tokens}`, there: ".flame button", height: 520 },
  { name: "explorer-calls", path: `/tx/${scene.tokens}`, there: ".call-line", height: 832 },
];

for (const { name, path, there, width = 1200, height, colorScheme = "light" } of PICTURES) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme, reducedMotion: "reduce" });
  await page.goto(node.url + path);
  await page.locator(there).first().waitFor();
  await page.waitForLoadState("networkidle");
  await page.screenshot({ path: join(IMAGES, `${name}.png`) });
  await page.close();
}
await browser.close();
node.stop();
