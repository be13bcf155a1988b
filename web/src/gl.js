// The list of solids by WebGL 2: one call for all solids of a kind. makeGl() is null where the browser has none.

import {floatsEach} from './solids.js';

const light = [0.32, 0.2, 0.92];

const vertexText = `#version 300 es
layout(location = 0) in vec3 point;
layout(location = 1) in vec3 normal;
layout(location = 2) in float end;
layout(location = 3) in vec3 place;
layout(location = 4) in vec4 turn;
layout(location = 5) in vec4 size;
layout(location = 6) in vec4 ink;
uniform mat4 view;
uniform vec3 light;
uniform vec2 shadow; // 1 and the height of the ground, or 0
out vec3 n;
out vec4 c;
vec3 turned(vec3 v) { return v + 2.0 * cross(turn.yzw, cross(turn.yzw, v) + turn.x * v); }
void main() {
    vec3 x = turned(point * size.xyz + vec3(0.0, 0.0, end * size.w)) + place;
    n = turned(normal / max(size.xyz, vec3(1e-20)) * min(size.x, min(size.y, size.z)));
    c = ink;
    if (shadow.x > 0.5) {
        x -= light * max(0.0, x.z - shadow.y) / light.z;
        x.z = shadow.y;
        c = vec4(0.0, 0.0, 0.0, 0.17);
        n = vec3(0.0);
    }
    gl_Position = view * vec4(x, 1.0);
}`;

const fragmentText = `#version 300 es
precision highp float;
in vec3 n;
in vec4 c;
uniform vec3 light;
uniform vec2 shade; // least and greatest
out vec4 color;
void main() {
    float size = length(n), bright = 1.0;
    if (size > 0.0) {
        vec3 m = gl_FrontFacing ? n / size : -n / size;
        bright = mix(shade.x, shade.y, 0.5 + 0.5 * dot(m, light));
    }
    vec3 rgb = bright > 1.0 ? mix(c.rgb, vec3(1.0), bright - 1.0) : c.rgb * bright;
    color = vec4(rgb * c.a, c.a);
}`;

function shader(gl, kind, text) {
    const s = gl.createShader(kind);
    gl.shaderSource(s, text);
    gl.compileShader(s);
    if (!gl.getShaderParameter(s, gl.COMPILE_STATUS) && !gl.isContextLost()) throw new Error(gl.getShaderInfoLog(s));
    return s;
}

function program(gl) {
    const p = gl.createProgram();
    gl.attachShader(p, shader(gl, gl.VERTEX_SHADER, vertexText));
    gl.attachShader(p, shader(gl, gl.FRAGMENT_SHADER, fragmentText));
    gl.linkProgram(p);
    if (!gl.getProgramParameter(p, gl.LINK_STATUS) && !gl.isContextLost()) throw new Error(gl.getProgramInfoLog(p));
    return p;
}

const instanceParts = [
    [3, 3, 0],
    [4, 4, 3],
    [5, 4, 7],
    [6, 4, 11],
];

