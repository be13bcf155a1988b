// Drawings in space: parallel projection, faces painted from far to near, the third coordinate up.

import {seriesColor} from './look.js';
import {color} from './state.js';
import {at} from './stage.js';

const sub = (a, b) => a.map((v, k) => v - b[k]);
const add = (a, b) => a.map((v, k) => v + b[k]);
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

// Body to world, row by row, from what the shape has: nothing, a quaternion (scalar first), a matrix.
function rotation(v) {
    if (v.length === 9) return v;
    if (v.length !== 4) return [1, 0, 0, 0, 1, 0, 0, 0, 1];
    const s = 1 / Math.hypot(...v),
        [w, x, y, z] = v.map(c => c * s);
    return [
        1 - 2 * (y * y + z * z),
        2 * (x * y - w * z),
        2 * (x * z + w * y),
        2 * (x * y + w * z),
        1 - 2 * (x * x + z * z),
        2 * (y * z - w * x),
        2 * (x * z - w * y),
        2 * (y * z + w * x),
        1 - 2 * (x * x + y * y),
    ];
}

function boxCorners(v) {
    const R = rotation(v.slice(6)),
        list = [];
    for (let k = 0; k < 8; k++) {
        const c = [0, 1, 2].map(i => ((k >> i) & 1 ? 0.5 : -0.5) * v[3 + i]);
        list.push([0, 1, 2].map(i => v[i] + R[3 * i] * c[0] + R[3 * i + 1] * c[1] + R[3 * i + 2] * c[2]));
    }
    return list;
}

const faces = [
    [0, 1, 3, 2],
    [4, 5, 7, 6],
    [0, 1, 5, 4],
    [2, 3, 7, 6],
    [0, 2, 6, 4],
    [1, 3, 7, 5],
];

function corners(shape, frame) {
    const v = shape.at.map(x => at(x, frame)),
        points = [];
    if (shape.kind === 'box') return boxCorners(v);
    if (shape.kind === 'circle')
        return [
            [v[0] - v[3], v[1] - v[3], v[2] - v[3]],
            [v[0] + v[3], v[1] + v[3], v[2] + v[3]],
        ];
    if (shape.kind === 'force') return [v.slice(0, 3)];
    if (shape.kind === 'ground') return [[NaN, NaN, v[1]]];
    for (let k = 0; k < v.length; k += 3) points.push(v.slice(k, k + 3));
    return points;
}

export class Space {
    constructor(runs) {
        this.runs = runs;
        this.around = -0.9; // angles of the view
        this.above = 0.42;
        const lo = [Infinity, Infinity, Infinity],
            hi = [-Infinity, -Infinity, -Infinity];
        for (const {drawing} of runs)
            for (const shape of drawing.shapes) {
                const every = Math.max(1, Math.floor(drawing.t.length / 200));
                for (let i = 0; i < drawing.t.length; i += every)
                    for (const p of corners(shape, i))
                        for (let k = 0; k < 3; k++) {
                            if (p[k] < lo[k]) lo[k] = p[k];
                            if (p[k] > hi[k]) hi[k] = p[k];
                        }
            }
        for (let k = 0; k < 3; k++) if (!(lo[k] <= hi[k])) [lo[k], hi[k]] = [-1, 1];
        Object.assign(this, {lo, hi, middle: lo.map((v, k) => (v + hi[k]) / 2)});
        this.size = Math.max(...sub(hi, lo)) || 1;
    }

    turn(dx, dy) {
        this.around += 0.01 * dx;
        this.above = Math.min(1.5, Math.max(-0.3, this.above + 0.01 * dy));
    }

    height() {
        return 420;
    }

    // Right, up and towards the reader, and the place of a point on the canvas.
    view(width, height) {
        const c = Math.cos(this.around),
            s = Math.sin(this.around),
            a = Math.cos(this.above),
            b = Math.sin(this.above);
        const axes = [
            [-s, c, 0],
            [-b * c, -b * s, a],
            [a * c, a * s, b],
        ];
        const reach = k =>
            [0, 1, 2].reduce((sum, i) => sum + (Math.abs(axes[k][i]) * (this.hi[i] - this.lo[i])) / 2, 0) || 1;
        const unit = 0.37 * Math.min(width / reach(0), height / reach(1));
        return {
            unit,
            near: axes[2],
            depth: p => dot(sub(p, this.middle), axes[2]),
            place: p => {
                const d = sub(p, this.middle);
                return [width / 2 + dot(d, axes[0]) * unit, height / 2 - dot(d, axes[1]) * unit];
            },
        };
    }

    draw(ctx, width, height, frames, force) {
        const view = this.view(width, height),
            parts = [];
        ctx.lineJoin = 'round';
        this.runs.forEach((run, r) => {
            const shapes = run.drawing.shapes
                .map(s => ({kind: s.kind, v: s.at.map(x => at(x, frames[r]))}))
                .filter(s => s.v.every(Number.isFinite));
            const ground = shapes.find(s => s.kind === 'ground');
            if (ground && r === 0) this.ground(ctx, view, ground.v[1]);
            for (const s of shapes) this.shape(parts, view, s.kind, s.v, r, force, ground && ground.v[1]);
        });
        parts.sort((a, b) => a.depth - b.depth);
        for (const part of parts) part.paint(ctx);
        ctx.globalAlpha = 1;
    }

