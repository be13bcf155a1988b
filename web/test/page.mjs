// Browser tests of what the page shows and does; see browser.mjs.

import {readFileSync, statSync} from 'node:fs';
import {
    browser,
    check,
    colors,
    copyBeside,
    finish,
    hover,
    legend,
    noEmptyPanel,
    open,
    picture,
    quiet,
    report,
    run,
    scratchFile,
    shown,
    simulate,
    table,
    test,
} from './browser.mjs';

// Tests -------------------------------------------------------------------------------------------

async function hoverValuesEqualTheCsv(csv, html, name) {
    const page = await open(html),
        {names, rows} = table(csv),
        plots = await page.locator('.uplot:not(.strip)').all();
    const seen = new Set();
    for (const [i, plot] of plots.entries()) {
        await plot.scrollIntoViewIfNeeded();
        for (const share of [0.13, 0.5, 0.87]) {
            const values = await hover(page, plot, share),
                row = rows.find(r => shown(r[0]) === values.t);
            if (values.t === undefined) continue; // over iterations
            check(`${name}: plot ${i} shows the time of a row`, row, values.t);
            for (const [label, text] of Object.entries(values)) {
                const column = names.indexOf(label);
                if (column < 0 || !row) continue;
                seen.add(label);
                check(
                    `${name}: ${label} at t = ${values.t}`,
                    text === shown(row[column]),
                    `${text} is not ${shown(row[column])}`,
                );
            }
        }
    }
    for (const column of names) check(`${name}: ${column} is shown`, seen.has(column));
    quiet(page, name);
    await page.close();
}

async function panelsAreNotEmpty(html, name, stage) {
    const page = await open(html);
    await noEmptyPanel(page, name);
    check(`${name}: drawing`, (await page.locator('canvas.stage').count()) === (stage ? 1 : 0));
    await page.screenshot({path: scratchFile(name + '.png'), fullPage: true});
    check(`${name}: screenshot`, statSync(scratchFile(name + '.png')).size > 20000);
    quiet(page, name);
    await page.close();
}

async function cursorAndZoomAreShared(html) {
    const page = await open(html),
        plots = await page.locator('.uplot').all();
    const ranges = () => page.evaluate(() => perpReport.plots.map(p => [p.plot.scales.x.min, p.plot.scales.x.max]));
    const whole = await ranges(),
        first = await hover(page, plots[0], 0.4);
    for (const [i, plot] of plots.entries())
        check(
            `linked cursor: plot ${i}`,
            (await legend(plot)).t === first.t,
            `${(await legend(plot)).t} is not ${first.t}`,
        );
    check('linked cursor: phase portrait', (await page.locator('.readout').first().innerText()).startsWith('('));
    await plots[1].scrollIntoViewIfNeeded();
    const box = await plots[1].locator('.u-over').boundingBox();
    await page.mouse.move(box.x + 0.25 * box.width, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + 0.5 * box.width, box.y + 60, {steps: 4});
    await page.mouse.up();
    await page.waitForTimeout(80);
    const length = whole[0][1] - whole[0][0];
    for (const [i, [lo, hi]] of (await ranges()).entries()) {
        check(
            `zoom: plot ${i}`,
            Math.abs(lo - whole[0][0] - 0.25 * length) < 0.02 * length &&
                Math.abs(hi - whole[0][0] - 0.5 * length) < 0.02 * length,
            `${lo}..${hi}`,
        );
    }
    await page.keyboard.press('0');
    await page.waitForTimeout(80);
    check('zoom: key 0 shows the whole run', JSON.stringify(await ranges()) === JSON.stringify(whole));
    await page.mouse.move(2, 2);
    const before = await page.evaluate(() => perpReport.state.time);
    await page.keyboard.press('ArrowRight');
    await page.waitForTimeout(60);
    const after = await page.evaluate(() => perpReport.state.time);
    check('key: one row on', after > before && after - before < 0.0025, `${before} ${after}`);
    check('key: legend follows', (await legend(plots[0])).t === shown(after));
    await page.keyboard.press('+');
    await page.waitForTimeout(60);
    check('key: zoom in', (await ranges())[0][1] - (await ranges())[0][0] < 0.6 * length);
    quiet(page, 'cursor and zoom');
    await page.close();
}

