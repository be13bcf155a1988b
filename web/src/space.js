// Drawings in space: what language models draw and what bodies do, as solids seen by a camera.

import {Camera} from './camera.js';
import {at, frameAt} from './frames.js';
import {makeGl} from './gl.js';
import {seriesColor} from './look.js';
import {reachOf} from './motion.js';
import {Painter} from './painter.js';
import {List, makeSolids} from './solids.js';
import {color} from './state.js';
import {along, matrixOf, quaternionOf, unit} from './turn.js';

const upright = [1, 0, 0, 0];

// '#1a5fb4' or '#fff' as numbers from 0 to 1.
export function rgb(hex) {
    const digits = hex.slice(1),
        n = digits.length / 3;
    return [0, 1, 2].map(k => {
        const part = digits.slice(n * k, n * k + n);
        return parseInt(n === 1 ? part + part : part, 16) / 255;
    });
}

function turnOf(v) {
    if (v.length === 9) return quaternionOf(v);
    return v.length === 4 ? unit(v) : upright;
}

// Points that must be in view, of a drawn shape, with room about each.
function corners(kind, v) {
    if (kind === 'ground') return [[[NaN, NaN, v[1]], 0]];
    if (kind === 'force') return [[v.slice(0, 3), 0]];
    if (kind === 'circle') return [[v.slice(0, 3), v[3]]];
    if (kind === 'box') {
        const R = matrixOf(turnOf(v.slice(6))),
            list = [];
        for (let k = 0; k < 8; k++) {
            const c = [0, 1, 2].map(i => ((k >> i) & 1 ? 0.5 : -0.5) * v[3 + i]);
            list.push([[0, 1, 2].map(i => v[i] + R[3 * i] * c[0] + R[3 * i + 1] * c[1] + R[3 * i + 2] * c[2]), 0]);
        }
        return list;
    }
    const points = [];
    for (let k = 0; k < v.length; k += 3) points.push([v.slice(k, k + 3), 0]);
    return points;
}

function emptyBox() {
    return {lo: [Infinity, Infinity, Infinity], hi: [-Infinity, -Infinity, -Infinity]};
}

function growBox(box, p, reach) {
    for (let k = 0; k < 3; k++) {
        if (p[k] - reach < box.lo[k]) box.lo[k] = p[k] - reach;
        if (p[k] + reach > box.hi[k]) box.hi[k] = p[k] + reach;
    }
}

function whole(box) {
    for (let k = 0; k < 3; k++) if (!(box.lo[k] <= box.hi[k])) [box.lo[k], box.hi[k]] = [-1, 1];
    return box;
}

// A shape's solid, and its sizes.
function solidOf(s) {
    const [a, b, c] = s.size;
    if (s.kind === 'sphere') return ['sphere', [a, a, a, 0]];
    if (s.kind === 'capsule') return ['capsule', [a, a, a, b]];
    if (s.kind === 'cylinder') return ['cylinder', [a, a, b, 0]];
    if (s.kind === 'ellipsoid') return ['sphere', [a, b, c, 0]];
    if (s.kind === 'mesh') return [`mesh ${s.mesh}`, [1, 1, 1, 0]];
    return ['box', [a, b, c, 0]];
}

export class Space {
    constructor(runs, canvas) {
        this.runs = runs;
        this.camera = new Camera();
        this.list = new List();
        this.forces = this.cones = false;
        this.follow = 0; // a body of the first motion
        this.meshes = [];
        for (const {motion} of runs)
            if (motion) {
                const first = this.meshes.length;
                this.meshes.push(...motion.meshes);
                motion.parts = motion.shapes.map(s => this.part(s, first));
            }
        this.box = this.extent();
        this.size = Math.max(...this.box.hi.map((v, k) => v - this.box.lo[k])) || 1;
        this.height0 = 420;
        this.gl = makeGl(canvas, makeSolids(this.meshes, this.isMany() ? 16 : 32));
        if (!this.gl) this.painter = new Painter(makeSolids(this.meshes, 12));
        this.isFit = false;
    }

    isMany() {
        return this.runs.reduce((sum, {motion}) => sum + (motion ? motion.shapes.length : 0), 0) > 300;
    }

    part(s, firstMesh) {
        const [name, size] = solidOf(s.kind === 'mesh' ? {...s, mesh: s.mesh + firstMesh} : s),
            turn = unit(s.q);
        return {
            name,
            size,
            body: s.body,
            isPlane: s.kind === 'plane',
            place: s.p,
            turn,
            reach: s.kind === 'plane' ? 0 : reachOf(s, this.meshes.slice(firstMesh)),
            isPlain: s.p.every(v => v === 0) && turn[0] === 1,
        };
    }

