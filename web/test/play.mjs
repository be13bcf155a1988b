// Browser tests of the playground: node play.mjs PERP SOURCE_DIR SCRATCH_DIR PLAYGROUND.html PERP.wasm

import {spawnSync} from 'node:child_process';
import {existsSync, readdirSync, readFileSync, statSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join, resolve} from 'node:path';
import {deflateRawSync} from 'node:zlib';
import {run as runModule} from '../play/host.js';
import {check, finish, open, perp, quiet, run, scratchFile, source, test} from './browser.mjs';

const [html, wasm] = process.argv.slice(5).map(path => resolve(path));
if (!existsSync(html)) {
    console.log('skipped: there is no playground; scripts/playground makes it');
    process.exit(0);
}
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'),
    module = new WebAssembly.Module(readFileSync(wasm)),
    particle = readFileSync(join(source, 'examples/notes/particle.perp'), 'utf8');

// Helpers -----------------------------------------------------------------------------------------

const numbers = csv =>
    csv
        .split('\n')
        .filter(l => l && !l.startsWith('#'))
        .join('\n');

const drawn = page => page.evaluate(() => Number(document.body.dataset.drawn ?? 0));

async function drawnAgain(page, act) {
    const before = await drawn(page);
    await act();
    await page.waitForFunction(n => Number(document.body.dataset.drawn ?? 0) > n, before);
}

async function start(hash = '', options = {}) {
    const page = await open(html + hash, options);
    if (!options.mayFail) await page.waitForFunction(() => Number(document.body.dataset.drawn ?? 0) > 0);
    return page;
}

const write = (page, text) => page.locator('#text').fill(text);
const says = (page, text) =>
    page.waitForFunction(t => document.getElementById('state').textContent.includes(t), text, {timeout: 20000});
const state = page => page.locator('#state').innerText();
const typed = page => page.locator('#text').inputValue();

async function saved(page, which) {
    const coming = page.waitForEvent('download');
    await page.locator(`#save-${which}`).click();
    const file = await coming,
        path = scratchFile('saved_' + file.suggestedFilename());
    await file.saveAs(path);
    return {name: file.suggestedFilename(), path, text: readFileSync(path, 'utf8')};
}

const falling =
    'model fall\nparam g = 9.81 in [1, 20] "m/s^2"\nstate x = 1 "m", v = 0 "m/s"\nder(x) = v\nder(v) = -g\n';
const endless = falling + 'simulate to 9e5 step 1e-3 method backward-euler\n';
const short = falling + 'simulate to 1 step 1e-2 method backward-euler\n';

// The module, beside the command -------------------------------------------------------------------

const examples = ['notes', 'mechanics', 'parts', 'circuits', 'blog'].flatMap(group =>
    readdirSync(join(source, 'examples', group))
        .filter(f => f.endsWith('.perp'))
        .map(f => `examples/${group}/${f}`),
);

function inModule(command, text, words) {
    let err = '';
    const end = runModule(module, [command, 'model.perp', ...words], {'model.perp': text}, (_, t) => (err += t)),
        csv = end.read('run.csv');
    return {code: end.code, err, csv: csv && new TextDecoder().decode(csv)};
}

function natively(command, file, words) {
    const csv = scratchFile('native.csv'),
        end = spawnSync(perp, [command, file, ...words.map(w => (w === 'run.csv' ? csv : w))], {cwd: source});
    return {code: end.status, err: String(end.stderr), csv: end.status === 0 && readFileSync(csv, 'utf8')};
}

