// The output of `perp check --json` as places in an editor: lines and columns from 0, columns in UTF-16 units as editors count them.

// Where the nth character (from 0) of a line stands; perp counts characters, an editor the units of UTF-16.
const unitsBefore = (line, n) => [...line].slice(0, n).join("").length;

// What is said of `file`, whose text is given; what is said of a used file stands at the model's first line, with its place.
// { list } or, where there is no such output, { said }.
exports.toDiagnostics = (output, file, text) => {
  let result;
  try {
    result = JSON.parse(output);
  } catch {
    return { said: "no answer of perp check --json" };
  }
  if (!Array.isArray(result?.diagnostics)) return { said: "this perp is older than its --json diagnostics" };
  const lines = text.split(/\r?\n/);
  const list = result.diagnostics.filter((d) => d.severity !== "note").map((d) => {
    const isHere = d.file === file || d.file === null;
    const line = isHere && d.line > 0 ? d.line - 1 : 0, shown = lines[line] ?? "";
    const from = isHere && d.column > 0 ? unitsBefore(shown, d.column - 1) : 0;
    const to = isHere && d.column > 0 ? unitsBefore(shown, d.column - 1 + Math.max(d.length, 1)) : shown.length;
    const message = isHere ? d.message : `${d.file}:${d.line}:${d.column}: ${d.message}`;
    return { severity: d.severity, code: d.code, message, line, from, to, ...(isHere && d.fix ? { fix: d.fix } : {}) };
  });
  return { list };
};
