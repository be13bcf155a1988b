// A plot as it stands, as SVG text and as a PNG picture, with its legend; and files to the reader's disk.

import {color, element} from './state.js';

const row = 18, // of the legend
    font = 'font-family="system-ui, Liberation Sans, sans-serif"';

function escape(text) {
    return String(text).replace(/[<>&"]/g, c => ({'<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;'})[c]);
}

const at = v => String(Math.round(100 * v) / 100);

export function save(name, blob) {
    const url = URL.createObjectURL(blob),
        link = element('a', {href: url, download: name});
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
}

function fileName(title) {
    return `${document.title} ${title}`.replace(/[^\p{L}\p{N}.+-]+/gu, '_').slice(0, 120);
}

// What fits into one column of pixels: the first, the least, the greatest and the last of its points.
function thin(points) {
    const out = [];
    for (let i = 0; i < points.length; ) {
        let end = i,
            low = i,
            high = i;
        for (; end < points.length && points[end] && points[i] && points[end][0] < points[i][0] + 0.5; end++) {
            if (points[end][1] < points[low][1]) low = end;
            if (points[end][1] > points[high][1]) high = end;
        }
        if (end === i) end++;
        for (const k of [...new Set([i, low, high, end - 1])].sort((a, b) => a - b)) out.push(points[k]);
        i = end;
    }
    return out;
}

// points: [x, y] in pixels, null for a gap; steps: a point has the value of the stretch before it.
function path(points, steps) {
    let d = '',
        before = null;
    for (const p of thin(points)) {
        if (p && before && steps) d += `V${at(p[1])}H${at(p[0])}`;
        else if (p) d += `${before ? 'L' : 'M'}${at(p[0])} ${at(p[1])}`;
        before = p;
    }
    return d;
}

// {width, height, box: {left, top, width, height}, x, y, right: [{at, text}], xLabel, yLabel, rightLabel,
//  curves: [{color, dash, width, opacity, points, steps}], shapes: [{x, y, width, height, color} or {x, y, text}],
//  legend: [{label, color, dash}]}, colours as CSS has them
export function svgText(f) {
    const {left, top, width, height} = f.box,
        bottom = top + height,
        right = left + width,
        out = [],
        total = f.height + row * f.legend.length + 6;
    const label = (x, y, text, more = '') =>
        out.push(`<text x="${at(x)}" y="${at(y)}" ${more} fill="${color('t')}">${escape(text)}</text>`);
    const line = (x1, y1, x2, y2, c) =>
        out.push(`<line x1="${at(x1)}" y1="${at(y1)}" x2="${at(x2)}" y2="${at(y2)}" stroke="${c}"/>`);
    out.push(
        `<svg xmlns="http://www.w3.org/2000/svg" width="${f.width}" height="${total}" ` +
            `viewBox="0 0 ${f.width} ${total}" ${font} font-size="11">`,
        `<title>${escape(f.title)}</title><rect width="100%" height="100%" fill="${color('b')}"/>`,
        `<clipPath id="box"><rect x="${left}" y="${top}" width="${width}" height="${height}"/></clipPath>`,
    );
    for (const tick of f.x) {
        line(tick.at, top, tick.at, bottom, color('g'));
        label(tick.at, bottom + 15, tick.text, 'text-anchor="middle"');
    }
    for (const tick of f.y) {
        line(left, tick.at, right, tick.at, color('g'));
        label(left - 6, tick.at + 4, tick.text, 'text-anchor="end"');
    }
    for (const tick of f.right || []) label(right + 6, tick.at + 4, tick.text);
    out.push('<g clip-path="url(#box)">');
    for (const s of f.shapes || []) {
        if (s.text !== undefined) label(s.x, s.y, s.text);
        else
            out.push(
                `<rect x="${at(s.x)}" y="${at(s.y)}" width="${at(s.width)}" height="${at(s.height)}" fill="${s.color}"/>`,
            );
    }
    for (const c of f.curves)
        out.push(
            `<path fill="none" stroke="${c.color}" stroke-width="${c.width || 1.5}" stroke-linejoin="round"` +
                (c.dash ? ` stroke-dasharray="${c.dash.join(' ')}"` : '') +
                (c.opacity ? ` opacity="${c.opacity}"` : '') +
                ` d="${path(c.points, c.steps)}"/>`,
        );
    out.push('</g>');
    label((left + right) / 2, bottom + 32, f.xLabel, 'text-anchor="middle"');
    const turned = (x, text) =>
        label(0, 0, text, `text-anchor="middle" transform="translate(${x} ${at((top + bottom) / 2)}) rotate(-90)"`);
    turned(12, f.yLabel);
    if (f.rightLabel) turned(f.width - 6, f.rightLabel);
    f.legend.forEach((s, k) => {
        const y = f.height + row * k + 10;
        out.push(
            `<line x1="${left}" x2="${left + 26}" y1="${y}" y2="${y}" stroke="${s.color}" stroke-width="2"` +
                (s.dash ? ` stroke-dasharray="${s.dash.join(' ')}"/>` : '/>'),
        );
        label(left + 34, y + 4, s.label);
    });
    return out.join('\n') + '\n</svg>\n';
}

// The canvas on the page's ground, with the legend below.
export function onGround(canvas, width, height, legend) {
    const scale = canvas.width / width,
        copy = element('canvas'),
        ctx = copy.getContext('2d');
    copy.width = canvas.width;
    copy.height = Math.round((height + row * legend.length + (legend.length ? 6 : 0)) * scale);
    ctx.fillStyle = color('b');
    ctx.fillRect(0, 0, copy.width, copy.height);
    ctx.drawImage(canvas, 0, 0);
    ctx.scale(scale, scale);
    ctx.font = '11px system-ui, sans-serif';
    legend.forEach((s, k) => {
        const y = height + row * k + 10;
        ctx.strokeStyle = s.color;
        ctx.lineWidth = 2;
        ctx.setLineDash(s.dash || []);
        ctx.beginPath();
        ctx.moveTo(66, y);
        ctx.lineTo(92, y);
        ctx.stroke();
        ctx.fillStyle = color('t');
        ctx.fillText(s.label, 100, y + 4);
    });
    return copy;
}

// Buttons that save a plot. figure(): as for svgText; canvas(): what is on the screen.
export function saveButtons(title, figure, canvas) {
    const name = fileName(title);
    const svg = () => save(`${name}.svg`, new Blob([svgText({...figure(), title})], {type: 'image/svg+xml'}));
    const png = () => {
        const f = figure();
        onGround(canvas(), f.width, f.height, f.legend).toBlob(blob => save(`${name}.png`, blob));
    };
    return element(
        'span',
        {class: 'tools'},
        element('button', {
            text: 'SVG',
            title: 'save this plot as SVG',
            'aria-label': `save ${title} as SVG`,
            onclick: svg,
        }),
        element('button', {
            text: 'PNG',
            title: 'save this plot as PNG',
            'aria-label': `save ${title} as PNG`,
            onclick: png,
        }),
    );
}

const quoted = name => (/[",\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);
const written = v => (Number.isNaN(v) ? 'nan' : String(v).replace('Infinity', 'inf'));

// The head of a table, as perp reads it.
export function csvHead(names, units) {
    const lines = names.map((name, k) => (units[k] ? `# unit ${name} = ${units[k]}\n` : ''));
    return lines.join('') + names.map(quoted).join(',') + '\n';
}

// Rows, with all digits.
export function csvRows(columns) {
    const lines = [];
    for (let i = 0; i < columns[0].length; i++) lines.push(columns.map(x => written(x[i])).join(',') + '\n');
    return lines.join('');
}

export function saveCsv(title, parts) {
    save(`${fileName(title)}.csv`, new Blob(parts, {type: 'text/csv'}));
}

export {fileName};
