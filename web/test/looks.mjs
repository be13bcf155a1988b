// Browser tests of how the page looks and who can read it: colours, lines, limits, order, names, files, access.

import {existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join} from 'node:path';
import {
    browser,
    check,
    copyBeside,
    finish,
    hover,
    legend,
    open,
    picture,
    quiet,
    report,
    run,
    scratchFile,
    shown,
    simulate,
    source,
    table,
    test,
} from './browser.mjs';

const renew = process.argv.includes('--update'); // the pictures
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

// Pages -------------------------------------------------------------------------------------------

const line = 'examples/notes/sliding_one_line.perp',
    squareCsv = simulate('examples/mechanics/square.perp'),
    squarePage = report('looks_square', squareCsv),
    cubePage = report('looks_cube', simulate('examples/mechanics/cube.perp', '--to', '0.2')),
    planCsv = scratchFile('looks_plan.csv'),
    planLog = scratchFile('looks_plan_log.csv'),
    fitPage = scratchFile('looks_fit.html'),
    first = scratchFile('first.csv'),
    second = scratchFile('second.csv');
copyBeside('examples/opty/push.perp');
run('plan', 'examples/opty/push.perp', '-o', planCsv, '--log', planLog, '--quiet');
const planPage = report('looks_plan', planCsv, '--log', planLog);
const block = ['examples/identify/block.perp', '--data', 'examples/identify/block.csv'];
run('identify', ...block, '--report', fitPage, '--quiet');
copyBeside(line);
run('simulate', line, '-o', first, '--quiet');
run('simulate', line, '-o', second, '--set', 'mu=0.3', '--quiet');
const bothPage = report('looks_both', first, second);

// Colours -----------------------------------------------------------------------------------------

// Viénot-like matrices for linear RGB, of Machado, Oliveira and Fernandes (2009), severity 1.
const eyes = {
    'all cones': [1, 0, 0, 0, 1, 0, 0, 0, 1],
    protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
    deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
    tritanopia: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
};

function linear(hex) {
    const parts = [1, 3, 5].map(k => parseInt(hex.slice(k, k + 2), 16) / 255);
    return parts.map(c => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
}

// CIELAB of a colour as an eye sees it.
function lab(hex, eye) {
    const c = linear(hex),
        m = eyes[eye],
        [r, g, b] = [0, 3, 6].map(k => Math.min(1, Math.max(0, m[k] * c[0] + m[k + 1] * c[1] + m[k + 2] * c[2])));
    const f = t => (t > 216 / 24389 ? Math.cbrt(t) : ((24389 / 27) * t + 16) / 116),
        x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047),
        y = f(0.2126 * r + 0.7152 * g + 0.0722 * b),
        z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883);
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const distance = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
const luminance = hex => linear(hex).reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);

async function palette(theme) {
    const page = await open(squarePage, {colorScheme: theme}),
        css = name =>
            page.evaluate(name => getComputedStyle(document.documentElement).getPropertyValue(name).trim(), name);
    const colors = [];
    for (let k = 1; k <= 8; k++) colors.push(await css(`--${k}`));
    const ground = theme === 'dark' ? await css('--b') : '#ffffff';
    await page.close();
    return {colors, ground};
}

async function coloursDiffer(theme, eye) {
    const {colors} = await palette(theme),
        seen = colors.map(c => lab(c, eye));
    for (let i = 0; i < 8; i++)
        for (let k = i + 1; k < 8; k++) {
            const least = k < 4 || k === i + 1 ? 25 : 16; // modes and neighbours, others
            check(
                `${theme}, ${eye}: colours ${i + 1} and ${k + 1}`,
                distance(seen[i], seen[k]) >= least,
                `${colors[i]} ${colors[k]} ${distance(seen[i], seen[k])}`,
            );
        }
}

async function coloursInGrey(theme) {
    const {colors, ground} = await palette(theme);
    for (let k = 0; k < 8; k++) {
        const [hi, lo] = [luminance(colors[k]), luminance(ground)].sort((a, b) => b - a);
        check(`${theme}: colour ${k + 1} stands out`, (hi + 0.05) / (lo + 0.05) >= 3, colors[k]);
        if (k === 0) continue;
        const [a, b] = [lab(colors[k - 1], 'all cones')[0], lab(colors[k], 'all cones')[0]];
        check(`${theme}, grey: neighbours ${k} and ${k + 1}`, Math.abs(a - b) >= 10, `${a} ${b}`);
    }
}

