// node editors/tree-sitter/test.mjs: the grammar is whole, the colours are of what it has, and it has every word of the language.
//
// With PERP_TREE_SITTER=FOLDER it is also generated, and reads every model of lib/, examples/ and the documents, and no wrong one. FOLDER is outside of
// the repository, made by: npm install --prefix FOLDER --ignore-scripts tree-sitter-cli@0.13.16 tree-sitter@0.13.23, the last that have the
// generator as source; it needs c++ and cc.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url)), root = join(here, '..', '..');
let checks = 0;
function check(holds, what) {
  if (!holds) {
    console.error(`error: ${what}`);
    process.exit(1);
  }
  checks++;
}

// The functions that a grammar is written with, to the JSON that generators read.
function read() {
  const rule = (x) => (typeof x === 'string' ? { type: 'STRING', value: x }
    : x instanceof RegExp ? { type: 'PATTERN', value: x.source.replace(/\\u([0-9a-f]{4})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16))) } : x);
  const many = (type) => (...members) => ({ type, members: members.map(rule) });
  const one = (type) => (content) => ({ type, content: rule(content) });
  const ranked = (type) => (value, content) => ({ type, value: content === undefined ? 0 : value, content: rule(content === undefined ? value : content) });
  const names = new Set(), used = new Set();
  const symbols = new Proxy({}, { get: (_, name) => (used.add(name), { type: 'SYMBOL', name }) });
  let result;
  Object.assign(globalThis, { seq: many('SEQ'), choice: many('CHOICE'), repeat: one('REPEAT'), repeat1: one('REPEAT1'), token: one('TOKEN'),
    prec: ranked('PREC'), optional: (x) => globalThis.choice(x, { type: 'BLANK' }),
    alias: (x, y) => ({ type: 'ALIAS', content: rule(x), named: typeof y !== 'string', value: typeof y === 'string' ? y : y.name }),
    grammar: (g) => {
      const rules = {};
      for (const name in g.rules) names.add(name), (rules[name] = rule(g.rules[name](symbols)));
      result = { name: g.name, word: g.word(symbols).name, rules, extras: g.extras(symbols).map(rule), externals: g.externals(symbols).map(rule),
        conflicts: g.conflicts(symbols).map((set) => set.map((s) => s.name)), inline: [] };
    } });
  globalThis.token.immediate = one('IMMEDIATE_TOKEN');
  globalThis.prec.left = ranked('PREC_LEFT');
  globalThis.prec.right = ranked('PREC_RIGHT');
  createRequire(import.meta.url)(join(here, 'grammar.js'));
  return { grammar: result, names, used };
}

const { grammar, names, used } = read();
const strings = new Set(), aliases = new Set();
(function walk(x) {
  if (x.type === 'STRING') strings.add(x.value);
  if (x.type === 'ALIAS' && x.named) aliases.add(x.value);
  for (const y of Array.isArray(x) ? x : Object.values(x)) if (y && typeof y === 'object') walk(y);
})(grammar.rules);
for (const s of grammar.externals) if (s.name) names.add(s.name);
for (const name of used) check(names.has(name) || aliases.has(name), `no rule '${name}'`);

const query = readFileSync(join(here, 'queries/highlights.scm'), 'utf8');
for (const [, node] of query.matchAll(/\((\w+)\)/g)) check(names.has(node) || aliases.has(node), `highlights.scm: no node '${node}'`);
for (const [, word] of query.matchAll(/"([^"]+)"/g)) check(strings.has(word), `highlights.scm: no word '${word}'`);

// The words of the parser but names of functions and of t, h and pi, and those that stand in quotes of a robot.
const parser = readFileSync(join(root, 'src/model/parse.c'), 'utf8');
const list = parser.slice(parser.indexOf('perp__language_words(int *n)')), words = list.slice(0, list.indexOf('#define PERP_BLOCK'));
const known = [...words.matchAll(/"(\w+)"/g)].map((m) => m[1]).filter((word) => !['pi', 't', 'h', 'key', 'contacts'].includes(word));
check(known.length > 50, 'src/model/parse.c: the list of words was not found');
for (const word of [...known, 'plan', 'identify', 'draw']) check(strings.has(word), `the grammar has no word '${word}'`);

function run(program, args, options) {
  const r = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 1 << 28, ...options });
  check(r.status === 0, `${program} ${args.join(' ')}: ${r.error || r.stderr}`);
  return r.stdout;
}

function sources(folder, ending) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((f) =>
    f.isDirectory() ? sources(join(folder, f.name), ending) : f.name.endsWith(ending) ? [join(folder, f.name)] : []);
}

