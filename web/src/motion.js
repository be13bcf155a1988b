// What bodies did (src/report/motion.c): poses at any time, contacts, and when they change.

import {frameAt} from './frames.js';
import {unfoldBits} from './rows.js';
import {matrixOf} from './turn.js';

const sizes = {pose: 7, contact: 10};

// A number over the frames: one that stays, or whole multiples of a unit above the least.
function channel(part, n, unit) {
    const values = new Float32Array(n);
    if (typeof part === 'number') return values.fill(part);
    const halves = unfoldBits(atob(part[1]), n);
    for (let i = 0; i < n; i++) values[i] = part[0] + unit * (halves[2 * i] + 4294967296 * halves[2 * i + 1]);
    return values;
}

export class Motion {
    constructor(data, floats) {
        Object.assign(this, {t: data.t, bodies: data.bodies, shapes: data.shapes, meshes: data.meshes});
        Object.assign(this, {states: data.states, every: data.every, contactsEvery: data.contactsEvery});
        this.unit = data.unit;
        this.tendons = data.tendons || []; // of each, the points of its branches
        this.behind = sizes.pose * data.bodies.length; // poses: points of tendons follow
        this.channels = data.poses.map((part, k) =>
            channel(part, data.t.length, k < this.behind && k % sizes.pose > 2 ? data.turn : data.unit),
        );
        this.still = data.poses.map(part => typeof part === 'number');
        this.contact = floats(data.contact);
        this.counts = data.contacts;
        this.first = [];
        let sum = 0;
        for (const n of data.contacts) {
            this.first.push(sum);
            sum += Math.max(0, n);
        }
        this.events = data.events.map(([t, strength, begin, end, slip, stick]) => ({
            t,
            strength,
            begin,
            end,
            slip,
            stick,
        }));
        this.now = new Float64Array(data.poses.length);
    }

    frame(time) {
        return frameAt(this.t, time);
    }

    // Positions and unit quaternions of all bodies, 7 numbers each; then points on tendons.
    poses(frame) {
        const i = Math.floor(frame),
            j = Math.min(i + 1, this.t.length - 1),
            share = frame - i,
            {now, channels} = this;
        for (let k = 0; k < now.length; k++) {
            const x = channels[k];
            now[k] = x[i] + share * (x[j] - x[i]);
        }
        for (let k = 3; k < this.behind; k += sizes.pose) {
            const size = 1 / Math.hypot(now[k], now[k + 1], now[k + 2], now[k + 3]);
            for (let c = 0; c < 4; c++) now[k + c] *= size;
        }
        return now;
    }

    // The contacts of the kept frame that is nearest: {point, normal, force, mu} each; null: those are not known.
    contacts(frame) {
        const near = Math.round(frame);
        for (let far = 0; far < this.counts.length; far++)
            for (const i of [near - far, near + far]) if (this.counts[i] >= 0) return this.list(i);
        return null;
    }

    list(i) {
        const list = [];
        for (let c = this.first[i]; c < this.first[i] + this.counts[i]; c++) {
            const x = this.contact.subarray(c * sizes.contact, (c + 1) * sizes.contact);
            list.push({point: x.subarray(0, 3), normal: x.subarray(3, 6), force: x.subarray(6, 9), mu: x[9]});
        }
        return list;
    }

    // Is a body at the same place in all frames?
    isStill(body) {
        return this.still.slice(body * sizes.pose, (body + 1) * sizes.pose).every(Boolean);
    }

    // A box about tendons and all shapes but planes at a frame, made larger by them.
    grow(frame, box) {
        const now = this.poses(frame);
        for (const s of this.shapes) {
            if (s.kind === 'plane') continue;
            const k = s.body * sizes.pose,
                R = matrixOf(now.subarray(k + 3, k + 7)),
                reach = reachOf(s, this.meshes);
            for (let c = 0; c < 3; c++) {
                const x = now[k + c] + R[3 * c] * s.p[0] + R[3 * c + 1] * s.p[1] + R[3 * c + 2] * s.p[2];
                box.lo[c] = Math.min(box.lo[c], x - reach);
                box.hi[c] = Math.max(box.hi[c], x + reach);
            }
        }
        for (let k = this.behind; k < now.length; k++) {
            const c = (k - this.behind) % 3;
            box.lo[c] = Math.min(box.lo[c], now[k]);
            box.hi[c] = Math.max(box.hi[c], now[k]);
        }
    }
}

// The radius of a ball about a shape.
export function reachOf(s, meshes) {
    const [a, b, c] = s.size;
    if (s.kind === 'box') return Math.hypot(a, b, c);
    if (s.kind === 'ellipsoid') return Math.max(a, b, c);
    if (s.kind === 'capsule') return a + b;
    if (s.kind === 'cylinder') return Math.hypot(a, b);
    if (s.kind !== 'mesh') return a;
    const {point} = meshes[s.mesh];
    let most = 0;
    for (let k = 0; k < point.length; k += 3) most = Math.max(most, Math.hypot(point[k], point[k + 1], point[k + 2]));
    return most;
}
