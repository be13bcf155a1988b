// One command at a time, away from the page: what it says as it goes, then all that it left.

import {run} from './host.js';

let module = null;

// Fields between tabs, of each line that begins with this word.
function lines(text, word) {
    return text
        .split('\n')
        .map(line => line.split('\t'))
        .filter(fields => fields[0] === word)
        .map(fields => fields.slice(1));
}

function valuesOf(text) {
    const model = lines(text, 'model')[0];
    if (!model) return null;
    return {
        name: model[0],
        simulates: model[1] === '1',
        plans: model[2] === '1',
        params: lines(text, 'param').map(([name, value, unit, lo, hi, line]) => ({
            name,
            value: Number(value),
            unit,
            lo: Number(lo.replace('inf', 'Infinity')),
            hi: Number(hi.replace('inf', 'Infinity')),
            line: Number(line),
        })),
    };
}

// perp with these words beside the model: exit code, texts, files.
function perp(words, model, on) {
    const said = ['', '', ''];
    const end = run(module, words, {'model.perp': model}, (stream, text) => {
        said[stream] += text;
        on?.(stream, text);
    });
    return {code: end.code, out: said[1], err: said[2], read: end.read};
}

// The words that set the parameters of a model.
function wordsOf(settings, values) {
    return Object.entries(settings)
        .filter(([name]) => values.params.some(p => p.name === name))
        .flatMap(([name, value]) => ['--set', `${name}=${value}`]);
}

// {text, kind: null | 'simulate' | 'plan', settings: {name: number}}. How far a run is off is found behind it, by look.
function work({text, kind, settings}) {
    const started = performance.now(),
        decoder = new TextDecoder(),
        looked = perp(['values', 'model.perp'], text),
        values = valuesOf(looked.out);
    if (!values) return {code: looked.code, err: looked.err, values: null};
    const command = kind && values[kind + 's'] ? kind : values.plans && !values.simulates ? 'plan' : 'simulate',
        words = [command, 'model.perp', '-o', 'run.csv', '--report', 'run.html', ...wordsOf(settings, values)];
    if (command === 'simulate') words.push('--estimate', 'none');
    postMessage({values, command});
    const end = perp(words, text, (stream, said) => {
            if (stream === 2) postMessage({progress: said});
        }),
        [csv, page] = ['run.csv', 'run.html'].map(name => end.read(name) ?? end.read(partial(name)));
    return {
        code: end.code,
        out: end.out,
        err: end.err,
        values,
        command,
        csv: csv && decoder.decode(csv),
        page: page && decoder.decode(page),
        took: performance.now() - started,
    };
}

// The name of what a run that stopped early leaves.
function partial(name) {
    return name.endsWith('.html') ? name.replace('.html', '.partial.html') : name + '.partial';
}

// The texts that a command printed, and the model as it left it.
function plain(words, model) {
    const {code, out, err, read} = perp(words, model);
    return {code, out, err, text: new TextDecoder().decode(read('model.perp'))};
}

// What perp check says of a model, and the summary of its run with how far it is off.
function look({text, ran}) {
    const checked = plain(['check', 'model.perp'], text);
    if (ran?.command !== 'simulate' || ran.code !== 0) return checked;
    const run = perp(['simulate', 'model.perp', '-o', 'run.csv', ...wordsOf(ran.settings, ran.values)], text);
    return {...checked, summary: run.code === 0 ? run.out : null};
}

const tasks = {
    run: work,
    check: look,
    format: ({text}) => plain(['fmt', 'model.perp'], text),
};

onmessage = ({data}) => {
    if (data.module) module = data.module;
    if (!data.task) return;
    let result;
    try {
        result = tasks[data.task](data);
    } catch (fault) {
        const isStack = /call stack|recursion/.test(fault.message);
        result = {
            code: 4,
            out: '',
            err: isStack ? 'perp: the browser has no room for so deep a model\n' : `perp: ${fault.message}\n`,
        };
    }
    postMessage({done: data.id, task: data.task, result});
};