    // A box about all that moves, at one time or over the whole run.
    extent(time) {
        const box = emptyBox();
        for (const {drawing, motion} of this.runs) {
            if (drawing && drawing.space) {
                const n = drawing.t.length,
                    every = Math.max(1, Math.floor(n / 200));
                const grow = i => {
                    for (const shape of drawing.shapes)
                        for (const [p, reach] of corners(
                            shape.kind,
                            shape.at.map(x => at(x, i)),
                        ))
                            growBox(box, p, reach);
                };
                if (time !== undefined) grow(frameAt(drawing.t, time));
                else for (let i = 0; i < n; i += every) grow(i);
            }
            if (motion) {
                const n = motion.t.length,
                    every = Math.max(1, Math.floor(n / 60));
                if (time !== undefined) motion.grow(motion.frame(time), box);
                else for (let i = 0; i < n; i += every) motion.grow(i, box);
            }
        }
        return whole(box);
    }

    fit(time, width, height) {
        this.camera.fit(time === undefined ? this.box : this.extent(time), width, height);
        this.isFit = true;
    }

    turn(dx, dy) {
        this.camera.turn(dx, dy);
    }

    height() {
        return this.height0;
    }

    // The height of the ground, on which shadows lie; null where there is none.
    ground(time) {
        for (const {drawing, motion} of this.runs) {
            const plane = motion && motion.parts.find(p => p.isPlane && Math.abs(matrixOf(p.turn)[8] - 1) < 1e-9);
            if (plane) return plane.place[2];
            const drawn = drawing && drawing.space && drawing.shapes.find(s => s.kind === 'ground');
            if (drawn) return at(drawn.at[1], frameAt(drawing.t, time));
        }
        return null;
    }

    // ctx: of the canvas where there is no WebGL
    draw(ctx, width, height, time, force) {
        if (!this.isFit) this.fit(undefined, width, height);
        this.list.clear();
        this.pixel = this.camera.pixel(height);
        this.runs.forEach((run, r) => {
            if (run.motion) this.bodies(run.motion, r, time, force);
            if (run.drawing && run.drawing.space) this.drawing(run.drawing, r, time, force);
        });
        const view = this.camera.view(width, height);
        if (this.gl) this.gl.draw(this.list, view, {back: rgb(color('b')), ground: this.ground(time)});
        else this.painter.draw(ctx, this.list, view);
    }

    // A net in the plane z = 0 of a frame, below all that moves.
    net(place, turn) {
        const {lo, hi} = this.box,
            half = 0.65 * Math.max(hi[0] - lo[0], hi[1] - lo[1], 0.5 * this.size),
            R = matrixOf(turn),
            middle = lo.map((v, k) => (v + hi[k]) / 2 - place[k]),
            [x, y] = [0, 1].map(c => middle[0] * R[c] + middle[1] * R[3 + c] + middle[2] * R[6 + c]),
            under = [0, 1, 2].map(k => place[k] + x * R[3 * k] + y * R[3 * k + 1]);
        this.list.put('ground', 'net', under, turn, [half, half, 1, 0], [...rgb(color('g')), 1]);
    }

    bodies(motion, r, time, force) {
        const frame = motion.frame(time),
            now = motion.poses(frame),
            world = [...rgb(color('m')), 1],
            inks = [0, 1, 2, 3, 4, 5, 6, 7].map(k => [...rgb(seriesColor(k)), 1]),
            p = [0, 0, 0],
            q = [1, 0, 0, 0];
        if (this.follow && motion === this.runs.find(run => run.motion).motion)
            this.camera.target = Array.from(now.subarray(7 * this.follow, 7 * this.follow + 3));
        for (const part of motion.parts) {
            if (part.isPlane) {
                if (r === 0) this.net(part.place, part.turn);
                continue;
            }
            const k = 7 * part.body;
            let [w, x, y, z] = [now[k + 3], now[k + 4], now[k + 5], now[k + 6]];
            for (let c = 0; c < 3; c++) p[c] = now[k + c];
            if (!part.isPlain) {
                const [a, b, c] = part.place,
                    [tw, tx, ty, tz] = part.turn;
                const ux = 2 * (y * c - z * b),
                    uy = 2 * (z * a - x * c),
                    uz = 2 * (x * b - y * a);
                p[0] += a + w * ux + y * uz - z * uy;
                p[1] += b + w * uy + z * ux - x * uz;
                p[2] += c + w * uz + x * uy - y * ux;
                [w, x, y, z] = [
                    w * tw - x * tx - y * ty - z * tz,
                    w * tx + x * tw + y * tz - z * ty,
                    w * ty - x * tz + y * tw + z * tx,
                    w * tz + x * ty - y * tx + z * tw,
                ];
            }
            q[0] = w;
            q[1] = x;
            q[2] = y;
            q[3] = z;
            const ink = !part.body ? world : inks[(this.runs.length > 1 ? r : part.body - 1) % 8];
            this.list.put('body', part.name, p, q, part.size, ink);
        }
        this.tendons(motion, now, i => inks[(this.runs.length > 1 ? r : i + 4) % 8]);
        if (this.forces || this.cones) this.contacts(motion.contacts(frame), force);
    }