    // A square net under everything.
    ground(ctx, view, z) {
        const half = 0.5 * Math.max(this.hi[0] - this.lo[0], this.hi[1] - this.lo[1]) || 0.5 * this.size,
            n = 10;
        ctx.strokeStyle = color('g');
        ctx.lineWidth = 1;
        ctx.beginPath();
        for (let k = -n; k <= n; k++) {
            const s = (k / n) * 1.15 * half;
            for (const ends of [
                [
                    [s, -1.15 * half],
                    [s, 1.15 * half],
                ],
                [
                    [-1.15 * half, s],
                    [1.15 * half, s],
                ],
            ]) {
                const [a, b] = ends.map(([x, y]) => view.place([this.middle[0] + x, this.middle[1] + y, z]));
                ctx.moveTo(...a);
                ctx.lineTo(...b);
            }
        }
        ctx.stroke();
    }

    // Polygons, lit from above; with a shadow on the ground.
    face(parts, view, points, run, z) {
        const n = cross(sub(points[1], points[0]), sub(points[2], points[0])),
            size = Math.hypot(...n) || 1;
        const light = Math.abs(n[2] * 0.75 + n[0] * 0.35 + n[1] * 0.2) / size,
            ink = seriesColor(run);
        const path = (ctx, list) => {
            ctx.beginPath();
            list.forEach((p, k) => ctx[k ? 'lineTo' : 'moveTo'](...view.place(p)));
            ctx.closePath();
        };
        const depth = points.reduce((sum, p) => sum + view.depth(p), 0) / points.length;
        if (z !== undefined) {
            const shadow = points.map(p => [p[0], p[1], z]);
            parts.push({
                depth: -Infinity,
                paint: ctx => {
                    path(ctx, shadow);
                    ctx.globalAlpha = 0.08;
                    ctx.fillStyle = color('t');
                    ctx.fill();
                },
            });
        }
        parts.push({
            depth,
            paint: ctx => {
                path(ctx, points);
                ctx.globalAlpha = 1;
                ctx.fillStyle = color('b');
                ctx.fill();
                ctx.globalAlpha = 0.25 + 0.5 * light;
                ctx.fillStyle = ctx.strokeStyle = ink;
                ctx.fill();
                ctx.globalAlpha = 1;
                ctx.lineWidth = 1.4;
                ctx.stroke();
            },
        });
    }

    shape(parts, view, kind, v, run, force, z) {
        const ink = seriesColor(run);
        if (kind === 'box') {
            const c = boxCorners(v);
            for (const f of faces)
                this.face(
                    parts,
                    view,
                    f.map(k => c[k]),
                    run,
                    z,
                );
        } else if (kind === 'polygon') {
            const points = [];
            for (let k = 0; k < v.length; k += 3) points.push(v.slice(k, k + 3));
            this.face(parts, view, points, run, z);
        } else if (kind === 'circle') {
            parts.push({
                depth: view.depth(v.slice(0, 3)),
                paint: ctx => {
                    ctx.beginPath();
                    ctx.arc(...view.place(v.slice(0, 3)), Math.max(2.5, v[3] * view.unit), 0, 7);
                    Object.assign(ctx, {fillStyle: ink, strokeStyle: ink, lineWidth: 1.4, globalAlpha: 0.5});
                    ctx.fill();
                    ctx.globalAlpha = 1;
                    ctx.stroke();
                },
            });
        } else if (kind === 'line') {
            this.line(parts, view, v.slice(0, 3), v.slice(3), ink, 1.8);
        } else if (kind === 'force') {
            const by = v[6] || force,
                f = v.slice(3, 6),
                size = Math.hypot(...f) * by;
            if (size * view.unit < 1.5) return;
            const cut = Math.min(by, (0.4 * this.size) / Math.hypot(...f));
            this.line(
                parts,
                view,
                v.slice(0, 3),
                add(
                    v.slice(0, 3),
                    f.map(x => x * cut),
                ),
                seriesColor(run + 4),
                2.4,
                true,
            );
        }
    }

    line(parts, view, a, b, ink, width, isArrow) {
        const [p, q] = [view.place(a), view.place(b)],
            angle = Math.atan2(q[1] - p[1], q[0] - p[0]);
        const head = Math.min(9, 0.5 * Math.hypot(q[0] - p[0], q[1] - p[1]));
        parts.push({
            depth: Math.max(view.depth(a), view.depth(b)),
            paint: ctx => {
                Object.assign(ctx, {strokeStyle: ink, fillStyle: ink, lineWidth: width, globalAlpha: 1});
                ctx.beginPath();
                ctx.moveTo(...p);
                ctx.lineTo(...q);
                ctx.stroke();
                if (!isArrow) return;
                ctx.beginPath();
                ctx.moveTo(...q);
                for (const side of [-0.42, 0.42])
                    ctx.lineTo(q[0] - head * Math.cos(angle + side), q[1] - head * Math.sin(angle + side));
                ctx.fill();
            },
        });
    }
}
