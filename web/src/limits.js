// Limits of an axis that a single impact does not flatten: where the values are for all but a hundredth of the time.

import {lower} from './data.js';

const few = 100, // rows; of fewer every one counts
    most = 4000, // rows that are looked at
    rare = 0.01,
    flat = 6; // times: from here on the rest would be squeezed

function usual(t, y, from, to) {
    const first = lower(t, from),
        last = lower(t, to + 1e-12 * Math.abs(to)),
        every = Math.ceil((last - first) / most) || 1,
        list = [];
    for (let i = first; i < last; i += every)
        if (Number.isFinite(y[i])) list.push([y[i], t[Math.min(i + every, last - 1)] - t[i]]);
    list.sort((a, b) => a[0] - b[0]);
    const whole = list.reduce((sum, x) => sum + x[1], 0);
    let lo = list[0]?.[0],
        hi = lo,
        sum = 0;
    for (const [value, time] of list) {
        if (sum <= rare * whole) lo = value;
        if (sum <= (1 - rare) * whole) hi = value;
        sum += time;
    }
    return list.length ? [lo, hi] : null;
}

// lists: [{t, y}]; lo and hi are their least and largest values. null where those will do.
export function robust(lists, from, to, lo, hi) {
    let low = Infinity,
        high = -Infinity;
    for (const {t, y} of lists) {
        if (t.length < few) return null;
        const pair = usual(t, y, from, to);
        if (!pair) continue;
        low = Math.min(low, pair[0]);
        high = Math.max(high, pair[1]);
    }
    const span = high - low;
    if (!(span > 1e-9 * Math.max(Math.abs(low), Math.abs(high))) || hi - lo <= flat * span) return null;
    return [Math.max(lo, low - 0.3 * span), Math.min(hi, high + 0.3 * span)];
}
