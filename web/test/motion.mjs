// Browser tests of bodies in motion: what the page draws is what the run did; see browser.mjs.

import {createRequire} from 'node:module';
import {readFileSync, statSync} from 'node:fs';
import {
    browser,
    check,
    colors,
    finish,
    launch,
    open,
    picture,
    quiet,
    run,
    scratchFile,
    table,
    test,
} from './browser.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

// Scenes ------------------------------------------------------------------------------------------

function scene(name, world, more = '') {
    const text = `<mujoco model="${name}">${more}<worldbody>${world}</worldbody></mujoco>\n`;
    return scratchFile(name + '.xml', text);
}

const body = (name, pos, geom, more = '') =>
    `<body name="${name}" pos="${pos}" ${more}><freejoint name="${name}"/><geom ${geom}/></body>`;
const ground = '<geom type="plane" size="5 5 .1"/>';
const points = '-.1 -.1 -.1 .2 0 -.1 0 .2 -.1 0 0 .2 -.1 .1 .1';

const shapesFile = scene(
    'shapes',
    ground +
        body('ball', '0 0 .5', 'type="sphere" size=".1"') +
        body('pill', '.5 0 .5', 'type="capsule" size=".05 .1"', 'euler="40 10 0"') +
        body('can', '1 0 .5', 'type="cylinder" size=".1 .05" pos=".02 0 .01" euler="20 0 0"', 'euler="0 50 0"') +
        body('egg', '0 .5 .5', 'type="ellipsoid" size=".15 .1 .07"', 'euler="10 20 30"') +
        body('brick', '.5 .5 .5', 'type="box" size=".1 .07 .04"', 'euler="70 20 0"') +
        body('rock', '1 .5 .5', 'type="mesh" mesh="rock"'),
    `<asset><mesh name="rock" vertex="${points}"/></asset>`,
);

function simulated(file, name, ...more) {
    const csv = scratchFile(name + '.csv'),
        html = scratchFile(name + '.html');
    run('simulate', file, '-o', csv, '--report', html, '--quiet', ...more);
    return {csv, html};
}

const shapes = simulated(shapesFile, 'motion_shapes', '--to', '1'),
    slide = simulated(
        scene('slide', ground + body('box', '0 0 .1', 'type="box" size=".1 .1 .1"')),
        'motion_slide',
        ...'--to 1.5 --set box.vx=2'.split(' '),
    ),
    drop = simulated(
        scene('drop', ground + body('box', '0 0 .6', 'type="box" size=".1 .1 .1"')),
        'motion_drop',
        '--to',
        '1',
    );

const evaluate = (page, fn, arg) => page.evaluate(fn, arg);

// Tests -------------------------------------------------------------------------------------------

async function posesAreThoseOfTheRows() {
    const page = await open(shapes.html),
        {names, rows} = table(shapes.csv);
    const {poses, unit, bodies} = await evaluate(page, () => {
        const {motion} = perpReport.data.runs[0];
        return {
            poses: [...motion.t].map((t, i) => [t, ...motion.poses(i)]),
            unit: motion.unit,
            bodies: motion.bodies,
        };
    });
    check('poses: of every row', poses.length === rows.length, `${poses.length} of ${rows.length}`);
    let worst = 0,
        turned = 0;
    rows.forEach((row, i) =>
        bodies.slice(1).forEach((name, b) => {
            const value = what => row[names.indexOf(`${name}.${what}`)],
                mine = poses[i].slice(1 + 7 * (b + 1));
            for (const [k, what] of ['x', 'y', 'z'].entries())
                worst = Math.max(worst, Math.abs(mine[k] - value(what)));
            const along = ['qw', 'qx', 'qy', 'qz'].reduce((sum, what, k) => sum + mine[3 + k] * value(what), 0);
            turned = Math.max(turned, Math.abs(1 - Math.abs(along)));
        }),
    );
    check('poses: places', worst <= 0.51 * unit + 1e-6, `${worst} beside ${unit}`);
    check('poses: turns', turned < 1e-8, String(turned));
    check('poses: they move', poses.at(-1)[1 + 7 + 2] < 0.2);
    await page.close();
}

