// The model's drawing in motion: play, pause, scrub, speed. Its time is the cursor of the plots.

import {show} from './data.js';
import {fileName, onGround, save} from './figure.js';
import {Plane} from './plane.js';
import {Space} from './space.js';
import {color, element, listen, setTime, state} from './state.js';

const speeds = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10];

export function at(values, frame) {
    if (typeof values === 'number') return values;
    const i = Math.floor(frame),
        j = Math.min(i + 1, values.length - 1),
        share = frame - i;
    return share ? values[i] + share * (values[j] - values[i]) : values[i];
}

function frameAt(t, time) {
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

// The length of an arrow for a unit of force: most forces (not the peaks of impacts) fill a sixth of the view.
function forceScale(runs, size) {
    const list = [];
    for (const {drawing} of runs)
        for (const shape of drawing.shapes)
            if (shape.kind === 'force' && shape.at.at(-1) === 0)
                for (let i = 0; i < drawing.t.length; i++) {
                    const f = Math.hypot(...shape.at.slice((shape.at.length - 1) / 2, -1).map(x => at(x, i)));
                    if (f > 0 && Number.isFinite(f)) list.push(f);
                }
    list.sort((a, b) => a - b);
    return list.length ? size / 6 / list[Math.floor(0.9 * (list.length - 1))] : 1;
}

export class Stage {
    constructor(host, runs) {
        this.host = host;
        this.runs = runs;
        this.scene = runs[0].drawing.space
            ? new Space(runs.filter(r => r.drawing.space))
            : new Plane(runs.filter(r => !r.drawing.space));
        this.force = forceScale(runs, this.scene.size);
        this.from = Math.min(...runs.map(r => r.drawing.t[0]));
        this.to = Math.max(...runs.map(r => r.drawing.t.at(-1)));
        this.playing = false;
        this.canvas = element('canvas', {class: 'stage', role: 'img', 'aria-label': 'drawing of the model'});
        this.button = element('button', {class: 'play', text: '▶ play', onclick: () => this.toggle()});
        this.scrub = element('input', {
            type: 'range',
            min: 0,
            max: 1000,
            step: 1,
            'aria-label': 'time',
            oninput: () => {
                this.stop();
                setTime(this.from + (this.scrub.value / 1000) * (this.to - this.from));
            },
        });
        this.speed = element('select', {'aria-label': 'speed'});
        const fit = speeds.reduce(
            (best, s) =>
                Math.abs(Math.log((this.to - this.from) / s / 6)) <
                Math.abs(Math.log((this.to - this.from) / best / 6))
                    ? s
                    : best,
            1,
        );
        for (const s of speeds)
            this.speed.append(element('option', {value: s, text: `${s} ×`, ...(s === fit ? {selected: ''} : {})}));
        this.clock = element('output', {text: ''});
        host.append(this.canvas, element('div', {class: 'controls'}, this.button, this.scrub, this.speed, this.clock));
        host.append(this.saving());
        if (runs[0].drawing.space) {
            this.turn();
            host.append(element('p', {class: 'hint', text: 'Drag to turn the view, or the arrow keys on it.'}));
        }
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
            if (before !== null)
                setTime(Math.min(this.to, state.time + ((now - before) / 1000) * Number(this.speed.value)));
            before = now;
            if (state.time >= this.to) this.stop();
            else requestAnimationFrame(tick);
        };
        requestAnimationFrame(tick);
    }

    stop() {
        this.playing = false;
        if (this.recorder) setTimeout(() => this.recorder?.state === 'recording' && this.recorder.stop(), 300);
        this.button.textContent = '▶ play';
    }

    // The frame as PNG; the motion from its start, at the chosen speed, as WebM where the browser can.
    saving() {
        const size = () => [this.canvas.clientWidth, this.canvas.clientHeight],
            frame = () => onGround(this.canvas, ...size(), []);
        const png = () => frame().toBlob(blob => save(`${fileName('motion')}.png`, blob));
        const tools = element(
            'span',
            {class: 'tools'},
            element('button', {text: 'PNG', 'aria-label': 'save this frame as PNG', onclick: png}),
        );
        if (window.MediaRecorder && this.canvas.captureStream)
            tools.append(
                element('button', {
                    text: 'WebM',
                    'aria-label': 'save the motion as WebM',
                    onclick: () => this.record(),
                }),
            );
        return tools;
    }

    record() {
        if (this.recorder) return;
        this.stop();
        setTime(this.from);
        const film = onGround(this.canvas, this.canvas.clientWidth, this.canvas.clientHeight, []),
            ctx = film.getContext('2d'),
            parts = [];
        const stream = film.captureStream(0),
            track = stream.getVideoTracks()[0],
            recorder = (this.recorder = new MediaRecorder(stream, {mimeType: 'video/webm', videoBitsPerSecond: 8e6}));
        film.className = 'heard'; // a canvas outside of the page gives no frames
        film.setAttribute('aria-hidden', 'true');
        this.host.append(film);
        this.onFrame = () => {
            ctx.fillStyle = color('b');
            ctx.fillRect(0, 0, film.width, film.height);
            ctx.drawImage(this.canvas, 0, 0, film.width, film.height);
            track.requestFrame();
        };
        recorder.ondataavailable = e => parts.push(e.data);
        recorder.onstop = () => {
            this.recorder = this.onFrame = null;
            film.remove();
            save(`${fileName('motion')}.webm`, new Blob(parts, {type: 'video/webm'}));
        };
        recorder.start();
        this.toggle();
    }

    // Drag turns a drawing in space.
    turn() {
        const steps = {ArrowLeft: [-20, 0], ArrowRight: [20, 0], ArrowUp: [0, -20], ArrowDown: [0, 20]};
        this.canvas.tabIndex = 0;
        this.canvas.addEventListener('keydown', e => {
            if (!steps[e.key]) return;
            e.preventDefault();
            e.stopPropagation();
            this.scene.turn(...steps[e.key]);
            this.draw();
        });
        this.canvas.style.cursor = 'grab';
        this.canvas.style.touchAction = 'none';
        this.canvas.addEventListener('pointerdown', e => this.canvas.setPointerCapture(e.pointerId));
        this.canvas.addEventListener('pointermove', e => {
            if (!e.buttons) return;
            this.scene.turn(e.movementX, e.movementY);
            this.draw();
        });
    }

    draw() {
        const time = state.time === null ? this.from : state.time,
            scale = devicePixelRatio || 1;
        const width = Math.max(280, this.host.clientWidth - 2),
            height = this.scene.height(width);
        const pixels = [Math.round(width * scale), Math.round(height * scale)];
        if (this.canvas.width !== pixels[0] || this.canvas.height !== pixels[1])
            [this.canvas.width, this.canvas.height] = pixels;
        this.canvas.style.width = width + 'px';
        this.canvas.style.height = height + 'px';
        const ctx = this.canvas.getContext('2d');
        ctx.setTransform(scale, 0, 0, scale, 0, 0);
        ctx.clearRect(0, 0, width, height);
        this.scene.draw(
            ctx,
            width,
            height,
            this.scene.runs.map(run => frameAt(run.drawing.t, time)),
            this.force,
        );
        if (this.onFrame) this.onFrame();
        this.scrub.value = Math.round(((time - this.from) / (this.to - this.from || 1)) * 1000);
        this.clock.textContent = `${this.runs[0].time} = ${show(time)} ${this.runs[0].timeUnit}`;
    }
}