// The static picture has the colours of the page.
async function svgHasTheColours() {
    const svg = scratchFile('colours.svg');
    run('report', first, '--svg', svg);
    const text = readFileSync(svg, 'utf8');
    for (const theme of ['light', 'dark'])
        for (const c of (await palette(theme)).colors) check(`svg: ${theme} ${c}`, text.includes(`{stroke:${c}}`));
}

async function legendsShowDashes() {
    const page = await open(cubePage), // ten lines in one plot
        samples = page.locator('.uplot').first().locator('.u-legend .sample line'),
        all = await samples.evaluateAll(list =>
            list.map(l => `${getComputedStyle(l).stroke} ${l.getAttribute('stroke-dasharray')}`),
        );
    check('legend: a piece of each line', all.length === 10, String(all.length));
    check('legend: no two alike', new Set(all).size === all.length, all.join('; '));
    const drawn = await page.evaluate(() =>
        perpReport.plots[0].plot.series.slice(1).map(s => s.dash?.join(' ') ?? null),
    );
    const dashes = await samples.evaluateAll(list => list.map(l => l.getAttribute('stroke-dasharray')));
    check('legend: dashes as drawn', JSON.stringify(dashes) === JSON.stringify(drawn), JSON.stringify(drawn));
    await page.close();
}

// Lines -------------------------------------------------------------------------------------------

// A slanted line of many rows: the centre of its ink in each column of pixels lies on a straight line.
async function linesAreNoStaircases() {
    const rows = Array.from({length: 1500}, (_, i) => `${i},${i * 1e-3}`);
    const page = await open(report('slanted', scratchFile('slanted.csv', 't,x\n' + rows.join('\n') + '\n')));
    const off = await page.evaluate(() => {
        const u = perpReport.plots[0].plot,
            {left, top, width, height} = u.bbox,
            {data} = u.ctx.getImageData(left, top, width, height),
            ink = getComputedStyle(document.documentElement).getPropertyValue('--1').trim(),
            rgb = [1, 3, 5].map(k => parseInt(ink.slice(k, k + 2), 16));
        let worst = 0;
        for (let x = 100; x < width - 100; x++) {
            let sum = 0,
                weight = 0;
            for (let y = 0; y < height; y++) {
                const at = 4 * (y * width + x),
                    alpha = data[at + 3] / 255;
                if (data[at] > rgb[0] + 90 || alpha === 0) continue; // the grid
                sum += alpha * (y + 0.5);
                weight += alpha;
            }
            const t = u.posToVal(x + 0.5, 'x'),
                y = u.valToPos(t * 1e-3, 'y');
            if (weight > 1) worst = Math.max(worst, Math.abs(sum / weight - y));
        }
        return worst;
    });
    check('lines: no staircase', off < 0.3, `${off} pixels off`);
    await page.close();
}

// Limits ------------------------------------------------------------------------------------------

const limits = page =>
    page.evaluate(() => perpReport.plots.map(p => [p.plot.scales.y.min, p.plot.scales.y.max, p.series[0].label]));

async function impactsDoNotFlatten() {
    const page = await open(squarePage),
        forces = async () => (await limits(page)).find(l => l[2] === 'fn[1]'),
        {names, rows} = table(squareCsv);
    const most = Math.max(...rows.map(r => r[names.indexOf('fn[3]')]).filter(Number.isFinite));
    const cut = await forces();
    check('limits: the impact is cut off', cut[1] < most / 20 && cut[1] > 4.9, `${cut[1]} of ${most}`);
    const button = page.locator('.spikes:not([hidden])').first();
    check('limits: it is told', (await button.innerText()).includes(`show spikes to ${shown(most)} N`));
    await button.click();
    await page.waitForTimeout(80);
    check('limits: the switch shows it', (await forces())[1] >= most, String(await forces()));
    check('limits: the switch is pressed', (await button.getAttribute('aria-pressed')) === 'true');
    await button.click();
    await page.waitForTimeout(80);
    check('limits: and back', (await forces())[1] === cut[1]);
    const positions = (await limits(page)).find(l => l[2] === 'x');
    check('limits: without spikes all is shown', positions[1] >= 1.5, String(positions));
    quiet(page, 'limits');
    await page.close();
}

