// Puts the page together.

import {nearest, range, read, readable, show} from './data.js';
import {csvHead, csvRows, saveCsv} from './figure.js';
import {residualFigures, residuals, rootMeanSquare} from './fit.js';
import {dashOf} from './look.js';
import {phaseNote} from './phases.js';
import {eachBlock, shownRows} from './rows.js';
import {Stage} from './stage.js';
import {element, forgetListeners, listen, setRange, setTheme, setTime, setZoom, shownRange, state} from './state.js';
import {stripPlot} from './strip.js';
import {differences, estimates, facts, grid, isOurs, noPlan, outcome} from './summary.js';
import {axisLabel, emptyNote, forgetPlots, plots, timePlot} from './time.js';
import {Curves} from './xy.js';

const whole = document.getElementById('main');
let data = null,
    main = whole; // where the next section goes

function message(text) {
    document.getElementById('messages').append(element('p', {text}));
}

function section(title) {
    const host = element('section', {}, element('h2', {text: title}));
    main.append(host);
    return host;
}

function plotHost(section, label) {
    const host = element('div', {class: 'plot', role: 'group', 'aria-label': label});
    section.append(host);
    return host;
}

function twoColumns() {
    const host = element('section', {class: 'pair'});
    main.append(host);
    return host;
}

function label(name, run) {
    return data.runs.length > 1 ? `${name} (${run.name})` : name;
}

// One series for each run that has the values. Several runs differ in colour where there is one
// name, else in dashes.
function seriesOf(name, values, color, only) {
    return data.runs.flatMap((run, r) => {
        const list = run.problem ? null : values(run);
        if (!list) return [];
        return [
            {
                run: r,
                label: label(name, run),
                values: list,
                color: only ? color + r : color,
                dash: dashOf(data.runs.length > 1 && !only ? r : Math.floor(color / 8)),
            },
        ];
    });
}

// Inputs that a plan holds over a step, and with them the forces that act in it: vars in units that no state has.
function isHeld(run, column) {
    if (run.held.includes(column.name)) return true;
    if (!run.held.length || !run.model || !run.model.vars.includes(column.name)) return false;
    return !data.columns.some(c => c.unit === column.unit && run.model.states.includes(c.name));
}

// Time plots ------------------------------------------------------------------------------------

function* timePlots() {
    const host = section('Over time');
    const groups = [...new Set(data.columns.map(c => c.group))];
    for (const g of groups) {
        const columns = data.columns.map((c, k) => ({...c, k})).filter(c => c.group === g);
        const series = columns.flatMap((c, i) =>
            seriesOf(c.name, run => run.data[c.k], i, columns.length === 1).map(s => ({
                ...s,
                held: isHeld(data.runs[s.run], c),
                column: c.k,
            })),
        );
        if (!series.length) continue;
        const unit = columns[0].unit,
            plot = plotHost(host, `over time, ${unit || 'without unit'}`);
        const note = emptyNote(series);
        if (note) plot.append(note);
        timePlot(plot, data.runs, series, {label: unit ? `[${unit}]` : '', unit});
        yield;
    }
    const phases = data.runs
        .filter(run => !run.problem)
        .map(run => phaseNote(run, show))
        .filter(Boolean);
    host.append(...phases.slice(0, 1));
    if (data.leftOut)
        host.append(
            element('p', {class: 'hint', text: `${data.leftOut} more columns are not shown; --columns chooses.`}),
        );
}

function modes(host) {
    const plot = plotHost(host, 'modes');
    plot.append(element('h2', {text: 'Modes'}));
    if (!stripPlot(plot, data.runs)) plot.remove();
}

// Phase portrait --------------------------------------------------------------------------------

// A pair of a quantity and its rate, by their units; else the first two columns.
function likelyPair() {
    const states = new Set(data.runs.flatMap(run => (run.model ? run.model.states : [])));
    const time = data.runs.find(run => !run.problem).timeUnit || 's';
    const index = data.columns.map((c, k) => k),
        isState = k => !states.size || states.has(data.columns[k].name);
    for (const x of index.filter(isState))
        for (const y of index.filter(isState))
            if (data.columns[x].unit && data.columns[y].unit === `${data.columns[x].unit}/${time}`) return [x, y];
    const rest = index.filter(isState);
    return rest.length > 1 ? [rest[0], rest[1]] : [0, Math.min(1, index.length - 1)];
}

