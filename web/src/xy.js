// Curves y over x with time along them: phase portraits, and friction against velocity.

import {mark, range, show, ticks} from './data.js';
import {saveButtons} from './figure.js';
import {seriesColor} from './look.js';
import {color, element, listen, setTime, shownRange, state} from './state.js';

const piece = 250,
    few = 200;
const margin = {left: 70, right: 14, top: 10, bottom: 40};

function padded(pair) {
    const [lo, hi] = pair || [0, 1],
        size = Math.max(Math.abs(lo), Math.abs(hi));
    const room = hi - lo > 1e-12 * size ? 0.06 * (hi - lo) : size > 0 ? 0.1 * size : 1;
    return [lo - room, hi + room];
}

export class Curves {
    // series: [{label, color, dash, t, x, y}]; ghosts: [{x, y}] behind them, in the range as well
    constructor(host, {xLabel, yLabel, series, ghosts = [], height = 320}) {
        Object.assign(this, {host, xLabel, yLabel, series, ghosts, height});
        this.canvas = element('canvas', {role: 'img', 'aria-label': `${yLabel} against ${xLabel}`});
        this.readout = element('div', {class: 'readout'});
        const title = host.getAttribute('aria-label') || `${yLabel} against ${xLabel}`;
        host.append(
            this.canvas,
            this.readout,
            saveButtons(
                title,
                () => this.figure(),
                () => this.canvas,
            ),
        );
        this.canvas.addEventListener('mousemove', e => this.hover(e));
        listen('time', () => this.drawNow());
        for (const what of ['zoom', 'theme']) listen(what, () => this.draw());
        new ResizeObserver(() => this.draw()).observe(host);
    }

    frame() {
        const width = Math.max(280, this.host.clientWidth);
        const all = [...this.series, ...this.ghosts];
        const [x0, x1] = padded(range(all.map(s => s.x))),
            [y0, y1] = padded(range(all.map(s => s.y)));
        const w = width - margin.left - margin.right,
            h = this.height - margin.top - margin.bottom;
        return {
            width,
            x0,
            x1,
            y0,
            y1,
            toX: v => margin.left + ((v - x0) / (x1 - x0)) * w,
            toY: v => margin.top + h - ((v - y0) / (y1 - y0)) * h,
        };
    }

    // Everything but the points of the moment, which come on top of a copy.
    draw() {
        const f = (this.f = this.frame()),
            scale = devicePixelRatio || 1;
        this.canvas.width = f.width * scale;
        this.canvas.height = this.height * scale;
        this.canvas.style.width = f.width + 'px';
        this.canvas.style.height = this.height + 'px';
        const still = (this.still = document.createElement('canvas')),
            ctx = still.getContext('2d');
        still.width = this.canvas.width;
        still.height = this.canvas.height;
        ctx.setTransform(scale, 0, 0, scale, 0, 0);
        this.drawAxes(ctx, f);
        ctx.save();
        ctx.beginPath();
        ctx.rect(
            margin.left,
            margin.top,
            f.width - margin.left - margin.right,
            this.height - margin.top - margin.bottom,
        );
        ctx.clip();
        ctx.lineJoin = 'round';
        for (const g of this.ghosts) this.line(ctx, f, g, 0, g.x.length, color('8'), 7, 0.35);
        const [from, to] = shownRange();
        for (const s of this.series) {
            if (state.zoom) this.line(ctx, f, s, 0, s.x.length, seriesColor(s.color), 1, 0.3);
            let first = 0,
                last = s.t.length;
            while (first < last && s.t[first] < from) first++;
            while (last > first && s.t[last - 1] > to) last--;
            this.line(ctx, f, s, first, last, seriesColor(s.color), 1.6, 1);
            if (s.t.length <= few) this.dots(ctx, f, s, first, last);
        }
        ctx.restore();
        this.drawNow();
    }

    // In pieces: one long path that crosses itself takes seconds to fill in.
    line(ctx, f, s, first, last, stroke, width, alpha) {
        Object.assign(ctx, {strokeStyle: stroke, lineWidth: width, globalAlpha: alpha});
        ctx.setLineDash(s.dash || []);
        let n = 0,
            x = 0,
            y = 0;
        ctx.beginPath();
        for (let i = first; i < last; i++) {
            const is = Number.isFinite(s.x[i]) && Number.isFinite(s.y[i]);
            if (is) {
                if (n === piece) {
                    ctx.stroke();
                    ctx.beginPath();
                    ctx.moveTo(x, y);
                    n = 1;
                }
                x = f.toX(s.x[i]);
                y = f.toY(s.y[i]);
                ctx[n ? 'lineTo' : 'moveTo'](x, y);
            }
            n = is ? n + 1 : 0;
        }
        ctx.stroke();
        ctx.setLineDash([]);
        ctx.globalAlpha = 1;
    }

