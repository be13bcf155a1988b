// The mode strip: for each contact or pair a bar over time, coloured by its mode.

import {color, element, seriesColor} from './state.js';
import {timePlot} from './time.js';

const row = 34;

// The mode at each kept row, for the legend.
function modeAt(run, strip) {
    let k = 0;
    return Array.from(run.t, t => {
        while (k < strip.end.length && t > strip.end[k]) k++;
        const letter = strip.mode[k];
        return letter === undefined || letter === '-' ? NaN : Number(letter);
    });
}

function draw(u, strips) {
    const ctx = u.ctx,
        box = u.bbox,
        scale = devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(box.left, box.top, box.width, box.height);
    ctx.clip();
    ctx.textAlign = 'left';
    ctx.textBaseline = 'alphabetic';
    ctx.font = `${11 * scale}px system-ui, sans-serif`;
    strips.forEach(({run, strip, label}, i) => {
        const y = box.top + (i * row + 4) * scale;
        ctx.fillStyle = color('t');
        ctx.fillText(label, box.left + 2 * scale, y + 10 * scale);
        let from = run.t[0];
        for (let k = 0; k < strip.end.length; k++) {
            const x = u.valToPos(from, 'x', true),
                to = u.valToPos(strip.end[k], 'x', true);
            from = strip.end[k];
            if (strip.mode[k] === '-' || to < box.left || x > box.left + box.width) continue;
            ctx.fillStyle = seriesColor(Number(strip.mode[k]));
            ctx.fillRect(x, y + 14 * scale, Math.max(to - x, 1), 13 * scale);
        }
    });
    ctx.restore();
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
        draw: u => draw(u, strips),
    });
    plot.root.classList.add('strip');
    return true;
}
