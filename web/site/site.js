// The search, and the menu of small windows.

const up = document.currentScript.dataset.up,
    byId = id => document.getElementById(id),
    most = 20;

// Parts that have all words: [page, id, heading, text]. First those whose heading has them; decisions behind what is.
function find(words) {
    const list = [];
    for (const part of perpIndex) {
        const heading = part[2].toLowerCase(),
            text = part[3].toLowerCase();
        if (!words.every(w => heading.includes(w) || text.includes(w))) continue;
        const isDecision = part[0].includes('/adr/');
        list.push([words.filter(w => heading.includes(w)).length - (isDecision ? 100 : 0), part]);
    }
    return list.sort((a, b) => b[0] - a[0]).map(([, part]) => part);
}

// What stands about the first of the words.
function about(text, words) {
    const at = Math.max(0, Math.min(...words.map(w => text.toLowerCase().indexOf(w)).filter(i => i >= 0)) - 50) || 0;
    return (at > 0 ? '… ' : '') + text.slice(at, at + 140);
}

function show() {
    const words = byId('search').value.toLowerCase().split(/\s+/).filter(Boolean),
        list = words.length ? find(words) : [],
        items = list.slice(0, most).map(([page, id, heading, text]) => {
            const link = document.createElement('a'),
                where = document.createElement('span');
            link.href = `${up}/${page}${id ? '#' + id : ''}`;
            link.textContent = heading;
            where.textContent = `${page.replace('.html', '')}: ${about(text, words)}`;
            link.append(where);
            return link;
        });
    if (words.length && !items.length) items.push(document.createTextNode('nothing has these words'));
    if (list.length > most) items.push(document.createTextNode(`and ${list.length - most} more`));
    byId('found').replaceChildren(...items);
    byId('found').hidden = !words.length;
}

function toggleMenu(open) {
    document.body.classList.toggle('open', open);
    byId('menu-button').setAttribute('aria-expanded', String(document.body.classList.contains('open')));
}

byId('search').addEventListener('input', show);
byId('menu-button').addEventListener('click', () => toggleMenu());
document.addEventListener('keydown', e => {
    if (e.key === '/' && document.activeElement !== byId('search')) {
        e.preventDefault();
        byId('search').focus();
    }
    if (e.key === 'Escape') {
        byId('search').value = '';
        show();
        toggleMenu(false);
    }
});
byId('found').addEventListener('click', () => (byId('found').hidden = true));
