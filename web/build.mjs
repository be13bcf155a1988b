// Bundle the page and write it as C: node build.mjs OUT.c [OUT.html]
// The page is split where what is seen without scripts, the data and all rows go.

import {build} from 'esbuild';
import {createHash} from 'node:crypto';
import {mkdirSync, readFileSync, renameSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

const here = dirname(fileURLToPath(import.meta.url)),
    [, , out, html] = process.argv;

async function bundle(entry) {
    const result = await build({
        entryPoints: [join(here, entry)],
        bundle: true,
        minify: true,
        write: false,
        format: 'iife',
        target: 'es2020',
        legalComments: 'inline',
        charset: 'utf8',
        logLevel: 'error',
    });
    return result.outputFiles[0].text;
}

function array(name, text) {
    const bytes = Buffer.from(text, 'utf8'),
        lines = [];
    for (let i = 0; i < bytes.length; i += 24) lines.push([...bytes.subarray(i, i + 24)].join(','));
    return (
        `extern const unsigned char ${name}[];\nextern const size_t ${name}_size;\n` +
        `const unsigned char ${name}[] = {\n${lines.join(',\n')}};\nconst size_t ${name}_size = ${bytes.length};\n`
    );
}

const script = (await bundle('src/main.js')).replaceAll('</script', '<\\/script');
const style =
    (await bundle('src/style.css')) + readFileSync(join(here, 'node_modules/uplot/dist/uPlot.min.css'), 'utf8');
const licence = readFileSync(join(here, 'node_modules/uplot/LICENSE'), 'utf8').replaceAll('*/', '* /');
const program = `/* uPlot:\n${licence}*/\n${script}`.replaceAll('\r\n', '\n');

// What the page may do: run this script and no other, style itself (also by attributes), fetch nothing.
const hash = createHash('sha256').update(program, 'utf8').digest('base64');
const policy =
    `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; ` +
    "base-uri 'none'; form-action 'none'";
const page = readFileSync(join(here, 'src/page.html'), 'utf8')
    .replace('perp-policy', () => policy)
    .replace('/*perp-style*/', () => style)
    .replace('/*perp-script*/', () => program);
const parts = page.split(/\/\*perp-(?:still|data|rows)\*\//),
    names = ['head', 'body', 'middle', 'tail'];
if (parts.length !== names.length)
    throw new Error('page.html must have one still, one data and one rows, each /*perp-...*/');

mkdirSync(dirname(out), {recursive: true});
writeFileSync(
    out + '.part',
    '/* Made by web/build.mjs. */\n#include <stddef.h>\n' +
        names.map((name, k) => array(`perp__page_${name}`, parts[k])).join(''),
);
renameSync(out + '.part', out);
if (html) writeFileSync(html, page);