// Each shape is where the camera says: its colour is on the canvas there.
async function everyShapeIsDrawn(name, by) {
    const page = await open(shapes.html, {}, by);
    for (const theme of ['light', 'dark']) {
        const seen = await evaluate(page, () => {
            const s = perpReport.stage,
                size = [s.canvas.clientWidth, s.canvas.clientHeight];
            perpReport.setTime(0);
            s.draw();
            const copy = document.createElement('canvas');
            [copy.width, copy.height] = [s.canvas.width, s.canvas.height];
            const ctx = copy.getContext('2d', {willReadFrequently: true});
            ctx.drawImage(s.canvas, 0, 0);
            const view = s.scene.camera.view(...size),
                {motion} = s.runs[0],
                pose = motion.poses(0);
            const back = [...ctx.getImageData(1, 1, 1, 1).data];
            return motion.bodies.slice(1).map((body, b) => {
                const at = view.place([...pose.subarray(7 * (b + 1), 7 * (b + 1) + 3)]);
                const color = ctx.getImageData(...at.map(Math.round), 1, 1).data;
                return [body, Math.max(...[0, 1, 2].map(k => Math.abs(color[k] - back[k])))];
            });
        });
        for (const [shape, far] of seen) check(`${name}, ${theme}: ${shape} is drawn`, far > 40, String(far));
        check(`${name}, ${theme}: shaded`, (await colors(page.locator('canvas.stage'))) > 60);
        await page.locator('#theme').click();
    }
    await page.screenshot({path: scratchFile(`motion_${name}.png`)});
    quiet(page, name);
    await page.close();
}

async function withoutWebGl() {
    const plain = await launch('--disable-3d-apis');
    await everyShapeIsDrawn('painter', plain);
    const page = await open(shapes.html, {}, plain);
    check('painter: said', (await page.locator('main').innerText()).includes('no WebGL 2'));
    check('painter: is one', await evaluate(page, () => !perpReport.stage.scene.gl));
    await page.close();
    await plain.close();
}

async function theCameraObeys() {
    const page = await open(shapes.html, {hasTouch: true}),
        stage = page.locator('canvas.stage'),
        camera = () =>
            evaluate(page, () => {
                const {around, above, target, distance} = perpReport.stage.scene.camera;
                return {around, above, target: [...target], distance};
            });
    let before = await camera();
    const changes = async (what, parts) => {
        const now = await camera(),
            other = Object.keys(now).filter(k => JSON.stringify(now[k]) !== JSON.stringify(before[k]));
        check(`camera: ${what}`, other.join() === parts, `${other.join()} is not ${parts}`);
        before = now;
    };
    const box = await stage.boundingBox(),
        [x, y] = [box.x + 200, box.y + 200];
    await page.mouse.move(x, y);
    await page.mouse.wheel(0, -200);
    await page.waitForTimeout(60);
    await changes('the wheel is the page’s without the focus', '');
    await page.mouse.move(x, y);
    await stage.scrollIntoViewIfNeeded();
    await stage.focus();
    for (const [key, parts] of [
        ['ArrowLeft', 'around'],
        ['ArrowDown', 'above'],
        ['Shift+ArrowUp', 'target'],
        ['+', 'distance'],
        ['-', 'distance'],
    ]) {
        await page.keyboard.press(key);
        await changes(key, parts);
    }
    const now = await stage.boundingBox();
    await page.mouse.move(now.x + 200, now.y + 200);
    await page.mouse.wheel(0, 200);
    await page.waitForTimeout(60);
    await changes('wheel', 'distance');
    const drag = async () => {
        await page.mouse.down();
        await page.mouse.move(now.x + 240, now.y + 210, {steps: 3});
        await page.mouse.up();
        await page.mouse.move(now.x + 200, now.y + 200);
    };
    await drag();
    await changes('drag', 'around,above');
    await page.keyboard.down('Shift');
    await drag();
    await page.keyboard.up('Shift');
    await changes('drag with Shift', 'target');
    const touch = await page.context().newCDPSession(page);
    const fingers = (type, ...list) =>
        touch.send('Input.dispatchTouchEvent', {
            type,
            touchPoints: list.map(([fx, fy], id) => ({x: now.x + fx, y: now.y + fy, id})),
        });
    await fingers('touchStart', [100, 100]);
    await fingers('touchMove', [130, 100]);
    await fingers('touchEnd');
    await changes('one finger', 'around');
    await fingers('touchStart', [100, 100], [200, 100]);
    await fingers('touchMove', [100, 100], [260, 100]);
    await fingers('touchEnd');
    await changes('two fingers', 'target,distance');
    await page.keyboard.press('f');
    await changes('f fits', 'target,distance');
    await page.locator('label:has-text("follow") select').selectOption({label: 'ball'});
    await evaluate(page, () => perpReport.setTime(0.3));
    const followed = await camera(),
        z = await evaluate(
            page,
            () => perpReport.data.runs[0].motion.poses(perpReport.data.runs[0].motion.frame(0.3))[7 + 2],
        );
    check('camera: it follows', Math.abs(followed.target[2] - z) < 1e-6, `${followed.target} beside ${z}`);
    quiet(page, 'camera');
    await page.close();
}

