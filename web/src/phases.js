// The phases of a plan, from the lines at the head of its table: where each begins and ends, drawn into plots over
// time.

import {color, element} from './state.js';

const line = /^phase (.+): (\S+) s to t = (\S+), nodes \d+ to \d+(, begins with a jump)?$/;

export function phasesOf(notes) {
    return notes
        .map(n => n.match(line))
        .filter(Boolean)
        .map(m => ({
            name: /^\d+$/.test(m[1]) ? `phase ${m[1]}` : m[1],
            from: Number(m[3]) - Number(m[2]),
            to: Number(m[3]),
            jumps: !!m[4],
        }));
}

// A dashed line between two phases, and names at the top where there is room for them.
export function drawPhases(u, phases, named) {
    const ctx = u.ctx,
        {left, top, width, height} = u.bbox,
        scale = devicePixelRatio,
        right = left + width;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = color('m');
    ctx.lineWidth = scale;
    ctx.setLineDash([4 * scale, 3 * scale]);
    ctx.font = `${11 * scale}px system-ui, sans-serif`;
    ctx.textAlign = 'center';
    ctx.textBaseline = 'top';
    phases.forEach((phase, k) => {
        const from = u.valToPos(phase.from, 'x', true),
            to = u.valToPos(phase.to, 'x', true);
        if (k > 0 && from >= left && from <= right) {
            ctx.beginPath();
            ctx.moveTo(from, top);
            ctx.lineTo(from, top + height);
            ctx.stroke();
        }
        const lo = Math.max(from, left),
            hi = Math.min(to, right);
        if (named && ctx.measureText(phase.name).width < hi - lo)
            ctx.fillText(phase.name, (lo + hi) / 2, top + 2 * scale);
    });
    ctx.restore();
}

// The same in words.
export function phaseNote(run, show) {
    const words = run.phases.map(p => `${p.name} until ${show(p.to)} ${run.timeUnit}`).join(', ');
    const jump = run.phases.some(p => p.jumps) ? '. Where a state jumps, the table has its value before' : '';
    return run.phases.length ? element('p', {class: 'hint', text: `Phases: ${words}${jump}.`}) : null;
}
