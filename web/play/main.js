// The playground: a model in an editor, run anew on every change, with what perp says and the page of its run beside it.

import {Editor} from './editor.js';
import * as link from './link.js';

const byId = id => document.getElementById(id),
    LATE = 400; // [ms] a run that takes longer is given up for the next one

const editor = new Editor(byId('text'), byId('paint'), byId('gutter'));
let settings = {}, // of parameters, beside the text
    values = null, // what the model has, when it was last whole
    last = null, // the result that is shown
    models = {};

// The worker ---------------------------------------------------------------------------------------

let module = null,
    worker = null,
    running = null, // {id, task, since}
    next = null, // the task that waits
    unchecked = null, // the run that was shown last, its text
    count = 0;

function start() {
    const source = new Blob([byId('worker').textContent], {type: 'text/javascript'}),
        address = URL.createObjectURL(source);
    worker = new Worker(address);
    URL.revokeObjectURL(address);
    worker.onmessage = ({data}) => hear(data);
    worker.postMessage({module});
}

function hear(data) {
    if (data.values) showValues(data.values);
    if (data.progress) showProgress(data.progress);
    if (data.done === undefined || data.done !== running?.id) return;
    const {task, text, settings, since} = running;
    running = null;
    byId('stop').disabled = true;
    ({run: showRun, check: showCheck, format: showFormatted})[task](data.result, since);
    const {code, command, values} = data.result;
    unchecked = task === 'run' && values ? {text, ran: {code, command, values, settings}} : null;
    if (next) send(next);
    else if (!data.result.page) check();
}

// What perp check says of the text comes behind the result.
function check() {
    if (unchecked !== null && !running) send({task: 'check', ...unchecked});
    unchecked = null;
}

function send(task) {
    next = null;
    running = {...task, id: ++count, since: task.since ?? performance.now()};
    byId('stop').disabled = task.task !== 'run';
    worker.postMessage({...task, id: count});
}

function end() {
    worker.terminate();
    running = null;
    byId('stop').disabled = true;
    start();
}

// Do it as soon as what goes on has ended, or has been given up for it.
function ask(task) {
    if (!module) return;
    if (running?.task === 'check') end();
    if (!running) return send(task);
    next = task;
    const left = LATE - (performance.now() - running.since);
    setTimeout(
        () => {
            if (next !== task || !running) return;
            end();
            send(task);
        },
        Math.max(0, left),
    );
}

function run() {
    ask({task: 'run', text: editor.text, kind: byId('kind').value || null, settings, since: performance.now()});
}

function stop() {
    next = null;
    end();
    tell('stopped', true);
    byId('frames').classList.add('old');
}

// What is shown ------------------------------------------------------------------------------------

function tell(text, isBad = false) {
    byId('state').textContent = text;
    byId('state').classList.toggle('bad', isBad);
}

