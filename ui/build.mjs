// Builds the dashboard into the package, or the folder that is named: one script, one stylesheet, named by
// their content.
import { build } from "esbuild";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "..", "src", "penstock", "web", "static");

mkdirSync(out, { recursive: true });
for (const name of readdirSync(out)) rmSync(join(out, name));

const result = await build({
  entryPoints: { app: join(here, "src", "main.tsx") },
  outdir: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  entryNames: "[name]-[hash]",
  legalComments: "none",
  metafile: true,
});

const files = Object.keys(result.metafile.outputs).map((path) => basename(path));
const manifest = {
  script: files.find((name) => name.endsWith(".js")),
  style: files.find((name) => name.endsWith(".css")),
};
writeFileSync(join(out, "manifest.json"), JSON.stringify(manifest) + "\n");
