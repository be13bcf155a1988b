// What an identification leaves over: measured minus predicted over time, its autocorrelation and its histogram.

import {lower, show, ticks} from './data.js';
import {color, element, listen} from './state.js';
import {saveButtons, svgText} from './figure.js';

const lags = 40,
    fewest = 8; // rows, for a histogram

// The predicted value at a time, on the line between its rows; NaN outside.
function between(t, y, time) {
    const i = lower(t, time);
    if (t[i] === time) return y[i];
    if (i === 0 || i === t.length) return NaN;
    return y[i - 1] + ((time - t[i - 1]) / (t[i] - t[i - 1])) * (y[i] - y[i - 1]);
}

export function residuals(measured, predicted, k) {
    const y = measured.data[k],
        model = predicted.data[k];
    return y && model ? Float64Array.from(y, (v, i) => v - between(predicted.t, model, measured.t[i])) : null;
}

export function rootMeanSquare(values) {
    const known = values.filter(Number.isFinite);
    return Math.sqrt(known.reduce((sum, v) => sum + v * v, 0) / known.length);
}

// r_k = sum (e_i - m)(e_{i+k} - m) / sum (e_i - m)^2
export function autocorrelation(values) {
    const known = values.filter(Number.isFinite),
        n = known.length,
        mean = known.reduce((a, b) => a + b, 0) / n,
        e = known.map(v => v - mean),
        whole = e.reduce((sum, v) => sum + v * v, 0);
    return Array.from({length: Math.min(lags, n >> 1) + 1}, (_, k) => {
        let sum = 0;
        for (let i = 0; i + k < n; i++) sum += e[i] * e[i + k];
        return whole > 0 ? sum / whole : k ? 0 : 1;
    });
}

export function histogram(values) {
    const known = values.filter(Number.isFinite).sort(),
        n = known.length,
        lo = known[0],
        hi = known[n - 1],
        bins = Math.max(5, Math.min(40, Math.ceil(2 * Math.cbrt(n)))),
        step = (hi - lo) / bins || 1,
        count = new Array(bins).fill(0);
    for (const v of known) count[Math.min(bins - 1, Math.floor((v - lo) / step))]++;
    return {lo, step, count};
}

// Axes for a small figure: the data to pixels, and marks.
function axes(width, height, [x0, x1], [y0, y1]) {
    const box = {left: 54, top: 10, width: width - 68, height: height - 52};
    const toX = v => box.left + ((v - x0) / (x1 - x0)) * box.width,
        toY = v => box.top + box.height - ((v - y0) / (y1 - y0)) * box.height;
    return {
        width,
        height,
        box,
        toX,
        toY,
        x: ticks(x0, x1, 5).map(v => ({at: toX(v), text: show(v)})),
        y: ticks(y0, y1, 4).map(v => ({at: toY(v), text: show(v)})),
        legend: [],
    };
}

// Bars from the zero line; the dashed lines hold 95 of 100 values of white noise.
function correlationFigure(width, name, values) {
    const r = autocorrelation(values),
        n = values.filter(Number.isFinite).length,
        band = 1.96 / Math.sqrt(n),
        f = axes(width, 190, [-0.5, r.length - 0.5], [Math.min(-0.5, ...r), 1.05]);
    const level = v => [
        [f.box.left, f.toY(v)],
        [f.box.left + f.box.width, f.toY(v)],
    ];
    return {
        ...f,
        xLabel: 'lag [rows]',
        yLabel: `autocorrelation of ${name}`,
        shapes: r.map((v, k) => ({
            x: f.toX(k) - 1.5,
            y: Math.min(f.toY(v), f.toY(0)),
            width: 3,
            height: Math.abs(f.toY(v) - f.toY(0)),
            color: color('1'),
        })),
        curves: [
            {points: level(0), color: color('m'), width: 1},
            ...[band, -band].map(v => ({points: level(v), color: color('2'), dash: [5, 3]})),
        ],
    };
}

// Counts, and the normal distribution of the same mean square.
function histogramFigure(width, name, unit, values) {
    const {lo, step, count} = histogram(values),
        n = values.filter(Number.isFinite).length,
        rms = rootMeanSquare(values),
        end = lo + step * count.length,
        normal = v => ((n * step) / (rms * Math.sqrt(2 * Math.PI))) * Math.exp((-0.5 * v * v) / (rms * rms)),
        f = axes(width, 190, [lo - step, end + step], [0, 1.1 * Math.max(...count, rms > 0 ? normal(0) : 0)]);
    return {
        ...f,
        xLabel: unit ? `${name} [${unit}]` : name,
        yLabel: 'rows',
        shapes: count.map((c, k) => ({
            x: f.toX(lo + k * step) + 0.5,
            y: f.toY(c),
            width: f.toX(lo + step) - f.toX(lo) - 1,
            height: f.toY(0) - f.toY(c),
            color: color('1'),
        })),
        curves:
            rms > 0
                ? [
                      {
                          points: Array.from({length: 81}, (_, k) => {
                              const v = lo - step + ((end - lo + 2 * step) * k) / 80;
                              return [f.toX(v), f.toY(normal(v))];
                          }),
                          color: color('2'),
                          width: 2,
                      },
                  ]
                : [],
    };
}

// The figure as SVG in the page, drawn anew when the theme or the width changes.
function still(host, title, figure) {
    const place = element('div', {role: 'img', 'aria-label': title}),
        width = () => Math.max(260, Math.min(560, host.clientWidth));
    const draw = () => {
        const text = svgText({...figure(width()), title}),
            parsed = new DOMParser().parseFromString(text, 'image/svg+xml').documentElement;
        parsed.removeChild(parsed.querySelector('title'));
        place.replaceChildren(document.importNode(parsed, true));
    };
    const raster = () => {
        const canvas = element('canvas'),
            ctx = canvas.getContext('2d'),
            f = figure(width());
        canvas.width = 2 * f.width;
        canvas.height = 2 * f.height;
        ctx.scale(2, 2);
        ctx.font = '11px system-ui, sans-serif';
        for (const s of f.shapes) {
            ctx.fillStyle = s.color;
            ctx.fillRect(s.x, s.y, s.width, s.height);
        }
        for (const c of f.curves) {
            ctx.strokeStyle = c.color;
            ctx.setLineDash(c.dash || []);
            ctx.beginPath();
            for (const [x, y] of c.points) ctx.lineTo(x, y);
            ctx.stroke();
        }
        ctx.fillStyle = color('t');
        for (const m of f.x) ctx.fillText(m.text, m.at - 8, f.box.top + f.box.height + 15);
        for (const m of f.y) ctx.fillText(m.text, 20, m.at + 4);
        ctx.fillText(f.xLabel, f.box.left, f.height - 6);
        return canvas;
    };
    host.append(
        place,
        saveButtons(title, () => figure(width()), raster),
    );
    draw();
    listen('theme', draw);
    new ResizeObserver(draw).observe(host);
}

export function residualFigures(host, name, unit, values) {
    if (values.filter(Number.isFinite).length < fewest) return;
    const pair = element('div', {class: 'pair'}),
        rest = `${name} measured − predicted`;
    host.append(pair);
    for (const [title, figure] of [
        [`autocorrelation of ${rest}`, width => correlationFigure(width, name, values)],
        [`histogram of ${rest}`, width => histogramFigure(width, rest, unit, values)],
    ]) {
        const place = element('div', {class: 'plot', role: 'group', 'aria-label': title});
        pair.append(place);
        still(place, title, figure);
    }
}
