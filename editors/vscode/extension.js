// What `perp check --json` finds, as diagnostics with quick fixes, when a model is opened or saved.
const { execFile } = require("node:child_process");
const path = require("node:path");
const { toDiagnostics } = require("./diagnostics.js");

exports.activate = (context) => {
  const vscode = require("vscode");
  const found = vscode.languages.createDiagnosticCollection("perp");
  const latest = new Map();
  let runs = 0;

  const place = (d) => new vscode.Range(d.line, d.from, d.line, d.to);
  const severity = { error: 0, warning: 1, note: 2 };

  const check = (document) => {
    if (document.languageId !== "perp" || document.uri.scheme !== "file") return;
    const settings = vscode.workspace.getConfiguration("perp"), file = document.uri.fsPath, run = ++runs;
    const folders = settings.get("folders").flatMap((folder) => ["-I", folder]);
    latest.set(file, run);
    execFile(settings.get("command"), ["check", "--json", ...folders, path.basename(file)], { cwd: path.dirname(file) }, (error, out) => {
      if (latest.get(file) !== run) return; // saved again meanwhile
      const { list, said } = toDiagnostics(out, path.basename(file), document.getText());
      if (!list) return void vscode.window.setStatusBarMessage(`perp: ${said || error.message}`, 5000);
      found.set(document.uri, list.map((d) => {
        const one = new vscode.Diagnostic(place(d), d.message, severity[d.severity]);
        one.source = "perp";
        one.code = d.code;
        one.fix = d.fix;
        return one;
      }));
    });
  };

  const fixes = {
    provideCodeActions: (document, _range, { diagnostics }) =>
      diagnostics.filter((d) => d.fix).map((d) => {
        const action = new vscode.CodeAction(`Change to '${d.fix}'`, vscode.CodeActionKind.QuickFix);
        action.edit = new vscode.WorkspaceEdit();
        action.edit.replace(document.uri, d.range, d.fix);
        action.diagnostics = [d];
        return action;
      }),
  };

  context.subscriptions.push(
    found,
    vscode.workspace.onDidOpenTextDocument(check),
    vscode.workspace.onDidSaveTextDocument(check),
    vscode.workspace.onDidCloseTextDocument((document) => found.delete(document.uri)),
    vscode.languages.registerCodeActionsProvider("perp", fixes),
  );
  vscode.workspace.textDocuments.forEach(check);
};
