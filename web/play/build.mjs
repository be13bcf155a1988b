// Put the playground together: node build.mjs PERP.wasm OUT.html

import {build} from 'esbuild';
import {createHash} from 'node:crypto';
import {mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {gzipSync} from 'node:zlib';

const here = dirname(fileURLToPath(import.meta.url)),
    examples = join(here, '../../examples'),
    [, , wasm, out] = process.argv;

async function bundle(entry, format) {
    const result = await build({
        entryPoints: [join(here, entry)],
        bundle: true,
        minify: true,
        write: false,
        format,
        target: 'es2022',
        logLevel: 'error',
    });
    return result.outputFiles[0].text.replaceAll('</script', '<\\/script');
}

// Those that need nothing but their text; the first is what the page begins with.
function models() {
    const list = {};
    for (const group of ['notes', 'mechanics', 'control', 'parts', 'circuits', 'opty', 'blog'])
        for (const file of readdirSync(join(examples, group)).filter(f => f.endsWith('.perp')))
            list[`${group}/${file.slice(0, -5)}`] = readFileSync(join(examples, group, file), 'utf8');
    const first = 'notes/particle';
    return {[first]: list[first], ...list};
}

const program = await bundle('main.js', 'iife'),
    worker = await bundle('worker.js', 'iife'),
    code = readFileSync(wasm),
    report = code.toString('latin1').match(/script-src ('sha256-[^']+')/)[1], // of the page that perp writes, shown in a frame
    own = createHash('sha256').update(program, 'utf8').digest('base64'),
    pack = bytes => gzipSync(bytes, {level: 9}).toString('base64');

// What the page may do: run these scripts and no other, from itself only; fetch nothing.
const policy =
    `default-src 'none'; script-src 'sha256-${own}' ${report} 'wasm-unsafe-eval'; worker-src blob:; ` +
    "frame-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
const page = readFileSync(join(here, 'page.html'), 'utf8')
    .replace('perp-policy', () => policy)
    .replace('/*perp-style*/', () => readFileSync(join(here, 'style.css'), 'utf8'))
    .replace('/*perp-module*/', () => pack(code))
    .replace('/*perp-models*/', () => pack(Buffer.from(JSON.stringify(models()))))
    .replace('/*perp-worker*/', () => worker)
    .replace('/*perp-script*/', () => program);

mkdirSync(dirname(out), {recursive: true});
writeFileSync(out + '.part', page);
renameSync(out + '.part', out);