function chooser(name, chosen, onchange) {
    const select = element('select', {'aria-label': name, onchange});
    data.columns.forEach((c, k) =>
        select.append(
            element('option', {value: k, text: axisLabel(c.name, c.unit), ...(k === chosen ? {selected: ''} : {})}),
        ),
    );
    return select;
}

function phase(host) {
    if (data.columns.length < 2) return;
    const plot = plotHost(host, 'phase portrait'),
        [x, y] = likelyPair();
    let curves = null;
    const update = () => {
        const i = Number(xs.value),
            j = Number(ys.value),
            [cx, cy] = [data.columns[i], data.columns[j]];
        const series = data.runs.flatMap((run, r) =>
            run.problem || !run.data[i] || !run.data[j]
                ? []
                : [{label: data.runs.length > 1 ? run.name : '', color: r, t: run.t, x: run.data[i], y: run.data[j]}],
        );
        const settings = {xLabel: axisLabel(cx.name, cx.unit), yLabel: axisLabel(cy.name, cy.unit), series};
        if (curves) Object.assign(curves, settings);
        else curves = new Curves(plot, settings);
        curves.draw();
    };
    const xs = chooser('horizontal', x, update),
        ys = chooser('vertical', y, update);
    plot.append(element('h2', {text: 'Phase portrait'}), element('div', {class: 'controls'}, ys, 'against', xs));
    update();
    parts.curves.push(curves);
}

// Friction --------------------------------------------------------------------------------------

// Coulomb's graph for a bound: through (-v, bound), (0, bound), (0, -bound), (v, -bound).
function coulomb(law, v, bound) {
    const far = 1.05 * (v || 1);
    return law.planar
        ? {x: [0, 0, far], y: [0, bound, bound]}
        : {x: [-far, 0, 0, far], y: [bound, bound, -bound, -bound]};
}

function* friction() {
    const labels = [...new Set(data.runs.flatMap(run => (run.laws || []).map(l => l.label)))];
    const free = [];
    for (const name of labels) {
        const found = data.runs
            .map((run, r) => ({run, r, law: (run.laws || []).find(l => l.label === name)}))
            .filter(x => x.law);
        const law = found[0].law,
            bounds = range(found.map(x => x.law.bound));
        if (!bounds || bounds[1] <= 0) {
            free.push(name);
            continue;
        }
        const changes = bounds && bounds[1] - bounds[0] > 1e-6 * bounds[1],
            part = i => (f, k) => (changes ? f / i.bound[k] : f);
        const speed = range(found.map(x => x.law.v.map(Math.abs)));
        const host = twoColumns(),
            plot = plotHost(host, `friction ${name}`);
        const f = law.planar ? `|${name}|` : name,
            v = law.planar ? 'speed of slip' : 'velocity of slip',
            fLabel = axisLabel(f, readable(law.fUnit)),
            vLabel = axisLabel(v, readable(law.vUnit));
        plot.append(element('h2', {text: `Friction ${name} against the ${v}`}));
        parts.curves.push(
            new Curves(plot, {
                xLabel: vLabel,
                yLabel: changes ? `${f} / bound` : fLabel,
                series: found.map(x => ({
                    label: data.runs.length > 1 ? x.run.name : '',
                    color: x.r,
                    t: x.run.t,
                    x: x.law.v,
                    y: x.law.f.map(part(x.law)).map(y => (Math.abs(y) === Infinity ? NaN : y)),
                })),
                ghosts: bounds && speed ? [coulomb(law, speed[1], changes ? 1 : bounds[1])] : [],
            }),
        );
        parts.curves.at(-1).draw();
        const twin = plotHost(host, `friction ${name} over time`);
        twin.append(element('h2', {text: `Friction ${name} and the ${v} over time`}));
        timePlot(
            twin,
            data.runs,
            found.flatMap(x => [
                {run: x.r, label: label(f, x.run), values: x.law.f, color: 2 * x.r, dash: dashOf(x.r)},
                {
                    run: x.r,
                    label: label(v, x.run),
                    values: x.law.v,
                    color: 2 * x.r + 1,
                    dash: dashOf(x.r),
                    scale: 'right',
                },
            ]),
            {label: fLabel, right: vLabel, height: 320, unit: readable(law.fUnit), rightUnit: readable(law.vUnit)},
        );
        yield;
    }
    if (free.length)
        main.append(element('p', {class: 'hint', text: `Without contact all the time: ${free.join(', ')}`}));
}

// Accuracy --------------------------------------------------------------------------------------

