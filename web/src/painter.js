// The list of solids on a plain canvas, where there is no WebGL: faces painted from far to near.

import {floatsEach, newell} from './solids.js';
import {matrixOf} from './turn.js';

const light = [0.32, 0.2, 0.92];
const css = (ink, bright) => `rgba(${ink.map(v => Math.round(255 * Math.min(1, v * bright))).join(',')}`;

export class Painter {
    constructor(solids) {
        this.solids = solids;
    }

    draw(ctx, list, view) {
        ctx.lineJoin = 'round';
        for (const e of list.layer('ground')) this.nets(ctx, view, e);
        for (const layers of [['body'], ['force', 'cone']]) {
            const parts = [];
            for (const layer of layers) for (const e of list.layer(layer)) this.entry(parts, view, e);
            if (layers[0] === 'body') for (const p of list.polygons) this.face(parts, view, p.points, p.ink);
            parts.sort((a, b) => a.depth - b.depth);
            for (const part of parts) part.paint(ctx);
        }
        ctx.globalAlpha = 1;
    }

    *each({n, values}) {
        for (let i = 0; i < n; i++) {
            const v = values.subarray(i * floatsEach, (i + 1) * floatsEach),
                R = matrixOf(v.subarray(3, 7));
            yield {
                size: v.subarray(7, 11),
                ink: [...v.subarray(11, 14)],
                alpha: v[14],
                place: v,
                point: (p, k, end) => {
                    const x = p[k] * v[7],
                        y = p[k + 1] * v[8],
                        z = p[k + 2] * v[9] + end * v[10];
                    return [
                        v[0] + R[0] * x + R[1] * y + R[2] * z,
                        v[1] + R[3] * x + R[4] * y + R[5] * z,
                        v[2] + R[6] * x + R[7] * y + R[8] * z,
                    ];
                },
            };
        }
    }

    nets(ctx, view, entry) {
        const {points} = this.solids[entry.name];
        for (const one of this.each(entry)) {
            ctx.strokeStyle = css(one.ink, 1) + ',1)';
            ctx.lineWidth = 1;
            ctx.beginPath();
            for (let k = 0; k < points.length; k += 6) {
                const ends = [one.point(points, k, 0), one.point(points, k + 3, 0)];
                if (ends.some(p => -view.depth(p) < view.near)) continue;
                ctx.moveTo(...view.place(ends[0]));
                ctx.lineTo(...view.place(ends[1]));
            }
            ctx.stroke();
        }
    }

    entry(parts, view, entry) {
        const solid = this.solids[entry.name];
        for (const one of this.each(entry)) {
            const middle = [one.place[0], one.place[1], one.place[2]];
            if (-view.depth(middle) < view.near) continue;
            if (entry.name === 'sphere' && one.size[0] === one.size[1] && one.size[1] === one.size[2])
                this.ball(parts, view, middle, one);
            else if (solid.isRod) this.rod(parts, view, middle, one);
            else
                for (const face of solid.faces)
                    this.face(
                        parts,
                        view,
                        face.map(k => one.point(solid.points, 3 * k, solid.ends[k])),
                        [...one.ink, one.alpha],
                        !solid.isClear,
                    );
        }
    }

    // A polygon, lit from above; of a solid only if it is seen from outside.
    face(parts, view, points, ink, isOutside) {
        const n = newell(points),
            size = Math.hypot(...n);
        if (!(size > 0)) return;
        const to = view.eye.map((e, k) => e - points[0][k]),
            side = n[0] * to[0] + n[1] * to[1] + n[2] * to[2];
        if (isOutside && side <= 0) return;
        const toward = side < 0 ? -1 : 1,
            bright = 0.45 + 0.335 * (1 + (toward * (n[0] * light[0] + n[1] * light[1] + n[2] * light[2])) / size);
        const fill = `${css(ink.slice(0, 3), bright)},${ink[3]})`;
        parts.push({
            depth: points.reduce((sum, p) => sum + view.depth(p), 0) / points.length,
            paint: ctx => {
                ctx.beginPath();
                points.forEach((p, k) => ctx[k ? 'lineTo' : 'moveTo'](...view.place(p)));
                ctx.closePath();
                ctx.fillStyle = ctx.strokeStyle = fill;
                ctx.fill();
                ctx.lineWidth = 0.7;
                if (ink[3] === 1) ctx.stroke(); // no seams
            },
        });
    }

    ball(parts, view, middle, one) {
        parts.push({
            depth: view.depth(middle),
            paint: ctx => {
                const [x, y] = view.place(middle),
                    r = Math.max(2, one.size[0] * view.scale(middle)),
                    shade = ctx.createRadialGradient(x + 0.2 * r, y - 0.6 * r, 0.1 * r, x, y, r);
                shade.addColorStop(0, css(one.ink, 1.1) + ',1)');
                shade.addColorStop(1, css(one.ink, 0.5) + ',1)');
                ctx.beginPath();
                ctx.arc(x, y, r, 0, 7);
                ctx.fillStyle = shade;
                ctx.fill();
            },
        });
    }

    rod(parts, view, from, one) {
        const to = one.point([0, 0, 1], 0, 0);
        if (-view.depth(to) < view.near) return;
        parts.push({
            depth: Math.max(view.depth(from), view.depth(to)),
            paint: ctx => {
                ctx.strokeStyle = css(one.ink, 1) + `,${one.alpha})`;
                ctx.lineWidth = Math.max(1, 2 * one.size[0] * view.scale(from));
                ctx.beginPath();
                ctx.moveTo(...view.place(from));
                ctx.lineTo(...view.place(to));
                ctx.stroke();
            },
        });
    }
}
