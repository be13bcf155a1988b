// The model's drawing in motion: play, pause, scrub, speed. Its time is the cursor of the plots.

import {show} from './data.js';
import {eventsOf, pace, slowTimes} from './events.js';
import {fileName, onGround, save} from './figure.js';
import {at} from './frames.js';
import {Hands} from './hands.js';
import {Plane} from './plane.js';
import {Space} from './space.js';
import {color, element, listen, setTime, state, svg} from './state.js';

const speeds = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10];

// The length of an arrow for a unit of force: most forces (not the peaks of impacts) fill a sixth of the view; of contacts
// of bodies, of which impacts have many, half.
function forceScale(runs, size) {
    const share = runs.some(r => r.motion) ? 0.5 : 0.9;
    const list = [];
    for (const {drawing, motion} of runs) {
        for (let c = 0; motion && c < motion.contact.length; c += 10)
            list.push(Math.hypot(motion.contact[c + 6], motion.contact[c + 7], motion.contact[c + 8]));
        for (const shape of drawing ? drawing.shapes : [])
            if (shape.kind === 'force' && shape.at.at(-1) === 0)
                for (let i = 0; i < drawing.t.length; i++) {
                    const f = Math.hypot(...shape.at.slice((shape.at.length - 1) / 2, -1).map(x => at(x, i)));
                    if (f > 0 && Number.isFinite(f)) list.push(f);
                }
    }
    list.sort((a, b) => a - b);
    return list.length ? size / 6 / list[Math.floor(share * (list.length - 1))] : 1;
}

const timesOf = run => (run.motion || run.drawing).t;

