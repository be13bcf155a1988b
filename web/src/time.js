// Plots over time, with cursors and zoom that all of them share.

import uPlot from 'uplot';
import {gaps, mark, range, show} from './data.js';
import {saveButtons} from './figure.js';
import {robust} from './limits.js';
import {sample, seriesColor} from './look.js';
import {drawPhases} from './phases.js';
import {shownRows} from './rows.js';
import {color, element, listen, setTime, setZoom, shownRange, state} from './state.js';

export const plots = [];
const made = []; // of uPlot, all

export function forgetPlots() {
    for (const plot of made) plot.destroy();
    plots.length = made.length = 0;
}
const steps = uPlot.paths.stepped({align: -1}); // a row has the value of the step before it
const left = 66,
    font = '11px system-ui, sans-serif';
let busy = false;

function axis(more) {
    return {
        stroke: () => color('m'),
        font,
        labelFont: font,
        labelSize: 16,
        grid: {stroke: () => color('g'), width: 1},
        ticks: {stroke: () => color('g'), size: 4},
        values: (u, list) => list.map(v => (v === null ? '' : mark(v))),
        ...more,
    };
}

export function axisLabel(name, unit) {
    return unit ? `${name} [${unit}]` : name;
}

// Whole decades; what is more than twenty below the largest value lies on the lower edge.
function decades(u, min, max) {
    if (!(max > 0)) return [1e-16, 1];
    return [10 ** Math.floor(Math.log10(Math.max(min, max * 1e-20, 1e-200))), 10 ** Math.ceil(Math.log10(max) + 1e-9)];
}

// Marks of a logarithmic axis: at most seven powers of ten.
function powers(u, axis, min, max) {
    const first = Math.round(Math.log10(min)),
        last = Math.round(Math.log10(max)),
        every = Math.ceil((last - first + 1) / 7),
        list = [];
    for (let k = Math.ceil(first / every) * every; k <= last; k += every) list.push(Number(`1e${k}`));
    return list;
}

const logAxis = {splits: powers, filter: (u, list) => list};

// In joined data an entry that is undefined belongs to another run: take the nearest that does not.
function nearestRow(u, s, i) {
    const y = u.data[s];
    if (s === 0 || y[i] !== undefined) return i;
    for (let k = 1; k < y.length; k++) {
        if (y[i - k] !== undefined) return i - k;
        if (y[i + k] !== undefined) return i + k;
    }
    return i;
}

// Names are buttons, with a piece of their line before them.
function dressLegend(u, order) {
    u.root.querySelectorAll('.u-legend .u-series').forEach((line, k) => {
        const head = line.querySelector('th'),
            marker = line.querySelector('.u-marker');
        if (k === 0) return;
        const pressed = () => head.setAttribute('aria-pressed', String(u.series[k].show));
        if (order[k - 1].words) marker.remove();
        else marker.replaceWith(sample(order[k - 1].color, order[k - 1].dash));
        head.tabIndex = 0;
        head.setAttribute('role', 'button');
        head.addEventListener('keydown', e => {
            if (e.key === 'Enter') head.click();
        });
        head.addEventListener('click', () => setTimeout(pressed));
        pressed();
    });
    for (const table of u.root.querySelectorAll('.u-legend')) table.setAttribute('role', 'presentation');
    for (const part of u.root.querySelectorAll('.u-legend tr, .u-legend td'))
        part.setAttribute('role', 'presentation');
}

// The range of a linear axis, and the button that says what lies beyond it.
class Limits {
    constructor(host, units) {
        this.whole = false;
        this.beyond = {};
        this.units = units; // of each scale
        this.button = element('button', {
            class: 'spikes',
            'aria-pressed': 'false',
            onclick: () => {
                this.whole = !this.whole;
                this.plot.setData(this.plot.data);
            },
        });
        this.button.hidden = true;
        host.append(this.button);
    }

    range(u, lo, hi, scale) {
        if (lo === null || lo === undefined) return uPlot.rangeNum(0, 1, 0.1, true);
        const t = u.data[0],
            lists = u.series.flatMap((s, k) => (k && s.scale === scale && s.show ? [{t, y: u.data[k]}] : []));
        const found = robust(lists, ...shownRange(), lo, hi);
        this.beyond[scale] = found ? (hi - found[1] > found[0] - lo ? hi : lo) : undefined;
        if (found && !this.whole) [lo, hi] = found;
        return uPlot.rangeNum(lo, hi, 0.1, true);
    }