// The last line of what a terminal would show.
function showProgress(text) {
    const line = text
        .split(/[\r\n]/)
        .filter(l => l.trim())
        .pop();
    if (line && running) tell(line.replace(/\u001b\[[0-9;]*[A-Za-z]/g, ''));
}

// "model.perp:3:5: text", the line, and where: "^~~~".
function problemsOf(text) {
    const lines = text.split('\n'),
        list = [];
    lines.forEach((line, i) => {
        const found = line.match(/^(.+?\.perp):(\d+):(?:(\d+):)? (.*)$/);
        if (!found) return;
        const [, file, row, column, rest] = found,
            under = (lines[i + 2] ?? '').match(/^\s*\|\s*(\^~*)/) ?? [],
            isWarning = /^(warning|note): /.test(rest);
        list.push({
            file,
            line: Number(row),
            column: Number(column ?? 0),
            length: under[1]?.length ?? 1,
            isError: !isWarning,
            text: rest.replace(/^(warning|note): /, ''),
        });
    });
    return list;
}

function showProblems(list) {
    const own = list.filter(p => p.file === 'model.perp');
    editor.mark(own);
    byId('problems').replaceChildren(
        ...list.slice(0, 50).map(p => {
            const item = document.createElement('li'),
                button = document.createElement('button'),
                where = p.file === 'model.perp' ? `line ${p.line}` : `${p.file}, line ${p.line}`;
            item.className = p.isError ? 'error' : 'warning';
            button.textContent = `${where}: ${p.text}`;
            button.onclick = () => {
                show('model');
                if (p.file === 'model.perp') editor.go(p.line, p.column);
                showHere(); // the browser tells of the cursor later
            };
            item.append(button);
            return item;
        }),
    );
    showHere();
}

// What is wrong in the line of the cursor.
function showHere() {
    const here = editor.marks.filter(m => m.line === editor.line);
    byId('here').textContent = here.map(m => m.text).join('; ');
}

function showText(host, text) {
    host.textContent = text.trimEnd();
    host.hidden = !text.trim();
}

// The summary without the plots in letters: the page beside it has better ones.
function summaryOf(text) {
    return text.split(/\n\n {2}\S/)[0].replaceAll(/^(trajectory|plan|report): .*\n?/gm, '');
}

function showRun(result, since) {
    last = result;
    byId('save-rows').disabled = !result.csv;
    byId('save-page').disabled = !result.page;
    const problems = problemsOf(result.err),
        isWhole = result.code === 0;
    showProblems(problems);
    if (!result.values) {
        tell(`${problems.filter(p => p.isError).length || 'something'} wrong`, true);
        byId('frames').classList.add('old');
        byId('checked').hidden = true;
        showText(byId('said'), problems.length ? '' : result.err);
        return;
    }
    tell(
        isWhole
            ? `${result.command === 'plan' ? 'planned' : 'simulated'} in ${Math.round(result.took)} ms`
            : result.err.trim().split('\n').pop() || `exit ${result.code}`,
        !isWhole,
    );
    const said = result.err.split('\n').filter(l => !l.includes('\r'));
    showText(byId('said'), summaryOf(result.out) + (isWhole ? '' : '\n' + said.join('\n')));
    if (!result.page) return byId('frames').classList.add('old');
    showPage(result.page, since);
}

let frame = null, // the page of the run
    pages = 0, // that were shown
    asked = 0; // [ms] when the last one was

// The page of the first run; those of others only give it their data.
function showPage(page, since) {
    pages++;
    asked = since;
    if (frame?.dataset.ready) return frame.contentWindow.postMessage({...dataOf(page), id: pages}, '*');
    frame?.remove();
    frame = document.createElement('iframe');
    frame.title = 'page of the run';
    frame.setAttribute('sandbox', 'allow-scripts allow-downloads');
    frame.onload = () => {
        frame.dataset.ready = 'yes';
        pageIsDrawn();
    };
    frame.srcdoc = page;
    byId('frames').append(frame);
}

function dataOf(page) {
    const of = name => page.match(new RegExp(`<script [^>]*id="${name}">([^<]*)`))[1];
    return {data: of('data'), rows: of('rows')};
}

function pageIsDrawn() {
    byId('frames').classList.remove('old');
    document.body.dataset.took = String(Math.round(performance.now() - asked));
    document.body.dataset.drawn = String(Number(document.body.dataset.drawn ?? 0) + 1);
    check();
}

function showCheck(result) {
    const host = byId('checked');
    host.hidden = false;
    host.querySelector('pre').textContent = (result.out + result.err).replaceAll('model.perp', 'model');
    if (result.summary) showText(byId('said'), summaryOf(result.summary));
    const warnings = problemsOf(result.err + result.out).filter(p => !p.isError);
    if (warnings.length && last?.code === 0) showProblems(warnings);
}

function showFormatted(result) {
    const problems = problemsOf(result.err);
    if (result.code !== 0) {
        showProblems(problems);
        return tell('not formatted', true);
    }
    if (result.text === editor.text) return tell('it is in this style');
    editor.replace(result.text);
    tell('formatted');
}

// Parameters ---------------------------------------------------------------------------------------

let rows = new Map(); // name: what is set anew as the model changes

function show(which) {
    document.body.dataset.shown = which;
    for (const name of ['model', 'result']) byId(`show-${name}`).setAttribute('aria-pressed', String(name === which));
}

function set(param, value) {
    if (value === param.value) delete settings[param.name];
    else settings[param.name] = value;
    update(param);
    run();
    remember();
}

function update(param) {
    const row = rows.get(param.name),
        value = settings[param.name] ?? param.value;
    row.name.classList.toggle('changed', param.name in settings);
    if (row.slide && Number(row.slide.value) !== value) row.slide.value = value;
    if (document.activeElement !== row.field) row.field.value = String(value);
}

function rowOf(param) {
    const name = document.createElement('label'),
        field = document.createElement('input'),
        unit = document.createElement('span'),
        isBounded = Number.isFinite(param.lo) && Number.isFinite(param.hi) && param.lo < param.hi,
        slide = isBounded ? document.createElement('input') : document.createElement('span');
    name.textContent = param.name;
    field.type = 'number';
    field.step = 'any';
    field.id = `value of ${param.name}`;
    name.htmlFor = field.id;
    unit.textContent = param.unit;
    unit.className = 'unit';
    if (isBounded) {
        Object.assign(slide, {type: 'range', min: param.lo, max: param.hi, step: 'any'});
        slide.setAttribute('aria-label', `${param.name}, from ${param.lo} to ${param.hi}`);
        slide.onkeydown = e => {
            // with `any` the keys would take no even steps
            const by = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10}[e.key];
            if (!by) return;
            e.preventDefault();
            const to = Number(slide.value) + (by * (param.hi - param.lo)) / 100;
            set(param, Number(Math.min(param.hi, Math.max(param.lo, to)).toPrecision(12)));
        };
        slide.oninput = () => set(param, Number(Number(slide.value).toPrecision(4)));
    }
    field.oninput = () => {
        if (field.value !== '' && Number.isFinite(Number(field.value))) set(param, Number(field.value));
    };
    field.onblur = () => update(param);
    return {param, name, field, unit, slide: isBounded ? slide : null, all: [name, slide, field, unit]};
}

