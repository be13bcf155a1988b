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

// The next place of a pattern from `at` on; false: there is none.
function look(pattern, line, at) {
    pattern.find.lastIndex = at;
    const found = pattern.find.exec(line);
    if (!found || !found[0]) return false;
    pattern.start = found.index;
    pattern.from = pattern.group ? found.indices[1][0] : found.index;
    pattern.to = pattern.group ? found.indices[1][1] : found.index + found[0].length;
    return true;
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
        let next = patterns; // those that are found further on; each is looked for once for each of its pieces
        for (const p of patterns) p.start = -1;
        for (let at = 0; at < line.length; ) {
            next = next.filter(p => p.start >= at || look(p, line, at));
            if (!next.length) break;
            const best = next.reduce((best, p) => (p.from < best.from ? p : best));
            list.push([best.from, best.to, best.kind]);
            at = best.to;
        }
        if (known.size > most) known.clear();
        known.set(line, list);
        return list;
    };
}