    // Tendons through space, as lines along their ways.
    tendons(motion, now, inkOf) {
        let k = motion.behind;
        motion.tendons.forEach((branches, i) => {
            for (const n of branches) {
                for (const end = k + 3 * (n - 1); k < end; k += 3) this.line(now.subarray(k, k + 6), inkOf(i));
                k += 3;
            }
        });
    }

    // From one point to another.
    line(v, ink) {
        const d = [0, 1, 2].map(k => v[3 + k] - v[k]),
            length = Math.hypot(...d);
        if (length) this.list.put('body', 'rod', v, along(d), [this.pixel, this.pixel, length, 0], ink);
    }

    // Arrows of forces, and the cones that they may lie in; those on the edge, as in slip, have a colour of their own.
    contacts(list, force) {
        if (!list) return;
        const inside = [...rgb(color('t')), 1],
            edge = [...rgb(color('w')), 1];
        for (const c of list) {
            const normal = c.force[0] * c.normal[0] + c.force[1] * c.normal[1] + c.force[2] * c.normal[2],
                slip = Math.hypot(...c.force.map((f, k) => f - normal * c.normal[k])),
                isAtEdge = c.mu > 0 && slip >= 0.9999 * c.mu * normal;
            if (this.forces) this.arrow(c.point, c.force, force, isAtEdge ? edge : inside);
            const length = Math.min(normal * force, 0.4 * this.size);
            if (this.cones && c.mu > 0 && length > 2 * this.pixel)
                this.list.put(
                    'cone',
                    'cone',
                    c.point,
                    along(c.normal),
                    [c.mu * length, c.mu * length, length, 0],
                    [...(isAtEdge ? edge : inside).slice(0, 3), 0.22],
                );
        }
    }

    // A vector from a point, its length by a factor, but no longer than much of the view.
    arrow(from, vector, by, ink) {
        const size = Math.hypot(...vector),
            length = Math.min(size * by, 0.4 * this.size);
        if (!(length > 1.5 * this.pixel)) return;
        const turn = along(vector),
            head = Math.min(9 * this.pixel, 0.5 * length),
            shaft = length - head,
            thick = 1.2 * this.pixel;
        this.list.put('force', 'rod', from, turn, [thick, thick, shaft, 0], ink);
        const base = [0, 1, 2].map(k => from[k] + (vector[k] / size) * shaft);
        this.list.put('force', 'tip', base, turn, [0.42 * head, 0.42 * head, head, 0], ink);
    }

    drawing(drawing, r, time, force) {
        const frame = frameAt(drawing.t, time),
            ink = [...rgb(seriesColor(r)), 1];
        for (const shape of drawing.shapes) {
            const v = shape.at.map(x => at(x, frame));
            if (v.every(Number.isFinite)) this.shape(shape.kind, v, r, ink, force);
        }
    }

    shape(kind, v, r, ink, force) {
        const p = v.slice(0, 3);
        if (kind === 'ground') {
            if (r === 0) this.net([0, 0, v[1]], upright);
        } else if (kind === 'box') {
            this.list.put('body', 'box', p, turnOf(v.slice(6)), [v[3] / 2, v[4] / 2, v[5] / 2, 0], ink);
        } else if (kind === 'circle') {
            const radius = Math.max(v[3], 2.5 * this.pixel);
            this.list.put('body', 'sphere', p, upright, [radius, radius, radius, 0], ink);
        } else if (kind === 'line') {
            this.line(v, ink);
        } else if (kind === 'polygon') {
            const points = [];
            for (let k = 0; k < v.length; k += 3) points.push(v.slice(k, k + 3));
            this.list.polygon(points, ink);
        } else if (kind === 'force') {
            this.arrow(p, v.slice(3, 6), v[6] || force, [...rgb(seriesColor(r + 4)), 1]);
        }
    }
}
