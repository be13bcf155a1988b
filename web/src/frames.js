// Frames of a drawing: their times, and values between them.

export function at(values, frame) {
    if (typeof values === 'number') return values;
    const i = Math.floor(frame),
        j = Math.min(i + 1, values.length - 1),
        share = frame - i;
    return share ? values[i] + share * (values[j] - values[i]) : values[i];
}

export function frameAt(t, time) {
    let lo = 0,
        hi = t.length - 1;
    if (!(time > t[0])) return 0;
    if (time >= t[hi]) return hi;
    while (hi - lo > 1) {
        const middle = (lo + hi) >> 1;
        if (t[middle] <= time) lo = middle;
        else hi = middle;
    }
    return lo + (time - t[lo]) / (t[hi] - t[lo]);
}
