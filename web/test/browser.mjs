// What the browser tests share: perp is run, what it wrote is opened in Chromium and looked at as a reader would.
// Every test file is started as node FILE.mjs PERP SOURCE_DIR SCRATCH_DIR.

import {execFileSync} from 'node:child_process';
import {existsSync, mkdirSync, readFileSync, statSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';

export const [, , perp, source, scratch] = process.argv;
const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
if (!chromium) {
    console.log('skipped: there is no chromium; scripts/setup installs it');
    process.exit(0);
}
const playwright = await import('playwright-core');
mkdirSync(scratch, {recursive: true});

// Helpers -----------------------------------------------------------------------------------------

let failures = 0,
    checks = 0,
    tests = 0;

export function check(what, condition, detail = '') {
    checks++;
    if (condition) return;
    failures++;
    console.log(`FAILED: ${what} ${detail}`);
}

// A named test: what it throws is its failure, and the next one runs.
export async function test(name, body) {
    const before = failures;
    tests++;
    try {
        await body();
    } catch (error) {
        failures++;
        console.log(error.stack);
    }
    if (failures > before) console.log(`FAILED test: ${name}`);
}

export async function finish() {
    await browser.close();
    console.log(failures ? `${failures} of ${checks} checks failed` : `ok: ${tests} tests, ${checks} checks`);
    process.exit(failures ? 1 : 0);
}

export function run(...args) {
    return execFileSync(perp, args, {cwd: source, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe']});
}

export function scratchFile(name, text) {
    const path = join(scratch, name);
    if (text !== undefined) writeFileSync(path, text);
    return path;
}

// A report reads the model of a run only beside the run.
export function copyBeside(model) {
    writeFileSync(join(scratch, model.split('/').pop()), readFileSync(join(source, model)));
}

export function simulate(model, ...more) {
    copyBeside(model);
    const csv = scratchFile(model.replaceAll(/[/.]/g, '_') + '.csv');
    run('simulate', model, '-o', csv, '--quiet', ...more);
    return csv;
}

export function report(name, ...args) {
    const html = scratchFile(name + '.html');
    run('report', ...args, '-o', html);
    return html;
}

// The table of a CSV file: names, and rows of numbers.
export function table(csv) {
    const lines = readFileSync(csv, 'utf8')
        .split('\n')
        .filter(l => l && !l.startsWith('#'));
    const names = [...lines[0].matchAll(/"([^"]*)"|([^,]+)/g)].map(m => m[1] ?? m[2]);
    return {names, rows: lines.slice(1).map(l => l.split(',').map(x => (x === 'nan' ? NaN : Number(x))))};
}

export const shown = v => (Number.isFinite(v) ? String(Number(v.toPrecision(6))) : '–');
export function launch(...more) {
    return playwright.chromium.launch({
        executablePath: chromium,
        args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', ...more],
    });
}

export const browser = await launch('--enable-unsafe-swiftshader'); // WebGL by software

export async function open(html, options = {}, by = browser) {
    const page = await by.newPage({viewport: {width: 1100, height: 900}, ...options});
    page.faults = [];
    page.on('console', m => {
        if (/GPU stall due to ReadPixels/.test(m.text())) return; // the tests read what is drawn
        if (m.type() === 'error' || m.type() === 'warning') page.faults.push(m.text());
    });
    page.on('pageerror', e => page.faults.push(e.message));
    page.on('request', r => {
        if (!/^(file|data|blob|about):/.test(r.url())) page.faults.push('fetched ' + r.url());
    });
    await page.goto('file://' + html);
    await page.waitForFunction(() => !window.perpReport || window.perpReport.isWhole);
    await page.waitForTimeout(120);
    return page;
}

export function quiet(page, name) {
    check(`${name}: no console error, nothing fetched`, page.faults.length === 0, page.faults.join('; '));
}

// A drawing as it is, also by WebGL, which has to be read in the task that draws it.
export function picture(stage) {
    return stage.evaluate(canvas => {
        perpReport.stages.find(s => s.canvas === canvas).draw();
        return canvas.toDataURL();
    });
}

// Distinct colours of a canvas: 1 when nothing is on it.
export function colors(locator) {
    return locator.evaluate(shown => {
        const canvas = document.createElement('canvas'),
            drawing = (perpReport.stages || []).find(s => s.canvas === shown);
        if (drawing) drawing.draw();
        [canvas.width, canvas.height] = [shown.width, shown.height];
        canvas.getContext('2d', {willReadFrequently: true}).drawImage(shown, 0, 0);
        const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data,
            seen = new Set();
        for (let i = 0; i < data.length; i += 4)
            seen.add((data[i] << 24) ^ (data[i + 1] << 16) ^ (data[i + 2] << 8) ^ data[i + 3]);
        return seen.size;
    });
}

export async function noEmptyPanel(page, name) {
    const canvases = await page.locator('canvas').all();
    check(`${name}: has panels`, canvases.length >= 3, String(canvases.length));
    for (const [i, canvas] of canvases.entries())
        check(`${name}: panel ${i} is not empty`, (await colors(canvas)) > 3);
}

// Hover at a share of the width of a time plot; the values of its legend by name.
export async function hover(page, plot, share) {
    await plot.scrollIntoViewIfNeeded();
    const box = await plot.locator('.u-over').boundingBox();
    await page.mouse.move(box.x + share * box.width, box.y + box.height / 2);
    await page.waitForTimeout(60);
    return legend(plot);
}

export async function legend(plot) {
    const entries = await plot.locator('.u-legend .u-series').all(),
        values = {};
    for (const e of entries) values[await e.locator('.u-label').innerText()] = await e.locator('.u-value').innerText();
    return values;
}
