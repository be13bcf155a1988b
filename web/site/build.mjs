// The documents as a site: node build.mjs PLAYGROUND.html FOLDER. Pages are the Markdown files of the repository, where they stand in it; a block of the language opens
// in the playground.

import {Marked} from 'marked';
import {
    copyFileSync,
    existsSync,
    mkdirSync,
    readdirSync,
    readFileSync,
    renameSync,
    rmSync,
    statSync,
    writeFileSync,
} from 'node:fs';
import {dirname, join, posix, relative} from 'node:path';
import {fileURLToPath} from 'node:url';
import {painter} from '../play/colours.js';
import {write as linkOf} from '../play/link.js';

const here = dirname(fileURLToPath(import.meta.url)),
    root = join(here, '../..'),
    [, , playground, out] = process.argv,
    pieces = painter(JSON.parse(readFileSync(join(root, 'editors/vscode/syntaxes/perp.tmLanguage.json'), 'utf8'))),
    template = readFileSync(join(here, 'page.html'), 'utf8');

// In the order of the menu; pages that no group names are in the last.
const groups = [
    ['Begin', ['README.md', 'docs/start.md', 'docs/playground.md', 'docs/gallery.md']],
    ['Language', ['docs/language.md', 'docs/library.md', 'docs/robots.md']],
    [
        'Engines',
        [
            'simulate',
            'accuracy',
            'derivatives',
            'plan',
            'identify',
            'sweep',
            'bodies',
            'programs',
            'lcp-solvers',
            'friction-solvers',
        ],
    ],
    ['Around', ['report', 'formats', 'json', 'export', 'python', 'c', 'compiled', 'scaling', 'scenes']],
    ['More', []],
].map(([name, list]) => [
    name,
    list.map(file => (file.includes('.') ? file : `docs/${file}.md`)).filter(file => existsSync(join(root, file))),
]);

function sources() {
    const of = folder =>
        readdirSync(join(root, folder))
            .filter(f => f.endsWith('.md'))
            .map(f => `${folder}/${f}`);
    return [
        'README.md',
        'CHANGELOG.md',
        'CONTRIBUTING.md',
        'SECURITY.md',
        ...of('docs'),
        ...of('docs/howto'),
        ...of('docs/tutorials'),
        ...of('docs/explain'),
        ...of('docs/adr'),
    ].filter(f => existsSync(join(root, f)));
}

const files = sources(),
    isPage = new Set(files),
    named = new Set(groups.flatMap(([, list]) => list));
groups.at(-1)[1].push(...files.filter(f => !named.has(f) && !f.startsWith('docs/adr/')));

// Names and texts -----------------------------------------------------------------------------------