function accuracy() {
    const names = [
        ['residual', 'residual', 0],
        ['violation', 'natural residual of the pairs', 1],
        ['product', 'largest product of the sides', 2],
    ];
    const series = names.flatMap(([key, name, color]) =>
        seriesOf(name, run => (run[key] && run[key].some(Number.isFinite) ? run[key] : null), color, false),
    );
    if (!series.length) return;
    const host = section('Residual and complementarity'),
        plot = plotHost(host, 'residual');
    timePlot(plot, data.runs, series, {label: '', log: true, height: 210});
    host.append(element('p', {class: 'hint', text: 'Logarithmic; values that are 0 lie on the lower edge.'}));
}

// The iterations of a planner: what spans decades on a logarithmic axis at the right.
function iterations() {
    const runs = data.runs
        .filter(run => run.iterations)
        .map(run => {
            const [first, ...columns] = run.iterations,
                counts = first.data.every((v, i) => i === 0 || v > first.data[i - 1]);
            return {
                name: run.name,
                t: counts ? first.data : first.data.map((v, i) => i),
                time: counts ? first.name : 'iteration, counted through',
                timeUnit: '',
                columns: columns.filter(c => c.data.some(v => v !== 0 && v !== 1)),
            }; // no flags
        });
    if (!runs.length) return;
    const isLog = c => /infeas|violation|residual|stationar|relax|barrier|step|error|^mu$/i.test(c.name);
    const series = runs.flatMap((run, r) =>
        run.columns.map((c, k) => ({
            run: r,
            label: label(c.name, run),
            values: c.data,
            color: k,
            dash: dashOf(r),
            scale: isLog(c) ? 'right' : 'y',
        })),
    );
    const host = section('Iterations'),
        plot = plotHost(host, 'iterations');
    parts.iterations = timePlot(plot, runs, series, {
        own: true,
        label: 'cost',
        right: 'violation, relaxation (logarithmic)',
        rightLog: true,
    });
}

// Where it came from ------------------------------------------------------------------------------

function howMany(run) {
    if (run.kept === run.rows) return String(run.rows);
    const shown = `${run.rows}, of which ${run.kept} are shown (extremes kept)`;
    return run.all ? `${shown}; zooming in shows all of them` : shown;
}

function origin(run) {
    const host = section(data.runs.length > 1 ? `Parameters and origin of ${run.name}` : 'Parameters and origin');
    const notes = run.notes.filter(n => !n.startsWith('unit '));
    const params = notes
        .filter(n => n.startsWith('param '))
        .map(n =>
            n
                .slice(6)
                .split(/ = (.*)/s)
                .slice(0, 2),
        );
    if (params.length)
        host.append(
            params.length > 12
                ? element(
                      'div',
                      {class: 'many', tabindex: 0, role: 'group', 'aria-label': 'parameters'},
                      ...params.map(p => element('span', {text: p.join(' = ')})),
                  )
                : facts(params),
        );
    host.append(
        element('h2', {text: 'Run'}),
        facts([
            ['file', run.name],
            ['rows', howMany(run)],
            ['written', run.complete ? 'completely' : isOurs(run) ? 'not completely' : 'by another program'],
            ['report', `perp ${data.perp}`],
        ]),
        element('pre', {tabindex: 0, text: notes.filter(n => !n.startsWith('param ')).join('\n')}),
    );
    if (run.model)
        host.append(
            element('h2', {text: `Model ${run.model.name}`}),
            element('pre', {tabindex: 0, text: run.model.text}),
        );
}

// Keys and buttons --------------------------------------------------------------------------------

function step(rows) {
    const run = data.runs.find(r => !r.problem),
        {t} = shownRows(run);
    const i = state.time === null ? 0 : nearest(t, state.time) + rows;
    setTime(t[Math.min(Math.max(i, 0), t.length - 1)]);
    tell(run);
}

// The row of the cursor, for those who do not see it.
function tell(run) {
    const rows = shownRows(run),
        i = nearest(rows.t, state.time),
        values = data.columns.flatMap((c, k) => (run.data[k] ? [`${c.name} ${show(rows.data(k)[i])} ${c.unit}`] : []));
    document.getElementById('said').textContent =
        `${run.time} ${show(rows.t[i])} ${run.timeUnit}: ${values.slice(0, 8).join(', ')}`;
}

function zoomBy(factor) {
    const [from, to] = shownRange(),
        about = state.time === null ? (from + to) / 2 : state.time;
    const lo = Math.max(state.whole[0], about - (about - from) * factor),
        hi = Math.min(state.whole[1], about + (to - about) * factor);
    if (hi > lo) setZoom(lo === state.whole[0] && hi === state.whole[1] ? null : [lo, hi]);
}