    tell() {
        const [scale, spike] = Object.entries(this.beyond).find(([, v]) => v !== undefined) || [],
            unit = this.units[scale],
            reach = `spikes to ${show(spike)}${unit ? ' ' + unit : ''}`;
        this.button.hidden = spike === undefined;
        this.button.textContent = this.whole ? `cut off ${reach}` : `show ${reach}`;
        this.button.setAttribute('aria-pressed', String(this.whole));
    }
}

// What stands in a plot, in words.
function inWords(series) {
    return series
        .filter(s => !s.words)
        .slice(0, 40)
        .map(s => {
            const pair = range([s.values]);
            return pair ? `${s.label}: ${show(pair[0])} to ${show(pair[1])}, at the end ${show(s.values.at(-1))}` : '';
        })
        .filter(Boolean)
        .join('; ');
}

function drawShapes(u, shapes) {
    const ctx = u.ctx,
        scale = devicePixelRatio || 1;
    ctx.save();
    ctx.beginPath();
    ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    ctx.clip();
    ctx.scale(scale, scale);
    ctx.textAlign = 'left';
    ctx.textBaseline = 'alphabetic';
    ctx.font = font;
    for (const s of shapes) {
        ctx.fillStyle = s.color || color('t');
        if (s.text !== undefined) ctx.fillText(s.text, s.x, s.y);
        else ctx.fillRect(s.x, s.y, s.width, s.height);
    }
    ctx.restore();
}

function marksOf(u, k, place) {
    const axis = u.axes[k];
    return (axis._splits || [])
        .map((v, i) => ({at: place(v), text: axis._values[i]}))
        .filter(m => m.text !== '' && m.text !== null && m.text !== undefined);
}

function shownLegend(u, order) {
    return order
        .filter((s, k) => u.series[k + 1].show && !s.words)
        .map(s => ({label: s.label, color: seriesColor(s.color), dash: s.dash}));
}

// As figure.js wants it.
function figureOf(u, order, options) {
    const ratio = devicePixelRatio || 1,
        box = {left: u.bbox.left / ratio, top: u.bbox.top / ratio};
    box.width = u.bbox.width / ratio;
    box.height = u.bbox.height / ratio;
    const x = v => box.left + u.valToPos(v, 'x'),
        y = scale => v => box.top + u.valToPos(v, scale);
    const points = k =>
        Array.from(u.data[0], (t, i) => [t, u.data[k][i]])
            .filter(([t, v]) => v !== undefined && t >= u.scales.x.min && t <= u.scales.x.max)
            .map(([t, v]) => (v === null ? null : [x(t), y(u.series[k].scale)(v)]));
    return {
        width: u.width,
        height: u.height,
        box,
        x: marksOf(u, 0, x),
        y: options.strip ? [] : marksOf(u, 1, y('y')),
        right: u.axes[2] ? marksOf(u, 2, y('right')) : [],
        xLabel: u.axes[0].label,
        yLabel: options.label || '',
        rightLabel: options.right || '',
        curves: options.strip
            ? []
            : order.flatMap((s, k) =>
                  u.series[k + 1].show
                      ? [{color: seriesColor(s.color), dash: s.dash, points: points(k + 1), steps: s.held}]
                      : [],
              ),
        shapes: options.shapes ? options.shapes(u) : [],
        legend: shownLegend(u, order),
    };
}