const escape = text => text.replace(/[&<>"]/g, c => ({'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'})[c]);
const pageOf = file => (file === 'README.md' ? 'index.html' : file.replace(/\.md$/, '.html'));
const titleOf = file =>
    readFileSync(join(root, file), 'utf8')
        .match(/^# (.*)$/m)?.[1]
        .replaceAll('`', '') ?? file;

// As the places where repositories are shown name a heading, so that links work here and there.
function slugOf(text, taken) {
    const slug = text
        .toLowerCase()
        .replace(/<[^>]*>/g, '')
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replace(/\s/g, '-');
    const n = taken.get(slug) ?? 0;
    taken.set(slug, n + 1);
    return n ? `${slug}-${n}` : slug;
}

function coloured(text) {
    const lines = text.split('\n').map(line => {
        let html = '',
            at = 0;
        for (const [from, to, kind] of pieces(line)) {
            html += `${escape(line.slice(at, from))}<span class="${kind}">${escape(line.slice(from, to))}</span>`;
            at = to;
        }
        return html + escape(line.slice(at));
    });
    return lines.join('\n');
}

// Pages ---------------------------------------------------------------------------------------------

const copied = new Set(), // files that pages lead to
    wrong = [], // links that lead nowhere
    index = []; // for the search: [page, id, heading, text]

const isFile = path => existsSync(path) && statSync(path).isFile();

// Where a link of a file leads to in the site.
function target(file, href) {
    if (/^[a-z]+:|^#/.test(href)) return href;
    const [path, id] = href.split('#'),
        to = posix.normalize(posix.join(posix.dirname(file), path)),
        from = posix.dirname(pageOf(file));
    if (isPage.has(to)) return posix.relative(from, pageOf(to)) + (id ? `#${id}` : '');
    if (!to.startsWith('..') && isFile(join(root, to))) {
        copied.add(to);
        return posix.relative(from, to);
    }
    wrong.push(`${file}: ${href}`);
    return href;
}

// Links of perp blocks are made before the page, since packing a text takes a promise.
async function linksOf(text) {
    const links = new Map();
    for (const token of new Marked().lexer(text).flatMap(flat))
        if (token.type === 'code' && token.lang === 'perp')
            links.set(token.text, await linkOf({text: token.text + '\n', settings: {}, kind: null}));
    return links;
}

function flat(token) {
    return [token, ...(token.tokens ?? []).flatMap(flat), ...(token.items ?? []).flatMap(flat)];
}

async function pageFrom(file) {
    const text = readFileSync(join(root, file), 'utf8'),
        page = pageOf(file),
        up = posix.relative(posix.dirname(page), '.') || '.',
        links = await linksOf(text),
        taken = new Map(),
        contents = [];
    let part = [page, '', titleOf(file), ''];
    const renderer = {
        heading({tokens, depth}) {
            const html = this.parser.parseInline(tokens),
                plain = this.parser.parseInline(tokens, this.parser.textRenderer),
                id = slugOf(plain, taken);
            index.push(part);
            part = [page, depth === 1 ? '' : id, plain, ''];
            if (depth === 2) contents.push([id, html]);
            return `<h${depth} id="${escape(id)}">${html}<a class="here" href="#${escape(id)}" aria-label="link to this part">#</a></h${depth}>\n`;
        },
        code({text: code, lang}) {
            const language = (lang ?? '').split(' ')[0];
            if (language !== 'perp') return `<pre tabindex="0"><code>${escape(code)}</code></pre>\n`;
            // A titled model is a file of its page's commands, and may have a mistake on purpose.
            const link = links.has(code)
                ? `<a class="play" href="${up}/playground.html${escape(links.get(code))}">open in the playground</a>`
                : '';
            return `<div class="model"><pre tabindex="0"><code>${coloured(code)}</code></pre>${link}</div>\n`;
        },
        codespan({text: code}) {
            const html = `<code>${escape(code)}</code>`;
            return isPage.has(code)
                ? `<a href="${escape(posix.relative(posix.dirname(page), pageOf(code)))}">${html}</a>`
                : html;
        },
        link({href, tokens}) {
            return `<a href="${escape(target(file, href))}">${this.parser.parseInline(tokens)}</a>`;
        },
        image({href, text: words}) {
            return `<img src="${escape(target(file, href))}" alt="${escape(words)}" loading="lazy">`;
        },
        paragraph({tokens}) {
            part[3] += this.parser.parseInline(tokens, this.parser.textRenderer) + ' ';
            return `<p>${this.parser.parseInline(tokens)}</p>\n`;
        },
        tablecell({tokens, header}) {
            const html = this.parser.parseInline(tokens),
                tag = header && html ? 'th' : 'td';
            part[3] += this.parser.parseInline(tokens, this.parser.textRenderer) + ' ';
            return `<${tag}>${html}</${tag}>`;
        },
    };
    const marked = new Marked({renderer}),
        body = marked
            .parse(text)
            .replaceAll('<table>', '<div class="table" tabindex="0"><table>')
            .replaceAll('</table>', '</table></div>');
    index.push(part);
    return {page, up, body, contents, title: titleOf(file)};
}

function menuOf({page, up}) {
    return groups
        .filter(([, list]) => list.length)
        .map(([name, list]) => {
            const items = list.map(file => {
                const is = pageOf(file) === page ? ' aria-current="page"' : '';
                return `<li><a href="${up}/${pageOf(file)}"${is}>${escape(titleOf(file))}</a></li>`;
            });
            if (name === 'More')
                items.push(
                    `<li><a href="${up}/docs/adr/index.html"${page === 'docs/adr/index.html' ? ' aria-current="page"' : ''}>Decisions</a></li>`,
                );
            return `<h2>${name}</h2>\n<ul>\n${items.join('\n')}\n</ul>`;
        })
        .join('\n');
}

function save(name, text) {
    const path = join(out, name);
    mkdirSync(dirname(path), {recursive: true});
    writeFileSync(path + '.part', text);
    renameSync(path + '.part', path);
}

function savePage(made) {
    const contents =
        made.contents.length > 2
            ? `<ul>${made.contents.map(([id, html]) => `<li><a href="#${escape(id)}">${html}</a></li>`).join('')}</ul>`
            : '';
    const parts = {title: escape(made.title), menu: menuOf(made), contents, body: made.body};
    save(
        made.page,
        template.replaceAll('{up}', made.up).replace(/\{(title|menu|contents|body)\}/g, (all, name) => parts[name]),
    );
}

rmSync(out, {recursive: true, force: true});
for (const file of files) savePage(await pageFrom(file));
const decisions = files.filter(f => f.startsWith('docs/adr/'));
savePage({
    page: 'docs/adr/index.html',
    up: '../..',
    title: 'Decisions',
    contents: [],
    body: `<h1>Decisions</h1>\n<ul>\n${decisions.map(f => `<li><a href="${posix.basename(pageOf(f))}">${escape(titleOf(f))}</a></li>`).join('\n')}\n</ul>`,
});
for (const file of copied) {
    mkdirSync(dirname(join(out, file)), {recursive: true});
    copyFileSync(join(root, file), join(out, file));
}
copyFileSync(playground, join(out, 'playground.html'));
copyFileSync(join(here, 'site.js'), join(out, 'site.js'));
copyFileSync(join(here, 'style.css'), join(out, 'style.css'));
save('search.js', `const perpIndex = ${JSON.stringify(index.filter(p => p[3] || p[1]))};\n`);
if (wrong.length) {
    console.error(`links that lead nowhere:\n${wrong.join('\n')}`);
    process.exit(1);
}
console.log(`ok: ${relative(process.cwd(), join(out, 'index.html'))}, ${files.length} pages`);
