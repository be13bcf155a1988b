// Drawings in the plane.

import {at, frameAt} from './frames.js';
import {seriesColor} from './look.js';
import {color} from './state.js';

// Points that must be in view, of one shape at one frame.
function corners(shape, frame) {
    const v = shape.at.map(x => at(x, frame));
    if (shape.kind === 'box') {
        const r = Math.hypot(v[2], v[3]) / 2;
        return [
            [v[0] - r, v[1] - r],
            [v[0] + r, v[1] + r],
        ];
    }
    if (shape.kind === 'circle')
        return [
            [v[0] - v[2], v[1] - v[2]],
            [v[0] + v[2], v[1] + v[2]],
        ];
    const points = [];
    if (shape.kind === 'force') return [[v[0], v[1]]];
    if (shape.kind === 'ground') return v[2] ? [[v[0], v[1]]] : [[NaN, v[1]]];
    for (let k = 0; k < v.length; k += 2) points.push([v[k], v[k + 1]]);
    return points;
}

export class Plane {
    constructor(runs) {
        this.runs = runs;
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
        const room = 0.12 * (Math.max(box[2] - box[0], box[3] - box[1]) || 1);
        this.box = [box[0] - room, box[1] - room, box[2] + room, box[3] + room];
        this.size = Math.max(this.box[2] - this.box[0], this.box[3] - this.box[1]);
    }

    height(width) {
        const [x0, y0, x1, y1] = this.box;
        return Math.round(Math.min(440, Math.max(150, (width * (y1 - y0)) / (x1 - x0))));
    }

    draw(ctx, width, height, time, force) {
        const [x0, y0, x1, y1] = this.box,
            unit = Math.min(width / (x1 - x0), height / (y1 - y0));
        const view = {
            width,
            height,
            unit,
            x: v => width / 2 + (v - (x0 + x1) / 2) * unit,
            y: v => height / 2 - (v - (y0 + y1) / 2) * unit,
        };
        this.force = force;
        this.runs.forEach((run, r) => {
            const frame = frameAt(run.drawing.t, time);
            ctx.globalAlpha = r ? 0.55 : 1;
            for (const shape of run.drawing.shapes)
                this.shape(
                    ctx,
                    view,
                    shape.kind,
                    shape.at.map(x => at(x, frame)),
                    r,
                );
        });
        ctx.globalAlpha = 1;
    }

    shape(ctx, view, kind, v, run) {
        if (!v.every(Number.isFinite)) return; // not known at this instant, such as forces before the first step
        const ink = seriesColor(run),
            fill = () => {
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
            ctx.rect((-v[2] / 2) * view.unit, (-v[3] / 2) * view.unit, v[2] * view.unit, v[3] * view.unit);
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
        const by = (scale || this.force) * view.unit,
            size = Math.hypot(fx, fy) * by,
            most = 0.4 * this.size * view.unit;
        if (size < 1.5) return;
        const cut = Math.min(1, most / size),
            dx = fx * by * cut,
            dy = -fy * by * cut,
            angle = Math.atan2(dy, dx);
        const px = view.x(x) + dx,
            py = view.y(y) + dy,
            head = Math.min(9, 0.5 * size);
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
