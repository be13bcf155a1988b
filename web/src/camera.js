// Where a drawing in space is seen from: around a point, with perspective. The third coordinate is up.

const open = 0.3; // tangent of half the angle of the view's height

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

export class Camera {
    constructor() {
        this.around = -0.9;
        this.above = 0.42;
        this.target = [0, 0, 0];
        this.distance = 1;
    }

    // Right, up and towards the reader.
    axes() {
        const c = Math.cos(this.around),
            s = Math.sin(this.around),
            a = Math.cos(this.above),
            b = Math.sin(this.above);
        return [
            [-s, c, 0],
            [-b * c, -b * s, a],
            [a * c, a * s, b],
        ];
    }

    turn(dx, dy) {
        this.around += 0.01 * dx;
        this.above = Math.min(1.55, Math.max(-1.55, this.above + 0.01 * dy));
    }

    // By pixels of a view of this height.
    move(dx, dy, height) {
        const [right, up] = this.axes(),
            size = (2 * open * this.distance) / height;
        for (let k = 0; k < 3; k++) this.target[k] += size * (dy * up[k] - dx * right[k]);
    }

    zoom(factor) {
        this.distance = Math.min(1e9, Math.max(1e-9, this.distance * factor));
    }

    // All corners of a box in sight.
    fit({lo, hi}, width, height) {
        const axes = this.axes(),
            middle = lo.map((v, k) => (v + hi[k]) / 2);
        let far = 0;
        for (let k = 0; k < 8; k++) {
            const d = lo.map((v, i) => ((k >> i) & 1 ? hi[i] : v) - middle[i]);
            const beside = Math.max(Math.abs(dot(d, axes[1])), (Math.abs(dot(d, axes[0])) * height) / width);
            far = Math.max(far, dot(d, axes[2]) + (1.15 * beside) / open);
        }
        this.target = middle;
        this.distance = far || 1;
    }

    // The size of a pixel at the target.
    pixel(height) {
        return (2 * open * this.distance) / height;
    }

    // For a canvas: a matrix for points (columns), their depth, and their places in pixels.
    view(width, height) {
        const axes = this.axes(),
            eye = this.target.map((v, k) => v + this.distance * axes[2][k]),
            near = 0.01 * this.distance,
            far = 200 * this.distance,
            focus = height / (2 * open);
        const along = axes.map(a => dot(a, eye)),
            sx = height / (open * width),
            sy = 1 / open,
            za = -(far + near) / (far - near),
            zb = (-2 * far * near) / (far - near);
        const matrix = [];
        for (let k = 0; k < 3; k++) matrix.push(sx * axes[0][k], sy * axes[1][k], za * axes[2][k], -axes[2][k]);
        matrix.push(-sx * along[0], -sy * along[1], -za * along[2] + zb, along[2]);
        const depth = p => dot(p, axes[2]) - along[2]; // below 0: before the eye
        return {
            matrix,
            eye,
            near,
            depth,
            scale: p => focus / Math.max(near, -depth(p)),
            place: p => {
                const s = focus / Math.max(near, -depth(p));
                return [width / 2 + (dot(p, axes[0]) - along[0]) * s, height / 2 - (dot(p, axes[1]) - along[1]) * s];
            },
        };
    }
}
