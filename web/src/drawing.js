// The model's drawing in motion: play, pause, scrub, speed. Its time is the cursor of the plots.

import {show} from './data.js';
import {color, element, listen, seriesColor, setTime, state} from './state.js';

const speeds = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10];

function at(values, frame) {
    if (typeof values === 'number') return values;
    const i = Math.floor(frame), j = Math.min(i + 1, values.length - 1), share = frame - i;
    return share ? values[i] + share * (values[j] - values[i]) : values[i];
}

function frameAt(t, time) {
    let lo = 0, hi = t.length - 1;
    if (!(time > t[0])) return 0;
    if (time >= t[hi]) return hi;
    while (hi - lo > 1) {
        const middle = (lo + hi) >> 1;
        if (t[middle] <= time) lo = middle; else hi = middle;
    }
    return lo + (time - t[lo]) / (t[hi] - t[lo]);
}

// Points that must be in view, of one shape at one frame.
function corners(shape, frame) {
    const v = shape.at.map(x => at(x, frame));
    if (shape.kind === 'box') {
        const r = Math.hypot(v[2], v[3]) / 2;
        return [[v[0] - r, v[1] - r], [v[0] + r, v[1] + r]];
    }
    if (shape.kind === 'circle') return [[v[0] - v[2], v[1] - v[2]], [v[0] + v[2], v[1] + v[2]]];
    const points = [];
    if (shape.kind === 'force') return [[v[0], v[1]]];
    if (shape.kind === 'ground') return v[2] ? [[v[0], v[1]]] : [[NaN, v[1]]];
    for (let k = 0; k < v.length; k += 2) points.push([v[k], v[k + 1]]);
    return points;
}

function bounds(runs) {
    const box = [Infinity, Infinity, -Infinity, -Infinity];
    for (const {drawing} of runs)
        for (const shape of drawing.shapes) {
            const every = Math.max(1, Math.floor(drawing.t.length / 300));
            for (let i = 0; i < drawing.t.length; i += every)
                for (const [x, y] of corners(shape, i)) {
                    if (x < box[0]) box[0] = x;
                    if (y < box[1]) box[1] = y;
                    if (x > box[2]) box[2] = x;
                    if (y > box[3]) box[3] = y;
                }
        }
    if (!(box[0] <= box[2])) [box[0], box[2]] = [-1, 1];
    if (!(box[1] <= box[3])) [box[1], box[3]] = [-1, 1];
    const size = Math.max(box[2] - box[0], box[3] - box[1]) || 1, room = 0.12 * size;
    return [box[0] - room, box[1] - room, box[2] + room, box[3] + room];
}

// The length of an arrow for a unit of force: most forces (not the peaks of impacts) fill a sixth of the view.
function forceScale(runs, size) {
    const list = [];
    for (const {drawing} of runs)
        for (const shape of drawing.shapes)
            if (shape.kind === 'force' && shape.at[4] === 0)
                for (let i = 0; i < drawing.t.length; i++) {
                    const f = Math.hypot(at(shape.at[2], i), at(shape.at[3], i));
                    if (f > 0 && Number.isFinite(f)) list.push(f);
                }
    list.sort((a, b) => a - b);
    return list.length ? size / 6 / list[Math.floor(0.9 * (list.length - 1))] : 1;
}

export class Stage {
    constructor(host, runs) {
        this.host = host;
        this.runs = runs;
        this.box = bounds(runs);
        this.size = Math.max(this.box[2] - this.box[0], this.box[3] - this.box[1]);
        this.force = forceScale(runs, this.size);
        this.from = Math.min(...runs.map(r => r.drawing.t[0]));
        this.to = Math.max(...runs.map(r => r.drawing.t.at(-1)));
        this.playing = false;
        this.canvas = element('canvas', {class: 'stage', role: 'img', 'aria-label': 'drawing of the model'});
        this.button = element('button', {class: 'play', text: '▶ play', onclick: () => this.toggle()});
        this.scrub = element('input', {type: 'range', min: 0, max: 1000, step: 1, 'aria-label': 'time', oninput: () => {
            this.stop();
            setTime(this.from + this.scrub.value / 1000 * (this.to - this.from));
        }});
        this.speed = element('select', {'aria-label': 'speed'});
        const fit = speeds.reduce((best, s) => Math.abs(Math.log((this.to - this.from) / s / 6)) < Math.abs(Math.log((this.to - this.from) / best / 6)) ? s : best, 1);
        for (const s of speeds) this.speed.append(element('option', {value: s, text: `${s} ×`, ...(s === fit ? {selected: ''} : {})}));
        this.clock = element('output', {text: ''});
        host.append(this.canvas, element('div', {class: 'controls'}, this.button, this.scrub, this.speed, this.clock));
        listen('time', () => this.draw());
        listen('theme', () => this.draw());
        new ResizeObserver(() => this.draw()).observe(host);
        if (state.time === null) setTime(this.from);
        this.draw();
    }

    toggle() {
        if (this.playing) return this.stop();
        if (state.time === null || state.time >= this.to) setTime(this.from);
        this.playing = true;
        this.button.textContent = '❚❚ pause';
        let before = null;
        const tick = now => {
            if (!this.playing) return;
            if (before !== null) setTime(Math.min(this.to, state.time + (now - before) / 1000 * Number(this.speed.value)));
            before = now;
            if (state.time >= this.to) this.stop(); else requestAnimationFrame(tick);
        };
        requestAnimationFrame(tick);
    }