// A weight on a rope over a pin, the other end of which is held: lines along the rope, from the hook, over the pin, to the weight.
async function tendonsAreDrawn() {
    const rope = '<site site="hook"/><geom geom="pin" sidesite="top"/><site site="weight"/>',
        {html} = simulated(
            scene(
                'rope',
                '<site name="hook" pos="-.3 0 0"/><site name="top" pos="0 0 1.5"/>' +
                    '<geom name="pin" type="cylinder" size=".1 .2" pos="0 0 1" euler="90 0 0" contype="0" conaffinity="0"/>' +
                    '<body name="weight" pos=".3 0 .2"><joint name="lift" type="slide" axis="0 0 1"/>' +
                    '<geom type="box" size=".05 .05 .05" contype="0" conaffinity="0"/><site name="weight"/></body>',
                `<tendon><spatial name="rope" stiffness="200" springlength="1.8">${rope}</spatial></tendon>`,
            ),
            'motion_rope',
            ...'--to 1'.split(' '),
        ),
        page = await open(html);
    const seen = await evaluate(page, () => {
        const s = perpReport.stage,
            {motion} = s.runs[0];
        const rods = t => {
            perpReport.setTime(t);
            s.draw();
            const {n, values} = [...s.scene.list.layer('body')].find(e => e.name === 'rod');
            return Array.from({length: n}, (_, k) => [...values.subarray(15 * k, 15 * k + 11)]);
        };
        return {
            tendons: motion.tendons,
            lists: [0, 0.2].map(rods),
            weights: [0, 0.2].map(t => motion.poses(motion.frame(t))[7 + 2]),
        };
    });
    check('tendons: points', JSON.stringify(seen.tendons) === '[[15]]', JSON.stringify(seen.tendons));
    seen.lists.forEach((list, i) => {
        check('tendons: lines', list.length === 14, String(list.length));
        check('tendons: from the hook', Math.hypot(list[0][0] + 0.3, list[0][1], list[0][2]) < 1e-3);
        for (const x of list.slice(1))
            check('tendons: over the pin', Math.abs(Math.hypot(x[0], x[2] - 1) - 0.1) < 1e-4 && x[2] > 1, String(x));
        const [x, , z, w, , y, , , , length] = list.at(-1), // turned about y
            end = [x + length * 2 * w * y, z + length * (1 - 2 * y * y)];
        check(
            'tendons: to the weight',
            Math.hypot(end[0] - 0.3, end[1] - seen.weights[i]) < 1e-3,
            `${end} beside ${seen.weights[i]}`,
        );
    });
    check('tendons: it moves', Math.abs(seen.weights[1] - seen.weights[0]) > 0.01, String(seen.weights));
    const inSight = await evaluate(page, () => {
        const {lo} = perpReport.stage.scene.box;
        return lo[0] <= -0.299;
    });
    check('tendons: in sight', inSight);
    check('tendons: said', (await page.locator('main').innerText()).includes('Lines are tendons'));
    const drawn = await picture(page.locator('canvas.stage'));
    await evaluate(page, () => {
        const s = perpReport.stage;
        s.runs[0].motion.tendons = [];
        s.draw();
    });
    check('tendons: on the canvas', drawn !== (await picture(page.locator('canvas.stage'))));
    quiet(page, 'tendons');
    await page.close();
}

