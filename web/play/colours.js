// Colours of the language, by the same patterns as in other editors (editors/vscode).

const kinds = [
        ['comment', 'note'],
        ['string', 'string'],
        ['constant', 'number'],
        ['keyword', 'word'],
        ['storage', 'word'],
        ['support', 'function'],
    ],
    most = 5000; // lines that are remembered

function classOf(name) {
    return kinds.find(([word]) => name.startsWith(word))[1];
}

// By a grammar of TextMate's form: what is coloured in a line, [from, to, class] in its order.
export function painter(grammar) {
    const patterns = grammar.patterns.map(p => ({
            find: new RegExp(p.match, p.captures ? 'dgu' : 'gu'),
            kind: classOf(p.name ?? p.captures['1'].name),
            group: p.captures ? 1 : 0,
        })),
        known = new Map(); // a line's text: its pieces
    return line => {
        if (known.has(line)) return known.get(line);
        const list = [];
        for (let at = 0; at < line.length; ) {
            let best = null;
            for (const p of patterns) {
                p.find.lastIndex = at;
                const found = p.find.exec(line);
                if (!found || !found[0]) continue;
                const from = p.group ? found.indices[1][0] : found.index,
                    to = p.group ? found.indices[1][1] : found.index + found[0].length;
                if (!best || from < best[0]) best = [from, to, p.kind];
            }
            if (!best) break;
            list.push(best);
            at = best[1];
        }
        if (known.size > most) known.clear();
        known.set(line, list);
        return list;
    };
}