async function playMovesTheDrawing(html) {
    const page = await open(html),
        stage = page.locator('canvas.stage');
    const picture = () => stage.evaluate(c => c.toDataURL()),
        time = () => page.evaluate(() => perpReport.state.time);
    const before = await picture(),
        start = await time();
    for (const plot of await page.locator('.uplot').all())
        check(
            'play: plots begin where the drawing does',
            (await legend(plot)).t === shown(start),
            (await legend(plot)).t,
        );
    await page.locator('button.play').click();
    await page.waitForTimeout(400);
    check('play: time runs', (await time()) > start);
    await page.locator('button.play').click();
    const paused = await time(),
        moved = await picture();
    check('play: the drawing moves', moved !== before);
    await page.waitForTimeout(200);
    check('pause: time stands', (await time()) === paused);
    await page.locator('input[type=range]').fill('900');
    check('scrub: time follows', (await time()) > paused);
    check('scrub: the drawing follows', (await picture()) !== moved);
    await page.locator('input[type=range]').fill('0'); // a whole run is left to be played
    await page.locator('h1').click();
    await page.keyboard.press(' ');
    await page.waitForTimeout(150);
    check('key: space plays', (await page.locator('button.play').innerText()).includes('pause'));
    quiet(page, 'play');
    await page.close();
}

async function spaceTurns(html) {
    const page = await open(html),
        stage = page.locator('canvas.stage');
    const before = await picture(stage);
    check('space: the drawing is not empty', (await colors(stage)) > 20);
    const box = await stage.boundingBox();
    await page.mouse.move(box.x + 200, box.y + 200);
    await page.mouse.down();
    await page.mouse.move(box.x + 280, box.y + 220, {steps: 4});
    await page.mouse.up();
    const turned = await picture(stage);
    check('space: dragging turns it', turned !== before);
    await page.keyboard.press('ArrowRight');
    await page.evaluate(() => perpReport.setTime(0.2));
    check('space: it moves', (await picture(stage)) !== turned);
    quiet(page, 'space');
    await page.close();
}

// Vars have no value in the first row; what is drawn by them is there all the same.
async function firstFrameIsWhole() {
    const page = await open(report('table', simulate('examples/mechanics/table.perp', '--to', '0.1')));
    const missing = await page.evaluate(() =>
        perpReport.data.runs[0].drawing.shapes
            .filter(s => s.at.some(x => x.length && !Number.isFinite(x[0])))
            .map(s => s.kind),
    );
    check('first frame: every shape has its place', missing.length === 0, missing.join(', '));
    await page.close();
}

async function modesAreNamed(html, csv) {
    const page = await open(html),
        strip = page.locator('.uplot.strip'),
        {names, rows} = table(csv);
    for (const share of [0.01, 0.9]) {
        const values = await hover(page, strip, share),
            row = rows.find(r => shown(r[0]) === values.t);
        const expected = Math.abs(row[names.indexOf('v')]) > 1e-9 ? 'slip +' : 'stick';
        check(`modes: at t = ${values.t}`, values.f === expected, `${values.f} is not ${expected}`);
    }
    await page.close();
}

async function severalRunsOverlay(a, b) {
    const page = await open(report('overlay', a, b)),
        plot = page.locator('.uplot').first();
    const values = await hover(page, plot, 0.02),
        labels = Object.keys(values);
    check('overlay: both runs in the legend', labels.filter(l => l.startsWith('x (')).length === 2, labels.join(', '));
    check('overlay: they differ', new Set(labels.slice(1).map(l => values[l])).size === 2, JSON.stringify(values));
    await noEmptyPanel(page, 'overlay');
    quiet(page, 'overlay');
    await page.close();
}