async function forcesAreShown() {
    const page = await open(slide.html),
        stage = page.locator('canvas.stage');
    await evaluate(page, () => perpReport.setTime(0.1));
    const before = await picture(stage);
    await page.locator('label:has-text("forces") input').check();
    const arrows = await picture(stage);
    await page.locator('label:has-text("friction cones") input').check();
    const cones = await picture(stage);
    check('forces: arrows', arrows !== before);
    check('forces: cones', cones !== arrows);
    // The box weighs 8 kg, mu is 1: it slips, then rests.
    const sums = await evaluate(page, () => {
        const {motion} = perpReport.data.runs[0];
        return [0.1, 1.4].map(t => {
            const sum = [0, 0, 0];
            for (const c of motion.contacts(motion.frame(t))) c.force.forEach((f, k) => (sum[k] += f));
            return sum;
        });
    });
    const weight = 8 * 9.81;
    check(
        'forces: weight',
        sums.every(f => Math.abs(f[2] - weight) < 1e-3),
        JSON.stringify(sums),
    );
    check('forces: friction against the slip', Math.abs(sums[0][0] + weight) < 1e-3, JSON.stringify(sums));
    check('forces: none at rest', Math.abs(sums[1][0]) < 1e-3, JSON.stringify(sums));
    const inksAt = async (page, t) =>
        evaluate(
            page,
            t => {
                perpReport.setTime(t);
                const entry = [...perpReport.stage.scene.list.layer('force')].find(e => e.name === 'tip'),
                    seen = new Set();
                for (let k = 0; k < entry.n; k++)
                    seen.add([...entry.values.subarray(15 * k + 11, 15 * k + 14)].map(v => v.toFixed(2)).join());
                return [...seen];
            },
            t,
        );
    const slips = await inksAt(page, 0.1),
        fallen = await open(drop.html);
    await fallen.locator('label:has-text("forces") input').check();
    const rests = await inksAt(fallen, 0.95);
    await fallen.close();
    check('forces: in slip all on the edge', slips.length === 1, JSON.stringify(slips));
    check('forces: at rest inside', rests.length === 1 && rests[0] !== slips[0], JSON.stringify(rests));
    quiet(page, 'forces');
    await page.close();
}

async function eventsAreFound() {
    const page = await open(drop.html),
        time = () => evaluate(page, () => perpReport.state.time),
        fall = Math.sqrt((2 * 0.5) / 9.81);
    await page.getByRole('button', {name: 'event ▸'}).click();
    check('events: the impact', Math.abs((await time()) - fall) < 0.005, `${await time()} beside ${fall}`);
    check('events: said', (await page.locator('main').innerText()).includes('contacts: 1 begins'));
    const rates = () =>
        evaluate(
            page,
            t => {
                const list = [0.02, t].map(x => {
                    perpReport.setTime(x);
                    return perpReport.stage.rate();
                });
                return [...list, Number(perpReport.stage.speed.value)];
            },
            fall,
        );
    const even = await rates();
    await page.locator('label:has-text("slow at events") input').check();
    const slow = await rates();
    check('events: not slow unless asked', even[0] === even[2] && even[1] === even[2], JSON.stringify(even));
    check('events: slow about the impact', slow[1] < 0.15 * slow[2] && slow[0] === slow[2], JSON.stringify(slow));
    await page.getByRole('button', {name: '◂ event'}).click();
    check('events: back to it', (await time()) <= fall + 0.005);
    quiet(page, 'events');
    await page.close();
}

