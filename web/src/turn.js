// Rotations: unit quaternions, scalar first, and matrices, row by row.

export function matrixOf([w, x, y, z]) {
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

// Shepperd, Quaternion from rotation matrix, 1978.
export function quaternionOf(R) {
    const four = [R[0] + R[4] + R[8], R[0] - R[4] - R[8], R[4] - R[0] - R[8], R[8] - R[0] - R[4]],
        k = four.indexOf(Math.max(...four)),
        w = Math.sqrt(Math.max(0, 1 + four[k])) || 1,
        s = 0.5 / w,
        off = [R[7] - R[5], R[2] - R[6], R[3] - R[1]];
    if (k === 0) return [0.5 * w, off[0] * s, off[1] * s, off[2] * s];
    const a = k - 1,
        b = k % 3,
        c = (k + 1) % 3,
        q = [off[a] * s, 0, 0, 0];
    q[1 + a] = 0.5 * w;
    q[1 + b] = (R[3 * a + b] + R[3 * b + a]) * s;
    q[1 + c] = (R[3 * a + c] + R[3 * c + a]) * s;
    return q;
}

export function unit(q) {
    const size = Math.hypot(...q);
    return size ? q.map(c => c / size) : [1, 0, 0, 0];
}

// The turn that takes z to a direction.
export function along([x, y, z]) {
    const size = Math.hypot(x, y, z);
    if (!(size > 0)) return [1, 0, 0, 0];
    if (z < -0.999999 * size) return [0, 1, 0, 0];
    return unit([size + z, -y, x, 0]);
}
