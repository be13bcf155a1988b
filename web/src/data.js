// The data of the page: one JSON object, numbers as base64 of doubles.

import {Motion} from './motion.js';
import {phasesOf} from './phases.js';

export function decode(text, Kind = Float64Array) {
    if (text === null || text === undefined) return null;
    const bytes = atob(text),
        array = new Uint8Array(bytes.length);
    for (let i = 0; i < bytes.length; i++) array[i] = bytes.charCodeAt(i);
    return new Kind(array.buffer);
}

// For the plots: null where there is no finite number.
export function gaps(values) {
    return values && Array.from(values, v => (Number.isFinite(v) ? v : null));
}

export function read() {
    const data = JSON.parse(document.getElementById('data').textContent);
    for (const run of data.runs) {
        for (const part of run.iterations || []) part.data = decode(part.data);
        run.phases = phasesOf(run.notes);
        run.held = run.notes.filter(n => n.startsWith('held ')).map(n => n.slice(5));
        if (run.problem) continue;
        run.t = decode(run.t);
        run.data = run.data.map(x => decode(x));
        for (const name of ['residual', 'violation', 'product']) run[name] = decode(run[name]);
        for (const strip of run.strips) strip.end = decode(strip.end);
        if (run.drawing) {
            run.drawing.t = decode(run.drawing.t);
            for (const shape of run.drawing.shapes)
                shape.at = shape.at.map(x => (typeof x === 'string' ? decode(x) : x));
        }
        if (run.motion) run.motion = new Motion(run.motion, text => decode(text, Float32Array));
        for (const law of run.laws) for (const name of ['v', 'f', 'bound']) law[name] = decode(law[name]);
    }
    return data;
}

// Six digits, as short as they can be written.
export function show(v) {
    if (v === null || v === undefined) return '–';
    if (!Number.isFinite(v)) return String(v);
    return String(Number(v.toPrecision(6)));
}

// "m s^-1" as it is written by hand: "m/s".
export function readable(unit) {
    const under = (unit || '').split(' ').filter(part => /\^-/.test(part)),
        over = (unit || '').split(' ').filter(part => !/\^-/.test(part));
    if (!under.length || /[/*]/.test(unit)) return unit;
    return `${over.join(' ') || 1}/${under.map(part => part.replace('^-1', '').replace('^-', '^')).join('/')}`;
}

// The same as show for marks of an axis, which have little room.
export function mark(v) {
    return Math.abs(v) >= 1e5 ? v.toExponential().replace('e+', 'e') : show(v);
}

// Index of the entry of an ascending array that is nearest to x.
export function nearest(array, x) {
    let lo = 0,
        hi = array.length - 1;
    while (hi - lo > 1) {
        const middle = (lo + hi) >> 1;
        if (array[middle] <= x) lo = middle;
        else hi = middle;
    }
    return hi >= 0 && Math.abs(array[hi] - x) < Math.abs(array[lo] - x) ? hi : lo;
}

// Index of the first entry of an ascending array that is not below x.
export function lower(array, x) {
    let lo = 0,
        hi = array.length;
    while (lo < hi) {
        const middle = (lo + hi) >> 1;
        if (array[middle] < x) lo = middle + 1;
        else hi = middle;
    }
    return lo;
}

// 1, 2 or 5 times powers of ten between lo and hi, about `target` of them.
export function ticks(lo, hi, target) {
    const rough = (hi - lo) / target,
        power = 10 ** Math.floor(Math.log10(rough)),
        share = rough / power;
    const step = power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10),
        list = [];
    for (let k = Math.ceil(lo / step - 1e-9); k * step <= hi + 1e-9 * step; k++)
        list.push(Number((k * step).toPrecision(12)));
    return list;
}

export function range(lists) {
    let lo = Infinity,
        hi = -Infinity;
    for (const list of lists)
        for (const v of list || [])
            if (Number.isFinite(v)) {
                if (v < lo) lo = v;
                if (v > hi) hi = v;
            }
    return lo <= hi ? [lo, hi] : null;
}