async function faultsAreMessages() {
    const cases = [
        ['no rows', 't,x\n', 'cannot be drawn: it has no rows'],
        ['no time', 't,x\nnan,1\nnan,2\n', "row 1: 't' is not a finite number"],
        ['back in time', 't,x\n0,1\n1,2\n0.5,3\n', 'does not increase'],
        ['only nan', 't,x,y\n0,nan,1\n1,nan,2\n', 'no finite values: x'],
        ['cut short', '# perp 0.1.0\nt,x\n0,1\n1,2\n', 'was not written to its end'],
        ['recorded', 't,x\n0,1\n1,2\n', 'by another program'],
        ['one row', 't,x\n0,1\n# complete: 1 rows\n', ''],
        [
            'no plan',
            '# perp 0.1.0\n# plan: infeasible, cost 1, horizon 1\nt,x\n0,1\n1,2\n# stopped: no plan was found\n',
            'no_plan.csv is not a plan that holds (infeasible)',
        ],
        ['stopped', 't,x\n0,1\n1,2\n# stopped: no solution at step 2\n', 'stopped: no solution at step 2'],
    ];
    for (const [name, text, says] of cases) {
        const csv = scratchFile(name.replaceAll(' ', '_') + '.csv', text),
            page = await open(report(name.replaceAll(' ', '_'), csv));
        const body = await page.locator('body').innerText();
        check(`${name}: says '${says}'`, body.includes(says), body.slice(0, 200));
        check(`${name}: parameters and origin are there`, body.includes('Parameters and origin'));
        quiet(page, name);
        await page.close();
    }
}

async function textsAreEscaped() {
    const evil = '</script><script>window.evil=1</script><img src=x onerror="window.evil=2">';
    const csv = scratchFile(
        'evil.csv',
        `# model: ${evil}\n# param m = ${evil}\n# unit x = ${evil}\n` +
            `t,x,"<b>y</b>"\n0,1,1\n1,2,2\n# stopped: ${evil}\n`,
    );
    const html = scratchFile('evil.html');
    run('report', csv, '--title', evil, '-o', html);
    const page = await open(html);
    check('escaping: no script ran', await page.evaluate(() => window.evil === undefined));
    check('escaping: the title is text', (await page.locator('h1').innerText()) === evil);
    check('escaping: names are text', (await page.locator('.u-label').allInnerTexts()).includes('<b>y</b>'));
    check('escaping: no image', (await page.locator('img').count()) === 0);
    quiet(page, 'escaping');
    await page.close();
}

async function iterationsAreShown(csv) {
    const log = scratchFile(
        'log.csv',
        'iteration,objective,infeasibility\n' +
            Array.from({length: 20}, (_, k) => `${k},${10 - k / 4},${10 ** -k}`).join('\n') +
            '\n# complete: 20 rows\n',
    );
    const page = await open(report('iterations', csv, '--log', log)),
        plot = page.locator('section', {hasText: 'Iterations'}).locator('.uplot');
    check('iterations: a plot', (await plot.count()) === 1);
    await plot.scrollIntoViewIfNeeded();
    const values = await hover(page, plot, 0.5);
    check('iterations: values', values.iteration === '10' || values.iteration === '9', JSON.stringify(values));
    check(
        'iterations: objective',
        values.objective === shown(10 - Number(values.iteration) / 4),
        JSON.stringify(values),
    );
    quiet(page, 'iterations');
    await page.close();
}