// Those of the page's C library may differ from this machine's in their last digit.
const isTranscendental = text =>
    /\b(sin|cos|tan|exp|log|atan2?|tanh|sinh|cosh|asin|acos)\(|\^|rotation|use /.test(text);

await test('rows are those of the command, bit for bit', async () => {
    let same = 0;
    for (const file of examples) {
        const text = readFileSync(join(source, file), 'utf8');
        if (!/^simulate/m.test(text)) continue;
        const to =
                file.includes('cube') || file.includes('chain') || file.includes('rectifier') ? ['--to', '0.05'] : [],
            words = ['-o', 'run.csv', '--quiet', '--estimate', 'none', '--jit', 'off', ...to];
        const [its, ours] = [inModule('simulate', text, words), natively('simulate', file, words)];
        check(`${file} ends as by the command`, its.code === ours.code, its.err + ours.err);
        if (ours.code !== 0) continue;
        const is = numbers(its.csv) === numbers(ours.csv);
        same += is;
        check(`${file} is the same`, is || isTranscendental(text));
    }
    check('most are the same', same >= 12, String(same));
    console.log(`${same} examples are the same bit for bit`);
});

await test('a file of the page is a file', () => {
    const end = runModule(module, ['fmt', 'a.perp', '-o', 'b.perp'], {'a.perp': 'model  a\nstate x=1\nder(x) = -x\n'});
    check('written', new TextDecoder().decode(end.read('b.perp')) === 'model a\nstate x = 1\nder(x) = -x\n');
    check('no other', end.read('c.perp') === null);
});

await test('what is not there is an error', () => {
    let said = '';
    const end = runModule(module, ['simulate', 'none.perp'], {}, (_, t) => (said += t));
    check('no file', end.code === 4 && said.includes('none.perp'), said);
    check('no command', runModule(module, ['sweep'], {}).code === 1);
});

// The page -----------------------------------------------------------------------------------------

await test('one file, small, without a server', () => {
    const text = readFileSync(html, 'utf8');
    check('size', statSync(html).size < 950e3, String(statSync(html).size));
    check('nothing from elsewhere', !/(src|href)="?https?:/.test(text));
    const policy = text.match(/Content-Security-Policy" content="([^"]*)"/)[1];
    check(
        'only its own scripts',
        policy.includes("default-src 'none'") && !/script-src[^;]*unsafe-inline/.test(policy),
    );
});

const page = await start();

await test('it begins with a model that has been run', async () => {
    check('text', (await typed(page)) === particle);
    check('state', (await state(page)).startsWith('simulated in'), await state(page));
    check('summary', (await page.locator('#said').innerText()).includes('every step verified'));
    await page.waitForFunction(() => document.getElementById('said').textContent.includes('error at the end'));
    quiet(page, 'first page');
});

await test('the page of the run is beside it, with its motion', async () => {
    const frame = page.frameLocator('#frames iframe');
    check('title', (await frame.locator('#title').innerText()) === 'particle');
    check('canvases', (await frame.locator('canvas').count()) >= 3);
    check('one frame', (await page.locator('#frames iframe').count()) === 1);
});

await test('saved rows are those of the command', async () => {
    const csv = scratchFile('particle.csv');
    run('simulate', 'examples/notes/particle.perp', '-o', csv, '--quiet');
    const file = await saved(page, 'rows');
    check('name', file.name === 'particle.csv', file.name);
    check('rows', numbers(file.text) === numbers(readFileSync(csv, 'utf8')));
    check('complete', /^# model: particle/m.test(file.text));
});

await test('the model and the page are saved', async () => {
    check('model', (await saved(page, 'model')).text === particle);
    const alone = await open((await saved(page, 'page')).path);
    check('page', (await alone.locator('#title').innerText()) === 'particle');
    quiet(alone, 'saved page');
    await alone.close();
});

await test('what perp check says is there, and warnings in the text', async () => {
    await page.locator('#checked summary').click();
    check('check', (await page.locator('#checked pre').innerText()).includes('4 complementarity pairs'));
    check('warning', (await page.locator('#problems .warning').count()) === 1);
    check('underlined', (await page.locator('#paint .doubtful').count()) === 1);
    await page.locator('#checked summary').click();
});

await test('colours are those of other editors', async () => {
    const kinds = await page.evaluate(() =>
        [...document.querySelectorAll('#paint span[class]')].map(s => [s.className.split(' ')[0], s.textContent]),
    );
    const has = (kind, text) => kinds.some(([k, t]) => k === kind && t === text);
    check('words', has('word', 'model') && has('word', 'perp') && has('word', 'when'));
    check('numbers', has('number', '9.81'));
    check('strings', has('string', '"m/s^2"'));
    check('functions', has('function', 'der'));
    check(
        'comments',
        kinds.some(([k, t]) => k === 'note' && t.startsWith('# LCP notes')),
    );
    check(
        'the same text',
        (await page.locator('#paint').innerText()).replaceAll('\u200b', '').trim() === particle.trim(),
    );
});

await test('an edit is run at once', async () => {
    await page.locator('#text').focus();
    const took = [];
    for (let k = 0; k < 5; k++) {
        await page.keyboard.press('Control+End');
        await drawnAgain(page, () => page.keyboard.type('#'));
        took.push(Number(await page.evaluate(() => document.body.dataset.took)));
    }
    console.log(`from an edit to the page drawn: ${took.join(', ')} ms`);
    check('rows changed by the text', (await typed(page)).endsWith('#####'));
});

await test('an edit leaves the reader where they are', async () => {
    const frame = page.frames().find(f => f !== page.mainFrame()),
        whole = () => frame.waitForFunction(() => perpReport.isWhole),
        look = () =>
            frame.evaluate(() => ({
                zoom: perpReport.state.zoom,
                time: perpReport.state.time,
                scroll: scrollY,
                panels: document.querySelectorAll('canvas').length,
                plots: perpReport.plots.length,
                buttons: document.querySelectorAll('.csv').length,
                shown: perpReport.plots.map(p => p.plot.scales.x.min),
            }));
    await whole();
    await frame.evaluate(() => {
        perpReport.setZoom([0.2, 0.5]);
        perpReport.setTime(0.3);
        scrollTo(0, 1500);
    });
    const before = await look();
    await page.locator('#text').focus();
    await page.keyboard.press('Control+End');
    await drawnAgain(page, () => page.keyboard.type('#'));
    await whole();
    const after = await look();
    check(
        'same place, zoom, time, panels',
        JSON.stringify(after) === JSON.stringify(before),
        JSON.stringify([before, after]),
    );
    check('it was scrolled', before.scroll === 1500 && before.shown[0] === 0.2);
    await drawnAgain(page, () => write(page, particle.replace(/simulate to \S+/, 'simulate to 0.4')));
    await whole();
    const other = await look();
    check('another time: all of it', other.zoom === null && other.shown[0] === 0, JSON.stringify(other));
    await drawnAgain(page, () => write(page, particle));
    await whole();
});

await test('an error is under its place as it is written', async () => {
    await write(page, 'model a\nstate x = 1\nder(x) = -wrong\nsimulate to 1\n');
    await says(page, '1 wrong');
    check('underlined', (await page.locator('#paint .wrong').allInnerTexts()).join() === 'wrong');
    check('in the margin', (await page.locator('#gutter .error').innerText()) === '3');
    check('said', (await page.locator('#problems .error').innerText()).includes("line 3: unknown name 'wrong'"));
    check('the old page stays, paler', await page.locator('#frames.old iframe').isVisible());
});

await test('a message leads to its place, which says it', async () => {
    await page.locator('#problems button').first().click();
    const at = await page.locator('#text').evaluate(t => [t.selectionStart, t.value.indexOf('wrong')]);
    check('cursor', at[0] === at[1], at.join());
    check('said', (await page.locator('#here').innerText()).includes("unknown name 'wrong'"));
});

await test('mended, it runs again', async () => {
    await drawnAgain(page, () => write(page, short));
    check('state', (await state(page)).startsWith('simulated'));
    check('no mark', (await page.locator('#paint .wrong').count()) === 0);
    check('not paler', (await page.locator('#frames.old').count()) === 0);
});

await test('columns are counted as people do', async () => {
    await write(page, 'model a\nstate höhe = 1 # ü𝛼\nder(höhe) = -höhe + nix\nsimulate to 1\n');
    await says(page, '1 wrong');
    check('underlined', (await page.locator('#paint .wrong').allInnerTexts()).join() === 'nix');
});

await test('an empty text, a block that does not end, nonsense: messages', async () => {
    for (const text of ['', '\n', 'model a\nplan {', '\u0000', 'x'.repeat(5000), '('.repeat(3000)]) {
        await write(page, text);
        await page.waitForTimeout(60);
        await says(page, 'wrong');
        check(
            'something is said',
            (await page.locator('#problems li').count()) > 0,
            JSON.stringify(text.slice(0, 20)),
        );
    }
});

await test('more steps than are counted are refused', async () => {
    await write(page, falling + 'simulate to 1e9 step 1e-3 method backward-euler\n');
    await says(page, 'more than 1e9 steps');
});

await test('a file that is not there is a message', async () => {
    await write(page, 'use "other.perp"\n' + short);
    await says(page, 'wrong');
    check('said', (await page.locator('#problems').innerText()).includes('other.perp'));
});

await test('parts of the library are there', async () => {
    await drawnAgain(page, () => write(page, readFileSync(join(source, 'examples/parts/buck.perp'), 'utf8')));
    check('state', (await state(page)).startsWith('simulated'), await state(page));
});

await test('a slider moves a parameter', async () => {
    await drawnAgain(page, () => write(page, short));
    const slide = page.locator('#values input[type=range]');
    check('one', (await slide.count()) === 1);
    check('range', (await slide.getAttribute('min')) === '1' && (await slide.getAttribute('max')) === '20');
    await drawnAgain(page, () => slide.fill('2'));
    const rows = numbers((await saved(page, 'rows')).text).split('\n'),
        end = rows.at(-1).split(',');
    check('the last row', Math.abs(Number(end[2]) + 2) < 1e-9, rows.at(-1));
    check('told', (await page.locator('#values label.changed').innerText()) === 'g');
});

await test('and by keys', async () => {
    await page.locator('#values input[type=range]').focus();
    await drawnAgain(page, () => page.keyboard.press('ArrowRight'));
    check('a hundredth of the range', (await page.locator('#values input[type=number]').inputValue()) === '2.19');
});

await test('a number is typed', async () => {
    await drawnAgain(page, () => page.locator('#values input[type=number]').fill('9.81'));
    check('as in the text', (await page.locator('#values label.changed').count()) === 0);
    await page.locator('#values input[type=number]').fill('');
    check('nothing is no number', (await page.locator('#values label.changed').count()) === 0);
});

await test('a setting goes with its parameter', async () => {
    await drawnAgain(page, () => page.locator('#values input[type=number]').fill('3'));
    await drawnAgain(page, () => write(page, short.replaceAll(/\bg\b/g, 'k')));
    check('none is left', (await page.locator('#values label.changed').count()) === 0);
    check('it runs', (await state(page)).startsWith('simulated'), await state(page));
});

await test('an example is a page, and back is the text before it', async () => {
    await drawnAgain(page, () => write(page, short));
    await drawnAgain(page, () => page.locator('#example').selectOption('mechanics/square'));
    check('text', (await typed(page)).includes('model square'));
    await page.waitForFunction(() => location.hash.length > 10);
    await drawnAgain(page, () => page.goBack());
    check('back', (await typed(page)) === short);
});

await test('a plan is planned', async () => {
    await drawnAgain(page, () => page.locator('#example').selectOption('control/double_integrator'));
    check('state', (await state(page)).startsWith('planned'), await state(page));
    check('summary', /^global: cost 12/m.test(await page.locator('#said').innerText()));
});

await test('what cannot be done is not offered', async () => {
    const isOff = kind => page.locator(`#kind option:text-is("${kind}")`).evaluate(o => o.disabled);
    check('plan only', await isOff('simulate'));
    await drawnAgain(page, () => write(page, short));
    check('simulate only', await isOff('plan'));
});

await test('a run without end is stopped', async () => {
    await write(page, endless);
    await page.waitForTimeout(500);
    await page.locator('#stop').click();
    check('stopped', (await state(page)) === 'stopped');
    await drawnAgain(page, () => write(page, short));
    check('and the next one runs', (await state(page)).startsWith('simulated'));
});

await test('and is given up for the next edit, and by Escape', async () => {
    await write(page, endless);
    await page.waitForTimeout(100);
    await drawnAgain(page, () => write(page, short));
    await write(page, endless);
    await page.waitForTimeout(100);
    await page.keyboard.press('Escape');
    check('stopped', (await state(page)) === 'stopped');
    await drawnAgain(page, () => write(page, short + '#'));
});

await test('a model without solution says so, and shows how far it came', async () => {
    await write(
        page,
        'model stuck\nstate x = 1\nvar y\nder(x) = -1\ny^2 = x\nsimulate to 2 step 0.01 method backward-euler\n',
    );
    await page.waitForFunction(() => document.getElementById('state').classList.contains('bad'));
    check('said', (await page.locator('#said').innerText()).length > 10);
    check('rows', numbers((await saved(page, 'rows')).text).split('\n').length > 50);
});

await test('formatted, and undone', async () => {
    const loose = short.replace('der(v) = -g', 'der(v)=-g');
    await drawnAgain(page, () => write(page, loose));
    await drawnAgain(page, () => page.locator('#format').click());
    check('formatted', (await typed(page)) === short, await typed(page));
    await page.locator('#text').focus();
    await page.keyboard.press('Control+z');
    check('undone', (await typed(page)) === loose);
});

await test('an address holds the model and its settings', async () => {
    await drawnAgain(page, () => write(page, short));
    await drawnAgain(page, () => page.locator('#values input[type=number]').fill('5'));
    await page.locator('#link').click();
    await says(page, 'address');
    const hash = new URL(page.url()).hash,
        other = await start(hash);
    check('text', (await typed(other)) === short);
    check('setting', (await other.locator('#values input[type=number]').inputValue()) === '5');
    quiet(other, 'by address');
    await other.close();
});

await test('an address that is damaged is said', async () => {
    const other = await start('#m=abcdefgh', {mayFail: true});
    await says(other, 'damaged');
    check('told', (await other.locator('#state.bad').count()) === 1);
    await other.close();
});

// A kilobyte of an address that is inflated to a megabyte, or 26 kilobytes to 20.
await test('an address that holds too much is said', async () => {
    for (const lines of [524288, 10e6]) {
        const packed = deflateRawSync(Buffer.from('x\n'.repeat(lines))).toString('base64url'),
            other = await start('#m=' + packed, {mayFail: true});
        await says(other, 'more than 262144 bytes');
        await other.close();
    }
});

await test('long texts are plain, and edited', async () => {
    const other = await start('');
    await drawnAgain(other, () =>
        other.locator('#text').evaluate(
            (area, text) => {
                area.value = text;
                area.dispatchEvent(new Event('input'));
            },
            short + '# a comment\n'.repeat(20000),
        ),
    );
    check('kept', (await typed(other)).length > 200000);
    const lines = (await typed(other)).split('\n').length;
    check('numbered', (await other.locator('#gutter').textContent()).endsWith(`\n${lines}`));
    check('no line of its own', (await other.locator('#paint div').count()) === 0);
    await other.close();
});

// 200 bytes of an address that are one line of 131072 numbers.
await test('a long line is coloured', async () => {
    const packed = deflateRawSync(Buffer.from('1 '.repeat(131072))).toString('base64url'),
        other = await start('#m=' + packed, {mayFail: true});
    await other.waitForFunction(() => document.querySelectorAll('#paint .number').length === 131072);
    await other.close();
});

await test('a reload keeps the text', async () => {
    await drawnAgain(page, () => write(page, short + '# kept\n'));
    await page.waitForTimeout(1000);
    await page.reload();
    await page.waitForFunction(() => Number(document.body.dataset.drawn ?? 0) > 0);
    check('kept', (await typed(page)).endsWith('# kept\n'));
});

await test('keys are enough', async () => {
    await page.locator('#run').focus();
    let reached = false;
    for (let k = 0; k < 12 && !reached; k++) {
        await page.keyboard.press('Tab');
        reached = await page.evaluate(() => document.activeElement.id === 'text');
    }
    check('to the text', reached);
    await drawnAgain(page, () => page.keyboard.press('Control+Enter'));
    await page.keyboard.press('Tab');
    check('and out of it', await page.evaluate(() => document.activeElement.id !== 'text'));
});

await test('a new line begins where the last one did', async () => {
    await write(page, 'plan {\n    horizon 1');
    await page.locator('#text').focus();
    await page.keyboard.press('Control+End');
    await page.keyboard.press('Enter');
    await page.keyboard.type('x');
    check('indented', (await typed(page)).endsWith('\n    x'), await typed(page));
});

await test('nothing was complained of', () => quiet(page, 'the page'));
await page.close();

await test('a phone', async () => {
    const phone = await start('', {viewport: {width: 390, height: 780}, hasTouch: true, isMobile: true});
    check('no sideways', await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    check('the model first', await phone.locator('#text').isVisible());
    check('not the result', !(await phone.locator('#result').isVisible()));
    await phone.locator('#show-result').tap();
    check('then the result', await phone.locator('#frames iframe').isVisible());
    await phone.locator('#show-model').tap();
    check('and back', await phone.locator('#text').isVisible());
    writeFileSync(scratchFile('phone.png'), await phone.screenshot());
    await phone.close();
});

for (const colorScheme of ['light', 'dark'])
    await test(`everybody can read it, ${colorScheme}`, async () => {
        const other = await start('', {colorScheme});
        await write(other, 'model a\nstate x = 1 "m"\nder(x) = sin(x) - wrong # why\nsimulate to 1\n');
        await says(other, 'wrong');
        await other.evaluate(axe);
        const found = await other.evaluate(async () =>
            (await window.axe.run(document, {iframes: false})).violations.map(
                v => `${v.id}: ${v.nodes[0].target} ${v.nodes[0].failureSummary}`,
            ),
        );
        check('axe', found.length === 0, found.join('; '));
        await other.close();
    });

await finish();