function toggleTheme() {
    setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
}

function showKeys() {
    document.getElementById('keys').showModal();
}

const keys = {
    ArrowLeft: e => step(e.shiftKey ? -10 : -1),
    ArrowRight: e => step(e.shiftKey ? 10 : 1),
    0: () => setZoom(null),
    '+': () => zoomBy(0.5),
    '=': () => zoomBy(0.5),
    '-': () => zoomBy(2),
    ' ': () => parts.stage && parts.stage.toggle(),
    d: toggleTheme,
    '?': showKeys,
};

function controls() {
    document.getElementById('theme').addEventListener('click', toggleTheme);
    document.getElementById('help').addEventListener('click', showKeys);
    document.getElementById('reset').addEventListener('click', () => setZoom(null));
    document.addEventListener('keydown', e => {
        const typing =
            /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) || (e.key === ' ' && e.target.tagName === 'BUTTON');
        const action = state.whole && !typing && !e.ctrlKey && !e.metaKey && !e.altKey ? keys[e.key] : null;
        if (!action) return;
        e.preventDefault();
        action(e);
    });
    let before = null;
    window.addEventListener('beforeprint', () => {
        before = document.documentElement.dataset.theme;
        setTheme('light');
    });
    window.addEventListener('afterprint', () => setTheme(before));
}

// ---------------------------------------------------------------------------------------------------

const parts = {plots, state, setTime, setZoom, show};
window.perpReport = parts;

// What needs a reader's eye before anything else.
function warnings() {
    for (const run of data.runs) {
        if (run.tooMany)
            message(
                `All ${run.rows} rows of ${run.name} would take more than ${show(run.tooMany / 1e6)} MB: ${run.kept} are ` +
                    'here, with all extremes. With fewer columns (perp report --columns A,B,...) the page has every row.',
            );
        if (run.problem) message(`${run.name} cannot be drawn: ${run.problem}.`);
        else if (noPlan(run))
            message(`${run.name} is not a plan that holds (${noPlan(run)}): this is where the search ended.`);
        else if (!run.complete && isOurs(run)) {
            const why = run.notes.findLast(n => n.startsWith('stopped:')) || 'the run was cut short';
            message(`${run.name} was not written to its end: ${why}`);
        }
    }
}

// The measured and the predicted run of an identification; null for other pages.
function fitOf() {
    const predicted = data.runs.find(run => run.notes.some(n => n.startsWith('predicted for '))),
        measured = data.runs.find(run => run !== predicted);
    return predicted && measured && !predicted.problem && !measured.problem ? {measured, predicted} : null;
}

function leftOver(fit) {
    return data.columns
        .map((c, k) => ({...c, values: residuals(fit.measured, fit.predicted, k)}))
        .filter(c => c.values && c.values.some(Number.isFinite));
}

function summary(fit) {
    if (fit) {
        const found = estimates(fit.predicted);
        if (found.length)
            section('Estimates').append(grid(['parameter', 'estimate', 'unit', 'interval of 95 %'], found));
        section('What is left over').append(
            grid(
                ['column', 'root mean square of measured − predicted', 'unit'],
                leftOver(fit).map(c => [c.name, show(rootMeanSquare(c.values)), c.unit]),
            ),
        );
        return;
    }
    if (data.runs.length > 1) {
        const rows = differences(data.runs);
        section('What differs').append(
            rows.length
                ? grid(['quantity', ...data.runs.map(run => run.name)], rows)
                : element('p', {text: 'Parameters, method and outcome are the same.'}),
        );
    } else section('Outcome').append(facts(outcome(data.runs[0]).filter(row => row[1])));
}

function* leftOverPlots(fit) {
    const host = section('Measured − predicted');
    for (const c of leftOver(fit)) {
        const plot = plotHost(host, `${c.name} measured − predicted`);
        timePlot(
            plot,
            data.runs,
            [{run: data.runs.indexOf(fit.measured), label: `${c.name} left over`, values: c.values, color: 0}],
            {label: axisLabel(c.name, c.unit), unit: c.unit, height: 170},
        );
        residualFigures(host, c.name, c.unit, c.values);
        yield;
    }
}

