// What the parts of the page share: the time of the cursor, the stretch of time that is shown, and
// the theme. A part listens and redraws itself.

const listeners = {time: [], zoom: [], theme: []};
export const state = {time: null, zoom: null, whole: null};

export function listen(what, fn) {
    listeners[what].push(fn);
}

export function forgetListeners() {
    for (const list of Object.values(listeners)) list.length = 0;
}

// The time that can be shown, or null. What was shown of another stays.
export function setRange(range) {
    const isSame = range && state.whole && range[0] === state.whole[0] && range[1] === state.whole[1];
    if (!isSame) Object.assign(state, {whole: range, time: null, zoom: null});
}

function tell(what, from) {
    for (const fn of listeners[what]) if (fn !== from) fn();
}

export function setTime(time, from) {
    if (time === state.time) return;
    state.time = time;
    tell('time', from);
}

// null: the whole run
export function setZoom(zoom, from) {
    const same = zoom === state.zoom || (zoom && state.zoom && zoom[0] === state.zoom[0] && zoom[1] === state.zoom[1]);
    if (same) return;
    state.zoom = zoom;
    tell('zoom', from);
}

export function shownRange() {
    return state.zoom || state.whole;
}

const colors = new Map(); // of the theme; asking the style sheet is slow

export function setTheme(name) {
    document.documentElement.dataset.theme = name;
    colors.clear();
    tell('theme');
}

export function color(name) {
    if (!colors.has(name))
        colors.set(
            name,
            getComputedStyle(document.documentElement)
                .getPropertyValue('--' + name)
                .trim(),
        );
    return colors.get(name);
}

export function element(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (name === 'text') node.textContent = value;
        else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
        else node.setAttribute(name, value);
    }
    node.append(...children);
    return node;
}

export function svg(tag, attributes = {}, ...children) {
    const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [name, value] of Object.entries(attributes))
        if (name === 'text') node.textContent = value;
        else node.setAttribute(name, value);
    node.append(...children);
    return node;
}