    // As figure.js wants it.
    figure() {
        const f = this.f,
            box = {left: margin.left, top: margin.top, width: f.width - margin.left - margin.right};
        box.height = this.height - margin.top - margin.bottom;
        const points = s =>
            Array.from(s.x, (x, i) =>
                Number.isFinite(x) && Number.isFinite(s.y[i]) ? [f.toX(x), f.toY(s.y[i])] : null,
            );
        const curve = (s, ink, more) => ({points: points(s), color: ink, dash: s.dash, ...more});
        return {
            width: f.width,
            height: this.height,
            box,
            x: ticks(f.x0, f.x1, Math.max(2, f.width / 90)).map(v => ({at: f.toX(v), text: mark(v)})),
            y: ticks(f.y0, f.y1, this.height / 50).map(v => ({at: f.toY(v), text: mark(v)})),
            xLabel: this.xLabel,
            yLabel: this.yLabel,
            curves: [
                ...this.ghosts.map(g => curve(g, color('8'), {width: 7, opacity: 0.35})),
                ...this.series.map(s => curve(s, seriesColor(s.color))),
            ],
            legend: this.series
                .filter(s => s.label)
                .map(s => ({label: s.label, color: seriesColor(s.color), dash: s.dash})),
        };
    }

    // The nodes of a plan, or few samples.
    dots(ctx, f, s, first, last) {
        ctx.fillStyle = seriesColor(s.color);
        for (let i = first; i < last; i++) {
            if (!Number.isFinite(s.x[i]) || !Number.isFinite(s.y[i])) continue;
            ctx.beginPath();
            ctx.arc(f.toX(s.x[i]), f.toY(s.y[i]), 2.2, 0, 7);
            ctx.fill();
        }
    }

    drawAxes(ctx, f) {
        const bottom = this.height - margin.bottom,
            right = f.width - margin.right;
        ctx.font = '11px system-ui, sans-serif';
        ctx.strokeStyle = color('g');
        ctx.fillStyle = color('m');
        ctx.lineWidth = 1;
        ctx.textAlign = 'center';
        for (const v of ticks(f.x0, f.x1, Math.max(2, f.width / 90))) {
            ctx.beginPath();
            ctx.moveTo(f.toX(v), margin.top);
            ctx.lineTo(f.toX(v), bottom);
            ctx.stroke();
            ctx.fillText(mark(v), f.toX(v), bottom + 15);
        }
        ctx.textAlign = 'right';
        for (const v of ticks(f.y0, f.y1, this.height / 50)) {
            ctx.beginPath();
            ctx.moveTo(margin.left, f.toY(v));
            ctx.lineTo(right, f.toY(v));
            ctx.stroke();
            ctx.fillText(mark(v), margin.left - 6, f.toY(v) + 4);
        }
        ctx.fillStyle = color('t');
        ctx.textAlign = 'center';
        ctx.fillText(this.xLabel, (margin.left + right) / 2, this.height - 6);
        ctx.save();
        ctx.translate(12, (margin.top + bottom) / 2);
        ctx.rotate(-Math.PI / 2);
        ctx.fillText(this.yLabel, 0, 0);
        ctx.restore();
    }

    // Where each curve is at the time of the cursor.
    drawNow() {
        const parts = [],
            f = this.f,
            ctx = this.canvas.getContext('2d'),
            scale = devicePixelRatio || 1;
        if (!f) return;
        ctx.setTransform(1, 0, 0, 1, 0, 0);
        ctx.clearRect(0, 0, this.canvas.width, this.canvas.height);
        ctx.drawImage(this.still, 0, 0);
        ctx.setTransform(scale, 0, 0, scale, 0, 0);
        if (state.time !== null) {
            for (const s of this.series) {
                let i = 0,
                    j = s.t.length - 1;
                while (j - i > 1) {
                    const middle = (i + j) >> 1;
                    if (s.t[middle] <= state.time) i = middle;
                    else j = middle;
                }
                if (j > i && s.t[j] - state.time < state.time - s.t[i]) i = j;
                if (!Number.isFinite(s.x[i]) || !Number.isFinite(s.y[i])) continue;
                ctx.beginPath();
                ctx.arc(f.toX(s.x[i]), f.toY(s.y[i]), 4.5, 0, 7);
                ctx.fillStyle = seriesColor(s.color);
                ctx.strokeStyle = color('b');
                ctx.fill();
                ctx.stroke();
                parts.push(`${s.label ? s.label + ': ' : ''}(${show(s.x[i])}, ${show(s.y[i])})`);
            }
        }
        this.readout.textContent = parts.join('   ');
    }

    hover(event) {
        const box = this.canvas.getBoundingClientRect(),
            px = event.clientX - box.left,
            py = event.clientY - box.top;
        let best = 20 * 20,
            time = null;
        for (const s of this.series) {
            for (let i = 0; i < s.x.length; i++) {
                const dx = this.f.toX(s.x[i]) - px,
                    dy = this.f.toY(s.y[i]) - py,
                    d = dx * dx + dy * dy;
                if (d < best) [best, time] = [d, s.t[i]];
            }
        }
        if (time !== null) setTime(time);
    }
}