// The push of a block, with its iterations.
async function planIsShown() {
    const model = 'examples/opty/push.perp';
    const csv = scratchFile('plan.csv'),
        log = scratchFile('plan_log.csv');
    copyBeside(model);
    run('plan', model, '-o', csv, '--log', log, '--quiet');
    const html = report('plan', csv, '--log', log);
    await hoverValuesEqualTheCsv(csv, html, 'plan');
    run('plan', model, '--report', scratchFile('plan_direct.html'), '--quiet');
    check(
        'plan: its own report is the same page',
        readFileSync(scratchFile('plan_direct.html'), 'utf8').includes('"iterations":[{'),
    );
    const page = await open(html),
        body = await page.locator('body').innerText();
    for (const part of [
        'Modes',
        'Phase portrait',
        'against the velocity of slip',
        'Residual and complementarity',
        'Iterations',
    ])
        check(`plan: ${part}`, body.includes(part));
    const paths = await page.evaluate(() => {
        const of = label =>
            perpReport.plots
                .flatMap(p => p.plot.series)
                .find(s => s.label === label)
                .paths.toString();
        return ['F', 'lp', 'v', 'gamma'].map(name => of(name) === of('x'));
    });
    check(
        'plan: input and force act in steps, velocities do not',
        String(paths) === 'false,false,true,true',
        String(paths),
    );
    await noEmptyPanel(page, 'plan');
    quiet(page, 'plan');
    await page.close();
}

// How much of the height of the first plot has the colour of lines between phases, at each of some times.
function linesAt(page, times) {
    return page.evaluate(times => {
        const u = perpReport.plots[0].plot,
            {left, top, width, height} = u.bbox;
        const probe = document.createElement('canvas').getContext('2d');
        // #666 becomes #666666
        probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--m').trim();
        const rgb = [1, 3, 5].map(k => parseInt(probe.fillStyle.slice(k, k + 2), 16));
        const {data} = u.ctx.getImageData(left, top, width, height);
        return times.map(t => {
            const x = Math.round(u.valToPos(t, 'x', true) - left);
            let n = 0;
            for (let y = 20; y < height; y++)
                n += [-1, 0, 1].some(dx =>
                    rgb.every(
                        (c, k) =>
                            Math.abs(data[4 * (y * width + x + dx) + k] - c) < 60 &&
                            data[4 * (y * width + x + dx) + 3] > 100,
                    ),
                );
            return n / (height - 20);
        });
    }, times);
}

