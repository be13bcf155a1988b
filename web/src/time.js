// Plots over time, with cursors and zoom that all of them share.

import uPlot from 'uplot';
import {gaps, mark, show} from './data.js';
import {drawPhases} from './phases.js';
import {color, element, listen, seriesColor, setTime, setZoom, shownRange, state} from './state.js';

export const plots = [];
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

function legendByKeyboard(u) {
    for (const head of u.root.querySelectorAll('.u-legend .u-series th')) {
        head.tabIndex = 0;
        head.addEventListener('keydown', e => {
            if (e.key === 'Enter') head.click();
        });
    }
}

// options: label and right name the axes; log, rightLog their scales; own: not over the time of the
// run, so nothing is shared. series: [{run, label, values, color, dash, scale, words}], all over the times of their
// run. words: values are indices of words, for the legend.
export function timePlot(host, runs, series, options = {}) {
    const used = [...new Set(series.map(s => s.run))];
    const tables = used.map(r => [Array.from(runs[r].t), ...series.filter(s => s.run === r).map(s => gaps(s.values))]);
    const data = tables.length > 1 ? uPlot.join(tables) : tables[0];
    const order = used.flatMap(r => series.filter(s => s.run === r));
    const first = runs[used[0]],
        log = {distr: 3, log: 10, clamp: (u, v, min) => min, range: decades};
    const few = data[0].length <= 200;
    const width = Math.max(300, host.clientWidth);
    const scales = {
        x: options.own ? {time: false} : {time: false, range: () => shownRange()},
        y: options.log ? log : {},
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
        scales.right = options.rightLog ? {...log} : {};
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
            ? {ready: [legendByKeyboard]}
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
                  ready: [legendByKeyboard],
                  draw: [
                      ...(options.draw ? [options.draw] : []),
                      u => used.forEach((r, i) => drawPhases(u, runs[r].phases, i === 0 && !options.strip)),
                  ],
              },
    };
    self = new uPlot(opts, data, host);
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
    listen('zoom', () => self.setScale('x', {min: shownRange()[0], max: shownRange()[1]}));
    return self;
}

// Columns without any finite value are named, not silently empty.
export function emptyNote(series) {
    const names = series.filter(s => !s.values.some(Number.isFinite)).map(s => s.label);
    return names.length ? element('p', {class: 'note', text: `no finite values: ${names.join(', ')}`}) : null;
}