// Parameters with a range first; the rows stay where the parameters do.
function showValues(found) {
    const scalar = found.params.slice(0, 200),
        key = p => [p.name, p.value, p.unit, p.lo, p.hi].join('\t'),
        old = values?.params.slice(0, 200).map(key).join('\n');
    values = found;
    for (const name of Object.keys(settings)) if (!found.params.some(p => p.name === name)) delete settings[name];
    for (const option of byId('kind').options) if (option.value) option.disabled = !found[option.value + 's'];
    if (old === scalar.map(key).join('\n')) return;
    const bounded = p => Number.isFinite(p.lo) && Number.isFinite(p.hi);
    rows = new Map([...scalar].sort((a, b) => bounded(b) - bounded(a)).map(p => [p.name, rowOf(p)]));
    byId('values').replaceChildren(...[...rows.values()].flatMap(row => row.all));
    for (const row of rows.values()) update(row.param);
}

// The address --------------------------------------------------------------------------------------

let waiting = 0;

function state() {
    return {text: editor.text, settings, kind: byId('kind').value};
}

// The address follows a second behind: what is written survives a reload.
function remember() {
    clearTimeout(waiting);
    waiting = setTimeout(async () => history.replaceState(null, '', await link.write(state())), 800);
}

async function take(hash) {
    let found;
    try {
        found = await link.read(hash);
    } catch (error) {
        const why = error instanceof RangeError ? error.message : 'it was not copied whole';
        return tell(`the address holds a model that is damaged: ${why}`, true);
    }
    if (!found) return load(Object.keys(models)[0]);
    editor.text = found.text;
    settings = found.settings;
    byId('kind').value = found.kind ?? '';
    values = null;
    run();
}

function load(name) {
    byId('example').value = name;
    editor.text = models[name];
    settings = {};
    byId('kind').value = '';
    values = null;
    run();
}

// An example is a page of its own: "back" is the text before it.
async function choose(name) {
    clearTimeout(waiting);
    history.replaceState(null, '', await link.write(state()));
    load(name);
    history.pushState(null, '', await link.write(state()));
}

// Files --------------------------------------------------------------------------------------------

function save(name, text, type) {
    const a = document.createElement('a');
    a.href = URL.createObjectURL(new Blob([text], {type}));
    a.download = name;
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 1000);
}

async function copyLink() {
    const address = location.href.replace(/#.*/, '') + (await link.write(state()));
    history.replaceState(null, '', address);
    try {
        await navigator.clipboard.writeText(address);
        tell('the address of this model is copied');
    } catch {
        tell('the address above holds this model');
    }
}

// --------------------------------------------------------------------------------------------------

function fill() {
    const groups = new Map();
    for (const name of Object.keys(models)) {
        const [group, file] = name.split('/');
        if (!groups.has(group)) {
            groups.set(group, document.createElement('optgroup'));
            groups.get(group).label = group;
        }
        const option = new Option(file, name);
        groups.get(group).append(option);
    }
    byId('example').append(...groups.values());
}

function listen() {
    let soon = 0;
    editor.onedit = () => {
        byId('example').value = '';
        clearTimeout(soon);
        soon = setTimeout(run);
        remember();
    };
    document.addEventListener('selectionchange', showHere);
    byId('example').onchange = e => e.target.value && choose(e.target.value);
    byId('kind').onchange = () => {
        run();
        remember();
    };
    byId('run').onclick = run;
    byId('stop').onclick = stop;
    byId('link').onclick = copyLink;
    byId('format').onclick = () => ask({task: 'format', text: editor.text});
    byId('save-model').onclick = () => save((values?.name ?? 'model') + '.perp', editor.text, 'text/plain');
    byId('save-rows').onclick = () => save((values?.name ?? 'run') + '.csv', last.csv, 'text/csv');
    byId('save-page').onclick = () => save((values?.name ?? 'run') + '.html', last.page, 'text/html');
    byId('show-model').onclick = () => show('model');
    byId('show-result').onclick = () => show('result');
    addEventListener('message', ({source, data}) => {
        if (source === frame?.contentWindow && data.drawn === pages) pageIsDrawn();
    });
    addEventListener('popstate', () => take(location.hash));
    addEventListener('keydown', e => {
        if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) run();
        if (e.key === 'Escape' && running?.task === 'run') stop();
    });
}

async function begin() {
    tell('loading');
    try {
        models = JSON.parse(new TextDecoder().decode(await link.unzip(byId('models').textContent)));
        module = await WebAssembly.compile(await link.unzip(byId('module').textContent));
    } catch (fault) {
        return tell(`this browser cannot run perp: ${fault.message}`, true);
    }
    fill();
    listen();
    start();
    await take(location.hash);
}

begin();
