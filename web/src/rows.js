// All rows of a long run, which the page carries in blocks (src/report/rows.c): a stretch of them, exact, where the
// reader looks closer.

import {state} from './state.js';

const most = 300000; // rows that are taken apart at once
let node = null, // the text of all blocks
    text = null;

function letters(from, to) {
    const now = document.getElementById('rows').firstChild;
    if (now !== node) [node, text] = [now, now.data];
    return atob(text.slice(from, to));
}

// The values of a block: differences of order 0 to 2 of whole numbers, added up in two halves, the low one first.
export function unfoldBits(bytes, n) {
    const order = bytes.charCodeAt(0),
        halves = new Uint32Array(2 * n);
    let at = 1 + ((n + 1) >> 1),
        low = 0,
        high = 0,
        slopeLow = 0,
        slopeHigh = 0;
    for (let i = 0; i < n; i++) {
        const size = (bytes.charCodeAt(1 + (i >> 1)) >> (i & 1 ? 4 : 0)) & 15;
        let l = 0,
            h = 0;
        for (let k = 0; k < size; k++) {
            const byte = bytes.charCodeAt(at++);
            if (k < 4) l |= byte << (8 * k);
            else h |= byte << (8 * k - 32);
        }
        if (order === 0) {
            low = l >>> 0;
            high = h >>> 0;
        } else {
            const sign = -(l & 1);
            l = (((l >>> 1) | (h << 31)) ^ sign) >>> 0;
            h = ((h >>> 1) ^ sign) >>> 0;
            if (order === 2) {
                const sum = slopeLow + l;
                slopeHigh = (slopeHigh + h + (sum > 0xffffffff ? 1 : 0)) >>> 0;
                slopeLow = sum >>> 0;
                l = slopeLow;
                h = slopeHigh;
            }
            const sum = low + l;
            high = (high + h + (sum > 0xffffffff ? 1 : 0)) >>> 0;
            low = sum >>> 0;
        }
        halves[2 * i] = low;
        halves[2 * i + 1] = high;
    }
    return halves;
}

// The same of the bits of doubles.
export function unfold(bytes, n, out, first) {
    out.set(new Float64Array(unfoldBits(bytes, n).buffer), first);
}

function column(run, places, first, last) {
    const size = run.all.block,
        count = Math.min(run.rows, last * size) - first * size,
        out = new Float64Array(count);
    for (let b = first; b < last; b++) {
        const n = Math.min(size, run.rows - b * size);
        unfold(letters(places[b], places[b + 1]), n, out, (b - first) * size);
    }
    return out;
}

// The time at which a block begins.
function begins(run, b) {
    run.begins ??= [];
    if (run.begins[b] === undefined) {
        const out = new Float64Array(run.all.block);
        unfold(letters(run.all.t[b], run.all.t[b + 1]), Math.min(run.all.block, run.rows - b * run.all.block), out, 0);
        run.begins[b] = out[0];
    }
    return run.begins[b];
}

// The blocks from..to of a time: by halves, as their times grow.
function blockOf(run, time) {
    let lo = 0,
        hi = run.all.t.length - 1;
    while (hi - lo > 1) {
        const middle = (lo + hi) >> 1;
        if (begins(run, middle) <= time) lo = middle;
        else hi = middle;
    }
    return lo;
}

// The rows that are shown now: {t, data(k)}. All of those in the stretch, or the ones that the page opens with.
export function shownRows(run) {
    const rough = {t: run.t, data: k => run.data[k], isAll: run.kept === run.rows};
    if (!run.all || !state.zoom) return rough;
    const [from, to] = state.zoom,
        first = blockOf(run, from),
        last = blockOf(run, to) + 1;
    if ((last - first) * run.all.block > most) return rough;
    const key = `${first} ${last}`;
    if (run.near?.key !== key) {
        const found = new Map();
        run.near = {
            key,
            t: column(run, run.all.t, first, last),
            data(k) {
                if (run.all.data[k] && !found.has(k)) found.set(k, column(run, run.all.data[k], first, last));
                return found.get(k) || null;
            },
            isAll: true,
        };
    }
    return run.near;
}

// Every row, block by block: fn(t, values of the columns).
export function eachBlock(run, columns, fn) {
    if (!run.all)
        return fn(
            run.t,
            columns.map(k => run.data[k]),
        );
    for (let b = 0; b + 1 < run.all.t.length; b++)
        fn(
            column(run, run.all.t, b, b + 1),
            columns.map(k => column(run, run.all.data[k], b, b + 1)),
        );
}