// A signal that is quiet for most of the time but not nearly all of it is shown whole.
async function longPeaksAreShown() {
    const rows = Array.from({length: 400}, (_, i) => `${i},${i > 380 ? 50 : Math.sin(i)}`),
        page = await open(report('peaks', scratchFile('peaks.csv', 't,x\n' + rows.join('\n') + '\n')));
    check('limits: a peak of a twentieth of the time stays', (await limits(page))[0][1] >= 50);
    check('limits: no switch', (await page.locator('.spikes:not([hidden])').count()) === 0);
    await page.close();
}

// Order -------------------------------------------------------------------------------------------

async function motionStays() {
    const page = await open(squarePage, {viewport: {width: 1500, height: 900}});
    await page.mouse.wheel(0, 2500);
    await page.waitForTimeout(150);
    const stage = await page.locator('canvas.stage').boundingBox(),
        scrub = await page.locator('input[type=range]').boundingBox();
    check('wide: the drawing stays', stage.y >= 0 && stage.y + stage.height <= 900, JSON.stringify(stage));
    check('wide: the time bar stays', scrub.y >= 0 && scrub.y < 900, JSON.stringify(scrub));
    const plot = await page.locator('.uplot').nth(4).boundingBox();
    check('wide: beside the plots', plot.x > stage.x + stage.width, `${plot.x}`);
    await page.setViewportSize({width: 800, height: 900});
    await page.waitForTimeout(150);
    const below = await page.locator('.uplot').first().boundingBox();
    const above = await page.locator('canvas.stage').boundingBox();
    check('narrow: above the plots', above.y + above.height <= below.y);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check('narrow: nothing sticks out', overflow <= 0, String(overflow));
    await page.close();
}

async function headings(page) {
    return page.locator('main h2').allInnerTexts();
}

async function outcomeIsFirst() {
    const page = await open(squarePage),
        text = await page.locator('main section').first().innerText();
    check('outcome: first', (await headings(page))[0] === 'Outcome');
    check('outcome: how it ended', /ran\s+to its end/.test(text), text);
    check('outcome: time', /time\s+0 to 3, 3001 rows|time\s+0 to 3 s, 3001 rows/.test(text), text);
    const {names, rows} = table(squareCsv),
        worst = Math.max(...rows.map(r => r[names.indexOf('residual')]).filter(Number.isFinite));
    check('outcome: the largest residual', text.includes(shown(worst)), text);
    await page.close();
}

async function planIsToldFirst() {
    const page = await open(planPage),
        text = await page.locator('main section').first().innerText();
    check('plan: status', /plan\s+S-stationary/.test(text), text);
    check('plan: cost and horizon', /cost\s+0.65\b/.test(text) && /horizon\s+0.65 s/.test(text), text);
    const label = await page
        .locator('section', {hasText: 'Iterations'})
        .locator('.uplot .u-label')
        .first()
        .innerText();
    check('plan: iterations in words', label.startsWith('iteration'), label);
    await page.close();
}

async function estimatesAreFirst() {
    const page = await open(fitPage),
        order = await headings(page),
        text = await page.locator('main section').first().innerText();
    check('fit: estimates first', order[0] === 'Estimates' && order[1] === 'What is left over', order.join(', '));
    check('fit: value, unit and interval', /m\s+1\.30238\s+kg\s+1\.29915 to 1\.30561/.test(text), text);
    await page.close();
}

async function comparisonTellsDifferences() {
    const page = await open(bothPage),
        rows = await page.locator('main section').first().locator('tr').allInnerTexts();
    check('comparison: first', (await headings(page))[0] === 'What differs');
    check('comparison: the runs are named', /first\.csv\s+second\.csv/.test(rows[0]), rows[0]);
    check(
        'comparison: mu',
        rows.some(r => /^mu\s+0\.6\s+0\.3$/.test(r.trim())),
        rows.join('; '),
    );
    check(
        'comparison: not what is the same',
        !rows.some(r => /^(g|m|model|time and method)\s/.test(r)),
        rows.join('; '),
    );
    await page.close();
    const same = await open(report('same', first, first));
    check('comparison: the same', (await same.locator('main').innerText()).includes('are the same'));
    await same.close();
}

