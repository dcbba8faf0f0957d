import { defineConfig } from "vite";

// The node that the pages talk to while they are developed: `npm run dev` next to `selkie node`.
const node = process.env.SELKIE_NODE ?? "http://127.0.0.1:8899";

const shared = { assetsInlineLimit: 0, modulePreload: { polyfill: false }, target: "es2022" } as const;

/** The pages that the node serves. */
const explorer = defineConfig({
  server: {
    // Requests and WebSockets go to the node, pages and sources to Vite.
    proxy: { "/rpc": { target: node, ws: true, rewrite: () => "/" } },
  },
  build: {
    ...shared,
    outDir: "dist",
    rollupOptions: {
      output: {
        // The node serves these names; its tags say when a file has changed.
        entryFileNames: "assets/explorer.js",
        assetFileNames: "assets/explorer[extname]",
        codeSplitting: false,
      },
    },
  },
});

/** The playground: a static site in whatever folder. `cargo xtask site` puts the engine beside it. */
const playground = defineConfig({
  root: "playground",
  base: "./",
  publicDir: "../public",
  worker: { format: "es" },
  // The examples are those of the repository.
  server: { fs: { allow: [".."] } },
  build: { ...shared, outDir: "../dist-playground", emptyOutDir: true },
});

export default defineConfig(({ mode }) => (mode === "playground" ? playground : explorer));
