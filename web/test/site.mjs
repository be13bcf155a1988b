// Browser tests of the documents' site: node site.mjs PERP SOURCE_DIR SCRATCH_DIR SITE

import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {dirname, join, resolve} from 'node:path';
import {check, finish, open, quiet, source, test} from './browser.mjs';

const site = resolve(process.argv[5]);
if (!existsSync(join(site, 'index.html'))) {
    console.log('skipped: there is no site; scripts/site makes it');
    process.exit(0);
}
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'),
    pages = readdirSync(site, {recursive: true})
        .map(String)
        .filter(f => f.endsWith('.html') && f !== 'playground.html'),
    text = new Map(pages.map(f => [f, readFileSync(join(site, f), 'utf8')]));

const linksOf = html => [...html.matchAll(/(?:href|src)="([^"]*)"/g)].map(m => m[1].replaceAll('&amp;', '&'));
const blocks = [];

await test('every document is a page', () => {
    for (const file of [
        'README.md',
        ...readdirSync(join(source, 'docs'))
            .filter(f => f.endsWith('.md'))
            .map(f => `docs/${f}`),
    ])
        check(file, text.has(file === 'README.md' ? 'index.html' : file.replace('.md', '.html')));
});

await test('links lead somewhere', () => {
    let wrong = [],
        count = 0;
    for (const [file, html] of text)
        for (const link of linksOf(html)) {
            if (/^[a-z]+:/.test(link)) continue;
            const [path, id] = link.split('#'),
                to = path ? join(dirname(file), path) : file;
            count++;
            if (to === 'playground.html') {
                if (id) blocks.push([file, link]);
                continue;
            }
            if (!existsSync(join(site, to))) wrong.push(`${file}: ${link}`);
            else if (id && !text.get(to)?.includes(` id="${id}"`)) wrong.push(`${file}: no place ${link}`);
        }
    console.log(`${pages.length} pages, ${count} links, ${blocks.length} models`);
    check('all of them', wrong.length === 0, wrong.join('; '));
});

await test('every model of the documents opens in the playground and holds', async () => {
    const page = await open(join(site, 'playground.html'));
    let fences = 0;
    for (const file of ['README.md', ...readdirSync(join(source, 'docs')).map(f => `docs/${f}`)].filter(f =>
        f.endsWith('.md'),
    ))
        fences += readFileSync(join(source, file), 'utf8').match(/^```perp$/gm)?.length ?? 0;
    check('as many as there are', blocks.length === fences && fences > 20, `${blocks.length} of ${fences}`);
    for (const [k, [file, link]] of blocks.entries()) {
        await page.goto(`file://${join(site, 'playground.html')}?${k}#${link.split('#')[1]}`);
        await page.waitForFunction(
            () =>
                !/^(|loading)$/.test(document.getElementById('state').textContent) &&
                document.getElementById('stop').disabled,
            null,
            {
                timeout: 60000,
            },
        );
        const state = await page.locator('#state').innerText(),
            errors = await page.locator('#problems .error').allInnerTexts();
        check(
            `${file}, model ${k}`,
            errors.length === 0 && !/damaged|wrong/.test(state),
            `${state}: ${errors.join('; ')}`,
        );
        check(`${file}, model ${k}: its text`, (await page.locator('#text').inputValue()).includes('\n'));
    }
});

await test('a click on a block opens it', async () => {
    const page = await open(join(site, 'docs/start.html'));
    const text = await page.locator('.model code').first().innerText();
    await page.locator('.model .play').first().click();
    await page.waitForFunction(() => document.body.dataset.drawn);
    check('the text of the block', (await page.locator('#text').inputValue()).trim() === text.trim());
});

await test('colours', async () => {
    const page = await open(join(site, 'index.html'));
    check(
        'words and numbers',
        (await page.locator('.model .word').count()) > 5 && (await page.locator('.model .number').count()) > 5,
    );
    quiet(page, 'index');
});

await test('search', async () => {
    const page = await open(join(site, 'docs/plan.html'));
    await page.keyboard.press('/');
    await page.keyboard.type('stribeck');
    const first = page.locator('#found a').first();
    check('finds', (await first.count()) === 1);
    await first.click();
    check('leads there', /stribeck/i.test(await page.locator('main').innerText()));
    await page.keyboard.press('/');
    await page.keyboard.type('zzzz');
    check('says when there is nothing', (await page.locator('#found').innerText()).includes('nothing'));
    await page.keyboard.press('Escape');
    check('goes', await page.locator('#found').isHidden());
    quiet(page, 'search');
});

await test('small windows, and those who do not see', async () => {
    const phone = await open(join(site, 'docs/plan.html'), {viewport: {width: 390, height: 800}});
    check('no wider than the window', (await phone.evaluate(() => document.documentElement.scrollWidth)) <= 390);
    check('the menu waits', await phone.locator('nav').isHidden());
    await phone.locator('#menu-button').click();
    check('and comes', await phone.locator('nav').isVisible());
    for (const file of ['index.html', 'docs/language.html']) {
        const page = await open(join(site, file));
        await page.evaluate(axe);
        const faults = await page.evaluate(async () =>
            (await window.axe.run(document)).violations.map(v => `${v.id}: ${v.nodes[0].html}`),
        );
        check(`${file}: axe`, faults.length === 0, faults.join('; '));
    }
});

await finish();