// Names and units -----------------------------------------------------------------------------------

async function frictionHasUnits() {
    const page = await open(squarePage);
    const figures = await page.evaluate(() => perpReport.curves.slice(1).map(c => [c.xLabel, c.yLabel]));
    check('friction: unit of the velocity', figures[0][0] === 'velocity of slip [m/s]', String(figures));
    const axes = await page.evaluate(() =>
        perpReport.plots.filter(p => p.plot.axes[2]).map(p => p.plot.axes.slice(1).map(a => a.label)),
    );
    check('friction: over time', axes[0][0] === 'ft[3] [N]' && axes[0][1] === 'velocity of slip [m/s]', String(axes));
    await page.close();
}

async function loopNamesAreSubstituted() {
    const page = await open(cubePage),
        labels = await page.evaluate(() => perpReport.data.runs[0].strips.map(s => s.label));
    for (let i = 1; i <= 8; i++)
        check(`names: height[${i}]`, labels.includes(`fn[${i}] ⟂ height[${i}]`), labels.join());
    await page.close();
}

// Fits ----------------------------------------------------------------------------------------------

async function fitLeavesOver() {
    const page = await open(fitPage),
        plot = page.locator('.plot[aria-label="x measured − predicted"] .uplot'),
        values = await hover(page, plot, 0.5),
        over = await hover(page, page.locator('.uplot').first(), 0.5);
    const expected = Number(over['x (measured)']) - Number(over['x (predicted)']);
    check(
        'left over: measured − predicted',
        Math.abs(values['x left over'] - expected) < 2e-5,
        JSON.stringify(values),
    );
    const bars = await page
        .locator('[aria-label="autocorrelation of x measured − predicted"] svg:not(.sample) g rect')
        .evaluateAll(list => list.map(r => Number(r.getAttribute('height'))));
    check('autocorrelation: 1 at lag 0', bars.length === 31 && bars.every(h => h <= bars[0]), String(bars));
    const counts = page.locator('[aria-label="histogram of x measured − predicted"] svg:not(.sample) g rect');
    check('histogram: bars', (await counts.count()) === 8, String(await counts.count()));
    quiet(page, 'left over');
    await page.close();
}