async function thinnedFramesAreSaid() {
    const {html} = simulated(shapesFile, 'motion_long', ...'--to 3 --step 0.0005 --every 100'.split(' ')),
        page = await open(html);
    check('thinned: said', /of 6001 states every 4th is drawn/.test(await page.locator('main').innerText()));
    const t = await evaluate(page, () => [...perpReport.data.runs[0].motion.t]);
    check('thinned: to the end', t[0] === 0 && Math.abs(t.at(-1) - 3) < 1e-9 && t.length === 1501, String(t.length));
    await page.close();
}

async function aRunThatStopsHasAPage() {
    const file = scene(
            'stuck',
            ground +
                body('box', '0 0 .1', 'type="box" size=".1 .1 .1"') +
                body('other', '0 0 .1', 'type="box" size=".1 .1 .1"'),
        ),
        html = scratchFile('motion_stuck.html');
    let code = 0;
    try {
        run('simulate', file, '--report', html, '--quiet', '--to', '1');
    } catch (error) {
        code = error.status;
    }
    check('stopped: code', code === 0 || code === 3, String(code));
    const page = await open(code ? html.replace('.html', '.partial.html') : html);
    check('stopped: drawn', (await colors(page.locator('canvas.stage'))) > 10);
    quiet(page, 'stopped');
    await page.close();
}

// Boxes on a grid that fall, a thousand of them.
async function aThousandBoxesAreSmooth() {
    const list = [];
    for (let k = 0; k < 1000; k++)
        list.push(
            body(
                `b${k}`,
                `${(k % 32) * 0.3} ${Math.floor(k / 32) * 0.3} ${0.2 + 0.002 * (k % 7)}`,
                'type="box" size=".1 .08 .06"',
                `euler="${k % 90} ${(7 * k) % 90} 0"`,
            ),
        );
    const {html} = simulated(scene('many', ground + list.join('')), 'motion_many', '--to', '0.4', '--every', '50'),
        size = statSync(html).size,
        page = await open(html);
    await page.waitForTimeout(500);
    const spent = await evaluate(page, () => {
        const s = perpReport.stage,
            took = [];
        for (let i = 0; i < 60; i++) {
            perpReport.state.time = s.from + ((s.to - s.from) * i) / 60;
            s.draw();
            took.push(s.spent);
        }
        took.sort((a, b) => a - b);
        const {motion} = perpReport.data.runs[0];
        return {least: took[0], median: took[30], frames: motion.t.length, contacts: motion.contact.length / 10};
    });
    console.log(
        `1000 boxes: ${spent.frames} frames, ${spent.contacts} contacts, ${(size / 1e6).toFixed(1)} MB; ` +
            `a frame takes ${spent.median.toFixed(2)} ms of the script (median), ${spent.least.toFixed(2)} at least`,
    );
    check('1000 boxes: time of a frame', spent.least < 4, JSON.stringify(spent)); // the least: machines are busy
    check('1000 boxes: size', size < 30e6, String(size));
    quiet(page, '1000 boxes');
    await page.close();
}

async function isAccessible() {
    for (const theme of ['light', 'dark']) {
        const page = await open(drop.html, {colorScheme: theme});
        await page.evaluate(axe);
        const result = await page.evaluate(() => window.axe.run()),
            found = result.violations.filter(v => v.impact === 'serious' || v.impact === 'critical');
        check(`axe, ${theme}: nothing serious`, found.length === 0, found.map(v => v.id).join(', '));
        await page.close();
    }
}

await test('poses are those of the rows', posesAreThoseOfTheRows);
await test('every shape is drawn', () => everyShapeIsDrawn('webgl', browser));
await test('every shape is drawn without WebGL', withoutWebGl);
await test('the camera obeys', theCameraObeys);
await test('tendons are drawn', tendonsAreDrawn);
await test('forces are shown', forcesAreShown);
await test('events are found', eventsAreFound);
await test('thinned frames are said', thinnedFramesAreSaid);
await test('a run that stops has a page', aRunThatStopsHasAPage);
await test('a thousand boxes are smooth', aThousandBoxesAreSmooth);
await test('nothing keeps anyone out', isAccessible);
await finish();