// Phases of a plan: their names, and a line where the second begins but not elsewhere.
async function phasesAreShown() {
    const csv = scratchFile('bounce.csv');
    copyBeside('examples/control/bounce.perp');
    run('plan', 'examples/control/bounce.perp', '-o', csv, '--quiet');
    const page = await open(report('bounce', csv)),
        body = await page.locator('body').innerText();
    const at = Number(readFileSync(csv, 'utf8').match(/# phase falls: (\S+) s/)[1]);
    check('phases: named', body.includes(`Phases: falls until ${shown(at)} s, rises until `), body.slice(0, 300));
    check('phases: the jump is told', body.includes('Where a state jumps'));
    const [line, none] = await linesAt(page, [at, at / 2]);
    check('phases: a line between them', line > 0.4 && none < 0.1, `${line} ${none}`);
    quiet(page, 'phases');
    await page.close();
    const plain = await open(report('nophases', simulate('examples/notes/falling_block.perp')));
    check('phases: none in a simulation', !(await plain.locator('body').innerText()).includes('Phases:'));
    await plain.close();
}

async function fitIsShown() {
    const html = scratchFile('fit.html');
    run(
        'identify',
        'examples/identify/block.perp',
        '--data',
        'examples/identify/block.csv',
        '--report',
        html,
        '--quiet',
    );
    const page = await open(html),
        values = await hover(page, page.locator('.uplot').first(), 0.5);
    check(
        'fit: measured and predicted',
        Math.abs(values['x (measured)'] - values['x (predicted)']) < 0.02,
        JSON.stringify(values),
    );
    check('fit: the interval', /estimated, 0\.36\d+ to 0\.37\d+/.test(await page.locator('body').innerText()));
    await noEmptyPanel(page, 'fit');
    quiet(page, 'fit');
    await page.close();
}

// Script that is not the page's own does nothing, and nothing is fetched; the page's own dialog works.
async function policyHolds(html) {
    const page = await open(html);
    quiet(page, 'policy');
    await page.locator('#help').click();
    await page.locator('#keys button').click();
    check('policy: the dialog closes', !(await page.locator('#keys').isVisible()));
    const ran = await page.evaluate(() => {
        const script = document.createElement('script');
        script.textContent = 'window.ran = true';
        document.head.append(script);
        document.body.insertAdjacentHTML('beforeend', '<p id="handler" onclick="window.ran = true">p</p>');
        document.getElementById('handler').click();
        return window.ran;
    });
    check('policy: no other script runs', ran === undefined);
    const fetched = await page.evaluate(() =>
        fetch('data:text/plain,x').then(
            () => true,
            () => false,
        ),
    );
    check('policy: nothing is fetched', !fetched);
    await page.close();
}

async function darkAndLight(html) {
    const page = await open(html, {colorScheme: 'dark'});
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await background();
    await page.keyboard.press('d');
    check('theme: d changes it', (await background()) !== dark && dark === 'rgb(21, 24, 29)', dark);
    await page.emulateMedia({media: 'print'});
    check('print: buttons are left out', !(await page.locator('#theme').isVisible()));
    quiet(page, 'theme');
    await page.close();
}

// A million rows: opened with the extremes of each stretch, and all of them, to the last bit, where one looks closer.
async function longRunsOpenQuickly() {
    const rows = 1000000,
        lines = ['t,x,y'],
        y = i => (i === 400001 ? NaN : i === 400002 ? -0 : i === 400003 ? 5e-324 : ((i * 7919) % 1000003) / 997);
    const text = v => (Object.is(v, -0) ? '-0' : String(v));
    for (let i = 0; i < rows; i++) lines.push(`${i * 1e-3},${i === 123456 ? 99 : Math.sin(i * 0.01)},${text(y(i))}`);
    const csv = scratchFile('long.csv', lines.join('\n') + `\n# complete: ${rows} rows\n`),
        html = report('long', csv),
        size = statSync(html).size;
    check('long: at most 12 bytes a value', size < 12 * 3 * rows + 3e6, String(size));
    check('long: fewer where values go smoothly', size < 8 * 3 * rows + 3e6, String(size));
    const page = await browser.newPage(),
        session = await page.context().newCDPSession(page),
        started = Date.now();
    await session.send('Performance.enable', {timeDomain: 'threadTicks'});
    await page.goto('file://' + html);
    await page.waitForFunction(() => window.perpReport?.plots.length > 0);
    const {metrics} = await session.send('Performance.getMetrics'),
        busy = metrics.find(m => m.name === 'TaskDuration').value;
    console.log(`a million rows: ${Date.now() - started} ms, ${busy} s of them busy, ${(size / 1e6).toFixed(1)} MB`);
    check('long: opens in less than 2 s of its thread', busy > 0.01 && busy < 2, `${busy} s`);
    const [most, kept] = await page.evaluate(() => [
        Math.max(...perpReport.data.runs[0].data[0]),
        perpReport.data.runs[0].kept,
    ]);
    check('long: the peak is kept', most === 99);
    check('long: rows are left out at first', kept < 50001 && kept > 1000, String(kept));
    const near = await page.evaluate(() => {
        perpReport.setZoom([399.99, 400.5]);
        const {data} = perpReport.plots[0].plot,
            from = data[0].findIndex(t => t >= 399.99),
            to = data[0].findIndex(t => t > 400.5);
        return data.map(x => Array.from(x.slice(from, to), v => (v === null ? 'nan' : Object.is(v, -0) ? '-0' : v)));
    });
    const first = 399990;
    check('long: every row of a stretch', near[0].length === 511, String(near[0].length));
    for (const [k, value] of [i => i * 1e-3, i => Math.sin(i * 0.01), y].entries())
        check(
            `long: column ${k} to the last bit`,
            near[k].every((v, i) => {
                const expected = value(first + i);
                return v === (Number.isNaN(expected) ? 'nan' : Object.is(expected, -0) ? '-0' : expected);
            }),
        );
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page.close();
}

// All rows leave the page as they came.
async function longRunsAreSavedWhole() {
    const rows = 60000,
        lines = ['t,x'];
    for (let i = 0; i < rows; i++) lines.push(`${i / 3},${i % 977 === 0 ? 'nan' : (i * i * (i % 2 ? -1 : 1)) / 7}`);
    const csv = scratchFile('whole.csv', lines.join('\n') + `\n# complete: ${rows} rows\n`),
        page = await open(report('whole', csv));
    const [download] = await Promise.all([page.waitForEvent('download'), page.locator('button.csv').click()]);
    await download.saveAs(scratchFile('whole_saved.csv'));
    const [ours, theirs] = [table(csv), table(scratchFile('whole_saved.csv'))];
    check('saved: all rows', theirs.rows.length === rows, String(theirs.rows.length));
    check(
        'saved: to the last bit',
        theirs.rows.every((row, i) => row.every((v, k) => Object.is(v, ours.rows[i][k]))),
    );
    quiet(page, 'saved');
    await page.close();
}

async function wideRunsStaySmall() {
    const rows = 40000,
        columns = 40,
        lines = [['t', ...Array.from({length: columns}, (_, k) => `y${k}`)].join(',')];
    for (let i = 0; i < rows; i++) {
        let line = String(i);
        for (let k = 0; k < columns; k++) line += ',' + Math.round(1000 * Math.sin(i * (k + 1) * 12.9898)) / 1000;
        lines.push(line);
    }
    const html = report('wide', scratchFile('wide.csv', lines.join('\n') + `\n# complete: ${rows} rows\n`));
    const most = 20e6 + 12 * rows * (columns + 1); // what it opens with, and all rows
    check('wide: file size', statSync(html).size < most, String(statSync(html).size));
    const page = await open(html);
    check('wide: all columns', (await page.locator('.u-label').count()) === columns + 1);
    quiet(page, 'wide');
    await page.close();
}

// -------------------------------------------------------------------------------------------------

const block = simulate('examples/notes/sliding_one_line.perp'),
    square = simulate('examples/mechanics/square.perp'),
    traditional = simulate('examples/notes/sliding_traditional.perp', '--set', 'mu=0.3'),
    blockPage = report('block', block),
    squarePage = report('square', square);
await test('a page without data is small', () =>
    check(
        'size: under 1 MB besides the data',
        statSync(report('small', scratchFile('small.csv', 't,x\n0,1\n1,2\n'))).size < 2e5,
    ));
await test('values under the cursor are those of the table', () => hoverValuesEqualTheCsv(block, blockPage, 'block'));
await test('the same of another model', () =>
    hoverValuesEqualTheCsv(traditional, report('traditional', traditional), 'traditional'));
await test('panels are drawn', () => panelsAreNotEmpty(blockPage, 'block', true));
await test('panels of the square are drawn', () => panelsAreNotEmpty(squarePage, 'square', true));
await test('cursor and zoom are shared', () => cursorAndZoomAreShared(blockPage));
await test('play moves the drawing', () => playMovesTheDrawing(squarePage));
await test('a drawing in space turns', () =>
    spaceTurns(report('cube', simulate('examples/mechanics/cube.perp', '--to', '0.3'))));
await test('the first frame is whole', firstFrameIsWhole);
await test('modes are named', () => modesAreNamed(blockPage, block));
await test('several runs lie over each other', () => severalRunsOverlay(block, traditional));
await test('faults are messages', faultsAreMessages);
await test('texts are escaped', textsAreEscaped);
await test('iterations are shown', () => iterationsAreShown(block));
await test('a plan is shown', planIsShown);
await test('phases are shown', phasesAreShown);
await test('a fit is shown', fitIsShown);
await test('dark and light', () => darkAndLight(blockPage));
await test('the policy holds', () => policyHolds(blockPage));
await test('a million rows open quickly', longRunsOpenQuickly);
await test('long runs are saved whole', longRunsAreSavedWhole);
await test('wide runs stay small', wideRunsStaySmall);
await finish();
