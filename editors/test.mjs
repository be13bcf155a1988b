// test.mjs PERP: the editors' files against the command: every word of the language has its colour, and the extension hands an editor what
// `perp lsp` says.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import assert from "node:assert/strict";

const perp = resolve(process.argv[2]), here = new URL(".", import.meta.url).pathname, root = join(here, "..");
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
for (const word of ["for", "if", "use", "robot", "simulate", "plan", "identify", "draw"]) assert.equal(colour(`${word} x`, word), "keyword", word);
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
assert.equal(colour("    at 50%: x = wall", "at"), "keyword");
assert.equal(colour("    box at p size (1, 1)", "box"), "keyword");
assert.equal(colour("    inputs held", "held"), "keyword");
assert.equal(colour("x = size - radius", "size"), "none");
assert.equal(colour("m = weight*force", "weight"), "none");
assert.equal(colour("sum = part + 1", "sum"), "none"); // names of the user's
assert.equal(colour("part = 1", "part"), "none");

// The words of the grammar on its page, of the parser and of the colours are the same; of the completion below.
const page = read("..", "docs", "language.md").match(/## Grammar\n([^]*?)\nNUMBER is/)[1];
const words = new Set([...page.matchAll(/"([a-z]+)"/g)].map((m) => m[1])), constants = ["pi", "t", "h", "complements"];
const known = new Set([...words, ...calls, ...constants]);
const taken = readdirSync(join(root, "src/model")).filter((name) => /^(parse|.*_block|block_reader)\.c$/.test(name)).flatMap((name) =>
  [...readFileSync(join(root, "src/model", name), "utf8").matchAll(/(?:(?:at|take|expect)_word\([^,()]*|\(STATEMENT_\w+|perp__is_word\([^,]*), "([a-z]+)"|^ *(?:\} \w+\[\] = )?\{\{?"([a-z]+)", (?:&|read_)/gm)].map((m) => m[1] ?? m[2]));
assert.ok(taken.length > 60 && words.size > 70, `${taken.length} ${words.size}`);
for (const word of taken) assert.ok(known.has(word) || word === "r", `the parser takes '${word}', the page's grammar does not`);
for (const word of words) assert.ok(taken.includes(word) || read("..", "src/model/parse.c").includes(`"${word}"`) || calls.includes(word) || readFileSync(join(root, "src/model/blocks.def"), "utf8").includes(`(${word},`), `'${word}' of the page is not the parser's`);
const coloured = grammar.patterns.map((p) => p.match).join(" ");
for (const word of known) if (!["f", "v", "bound", "facets", "key", "contacts"].includes(word)) assert.match(coloured, new RegExp(`\\b${word}\\b`), `'${word}' has no colour`);

// Every example is coloured, and no rule matches nothing for ever.
for (const folder of ["mechanics", "parts", "circuits"])
  for (const file of readdirSync(join(root, "examples", folder)).filter((name) => name.endsWith(".perp")))
    for (const line of readFileSync(join(root, "examples", folder, file), "utf8").split("\n").filter(Boolean)) colourAt(line, Math.max(line.length - 1, 0));

// The manifest names files that are there.
const manifest = JSON.parse(read("vscode", "package.json"));
for (const path of [manifest.main, manifest.contributes.languages[0].configuration, manifest.contributes.grammars[0].path]) read("vscode", path);
JSON.parse(read("vscode", "language-configuration.json"));

// The server, as the extension speaks to it: the extension itself, in an editor of a few lines that keeps what it is handed.
const kept = {}, told = [], uri = (text) => ({ toString: () => text });
class Range { constructor(...of) { this.of = of; } }
const event = (name) => (act) => { kept[name] = act; };
const provider = (name) => (_language, of) => { kept[name] = of; };
const vscode = {
  Range,
  Diagnostic: class { constructor(range, message, severity) { Object.assign(this, { range, message, severity }); } },
  Hover: class { constructor(text) { this.text = text; } },
  MarkdownString: class { constructor(value) { this.value = value; } },
  Location: class { constructor(uri, range) { Object.assign(this, { uri, range }); } },
  CompletionItem: class { constructor(label, kind) { Object.assign(this, { label, kind }); } },
  TextEdit: class { constructor(range, text) { Object.assign(this, { range, text }); } },
  CodeAction: class { constructor(title) { this.title = title; } },
  CodeActionKind: { QuickFix: 0 },
  WorkspaceEdit: class { list = []; replace(uri, range, text) { this.list.push([uri.toString(), range.of, text]); } },
  Uri: { parse: uri },
  window: { setStatusBarMessage: (text) => told.push(text) },
  workspace: {
    getConfiguration: () => ({ get: (name) => ({ command: perp, folders: [join(scratch, "far")] })[name] }),
    textDocuments: [],
    onDidOpenTextDocument: event("open"), onDidChangeTextDocument: event("change"), onDidSaveTextDocument: event("save"), onDidCloseTextDocument: event("close"),
  },
  languages: {
    createDiagnosticCollection: () => ({ set: (uri, list) => { kept.found = [uri.toString(), list]; kept.arrived?.(); } }),
    registerHoverProvider: provider("hover"), registerCompletionItemProvider: provider("complete"), registerDefinitionProvider: provider("define"),
    registerReferenceProvider: provider("refer"), registerRenameProvider: provider("rename"), registerDocumentFormattingEditProvider: provider("format"),
    registerCodeActionsProvider: provider("act"),
  },
};
const require = createRequire(import.meta.url), Module = require("node:module"), load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
const extension = require("./vscode/extension.js");
await extension.activate({ subscriptions: [] });
assert.deepEqual(told, []);

mkdirSync(join(scratch, "far"));
writeFileSync(join(scratch, "far", "used.perp"), "# A thing.\npart Thing(k = 2) { state größe = 1 \"m\"\n der(größe) = -k*größe }\n");
let text = 'use "used"\nThing a\noutput 𝛾 = a.grösse\n', version = 1;
const document = { languageId: "perp", uri: uri(pathToFileURL(join(scratch, "user.perp")).href), getText: () => text };
Object.defineProperty(document, "version", { get: () => version });
const next = () => new Promise((resolve) => { kept.arrived = resolve; });
const place = (line, character) => ({ line, character });
let arrived = next();
kept.open(document);
await arrived;
const [one] = kept.found[1];
assert.deepEqual([kept.found[0], one.range.of, one.severity, one.code, one.source], [document.uri.toString(), [2, 14, 2, 20], 0, "unknown-name", "perp"]);
const [action] = await kept.act.provideCodeActions(document, { start: place(2, 14), end: place(2, 14) });
assert.deepEqual(action.edit.list, [[document.uri.toString(), [2, 14, 2, 20], "größe"]]);
arrived = next();
text = text.replace("grösse", "größe"), version++;
kept.change({ document });
await arrived;
assert.deepEqual(kept.found[1].filter((d) => d.severity === 0), []);
assert.match((await kept.hover.provideHover(document, place(2, 15))).text.value, /state größe = 1 "m"[^]*`a.größe` begins at 1 m/);
assert.deepEqual((await kept.define.provideDefinition(document, place(1, 2)))[0].range.of, [1, 5, 1, 10]);
assert.equal((await kept.refer.provideReferences(document, place(2, 15), { includeDeclaration: true })).length, 4);
assert.equal((await kept.rename.provideRenameEdits(document, place(2, 15), "size")).list.length, 4);
assert.deepEqual((await kept.rename.prepareRename(document, place(2, 15))).of, [2, 14, 2, 19]);
await assert.rejects(kept.rename.provideRenameEdits(document, place(2, 15), "state"), /word of the language/);
const labels = (await kept.complete.provideCompletionItems(document, place(2, 14))).map((item) => item.label);
assert.deepEqual(labels.sort(), ["größe", "k"].sort());
const offered = new Set((await kept.complete.provideCompletionItems(document, place(0, 0))).map((item) => item.label));
for (const word of known) assert.ok(offered.has(word), `'${word}' is not offered`);
for (const word of offered) assert.ok(known.has(word) || ["a", "𝛾", "Thing"].includes(word), `'${word}' is offered, and on no page`);
assert.deepEqual(await kept.format.provideDocumentFormattingEdits(document), []);
kept.close(document);
await extension.deactivate();
console.log("ok: colours, the server and the extension");
process.exit(0);