function csvButtons() {
    const nav = document.getElementById('theme').parentElement;
    for (const run of data.runs.filter(r => !r.problem)) {
        const index = data.columns.map((c, k) => k).filter(k => run.data[k]),
            columns = index.map(k => data.columns[k]);
        const write = () => {
            const parts = [
                csvHead([run.time, ...columns.map(c => c.name)], [run.timeUnit, ...columns.map(c => c.unit)]),
            ];
            eachBlock(run, index, (t, values) => parts.push(csvRows([t, ...values])));
            saveCsv(run.name, parts);
        };
        const title = `save the ${run.all ? run.rows : run.kept} rows of ${run.name} that are in this page`;
        nav.prepend(element('button', {class: 'csv', text: label('CSV', run), title, onclick: write}));
    }
}

// The motion stays beside the plots where there is room for both.
function twoSides(drawn) {
    const aside = element('div', {class: 'motion'}),
        rest = element('div', {class: 'rest'});
    main.append(element('div', {class: 'beside'}, aside, rest));
    main = aside;
    const inSpace = run => run.motion || (run.drawing && run.drawing.space),
        groups = [drawn.filter(inSpace), drawn.filter(run => run.drawing && !run.drawing.space)];
    parts.stages = groups.filter(list => list.length).map(list => new Stage(section('Motion'), list));
    parts.stage = parts.stages[0];
    main = rest;
}

function markZoom() {
    document.body.classList.toggle('zoomed', state.zoom !== null);
}

// The sections one after the other; between two of them what is there can be shown.
function* sections() {
    document.title = document.getElementById('title').textContent = data.title;
    warnings();
    const drawn = data.runs.filter(run => !run.problem),
        fit = fitOf();
    listen('zoom', markZoom);
    markZoom();
    if (drawn.length) csvButtons();
    summary(fit);
    if (drawn.length) {
        if (drawn.some(run => run.drawing || run.motion)) twoSides(drawn);
        yield* timePlots();
        if (fit) yield* leftOverPlots(fit);
        modes(main);
        yield;
        phase(twoColumns());
        yield;
        yield* friction();
        accuracy();
        yield;
    }
    iterations();
    yield;
    for (const run of data.runs) origin(run);
}

let steps = null; // of sections(), those that are still to come

function advance() {
    try {
        if (steps.next().done) steps = null;
    } catch (error) {
        steps = null;
        message(`The page could not be built: ${error.message}`);
        throw error;
    } finally {
        parts.isWhole = !steps;
        if (!steps) whole.style.minHeight = '';
    }
}

function advanceToTheEnd() {
    while (steps) advance();
}

function later() {
    if (steps) advance();
    if (steps) setTimeout(later);
}

// Once what is there now can be seen; in a window that nobody sees, soon.
function afterFrame(act) {
    let isDone = false;
    const once = () => {
        if (!isDone) act();
        isDone = true;
    };
    requestAnimationFrame(() => setTimeout(once));
    setTimeout(once, 100);
}

// The time that all runs span; null where there are none.
function timeOf(runs) {
    const found = range(runs.filter(run => !run.problem).map(run => run.t));
    return found && found[0] === found[1] ? [found[0] - 0.5, found[1] + 0.5] : found;
}

// What fills the window is built at once, the rest behind it. Where a page is built anew, place, time and zoom stay.
function build() {
    const isWaiting = steps !== null;
    whole.style.minHeight = `${whole.offsetHeight}px`;
    clear();
    data = parts.data = read();
    setRange(timeOf(data.runs));
    steps = sections();
    do advance();
    while (steps && main.getBoundingClientRect().bottom < innerHeight);
    if (steps && !isWaiting) afterFrame(later);
}

function clear() {
    for (const stage of parts.stages ?? []) stage.end();
    forgetListeners();
    forgetPlots();
    for (const button of document.querySelectorAll('nav .csv')) button.remove();
    document.getElementById('messages').replaceChildren();
    whole.replaceChildren();
    main = whole;
    Object.assign(parts, {curves: [], stages: [], stage: null, iterations: null});
}

// A page that shows this one in a frame gives it another run: {data, rows}, texts as this page has them in its elements of
// these names. The answer is sent when they have been drawn.
function replaceData({source, data: sent}) {
    if (window.parent === window || source !== window.parent || typeof sent?.data !== 'string') return;
    for (const name of ['data', 'rows']) document.getElementById(name).textContent = sent[name];
    afterFrame(() => source.postMessage({drawn: sent.id}, '*'));
    build();
}

setTheme(matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
controls();
window.addEventListener('beforeprint', advanceToTheEnd);
window.addEventListener('message', replaceData);
build();