export class Stage {
    constructor(host, runs) {
        this.host = host;
        this.runs = runs;
        this.isSpace = runs.some(r => r.motion || r.drawing.space);
        this.canvas = element('canvas', {class: 'stage', role: 'img', 'aria-label': 'drawing of the model'});
        this.scene = this.isSpace ? new Space(runs, this.canvas) : new Plane(runs);
        this.force = forceScale(runs, this.scene.size);
        this.from = Math.min(...runs.map(r => timesOf(r)[0]));
        this.to = Math.max(...runs.map(r => timesOf(r).at(-1)));
        this.events = eventsOf(runs).filter(e => e.t > this.from && e.t <= this.to);
        this.playing = false;
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
        if (this.events.length) host.append(this.ticks());
        if (this.isSpace) {
            new Hands(this);
            host.append(this.views());
        }
        host.append(this.saving());
        for (const text of this.hints()) host.append(element('p', {class: 'hint', text}));
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
            if (before !== null) setTime(Math.min(this.to, state.time + ((now - before) / 1000) * this.rate()));
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

    // Before another takes its place: browsers have few contexts of WebGL.
    end() {
        this.stop();
        if (this.scene.gl) this.scene.gl.end();
    }

    // The frame as PNG; the motion from its start, at the chosen speed, as WebM where the browser can.
    saving() {
        const size = () => [this.canvas.clientWidth, this.canvas.clientHeight],
            frame = () => {
                this.draw(); // what WebGL has drawn can be read only now
                return onGround(this.canvas, ...size(), []);
            };
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

    // Seconds of the run in a second.
    rate() {
        const speed = Number(this.speed.value);
        if (!this.slow || !this.slow.checked) return speed;
        const width = 0.35 * speed; // a third of a second before and after
        return speed * pace(slowTimes(this.events, 2 * width), state.time, width);
    }

    // Marks of the events below the slider, and the way to them.
    ticks() {
        const marks = svg('svg', {
            class: 'events',
            viewBox: '0 0 1000 8',
            preserveAspectRatio: 'none',
            role: 'img',
            'aria-label': `${this.events.length} changes of contact or mode`,
        });
        const seen = new Set();
        for (const e of this.events) {
            const x = Math.round((1000 * (e.t - this.from)) / (this.to - this.from || 1));
            if (!seen.has(x)) marks.append(svg('line', {x1: x, x2: x, y1: 0, y2: 8}));
            seen.add(x);
        }
        this.slow = element('input', {type: 'checkbox'});
        const go = way => element('button', {text: way < 0 ? '◂ event' : 'event ▸', onclick: () => this.jump(way)});
        return element(
            'div',
            {},
            marks,
            element(
                'div',
                {class: 'controls'},
                go(-1),
                go(1),
                element('label', {}, this.slow, ' slow at events'),
                (this.told = element('output', {class: 'hint'})),
            ),
        );
    }

    // To the next event, or the one before.
    jump(way) {
        this.stop();
        const list = way < 0 ? this.events.toReversed() : this.events,
            e = list.find(x => way * (x.t - state.time) > 0);
        if (!e) return;
        setTime(e.t);
        this.told.textContent = e.text;
    }

    // How the view is chosen, and what is drawn beside bodies.
    views() {
        const {scene} = this,
            motion = this.runs.find(r => r.motion)?.motion,
            tools = element('div', {class: 'controls'});
        const choice = (name, key) => {
            const box = element('input', {
                type: 'checkbox',
                onchange: () => {
                    scene[key] = box.checked;
                    this.draw();
                },
            });
            return element('label', {}, box, ' ' + name);
        };
        tools.append(element('button', {text: 'fit', title: 'all in sight (f)', onclick: () => this.fit()}));
        if (motion && motion.bodies.length > 2) {
            const select = element('select', {
                onchange: () => {
                    scene.follow = Number(select.value);
                    this.draw();
                },
            });
            select.append(element('option', {value: 0, text: 'nothing'}));
            motion.bodies.forEach((name, k) => {
                if (k && !motion.isStill(k)) select.append(element('option', {value: k, text: name || `body ${k}`}));
            });
            tools.append(element('label', {}, 'follow ', select));
        }
        if (motion && motion.contact.length)
            tools.append(choice('forces', 'forces'), choice('friction cones', 'cones'));
        return tools;
    }

    fit() {
        this.scene.fit(state.time ?? this.from, this.canvas.clientWidth, this.canvas.clientHeight);
        this.draw();
    }

    hints() {
        const list = [];
        if (this.isSpace)
            list.push(
                'Drag to turn the view, with Shift to move it; the wheel zooms once it has the focus. Keys on it: arrows, ' +
                    'with Shift to move, + and -, f to fit. Touch: one finger turns, two move and zoom.',
            );
        if (this.isSpace && !this.scene.gl)
            list.push(
                'This browser has no WebGL 2: the drawing is painted without it, slowly where there are many bodies.',
            );
        for (const {motion, name} of this.runs) {
            if (!motion) continue;
            if (motion.every > 1)
                list.push(
                    `${name}: of ${motion.states} states every ${motion.every}th is drawn and between them the bodies move ` +
                        'smoothly; the plots have more.',
                );
            if (motion.tendons.length) list.push('Lines are tendons through space.');
            if (motion.contact.length)
                list.push(
                    'Forces act on the second of two bodies, on the one that moves where the other is the world; brown ' +
                        'ones lie on the edge of their friction cone, as in slip' +
                        (motion.contactsEvery > motion.every
                            ? `; they are here at every ${motion.contactsEvery}th state.`
                            : '.'),
                );
        }
        return list;
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
        const ctx = this.scene.gl ? null : this.canvas.getContext('2d');
        if (ctx) {
            ctx.setTransform(scale, 0, 0, scale, 0, 0);
            ctx.clearRect(0, 0, width, height);
        }
        const begin = performance.now();
        this.scene.draw(ctx, width, height, time, this.force);
        this.spent = performance.now() - begin; // [ms]
        if (this.onFrame) this.onFrame();
        this.scrub.value = Math.round(((time - this.from) / (this.to - this.from || 1)) * 1000);
        this.clock.textContent = `${this.runs[0].time} = ${show(time)} ${this.runs[0].timeUnit}`;
    }
}
