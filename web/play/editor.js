// The text with its colours and what is wrong in it: a text area over a copy that is coloured line by line, by the same patterns as in
// other editors (editors/vscode).

import grammar from '../../editors/vscode/syntaxes/perp.tmLanguage.json';
import {painter} from './colours.js';

const pieces = painter(grammar),
    MOST_LINES = 5000; // that are coloured: longer texts are plain

// Characters of perp's columns are code points; those of the page are UTF-16.
function place(line, column) {
    return [...line].slice(0, column - 1).join('').length;
}

export class Editor {
    constructor(area, paint, gutter) {
        Object.assign(this, {area, paint, gutter, marks: [], onedit: () => {}});
        area.addEventListener('input', () => {
            this.marks = [];
            this.draw();
            this.onedit();
        });
        area.addEventListener('scroll', () => this.scroll());
        area.addEventListener('keydown', e => this.key(e));
    }

    get text() {
        return this.area.value;
    }

    set text(text) {
        this.area.value = text;
        this.area.setSelectionRange(0, 0);
        this.area.scrollTop = 0;
        this.marks = [];
        this.draw();
    }

    // Another text, which undo takes back.
    replace(text) {
        this.area.focus();
        this.area.select();
        document.execCommand('insertText', false, text); // the only way that undo knows
        this.area.setSelectionRange(0, 0);
    }

    // A new line begins where the last one did.
    key(e) {
        if (e.key !== 'Enter' || e.ctrlKey || e.metaKey || e.isComposing) return;
        const before = this.text.slice(0, this.area.selectionStart),
            indent = before.slice(before.lastIndexOf('\n') + 1).match(/^[ \t]*/)[0];
        if (!indent) return;
        e.preventDefault();
        document.execCommand('insertText', false, '\n' + indent);
    }

    // {line, column, length, isError, text}: what is underlined.
    mark(list) {
        this.marks = list;
        this.draw();
    }

    at(line, column) {
        const lines = this.text.split('\n'),
            before = lines.slice(0, line - 1).reduce((n, l) => n + l.length + 1, 0);
        return before + place(lines[line - 1] ?? '', column || 1);
    }

    // The cursor there.
    go(line, column) {
        const at = this.at(line, column);
        this.area.focus();
        this.area.setSelectionRange(at, at);
        const height = this.area.scrollHeight / Math.max(1, this.text.split('\n').length);
        this.area.scrollTop = Math.max(0, (line - 1) * height - this.area.clientHeight / 2);
    }

    get line() {
        return this.text.slice(0, this.area.selectionStart).split('\n').length;
    }

    scroll() {
        this.paint.scrollTop = this.area.scrollTop;
        this.paint.scrollLeft = this.area.scrollLeft;
        this.gutter.scrollTop = this.area.scrollTop;
    }

    draw() {
        const lines = this.text.split('\n');
        if (lines.length > MOST_LINES) return this.drawPlain(lines.length);
        const marked = new Map();
        for (const m of this.marks) marked.set(m.line, [...(marked.get(m.line) ?? []), m]);
        this.paint.replaceChildren(...lines.map((line, i) => this.paintLine(line, marked.get(i + 1) ?? [])));
        this.gutter.replaceChildren(
            ...lines.map((_, i) => {
                const host = document.createElement('div'),
                    list = marked.get(i + 1);
                host.textContent = String(i + 1);
                if (list) {
                    host.className = list.some(m => m.isError) ? 'error' : 'warning';
                    host.title = list.map(m => m.text).join('\n');
                }
                return host;
            }),
        );
        this.scroll();
    }

    // One text for all lines, and one for their numbers.
    drawPlain(n) {
        this.paint.textContent = this.text + '\u200b';
        this.gutter.textContent = Array.from({length: n}, (_, i) => i + 1).join('\n');
        this.scroll();
    }

    paintLine(line, marks) {
        const host = document.createElement('div'),
            ends = new Set([0, line.length]),
            colored = pieces(line),
            under = marks
                .filter(m => m.column)
                .map(m => [place(line, m.column), place(line, m.column + Math.max(1, m.length)), m]);
        for (const [from, to] of [...colored, ...under]) ends.add(from).add(Math.min(to, line.length));
        const cuts = [...ends].sort((a, b) => a - b);
        for (let k = 0, c = 0; k + 1 < cuts.length; k++) {
            while (c < colored.length && colored[c][1] <= cuts[k]) c++; // they follow each other
            const span = document.createElement('span'),
                inside = ([from, to]) => from <= cuts[k] && cuts[k + 1] <= to,
                color = colored[c] && inside(colored[c]) ? colored[c][2] : '',
                mark = under.find(inside);
            span.textContent = line.slice(cuts[k], cuts[k + 1]);
            span.className = [color, mark && (mark[2].isError ? 'wrong' : 'doubtful')].filter(Boolean).join(' ');
            host.append(span);
        }
        if (!line) host.append('\u200b');
        return host;
    }
}