// The generator, kept in FOLDER, and the parser that it makes.
function build(folder, scratch) {
  const cli = join(folder, 'node_modules/tree-sitter-cli/vendor/tree-sitter'), lib = join(folder, 'node_modules/tree-sitter/vendor/tree-sitter');
  const generator = join(folder, 'generate');
  if (!existsSync(generator)) {
    mkdirSync(join(folder, 'objects'), { recursive: true });
    const include = [`-I${cli}/include`, `-I${cli}/src`, `-I${cli}/externals/utf8proc`, `-I${cli}/externals/json-parser`], objects = [];
    const compile = (compiler, flags, file) => {
      objects.push(join(folder, 'objects', `${objects.length}.o`));
      run(compiler, [...flags, '-w', '-O1', ...include, '-c', file, '-o', objects.at(-1)]);
    };
    for (const file of [...sources(join(cli, 'src/compiler'), '.cc'), join(here, 'generate.cc')]) compile('c++', ['-std=c++14', '-include', 'cstdint'], file);
    for (const file of ['json-parser/json.c', 'utf8proc/utf8proc.c']) compile('cc', [], join(cli, 'externals', file));
    run('c++', [...objects, '-o', generator]);
  }
  writeFileSync(join(scratch, 'parser.c'), run(generator, [], { input: JSON.stringify(grammar) }));
  run('cc', ['-w', '-O0', '-D_POSIX_C_SOURCE=200809L', `-I${lib}/include`, `-I${lib}/src`, `-I${lib}/externals/utf8proc`, join(scratch, 'parser.c'),
    join(here, 'src/scanner.c'), join(here, 'parse.c'), join(lib, 'src/runtime/runtime.c'), '-o', join(scratch, 'parse')]);
  return join(scratch, 'parse');
}

const wrong = ['param = 3', 'state x 1', 'for i 1..2 { x = 1 }', 'part P { state x = 1', 'x = (1 + 2', '0 <= a perp', 'der(x) = -x)', 'x = 1 y = 2',
  'let a = [1, 2', 'plan { minimize }', 'draw { box (1, 2) }', 'if a { x = 1 }', 'param a = "b"c', 'simulate to', 'x + = 2', 'use planar'];
const trees = [
  ['x = -a^2*b', '(source (equation (path (name)) (product (sign (power (path (name)) (number))) (path (name)))))'],
  ['let y = f(1,\n  2)\nlet z = [1,\n\n 2]', '(source (let (name) (call (function_name) (number) (number))) (let (name) (list (number) (number))))'],
  ['part = table.let[1..2]', '(source (equation (path (name)) (path (name) (name) (index (span (number) (number))))))'],
  ['Body b[i in 1..3](2, x = 1.)', '(source (instance (type) (name) (name) (span (number) (number)) (arguments (argument (number)) (argument (name) (number)))))'],
  ['0 <= a ⊥ b >= 0 when (c < 1 or d > 2) and e >= .5  # so', '(source (pair (bounds (number) (relation) (path (name))) (bounds (path (name)) (relation) (number)) ' +
    '(when (logic (guard_group (logic (comparison (path (name)) (number)) (comparison (path (name)) (number)))) (comparison (path (name)) (number))))) (comment))'],
  ['state µ = 1 in [0, 2] scale 1e-3 "m", x₁ = 2', '(source (declaration (item (name) (number) (range (number) (number)) (scale (number)) (unit)) (item (name) (number))))'],
];

function generated(folder) {
  const scratch = mkdtempSync(join(tmpdir(), 'perp-tree-'));
  const parse = build(folder, scratch), texts = [...sources(join(root, 'lib'), '.perp'), ...sources(join(root, 'examples'), '.perp')];
  const files = [];
  const put = (text) => (files.push(join(scratch, `${files.length}.perp`)), writeFileSync(files.at(-1), text));
  for (const document of sources(join(root, 'docs'), '.md'))
    for (const [, text] of readFileSync(document, 'utf8').matchAll(/^```perp\n(.*?)^```/gms)) put(text);
  const models = files.length;
  for (const text of wrong) put(text + '\n');
  for (const [text] of trees) put(text + '\n');
  const lines = run(parse, [...texts, ...files]).trimEnd().split('\n');
  texts.forEach((file, i) => check(lines[i][0] === '0', `${file} has an error`));
  files.forEach((file, i) => {
    const line = lines[texts.length + i], k = i - models;
    if (k < 0) check(line[0] === '0', `an error in: ${readFileSync(file, 'utf8')}`);
    else if (k < wrong.length) check(line[0] === '1', `no error in: ${wrong[k]}`);
    else check(line === '0 ' + trees[k - wrong.length][1], `${trees[k - wrong.length][0]}: ${line}`);
  });
  rmSync(scratch, { recursive: true });
  return `${texts.length + models} models read`;
}

const folder = process.env.PERP_TREE_SITTER;
const rest = folder ? generated(folder) : 'skipped: generating, without PERP_TREE_SITTER';
console.log(`ok: ${checks} checks; ${rest}`);