// A solid on the device, and a buffer for those of its kind.
function upload(gl, solid) {
    const buffers = [];
    const buffer = (target, data, usage) => {
        const b = gl.createBuffer();
        buffers.push(b);
        gl.bindBuffer(target, b);
        if (data) gl.bufferData(target, data, usage);
        return b;
    };
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    [
        [solid.points, 3],
        [solid.normals, 3],
        [solid.ends, 1],
    ].forEach(([data, n], k) => {
        buffer(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
        gl.enableVertexAttribArray(k);
        gl.vertexAttribPointer(k, n, gl.FLOAT, false, 0, 0);
    });
    if (solid.triangles) buffer(gl.ELEMENT_ARRAY_BUFFER, solid.triangles, gl.STATIC_DRAW);
    const instances = buffer(gl.ARRAY_BUFFER);
    for (const [k, n, first] of instanceParts) {
        gl.enableVertexAttribArray(k);
        gl.vertexAttribPointer(k, n, gl.FLOAT, false, 4 * floatsEach, 4 * first);
        gl.vertexAttribDivisor(k, 1);
    }
    gl.bindVertexArray(null);
    return {array, instances, buffers, n: solid.triangles ? solid.triangles.length : solid.points.length / 3, solid};
}

export function makeGl(canvas, solids) {
    const gl = canvas.getContext('webgl2', {alpha: false, antialias: true, stencil: true});
    if (!gl) return null;
    canvas.addEventListener('webglcontextlost', e => e.preventDefault()); // it may come back
    return new Gl(gl, solids);
}

class Gl {
    constructor(gl, solids) {
        this.gl = gl;
        this.begin(solids);
        gl.canvas.addEventListener('webglcontextrestored', () => this.begin(solids));
    }

    end() {
        this.gl.getExtension('WEBGL_lose_context')?.loseContext();
    }

    begin(solids) {
        const {gl} = this;
        this.program = program(gl);
        this.at = name => gl.getUniformLocation(this.program, name);
        this.places = {
            view: this.at('view'),
            light: this.at('light'),
            shadow: this.at('shadow'),
            shade: this.at('shade'),
        };
        this.solids = new Map(Object.entries(solids).map(([name, s]) => [name, upload(gl, s)]));
    }

    // entries: of a layer; they stay on the device until the next draw.
    entries(entries) {
        const {gl} = this;
        for (const {name, n, values} of entries) {
            const s = this.solids.get(name);
            gl.bindVertexArray(s.array);
            gl.bindBuffer(gl.ARRAY_BUFFER, s.instances);
            gl.bufferData(gl.ARRAY_BUFFER, values.subarray(0, n * floatsEach), gl.DYNAMIC_DRAW);
            if (s.solid.isLines) gl.drawArraysInstanced(gl.LINES, 0, s.n, n);
            else gl.drawElementsInstanced(gl.TRIANGLES, s.n, gl.UNSIGNED_INT, 0, n);
        }
    }

    // Polygons that change from frame to frame: points in the world.
    polygons(polygons) {
        const {gl} = this;
        for (const {solid, ink} of polygons) {
            const s = upload(gl, solid);
            gl.bindVertexArray(s.array);
            gl.bindBuffer(gl.ARRAY_BUFFER, s.instances);
            gl.bufferData(
                gl.ARRAY_BUFFER,
                new Float32Array([0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 0, ...ink]),
                gl.STREAM_DRAW,
            );
            gl.drawElementsInstanced(gl.TRIANGLES, s.n, gl.UNSIGNED_INT, 0, 1);
            gl.bindVertexArray(null);
            gl.deleteVertexArray(s.array);
            for (const b of s.buffers) gl.deleteBuffer(b);
        }
    }

    // ground: its height, for shadows; or null
    draw(list, view, {back, ground}) {
        const {gl, places} = this;
        if (gl.isContextLost()) return;
        gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
        gl.clearColor(back[0], back[1], back[2], 1);
        gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
        gl.useProgram(this.program);
        gl.uniformMatrix4fv(places.view, false, view.matrix);
        const size = Math.hypot(...light);
        gl.uniform3f(places.light, light[0] / size, light[1] / size, light[2] / size);
        gl.uniform2f(places.shadow, 0, 0);
        gl.uniform2f(places.shade, 0.45, 1.12);
        gl.enable(gl.DEPTH_TEST);
        gl.depthMask(true);
        gl.depthFunc(gl.LEQUAL);
        gl.enable(gl.BLEND);
        gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
        this.entries(list.layer('ground'));
        this.entries(list.layer('body'));
        this.polygons(list.polygons);
        if (ground !== null) this.shadows(list, ground);
        gl.clear(gl.DEPTH_BUFFER_BIT); // forces are seen through bodies
        this.entries(list.layer('force'));
        gl.depthMask(false);
        this.entries(list.layer('cone'));
        gl.depthMask(true);
    }

    // Flat on the ground, each pixel once.
    shadows(list, ground) {
        const {gl, places} = this;
        gl.uniform2f(places.shadow, 1, ground);
        gl.enable(gl.STENCIL_TEST);
        gl.stencilFunc(gl.EQUAL, 0, 1);
        gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
        gl.depthMask(false);
        this.entries(list.layer('body'));
        gl.depthMask(true);
        gl.disable(gl.STENCIL_TEST);
        gl.uniform2f(places.shadow, 0, 0);
    }
}