    stop() {
        this.playing = false;
        this.button.textContent = '▶ play';
    }

    draw() {
        const time = state.time === null ? this.from : state.time;
        const width = Math.max(280, this.host.clientWidth - 2), [x0, y0, x1, y1] = this.box;
        const height = Math.round(Math.min(440, Math.max(150, width * (y1 - y0) / (x1 - x0))));
        const unit = Math.min(width / (x1 - x0), height / (y1 - y0)), scale = devicePixelRatio || 1;
        const view = {
            width, height, unit,
            x: v => width / 2 + (v - (x0 + x1) / 2) * unit,
            y: v => height / 2 - (v - (y0 + y1) / 2) * unit,
        };
        const pixels = [Math.round(width * scale), Math.round(height * scale)];
        if (this.canvas.width !== pixels[0] || this.canvas.height !== pixels[1]) [this.canvas.width, this.canvas.height] = pixels;
        this.canvas.style.width = width + 'px';
        this.canvas.style.height = height + 'px';
        const ctx = this.canvas.getContext('2d');
        ctx.setTransform(scale, 0, 0, scale, 0, 0);
        ctx.clearRect(0, 0, width, height);
        this.runs.forEach((run, r) => {
            const frame = frameAt(run.drawing.t, time);
            ctx.globalAlpha = r ? 0.55 : 1;
            for (const shape of run.drawing.shapes) this.shape(ctx, view, shape.kind, shape.at.map(x => at(x, frame)), r);
        });
        ctx.globalAlpha = 1;
        this.scrub.value = Math.round((time - this.from) / (this.to - this.from || 1) * 1000);
        this.clock.textContent = `${this.runs[0].time} = ${show(time)} ${this.runs[0].timeUnit}`;
    }

    shape(ctx, view, kind, v, run) {
        if (!v.every(Number.isFinite)) return; // not known at this instant, such as forces before the first step
        const ink = seriesColor(run), fill = () => {
            ctx.fillStyle = ink;
            const alpha = ctx.globalAlpha;
            ctx.globalAlpha = 0.22 * alpha;
            ctx.fill();
            ctx.globalAlpha = alpha;
        };
        ctx.lineWidth = 1.8;
        ctx.strokeStyle = ink;
        ctx.beginPath();
        if (kind === 'box') {
            ctx.save();
            ctx.translate(view.x(v[0]), view.y(v[1]));
            ctx.rotate(-v[4]);
            ctx.rect(-v[2] / 2 * view.unit, -v[3] / 2 * view.unit, v[2] * view.unit, v[3] * view.unit);
            ctx.restore();
            fill();
        } else if (kind === 'circle') {
            const r = Math.max(v[2] * view.unit, 2.5);
            ctx.arc(view.x(v[0]), view.y(v[1]), r, -v[3], -v[3] + 2 * Math.PI);
            ctx.lineTo(view.x(v[0]), view.y(v[1])); // a spoke shows the angle
            fill();
        } else if (kind === 'line' || kind === 'polygon') {
            for (let k = 0; k < v.length; k += 2) ctx[k ? 'lineTo' : 'moveTo'](view.x(v[k]), view.y(v[k + 1]));
            if (kind === 'polygon') {
                ctx.closePath();
                fill();
            }
        } else if (kind === 'ground') {
            this.ground(ctx, view, v);
        } else {
            this.arrow(ctx, view, v, seriesColor(run + 4));
            return;
        }
        ctx.stroke();
    }

    // The line through (x, y) at an angle, over the whole view, hatched below.
    ground(ctx, view, [x, y, angle]) {
        const far = view.width + view.height;
        ctx.save();
        ctx.translate(view.x(x), view.y(y));
        ctx.rotate(-angle);
        ctx.strokeStyle = color('m');
        ctx.moveTo(-far, 0);
        ctx.lineTo(far, 0);
        ctx.stroke();
        ctx.beginPath();
        ctx.lineWidth = 0.8;
        for (let k = -far; k < far; k += 11) {
            ctx.moveTo(k, 0);
            ctx.lineTo(k - 6, 7);
        }
        ctx.stroke();
        ctx.restore();
        ctx.beginPath();
    }

    arrow(ctx, view, [x, y, fx, fy, scale], ink) {
        const by = (scale || this.force) * view.unit, size = Math.hypot(fx, fy) * by, most = 0.4 * this.size * view.unit;
        if (size < 1.5) return;
        const cut = Math.min(1, most / size), dx = fx * by * cut, dy = -fy * by * cut, angle = Math.atan2(dy, dx);
        const px = view.x(x) + dx, py = view.y(y) + dy, head = Math.min(9, 0.5 * size);
        ctx.strokeStyle = ctx.fillStyle = ink;
        ctx.lineWidth = 2.2;
        ctx.moveTo(view.x(x), view.y(y));
        ctx.lineTo(px - 0.7 * head * Math.cos(angle), py - 0.7 * head * Math.sin(angle));
        ctx.stroke();
        ctx.beginPath();
        ctx.moveTo(px, py);
        ctx.lineTo(px - head * Math.cos(angle - 0.42), py - head * Math.sin(angle - 0.42));
        ctx.lineTo(px - head * Math.cos(angle + 0.42), py - head * Math.sin(angle + 0.42));
        ctx.fill();
    }
}
