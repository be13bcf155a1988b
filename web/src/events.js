// When contacts or modes change, and how slow the motion is shown about these times.

const most = 12; // times about which it is slow: the strongest, apart from each other
const slowest = 0.08;

function words(e) {
    const list = [
        [e.begin, 'begin', 'begins'],
        [e.end, 'end', 'ends'],
        [e.slip, 'begin to slip', 'begins to slip'],
        [e.stick, 'stick', 'sticks'],
    ].filter(x => x[0]);
    return 'contacts: ' + list.map(([n, many, one]) => `${n} ${n === 1 ? one : many}`).join(', ');
}

// Of bodies the changes of their contacts, of a model those of its modes.
export function eventsOf(runs) {
    const list = [];
    for (const run of runs) {
        if (run.motion) for (const e of run.motion.events) list.push({t: e.t, strength: e.strength, text: words(e)});
        else
            for (const strip of run.strips.filter(s => !s.coarse))
                for (let k = 0; k + 1 < strip.end.length; k++)
                    list.push({
                        t: strip.end[k],
                        strength: 1,
                        text: `${strip.label}: ${strip.words[Number(strip.mode[k + 1])] || 'not known'}`,
                    });
    }
    return list.sort((a, b) => a.t - b.t);
}

// The times about which the motion is slow: the strongest events, none nearer to another than `apart`.
export function slowTimes(events, apart) {
    const taken = [];
    for (const e of [...events].sort((a, b) => b.strength - a.strength || a.t - b.t)) {
        if (taken.length === most) break;
        if (taken.every(t => Math.abs(t - e.t) > apart)) taken.push(e.t);
    }
    return taken.sort((a, b) => a - b);
}

// The factor of the speed at a time: 1 far from all, little within `width` of one.
export function pace(times, time, width) {
    let near = Infinity;
    for (const t of times) near = Math.min(near, Math.abs(t - time));
    const s = Math.min(1, near / width);
    return slowest + (1 - slowest) * s * s * (3 - 2 * s);
}
