// Models by `perp lsp`: what it finds, explains, completes, renames and formats, handed to Visual Studio Code.
const { connect } = require("./client.js");

let server;

exports.activate = async (context) => {
  const vscode = require("vscode"), settings = vscode.workspace.getConfiguration("perp");
  const found = vscode.languages.createDiagnosticCollection("perp");
  const range = ({ start, end }) => new vscode.Range(start.line, start.character, end.line, end.character);
  const heard = (method, { uri, diagnostics }) => {
    if (method !== "textDocument/publishDiagnostics") return;
    found.set(vscode.Uri.parse(uri), diagnostics.map((d) => {
      const one = new vscode.Diagnostic(range(d.range), d.message, d.severity - 1);
      one.source = d.source;
      one.code = d.code;
      return one;
    }));
  };
  const ended = (why) => void vscode.window.setStatusBarMessage(`perp: ${why}`, 5000);
  server = connect(settings.get("command"), ["lsp", ...settings.get("folders").flatMap((folder) => ["-I", folder])], heard, ended);
  try {
    await server.request("initialize", { processId: process.pid, rootUri: null, capabilities: {} });
  } catch (error) {
    return ended(error.message);
  }
  server.notify("initialized", {});

  const named = (document) => ({ textDocument: { uri: document.uri.toString() } });
  const at = (document, { line, character }) => ({ ...named(document), position: { line, character } });
  const isOurs = (document) => document.languageId === "perp";
  const open = (document) => {
    if (isOurs(document)) server.notify("textDocument/didOpen", { textDocument: { ...named(document).textDocument, languageId: "perp", version: document.version, text: document.getText() } });
  };
  const change = ({ document }) => {
    if (isOurs(document)) server.notify("textDocument/didChange", { textDocument: { ...named(document).textDocument, version: document.version }, contentChanges: [{ text: document.getText() }] });
  };
  const tell = (method) => (document) => isOurs(document) && server.notify(method, named(document));
  const edits = ({ changes }) => {
    const all = new vscode.WorkspaceEdit();
    for (const [uri, list] of Object.entries(changes)) for (const e of list) all.replace(vscode.Uri.parse(uri), range(e.range), e.newText);
    return all;
  };
  const locations = (list) => (list ?? []).map((l) => new vscode.Location(vscode.Uri.parse(l.uri), range(l.range)));

  const { languages, workspace } = vscode;
  context.subscriptions.push(
    found,
    workspace.onDidOpenTextDocument(open),
    workspace.onDidChangeTextDocument(change),
    workspace.onDidSaveTextDocument(tell("textDocument/didSave")),
    workspace.onDidCloseTextDocument(tell("textDocument/didClose")),
    languages.registerHoverProvider("perp", {
      provideHover: async (document, position) => {
        const hover = await server.request("textDocument/hover", at(document, position));
        return hover && new vscode.Hover(new vscode.MarkdownString(hover.contents.value), range(hover.range));
      },
    }),
    languages.registerCompletionItemProvider("perp", {
      provideCompletionItems: async (document, position) =>
        (await server.request("textDocument/completion", at(document, position))).map((item) => {
          const one = new vscode.CompletionItem(item.label, item.kind - 1); // the editor counts from 0
          one.detail = item.detail;
          return one;
        }),
    }, "."),
    languages.registerDefinitionProvider("perp", {
      provideDefinition: async (document, position) => locations(await server.request("textDocument/definition", at(document, position))),
    }),
    languages.registerReferenceProvider("perp", {
      provideReferences: async (document, position, { includeDeclaration }) =>
        locations(await server.request("textDocument/references", { ...at(document, position), context: { includeDeclaration } })),
    }),
    languages.registerRenameProvider("perp", {
      prepareRename: async (document, position) => range(await server.request("textDocument/prepareRename", at(document, position))),
      provideRenameEdits: async (document, position, newName) => edits(await server.request("textDocument/rename", { ...at(document, position), newName })),
    }),
    languages.registerDocumentFormattingEditProvider("perp", {
      provideDocumentFormattingEdits: async (document) =>
        (await server.request("textDocument/formatting", { ...named(document), options: {} })).map((e) => new vscode.TextEdit(range(e.range), e.newText)),
    }),
    languages.registerCodeActionsProvider("perp", {
      provideCodeActions: async (document, where) =>
        (await server.request("textDocument/codeAction", { ...named(document), range: where, context: { diagnostics: [] } })).map((a) => {
          const one = new vscode.CodeAction(a.title, vscode.CodeActionKind.QuickFix);
          one.edit = edits(a.edit);
          return one;
        }),
    }),
  );
  workspace.textDocuments.forEach(open);
};

exports.deactivate = async () => {
  await server?.request("shutdown").catch(() => {});
  server?.notify("exit");
  server?.end();
};
