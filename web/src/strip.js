// The mode strip: for each contact or pair a bar over time, coloured by its mode.

import {seriesColor} from './look.js';
import {element} from './state.js';
import {timePlot} from './time.js';

const row = 34,
    thickness = [13, 9, 9, 4]; // of modes, so that they differ in grey, too

// The mode at each kept row, for the legend.
function modeAt(run, strip) {
    let k = 0;
    return Array.from(run.t, t => {
        while (k < strip.end.length && t > strip.end[k]) k++;
        const letter = strip.mode[k];
        return letter === undefined || letter === '-' ? NaN : Number(letter);
    });
}

// Bars and their names, in pixels.
function shapes(u, strips) {
    const ratio = devicePixelRatio || 1,
        left = u.bbox.left / ratio,
        top = u.bbox.top / ratio,
        right = left + u.bbox.width / ratio,
        list = [];
    strips.forEach(({run, strip, label}, i) => {
        const y = top + i * row + 4;
        list.push({x: left + 2, y: y + 10, text: label});
        let from = run.t[0];
        for (let k = 0; k < strip.end.length; k++) {
            const x = left + u.valToPos(from, 'x'),
                to = left + u.valToPos(strip.end[k], 'x'),
                mode = Number(strip.mode[k]);
            from = strip.end[k];
            if (strip.mode[k] === '-' || to < left || x > right) continue;
            const height = thickness[mode];
            list.push({x, y: y + 14 + 13 - height, width: Math.max(to - x, 1), height, color: seriesColor(mode)});
        }
    });
    return list;
}

// What the colours mean, for each kind of bar that occurs.
const meaning = {
    contact: ['stick', 'slip +', 'slip −', 'free'],
    plane: ['stick', 'slip', '', 'free'],
    pair: ['first side > 0', 'both zero', 'second side > 0', 'guard off'],
    bounds: ['at its lower bound', 'between', 'at its upper bound', 'guard off'],
};

function legend(strips) {
    const host = element('div');
    for (const kind of Object.keys(meaning)) {
        const modes = strips
            .filter(s => s.strip.kind === kind)
            .map(s => s.strip.mode)
            .join('');
        if (!modes) continue;
        const line = element('div', {
            class: 'hint',
            text: {contact: 'friction', plane: 'friction in the plane', pair: 'pairs', bounds: 'bounded quantities'}[
                kind
            ],
        });
        meaning[kind].forEach((word, k) => {
            if (modes.includes(String(k)))
                line.append(element('span', {class: 'key', style: `background: var(--${k + 1})`}), word);
        });
        host.append(line);
    }
    return host;
}

export function stripPlot(host, runs) {
    const strips = runs.flatMap((run, r) =>
        (run.strips || []).map(strip => ({
            run,
            r,
            strip,
            label: runs.length > 1 ? `${strip.label} (${run.name})` : strip.label,
        })),
    );
    if (!strips.length) return false;
    const series = strips.map(({run, r, strip, label}) => ({
        run: r,
        label,
        values: modeAt(run, strip),
        color: 7,
        words: strip.words,
    }));
    host.append(legend(strips));
    if (strips.some(({strip}) => strip.coarse))
        host.append(
            element('p', {
                class: 'hint',
                text: 'Modes change too often to be drawn one by one: bars show the most common one.',
            }),
        );
    const left = runs.reduce((n, run) => n + (run.stripsLeftOut || 0), 0);
    if (left) host.append(element('p', {class: 'hint', text: `${left} more pairs are not shown.`}));
    const plot = timePlot(host, runs, series, {
        strip: true,
        height: strips.length * row + 64,
        shapes: u => shapes(u, strips),
        title: 'modes',
    });
    plot.root.classList.add('strip');
    return true;
}