// A table without units is laid over the prediction by its names.
async function fitWithoutUnits() {
    const text = readFileSync(join(source, 'examples/identify/block.csv'), 'utf8').replace(/^# unit.*\n/gm, ''),
        csv = scratchFile('plain.csv', text),
        html = scratchFile('plain.html');
    run('identify', block[0], '--data', csv, '--report', html, '--quiet');
    const page = await open(html),
        values = await hover(page, page.locator('.uplot').first(), 0.5);
    check('plain: in one plot', 'x (measured)' in values && 'x (predicted)' in values, JSON.stringify(values));
    check(
        'plain: with the unit of the model',
        (await page.evaluate(() => perpReport.plots[0].plot.axes[1].label)) === '[m]',
    );
    await page.close();
}

// Files ---------------------------------------------------------------------------------------------

async function saved(page, button) {
    const [download] = await Promise.all([page.waitForEvent('download', {timeout: 20000}), button.click()]),
        path = scratchFile('saved_' + download.suggestedFilename().replaceAll(' ', '_'));
    await download.saveAs(path);
    return {path, bytes: readFileSync(path)};
}

async function plotsAreSavedAsSvg() {
    const page = await open(squarePage);
    for (const [name, paths, says] of [
        ['over time, m', 7, 'gap[1]'],
        ['modes', 0, 'ft[3]'],
        ['phase portrait', 1, 'vx [m/s]'],
    ]) {
        const {bytes} = await saved(page, page.getByRole('button', {name: `save ${name} as SVG`, exact: true})),
            text = bytes.toString();
        const shape = await page.evaluate(text => {
            const doc = new DOMParser().parseFromString(text, 'image/svg+xml');
            return {
                broken: doc.querySelectorAll('parsererror').length,
                paths: doc.querySelectorAll('path').length,
                rects: doc.querySelectorAll('g rect').length,
            };
        }, text);
        check(`SVG of ${name}: whole`, shape.broken === 0 && shape.paths === paths, JSON.stringify(shape));
        check(`SVG of ${name}: bars`, paths > 0 || shape.rects > 8, JSON.stringify(shape));
        check(`SVG of ${name}: ${says}`, text.includes(says));
    }
    quiet(page, 'svg');
    await page.close();
}

const isPng = bytes => bytes.subarray(1, 4).toString() === 'PNG' && bytes.length > 1500;

async function plotsAreSavedAsPng() {
    const page = await open(squarePage);
    for (const name of ['over time, m', 'phase portrait', 'this frame']) {
        const {bytes} = await saved(page, page.getByRole('button', {name: `save ${name} as PNG`, exact: true}));
        check(`PNG of ${name}`, isPng(bytes), String(bytes.length));
    }
    await page.close();
    const fit = await open(fitPage),
        name = 'save histogram of x measured − predicted as PNG';
    check('PNG of a histogram', isPng((await saved(fit, fit.getByRole('button', {name, exact: true}))).bytes));
    await fit.close();
}

async function dataAreSavedAsCsv() {
    const page = await open(squarePage),
        {path} = await saved(page, page.locator('button.csv')),
        ours = table(squareCsv),
        theirs = table(path);
    check('CSV: all rows', theirs.rows.length === ours.rows.length, String(theirs.rows.length));
    for (const name of theirs.names) {
        const [i, k] = [theirs.names.indexOf(name), ours.names.indexOf(name)];
        check(
            `CSV: ${name} to the last bit`,
            theirs.rows.every((row, r) => Object.is(row[i], ours.rows[r][k])),
        );
    }
    check('CSV: units', readFileSync(path, 'utf8').includes('# unit fn[1] = N\n'));
    await page.close();
    run('report', path, '-o', scratchFile('again.html')); // perp reads it
}

async function motionIsSaved() {
    const html = report('film', simulate('examples/mechanics/square.perp', '--to', '0.05')),
        page = await open(html);
    await page.locator('select[aria-label=speed]').selectOption('0.1');
    const {bytes} = await saved(page, page.getByRole('button', {name: 'save the motion as WebM'}));
    check('WebM: a film', bytes.readUInt32BE(0) === 0x1a45dfa3 && bytes.length > 2000, String(bytes.length));
    check('WebM: it stands at the end', (await page.evaluate(() => perpReport.state.time)) === 0.05);
    quiet(page, 'film');
    await page.close();
}

// Without scripts ------------------------------------------------------------------------------------

async function stillWithoutScripts() {
    const evil = scratchFile('still.csv', '# param m = </noscript><b>bold</b>\nt,"</noscript><i>x"\n0,1\n1,2\n'),
        page = await browser.newPage({javaScriptEnabled: false, viewport: {width: 1000, height: 900}});
    await page.goto('file://' + squarePage);
    const text = await page.locator('body').innerText();
    check('still: told', text.includes('Scripts are off here'));
    check('still: what made the run', text.includes('param mu = 0.4'), text.slice(0, 300));
    check('still: the name', (await page.locator('noscript h2').innerText()) === squareCsv.split('/').pop());
    const svg = await page.locator('noscript svg').boundingBox();
    check('still: the plots', svg.width > 700 && svg.height > 1000, JSON.stringify(svg));
    check('still: curves', (await page.locator('noscript svg path').count()) >= 23);
    await page.goto('file://' + report('still', evil));
    check('still: texts are escaped', (await page.locator('b, i').count()) === 0);
    check('still: and shown', (await page.locator('body').innerText()).includes('</noscript><b>bold</b>'));
    await page.close();
    const live = await open(squarePage);
    check('still: not with scripts', (await live.locator('main > *').first().innerText()).startsWith('Outcome'));
    await live.close();
}

// Access --------------------------------------------------------------------------------------------

async function findings(page) {
    await page.evaluate(axe);
    const result = await page.evaluate(() => window.axe.run());
    return result.violations.filter(v => v.impact === 'serious' || v.impact === 'critical').map(v => v.id);
}

async function isAccessible(html, options, prepare) {
    const page = await open(html, options);
    if (prepare) await prepare(page);
    const found = await findings(page);
    check('axe: nothing serious', found.length === 0, found.join(', '));
    await page.close();
}

async function axeFinds() {
    const page = await open(bothPage);
    await page.evaluate(() =>
        document.body.insertAdjacentHTML('beforeend', '<button></button><p style="color: #ccc">pale</p>'),
    );
    const found = await findings(page);
    check('axe: it sees', found.includes('button-name') && found.includes('color-contrast'), found.join(', '));
    await page.close();
}

async function everythingByKeyboard() {
    const page = await open(squarePage),
        reached = new Set();
    for (let k = 0; k < 70; k++) {
        await page.keyboard.press('Tab');
        reached.add(
            await page.evaluate(() => {
                const e = document.activeElement;
                return e.getAttribute('aria-label') || e.textContent;
            }),
        );
    }
    for (const what of [
        'keys',
        'time',
        'speed',
        '▶ play',
        'save the motion as WebM',
        'save over time, m as SVG',
        'gap[1]',
    ])
        check(`keyboard: ${what}`, reached.has(what), [...reached].join(' | '));
    const name = page.locator('.u-legend th[role=button]').first();
    await name.focus();
    await page.keyboard.press('Enter');
    await page.waitForTimeout(60);
    check('keyboard: Enter hides a curve', (await name.getAttribute('aria-pressed')) === 'false');
    check('keyboard: it is hidden', await page.evaluate(() => !perpReport.plots[0].plot.series[1].show));
    await page.close();
}

async function rowsAreHeard() {
    const page = await open(squarePage);
    await page.keyboard.press('ArrowRight');
    const said = await page.locator('#said').innerText(),
        {names, rows} = table(squareCsv);
    check('heard: the row', said.startsWith(`t ${shown(rows[1][0])}`), said);
    check('heard: its values', said.includes(`y ${shown(rows[1][names.indexOf('y')])} m`), said);
    const words = await page.locator('.plot .heard').first().textContent();
    check('heard: what a plot shows', words.startsWith('x: 0 to '), words.slice(0, 80));
    await page.close();
}

async function spaceTurnsByKeys() {
    const page = await open(cubePage),
        stage = page.locator('canvas.stage'),
        before = await picture(stage),
        time = await page.evaluate(() => perpReport.state.time);
    await stage.focus();
    await page.keyboard.press('ArrowLeft');
    check('space: arrow keys turn it', (await picture(stage)) !== before);
    check('space: and only that', (await page.evaluate(() => perpReport.state.time)) === time);
    await page.close();
}

// Pictures --------------------------------------------------------------------------------------------

// A picture at a quarter of its size beside the kept one: fonts and drawing differ a little between machines.
async function looksAsKept(name, html, find, options = {}, prepare = null) {
    const page = await open(html, {viewport: {width: 1100, height: 900}, ...options}),
        kept = join(source, 'web/test/pictures', name + '.png');
    if (prepare) await prepare(page);
    const bytes = await find(page).screenshot({animations: 'disabled'});
    await page.close();
    const blank = await browser.newPage();
    const result = await blank.evaluate(
        async ([now, before]) => {
            const decode = async text =>
                createImageBitmap(new Blob([Uint8Array.from(atob(text), c => c.charCodeAt(0))]));
            const image = await decode(now),
                canvas = document.createElement('canvas'),
                ctx = canvas.getContext('2d', {willReadFrequently: true});
            canvas.width = Math.round(image.width / 4);
            canvas.height = Math.round(image.height / 4);
            ctx.imageSmoothingQuality = 'high';
            ctx.drawImage(image, 0, 0, canvas.width, canvas.height);
            const small = canvas.toDataURL('image/png').split(',')[1],
                mine = ctx.getImageData(0, 0, canvas.width, canvas.height).data;
            if (!before) return {small};
            const old = await decode(before);
            if (Math.abs(old.width - canvas.width) > 2 || Math.abs(old.height - canvas.height) > 3)
                return {small, size: `${old.width} x ${old.height} was, ${canvas.width} x ${canvas.height} is`};
            ctx.drawImage(old, 0, 0, canvas.width, canvas.height);
            const theirs = ctx.getImageData(0, 0, canvas.width, canvas.height).data;
            let mean = 0,
                far = 0;
            for (let i = 0; i < mine.length; i += 4) {
                const d = Math.max(...[0, 1, 2].map(k => Math.abs(mine[i + k] - theirs[i + k])));
                mean += d;
                far += d > 64;
            }
            return {small, mean: mean / (mine.length / 4), far: far / (mine.length / 4)};
        },
        [bytes.toString('base64'), existsSync(kept) && !renew ? readFileSync(kept).toString('base64') : null],
    );
    await blank.close();
    if (renew) {
        mkdirSync(join(source, 'web/test/pictures'), {recursive: true});
        writeFileSync(kept, Buffer.from(result.small, 'base64'));
        return;
    }
    writeFileSync(scratchFile(`picture_${name}.png`), Buffer.from(result.small, 'base64'));
    check(
        `picture ${name}`,
        result.mean < 5 && result.far < 0.01,
        result.size || `mean ${result.mean}, far ${result.far}; node looks.mjs ... --update renews the kept ones`,
    );
}

const plotNamed = name => page => page.locator(`.plot[aria-label="${name}"] canvas`).first();
const at = time => page => page.evaluate(time => perpReport.setTime(time), time);

// -------------------------------------------------------------------------------------------------

for (const theme of ['light', 'dark']) {
    for (const eye of Object.keys(eyes)) await test(`colours, ${theme}, ${eye}`, () => coloursDiffer(theme, eye));
    await test(`colours in grey, ${theme}`, () => coloursInGrey(theme));
}
await test('the SVG has the same colours', svgHasTheColours);
await test('legends show dashes', legendsShowDashes);
await test('lines are no staircases', linesAreNoStaircases);
await test('impacts do not flatten', impactsDoNotFlatten);
await test('long peaks are shown', longPeaksAreShown);
await test('the motion stays', motionStays);
await test('the outcome is first', outcomeIsFirst);
await test('a plan says what it is first', planIsToldFirst);
await test('estimates are first', estimatesAreFirst);
await test('a comparison tells differences', comparisonTellsDifferences);
await test('friction has units', frictionHasUnits);
await test('loop names are substituted', loopNamesAreSubstituted);
await test('a fit leaves over', fitLeavesOver);
await test('a fit without units', fitWithoutUnits);
await test('plots as SVG', plotsAreSavedAsSvg);
await test('plots as PNG', plotsAreSavedAsPng);
await test('data as CSV', dataAreSavedAsCsv);
await test('motion as WebM', motionIsSaved);
await test('a still page without scripts', stillWithoutScripts);
await test('axe finds what is wrong', axeFinds);
await test('axe: motion, modes, friction', () => isAccessible(squarePage, {viewport: {width: 1500, height: 900}}));
await test('axe: dark', () => isAccessible(squarePage, {colorScheme: 'dark'}));
await test('axe: narrow', () => isAccessible(squarePage, {viewport: {width: 390, height: 800}}));
await test('axe: plan', () => isAccessible(planPage));
await test('axe: fit', () => isAccessible(fitPage));
await test('axe: comparison', () => isAccessible(bothPage));
await test('axe: messages', () =>
    isAccessible(report('looks_cut', scratchFile('looks_cut.csv', '# perp 0.1.0\nt,x\n0,1\n1,nan\n'))));
await test('axe: the keys', () => isAccessible(bothPage, {}, page => page.keyboard.press('?')));
await test('everything by keyboard', everythingByKeyboard);
await test('rows are heard', rowsAreHeard);
await test('a drawing in space turns by keys', spaceTurnsByKeys);
await test('picture: square', () => looksAsKept('square', squarePage, p => p.locator('canvas.stage'), {}, at(0.6)));
await test('picture: cube', () => looksAsKept('cube', cubePage, p => p.locator('canvas.stage'), {}, at(0.15)));
await test('picture: forces', () => looksAsKept('forces', squarePage, plotNamed('over time, N')));
await test('picture: forces, dark', () =>
    looksAsKept('forces_dark', squarePage, plotNamed('over time, N'), {colorScheme: 'dark'}));
await test('picture: modes', () => looksAsKept('modes', squarePage, plotNamed('modes')));
await test('picture: phase portrait', () => looksAsKept('phase', squarePage, plotNamed('phase portrait')));
await test('picture: friction', () => looksAsKept('friction', squarePage, plotNamed('friction ft[3]')));
await test('picture: input of a plan', () => looksAsKept('input', planPage, plotNamed('over time, N')));
await test('picture: motion of a plan', () => looksAsKept('plan', planPage, plotNamed('over time, m')));
await test('picture: two runs', () => looksAsKept('two', bothPage, plotNamed('over time, m')));
await finish();
