import { defineConfig } from "vite";

// The node that the pages talk to while they are developed: `npm run dev` next to `selkie node`.
const node = process.env.SELKIE_NODE ?? "http://127.0.0.1:8899";

export default defineConfig({
  server: {
    // Requests and WebSockets go to the node, pages and sources to Vite.
    proxy: { "/rpc": { target: node, ws: true, rewrite: () => "/" } },
  },
  build: {
    outDir: "dist",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
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
