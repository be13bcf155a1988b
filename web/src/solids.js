// Solids of unit size, and the list of those to be drawn: a solid, where it is, how it is turned, its size and colour.
// A point of a solid is scaled along its axes and then moved along z by its end times the fourth size: a capsule's halves.

// The normal of a polygon, of the length of twice its area.
export function newell(points) {
    const n = [0, 0, 0];
    points.forEach((p, i) => {
        const q = points[(i + 1) % points.length];
        n[0] += (p[1] - q[1]) * (p[2] + q[2]);
        n[1] += (p[2] - q[2]) * (p[0] + q[0]);
        n[2] += (p[0] - q[0]) * (p[1] + q[1]);
    });
    return n;
}

// polygons: {points: [[x, y, z]], normals: one for each, ends}
function solid(polygons, more = {}) {
    const points = [],
        normals = [],
        ends = [],
        triangles = [],
        faces = [];
    for (const f of polygons) {
        const first = points.length / 3;
        f.points.forEach((p, k) => {
            points.push(...p);
            normals.push(...f.normals[k]);
            ends.push(f.ends ? f.ends[k] : 0);
            if (k > 1) triangles.push(first, first + k - 1, first + k);
        });
        faces.push(f.points.map((p, k) => first + k));
    }
    return {
        points: new Float32Array(points),
        normals: new Float32Array(normals),
        ends: new Float32Array(ends),
        triangles: new Uint32Array(triangles),
        faces,
        ...more,
    };
}

const flat = (points, n) => ({points, normals: points.map(() => n)});

function box() {
    const list = [];
    for (let axis = 0; axis < 3; axis++)
        for (const side of [-1, 1]) {
            const [b, c] = [(axis + 1) % 3, (axis + 2) % 3];
            const corner = (s, t) => {
                const p = [0, 0, 0];
                p[axis] = side;
                p[b] = s;
                p[c] = side * t;
                return p;
            };
            const n = [0, 0, 0];
            n[axis] = side;
            list.push(flat([corner(-1, -1), corner(1, -1), corner(1, 1), corner(-1, 1)], n));
        }
    return solid(list);
}

// A surface of revolution about z: rings of [radius, z, normal's radius, normal's z, end].
function revolved(rings, sides) {
    const list = [];
    const point = ([r, z], k) => {
        const a = (2 * Math.PI * k) / sides;
        return [r * Math.cos(a), r * Math.sin(a), z];
    };
    for (let i = 0; i + 1 < rings.length; i++)
        for (let k = 0; k < sides; k++) {
            const [low, high] = [rings[i], rings[i + 1]];
            list.push({
                points: [point(low, k), point(low, k + 1), point(high, k + 1), point(high, k)],
                normals: [
                    [low, k],
                    [low, k + 1],
                    [high, k + 1],
                    [high, k],
                ].map(([ring, j]) => point([ring[2], ring[3]], j)),
                ends: [low[4] || 0, low[4] || 0, high[4] || 0, high[4] || 0],
            });
        }
    return list;
}

function disc(z, up, sides) {
    const points = [];
    for (let k = 0; k < sides; k++) {
        const a = (up * 2 * Math.PI * k) / sides;
        points.push([Math.cos(a), Math.sin(a), z]);
    }
    return flat(points, [0, 0, up]);
}

function ball(sides, isCapsule) {
    const rings = [],
        half = sides >> 2;
    for (let k = -half; k <= half; k++) {
        const a = (Math.PI * k) / (2 * half),
            ring = [Math.cos(a), Math.sin(a), Math.cos(a), Math.sin(a)];
        if (k === 0 && isCapsule) rings.push([...ring, -1]);
        rings.push([...ring, isCapsule ? (k < 0 ? -1 : 1) : 0]);
    }
    return solid(revolved(rings, sides));
}

function mesh({point, face}) {
    return solid(
        face.map(corners => {
            const p = corners.map(k => point.slice(3 * k, 3 * k + 3)),
                n = newell(p),
                size = Math.hypot(...n) || 1;
            return flat(
                p,
                n.map(x => x / size),
            );
        }),
    );
}

// Lines of a square net in z = 0 from -1 to 1.
function net(n) {
    const points = [];
    for (let k = -n; k <= n; k++) points.push(k / n, -1, 0, k / n, 1, 0, -1, k / n, 0, 1, k / n, 0);
    return {
        points: new Float32Array(points),
        normals: new Float32Array(points.length),
        ends: new Float32Array(points.length / 3),
        faces: [],
        isLines: true,
    };
}

// fine: how round round things are
export function makeSolids(meshes, fine) {
    const list = {
        box: box(),
        sphere: ball(fine, false),
        capsule: ball(fine, true),
        cylinder: solid([
            ...revolved(
                [
                    [1, -1, 1, 0],
                    [1, 1, 1, 0],
                ],
                fine,
            ),
            disc(1, 1, fine),
            disc(-1, -1, fine),
        ]),
        // a rod from 0 to 1 along z, the head of an arrow, an open cone on its tip
        rod: solid(
            revolved(
                [
                    [1, 0, 1, 0],
                    [1, 1, 1, 0],
                ],
                8,
            ),
            {isRod: true},
        ),
        tip: solid([
            ...revolved(
                [
                    [1, 0, 0.9, 0.4],
                    [0, 1, 0.9, 0.4],
                ],
                12,
            ),
            disc(0, -1, 12),
        ]),
        cone: solid(
            revolved(
                [
                    [0, 0, 0.7, -0.7],
                    [1, 1, 0.7, -0.7],
                ],
                24,
            ),
            {isClear: true},
        ),
        net: net(12),
    };
    meshes.forEach((m, k) => (list[`mesh ${k}`] = mesh(m)));
    return list;
}

export const floatsEach = 15; // place, turn, size, colour

export class List {
    constructor() {
        this.of = new Map();
        this.polygons = [];
    }

    // A polygon of points in the world.
    polygon(points, ink) {
        const n = newell(points);
        this.polygons.push({points, ink, solid: solid([flat(points, n)])});
    }

    clear() {
        this.polygons = [];
        for (const entry of this.of.values()) entry.n = 0;
    }

    // p: place, q: turn (scalar first), s: three sizes and how far the ends are moved, ink: red, green, blue, opacity
    put(layer, name, p, q, s, ink) {
        const key = `${layer} ${name}`;
        let entry = this.of.get(key);
        if (!entry) this.of.set(key, (entry = {layer, name, n: 0, values: new Float32Array(64 * floatsEach)}));
        if ((entry.n + 1) * floatsEach > entry.values.length) {
            const more = new Float32Array(2 * entry.values.length);
            more.set(entry.values);
            entry.values = more;
        }
        const v = entry.values,
            k = entry.n++ * floatsEach;
        for (let i = 0; i < 3; i++) v[k + i] = p[i];
        for (let i = 0; i < 4; i++) {
            v[k + 3 + i] = q[i];
            v[k + 7 + i] = s[i];
            v[k + 11 + i] = ink[i];
        }
    }

    // The solids of a layer, in the order in which they came first.
    *layer(layer) {
        for (const entry of this.of.values()) if (entry.layer === layer && entry.n) yield entry;
    }
}
