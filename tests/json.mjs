// json.mjs PERP: what every command prints with --json is as docs/perp.schema.json says, also where it fails.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const perp = process.argv[2];
const schema = JSON.parse(readFileSync("docs/perp.schema.json"));
const scratch = mkdtempSync(join(tmpdir(), "perp-json-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));

const isOf = {
  object: (x) => typeof x === "object" && x !== null && !Array.isArray(x),
  array: Array.isArray,
  string: (x) => typeof x === "string",
  number: (x) => typeof x === "number",
  integer: Number.isInteger,
  boolean: (x) => typeof x === "boolean",
  null: (x) => x === null,
};
const known = new Set(["$schema", "title", "$defs", "$ref", "anyOf", "type", "enum", "properties", "required", "additionalProperties", "items"]);

// The part of JSON Schema that the schema uses: a list of what is wrong.
function check(x, rule, where) {
  for (const key of Object.keys(rule)) if (!known.has(key)) return [`the schema's ${key} is not understood`];
  if (rule.$ref) return check(x, schema.$defs[rule.$ref.replace("#/$defs/", "")], where);
  if (rule.anyOf) {
    const wrong = rule.anyOf.map((one) => check(x, one, where));
    return wrong.some((list) => list.length === 0) ? [] : wrong.reduce((a, b) => (b.length < a.length ? b : a));
  }
  if (rule.enum) return rule.enum.includes(x) ? [] : [`${where}: ${JSON.stringify(x)} is none of ${rule.enum}`];
  const types = rule.type ? [rule.type].flat() : [];
  if (types.length && !types.some((type) => isOf[type](x))) return [`${where}: ${JSON.stringify(x)} is no ${types}`];
  const wrong = [];
  if (Array.isArray(x) && rule.items) x.forEach((item, k) => wrong.push(...check(item, rule.items, `${where}[${k}]`)));
  if (!isOf.object(x) || !rule.properties) return wrong;
  for (const key of rule.required) if (!(key in x)) wrong.push(`${where}: no ${key}`);
  for (const [key, value] of Object.entries(x)) {
    if (rule.properties[key]) wrong.push(...check(value, rule.properties[key], `${where}.${key}`));
    else if (rule.additionalProperties === false) wrong.push(`${where}: ${key} is not in the schema`);
  }
  return wrong;
}

function run(args) {
  try {
    return { code: 0, text: execFileSync(perp, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }) };
  } catch (e) {
    return { code: e.status, text: e.stdout };
  }
}

let n = 0;
function expect(code, command, args, look = () => true) {
  const line = `perp ${command} ${args.join(" ")} --json`;
  const { code: found, text } = run([command, ...args, "--json"]);
  const fail = (why) => {
    console.log(`${line}: ${why}\n${text}`);
    process.exit(1);
  };
  if (found !== code) fail(`exit code ${found}, not ${code}`);
  let x;
  try {
    x = JSON.parse(text);
  } catch {
    fail("no JSON");
  }
  const wrong = check(x, { $ref: `#/$defs/${command}` }, "");
  if (wrong.length) fail(wrong.join("\n"));
  if (check(x, schema, "").length) fail("the schema as a whole does not take it");
  if (command !== "solve" && (x.command !== command || x.exit !== code)) fail("command or exit is another one");
  if (!look(x)) fail("it says something else than expected");
  n++;
}

const file = (name, text) => {
  writeFileSync(join(scratch, name), text);
  return join(scratch, name);
};
const broken = file("broken.perp", "state x = 0\nder(x) = (1\n");
const wall = file("wall.perp", "state x = 0\nvar f\nder(x) = 1\n0 <= 0.05 - x perp f >= 0\nsimulate to 1 step 0.1\n");
const run1 = join(scratch, "run.csv");
const problem = file("p.json", '[{"M": [[2, 1], [1, 2]], "q": [-1, -1]}, {"M": [[0]], "q": [-1]}]');

expect(0, "simulate", ["examples/notes/particle.perp", "-o", run1], (x) => x.outcome === "verified" && x.steps === 1200 && x.trajectory === run1 && x.substeps === null);
expect(0, "simulate", ["examples/notes/particle.perp", "--method", "radau5", "--tol", "1e-3", "--to", "0.2"], (x) => x.substeps.count >= 1 && x.substeps.shortest > 0 && x.error_at_end.states.every(({ error, below }) => error <= below));
const arm = "examples/robots/arm.xml";
if (run(["check", arm]).code === 0) { // else there is no expat
  const nameless = file("nameless.xml", "<mujoco><worldbody><body pos='1'/></worldbody></mujoco>");
  expect(0, "simulate", [arm, "--to", "0.02", "--key", "ready", "--set", "elbow.u=1.3"], (x) => x.outcome === "verified" && x.steps === 10 && x.method === "euler");
  expect(0, "simulate", [arm, "--to", "0.02", "--key", "ready", "--method", "midpoint"], (x) => x.outcome === "verified" && x.method === "midpoint");
  expect(0, "check", [arm], (x) => x.nv === 13 && x.keys[0] === "ready" && x.excluded.length === 0);
  const hub = file("hub.xml", "<mujoco><worldbody><body name='a'><joint/><geom size='.1'/><body name='b'><joint/><geom size='.01' pos='.5 0 0'/>" +
    "<body name='c'><joint/><geom name='hub' size='.1'/></body></body></body></worldbody></mujoco>");
  const isExcluded = (x) => x.excluded.length === 1 && x.excluded[0].shapes[0] === null && x.excluded[0].shapes[1] === "hub" &&
    x.excluded[0].bodies.join() === "a,c" && Math.abs(x.excluded[0].penetration - 0.2) < 1e-9;
  expect(0, "check", [hub], isExcluded);
  expect(0, "simulate", [hub, "--to", "0.01"], isExcluded);
  expect(2, "check", [nameless], (x) => x.diagnostics[0].line === 1 && x.diagnostics[0].column === 31);
  expect(1, "simulate", [arm, "--key", "none"], (x) => x.messages[0].includes("there are: ready"));
}
expect(0, "simulate", ["examples/notes/sliding_one_line.perp"], (x) => "at_lower" in x.pairs[0] && x.trajectory === null);
expect(3, "simulate", [wall], (x) => x.outcome === "no solution" && x.messages.length > 0);
expect(2, "simulate", [broken], (x) => x.messages[0].includes("broken.perp:2:") && !("outcome" in x));
expect(4, "simulate", [join(scratch, "none.perp")], (x) => x.messages[0].includes("No such file"));
expect(0, "plan", ["examples/opty/push.perp"], (x) => x.holds && x.size.steps === 39);
expect(0, "plan", ["examples/opty/push_phases.perp", "--multipliers"],
  (x) => x.slopes.m > 0.3163 && x.slopes.m < 0.3165 && x.multipliers[0].text === "x = 10" && x.multipliers[0].node === 11);
expect(0, "plan", ["examples/control/swing_up.perp", "--noise", "angle=0.01", "--runs", "5"],
  (x) => x.loop.with_feedback.ended === 5 && x.loop.with_feedback.off.angle < 0.5 * x.loop.without_feedback.off.angle);
expect(2, "plan", ["examples/notes/particle.perp"], (x) => x.messages.length > 0);
expect(0, "identify", ["examples/identify/block.perp", "--data", "examples/identify/block.csv"], (x) => x.parameters.length > 0 && x.parameters[0].value > 0);
expect(2, "identify", [broken, "--data", "examples/identify/block.csv"]);
expect(0, "sweep", ["examples/notes/particle.perp", "--vary", "mu=0.1:0.3:3", "--keep", "final(x)", "-o", join(scratch, "sweep")], (x) => x.verified === 3 && x.columns[1].median > 0 && x.table.endsWith("table.csv"));
expect(0, "sweep", ["--merge", "-o", join(scratch, "sweep")], (x) => x.table.endsWith("table.csv"));
expect(2, "sweep", [broken, "--vary", "x=0:1"]);
expect(0, "export", ["examples/notes/particle.perp", "-o", join(scratch, "particle.fmu")], (x) => x.fmi === 3 && x.bytes > 100000);
expect(2, "export", [broken, "-o", join(scratch, "broken.fmu")]);
expect(0, "check", ["examples/opty/push.perp"], (x) => x.plan.steps === 39 && x.M.copositive === true);
expect(0, "check", ["examples/mechanics/conveyor.perp"], ({ time_scales: s }) => s.verdict === "too long" && Math.abs(s.swing.time - Math.PI / 5) < 1e-9 && s.advice.step === 2e-5 && s.fits.method === "radau5");
expect(0, "check", ["examples/mechanics/chain.perp"], (x) => x.time_scales.unknown === "it has too many states");
expect(2, "check", [broken], (x) => x.messages.length === 3 && x.diagnostics.length === 1 && x.diagnostics[0].severity === "error");
const shaky = file("shaky.perp", "param gamma = 1\nparam q = 1\nstate x = 1\nder(x) = -gama*x\n");
expect(2, "check", [shaky], ({ diagnostics: [d] }) => d.line === 4 && d.column === 11 && d.length === 4 && d.fix === "gamma" && d.code === "unknown-name");
const idle = file("idle.perp", "param q = 1\nstate x = 1\nder(x) = -x\n");
expect(0, "check", [idle], ({ diagnostics: [d] }) => d.severity === "warning" && d.code === "unused" && d.file === idle && d.length === 1);
expect(0, "classify", [problem], (x) => x.problems.length === 2 && x.problems[0].p_matrix === true);
expect(2, "classify", [file("bad.json", '{"M": [[1]], "q": [1, 2]}')]);
expect(0, "solvers", [], (x) => x.lcp.some((s) => s.name === "lemke"));
expect(3, "solve", [problem], (x) => x.length === 2 && x[0].outcome === "solved");
expect(0, "report", [run1, "--svg", join(scratch, "run.svg")], (x) => x.page === null && x.svg.endsWith("run.svg"));
expect(4, "report", [join(scratch, "none.csv"), "--svg", join(scratch, "none.svg")], (x) => x.messages.length > 0);
console.log(`ok: ${n} command lines`);