// options: title; label and right name the axes; log, rightLog their scales; own: not over the time of the
// run, so nothing is shared; shapes: what is drawn besides, in pixels. series: [{run, label, values, color, dash, scale, words}], all over the times of their
// run. words: values are indices of words, for the legend.
export function timePlot(host, runs, series, options = {}) {
    const used = [...new Set(series.map(s => s.run))];
    const columnsOf = r => series.filter(s => s.run === r),
        isClose = used.some(r => runs[r].all && columnsOf(r).every(s => s.column !== undefined));
    // Where a run has more rows than the page opens with, those of the stretch that is shown.
    const tableOf = r => {
        const rows = isClose ? shownRows(runs[r]) : {t: runs[r].t};
        return [Array.from(rows.t), ...columnsOf(r).map(s => gaps(rows.data ? rows.data(s.column) : s.values))];
    };
    const collect = () => (used.length > 1 ? uPlot.join(used.map(tableOf)) : tableOf(used[0]));
    const data = collect();
    const order = used.flatMap(r => series.filter(s => s.run === r));
    const first = runs[used[0]],
        log = {distr: 3, log: 10, clamp: (u, v, min) => min, range: decades};
    const few = data[0].length <= 200;
    const width = Math.max(300, host.clientWidth),
        limits =
            options.own || options.log || options.strip
                ? null
                : new Limits(host, {y: options.unit, right: options.rightUnit}),
        free = limits ? {range: (u, lo, hi, scale) => limits.range(u, lo, hi, scale)} : {};
    const scales = {
        x: options.own ? {time: false} : {time: false, range: () => shownRange()},
        y: options.log ? log : {...free},
    };
    const axes = [
        axis({label: axisLabel(first.time, first.timeUnit), size: 36, space: 80}),
        axis({
            size: left - 16,
            label: options.label || ' ',
            ...(options.log ? logAxis : {}),
            ...(options.strip ? {values: () => [], grid: {show: false}, ticks: {show: false}} : {}),
        }),
    ];
    if (options.right !== undefined) {
        scales.right = options.rightLog ? {...log} : {...free};
        axes.push(
            axis({
                scale: 'right',
                side: 1,
                size: left - 16,
                label: options.right || ' ',
                grid: {show: false},
                ...(options.rightLog ? logAxis : {}),
            }),
        );
    }
    let self = null;
    const onTime = () => {
        if (busy || !self) return;
        const t = state.time,
            shown = shownRange(),
            inside = t !== null && t >= shown[0] && t <= shown[1];
        self.setCursor(inside ? {left: self.valToPos(t, 'x'), top: 0} : {left: -10, top: -10}, false);
    };
    const opts = {
        width,
        height: options.height || 230,
        pxAlign: 0, // slanted lines are no staircases
        scales,
        axes,
        padding: [8, options.right === undefined ? 16 : 0, 0, 0],
        series: [
            {label: first.time, value: (u, v) => show(v)},
            ...order.map(s => ({
                label: s.label,
                scale: s.scale || 'y',
                width: 1.5,
                dash: s.dash,
                stroke: () => seriesColor(s.color),
                value: (u, v) => (s.words ? (v === null || v === undefined ? '–' : s.words[v]) : show(v)),
                points: {show: few && !s.words, size: 4},
                ...(s.words ? {paths: () => null} : s.held ? {paths: steps} : {}),
            })),
        ],
        cursor: {
            drag: {x: true, y: false, setScale: !!options.own},
            dataIdx: nearestRow,
            points: options.strip ? {show: false} : {size: 7},
            y: false,
        },
        hooks: options.own
            ? {ready: [u => dressLegend(u, order)]}
            : {
                  setCursor: [
                      u => {
                          if (busy || !self) return;
                          busy = true;
                          const inside = u.cursor.left >= 0;
                          if (inside && u.cursor.event) setTime(u.posToVal(u.cursor.left, 'x'));
                          busy = false;
                          if (inside && u.cursor.event)
                              for (const other of plots) if (other.plot !== u) other.onTime();
                      },
                  ],
                  setSelect: [
                      u => {
                          if (u.select.width < 4) return;
                          const from = u.posToVal(u.select.left, 'x'),
                              to = u.posToVal(u.select.left + u.select.width, 'x');
                          u.setSelect({left: 0, top: 0, width: 0, height: 0}, false);
                          setZoom([from, to]);
                      },
                  ],
                  ready: [u => dressLegend(u, order)],
                  draw: [
                      () => limits && limits.tell(),
                      ...(options.shapes ? [u => drawShapes(u, options.shapes(u))] : []),
                      u => used.forEach((r, i) => drawPhases(u, runs[r].phases, i === 0 && !options.strip)),
                  ],
              },
    };
    self = new uPlot(opts, data, host);
    made.push(self);
    if (limits) limits.plot = self;
    const title = options.title || host.getAttribute('aria-label') || 'plot';
    host.append(
        saveButtons(
            title,
            () => figureOf(self, order, options),
            () => self.ctx.canvas,
        ),
        element('p', {class: 'heard', text: inWords(order)}),
    );
    self.ctx.canvas.setAttribute('role', 'img');
    self.ctx.canvas.setAttribute('aria-label', title);
    listen('theme', () => self.redraw(false, true));
    new ResizeObserver(() => {
        const now = Math.max(300, host.clientWidth);
        if (now === self.width) return;
        self.setSize({width: now, height: self.height});
        onTime();
    }).observe(host);
    if (options.own) return self;
    self.over.addEventListener('dblclick', () => setZoom(null));
    plots.push({plot: self, onTime, series: order});
    listen('time', onTime);
    requestAnimationFrame(onTime); // the drawing stands at the start already
    listen('zoom', () => {
        if (isClose) self.setData(collect(), false);
        self.setScale('x', {min: shownRange()[0], max: shownRange()[1]});
    });
    return self;
}

// Columns without any finite value are named, not silently empty.
export function emptyNote(series) {
    const names = series.filter(s => !s.values.some(Number.isFinite)).map(s => s.label);
    return names.length ? element('p', {class: 'note', text: `no finite values: ${names.join(', ')}`}) : null;
}
