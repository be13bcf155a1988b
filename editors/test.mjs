// test.mjs PERP: the editors' files against the command: every word of the language has its colour, and what `perp check` finds becomes
// places, with fixes that mend the model.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import assert from "node:assert/strict";

const perp = resolve(process.argv[2]), here = new URL(".", import.meta.url).pathname, root = join(here, "..");
const { toDiagnostics } = createRequire(import.meta.url)("./vscode/diagnostics.js");
const read = (...path) => readFileSync(join(here, ...path), "utf8");
const scratch = mkdtempSync(join(tmpdir(), "perp-editors-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));

// The colours: each rule is a regular expression, the first that matches at a place wins.
const grammar = JSON.parse(read("vscode", "syntaxes", "perp.tmLanguage.json"));
const rules = grammar.patterns.map((p) => ({ ...p, is: new RegExp(p.match, "duy") }));
const colourAt = (line, at) => {
  for (let i = 0; i <= at;) {
    const hit = rules.map((rule) => ((rule.is.lastIndex = i), [rule, rule.is.exec(line)])).find(([, m]) => m && m[0]);
    if (!hit) { i += String.fromCodePoint(line.codePointAt(i)).length; continue; }
    const [rule, m] = hit, span = rule.captures ? m.indices[1] : [i, i + m[0].length];
    if (at < i + m[0].length) return at >= span[0] && at < span[1] ? (rule.name ?? rule.captures["1"].name).split(".")[0] : "none";
    i += m[0].length;
  }
  return "none";
};
const colour = (line, word) => colourAt(line, line.indexOf(word));

for (const word of ["model", "param", "input", "state", "var", "output", "let", "sum", "function", "part"]) assert.equal(colour(`  ${word} x = 1`, word), "storage", word);
for (const word of ["for", "if", "use", "simulate", "plan", "identify", "draw"]) assert.equal(colour(`${word} x`, word), "keyword", word);
const row = /^PERP_(?:LATER_)?CALL\((\w+)|^PERP_FUNCTION\(\w+, \d, "(\w+)"/gm;
const calls = ["ops.def", "calls.def"].flatMap((file) => [...readFileSync(join(root, "src/model", file), "utf8").matchAll(row)].map((m) => m[1] ?? m[2]));
assert.ok(calls.length > 30 && calls.includes("lookup") && calls.includes("sin"));
for (const word of calls) assert.equal(colour(`y = ${word}(x)`, word), "support", word);
assert.equal(colour("y = sine(x)", "sine"), "none");
assert.equal(colour("x = 1 # state y", "state"), "comment");
assert.equal(colour('param k = 2 "N/m"', "N/m"), "string");
assert.equal(colour("for i in 1..4 {", "1"), "constant");
assert.equal(colour("for i in 1..4 {", ".."), "keyword");
assert.equal(colour("x1 = 1.5e-3", "5e"), "constant");
assert.equal(colour("x1 = 2", "1"), "none");
assert.equal(colour("0 <= a perp b >= 0", "perp"), "keyword");
assert.equal(colour("sum = part + 1", "sum"), "none"); // names of the user's
assert.equal(colour("part = 1", "part"), "none");

// Every example is coloured, and no rule matches nothing for ever.
for (const folder of ["mechanics", "parts", "circuits"])
  for (const file of readdirSync(join(root, "examples", folder)).filter((name) => name.endsWith(".perp")))
    for (const line of readFileSync(join(root, "examples", folder, file), "utf8").split("\n").filter(Boolean)) colourAt(line, Math.max(line.length - 1, 0));

// The manifest names files that are there.
const manifest = JSON.parse(read("vscode", "package.json"));
for (const path of [manifest.main, manifest.contributes.languages[0].configuration, manifest.contributes.grammars[0].path]) read("vscode", path);
JSON.parse(read("vscode", "language-configuration.json"));

// What is found becomes places.
const check = (name, text) => {
  writeFileSync(join(scratch, name), text);
  const { stdout } = spawnSync(perp, ["check", "--json", name], { cwd: scratch, encoding: "utf8" });
  return toDiagnostics(stdout, name, text);
};
const wrong = "param größe = 1 # 𝛾\nstate x = 1\nder(x) = -x*grösse\n";
const [one] = check("wrong.perp", wrong).list;
assert.deepEqual([one.severity, one.code, one.line, one.from, one.to, one.fix], ["error", "unknown-name", 2, 12, 18, "größe"]);
const lines = wrong.split("\n"), mended = lines.with(one.line, lines[one.line].slice(0, one.from) + one.fix + lines[one.line].slice(one.to)).join("\n");
assert.deepEqual(check("mended.perp", mended).list, []);
assert.equal(check("idle.perp", "param 𝛾 = 1, q = 2\nstate x = 1\nder(x) = -𝛾*x\n").list[0].from, 14);
writeFileSync(join(scratch, "used.perp"), "part P { state x = 0\n der(x) = z }\n");
assert.match(check("user.perp", 'use "used"\nP p\n').list[0].message, /^used\.perp:2:11: unknown name 'z'/);
assert.ok(toDiagnostics("", "a", "").said && toDiagnostics("{}", "a", "").said);
execFileSync(process.execPath, ["--check", join(here, "vscode", "extension.js")]);
console.log("ok: colours, places and fixes");
