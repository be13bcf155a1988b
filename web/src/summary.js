// What a reader asks first: how it ended, what it cost, what was estimated and how well, and in what runs differ.

import {range, show} from './data.js';
import {element} from './state.js';

// Tables that perp wrote say when they are complete.
export function isOurs(run) {
    return run.notes.some(n => /^perp \d|^stopped:/.test(n));
}

// "infeasible", "limit" or "stopped" where a planner found no plan.
export function noPlan(run) {
    return run.notes.map(n => n.match(/^plan: (infeasible|limit|stopped)/)).find(Boolean)?.[1];
}

export function facts(rows) {
    const table = element('table', {class: 'facts'});
    for (const [name, value] of rows)
        table.append(element('tr', {}, element('th', {scope: 'row', text: name}), element('td', {text: value})));
    return table;
}

export function grid(head, rows) {
    const table = element('table', {class: 'grid'});
    table.append(element('tr', {}, ...head.map(text => element('th', {scope: 'col', text}))));
    for (const [name, ...cells] of rows)
        table.append(
            element('tr', {}, element('th', {scope: 'row', text: name}), ...cells.map(text => element('td', {text}))),
        );
    return element('div', {class: 'scroll', tabindex: 0, role: 'group', 'aria-label': head.join(', ')}, table);
}

function planOf(run) {
    return run.notes.map(n => n.match(/^plan: (.*), cost (\S+), horizon (\S+)$/)).find(Boolean);
}

function ending(run) {
    const stopped = run.notes.find(n => n.startsWith('stopped:'));
    if (run.problem) return 'cannot be drawn';
    if (stopped) return stopped;
    return run.complete ? 'to its end' : isOurs(run) ? 'cut short' : 'a table of another program';
}

function largest(list) {
    const pair = list && range([list]);
    return pair ? show(Math.max(Math.abs(pair[0]), Math.abs(pair[1]))) : '';
}

// How far the run is from the motion, where --estimate was asked for: "beside radau5: x 3e-4 m".
function accuracyOf(run) {
    const note = run.notes.find(n => n.startsWith('error at the end'));
    return note ? note.replace(/^error at the end[,:] /, '') : '';
}

// [name, value] of what a run came to; values that are not there are ''.
export function outcome(run) {
    const plan = planOf(run),
        unit = run.timeUnit ? ' ' + run.timeUnit : '';
    return [
        ['plan', plan ? plan[1] : ''],
        ['cost', plan ? show(Number(plan[2])) : ''],
        ['horizon', plan ? show(Number(plan[3])) + unit : ''],
        ['ran', ending(run)],
        ['time', run.problem ? '' : `${show(run.t[0])} to ${show(run.t.at(-1))}${unit}, ${run.rows} rows`],
        ['error at the end', accuracyOf(run)],
        ['of lower order', run.notes.find(n => / left to backward-euler/.test(n)) ?? ''],
        ['largest residual', largest(run.residual)],
        ['largest natural residual of the pairs', largest(run.violation)],
        ['iterations', run.iterations ? String(run.iterations[0].data.length) : ''],
    ];
}

// {name: value} of all that can differ between runs.
function traits(run) {
    const all = {};
    for (const note of run.notes) {
        const param = note.match(/^(?:param|free) (.*?) = (.*)$/s);
        if (param) all[param[1]] = param[2];
        else if (/^from .* step /.test(note)) all['time and method'] = note;
        else if (note.startsWith('model: ')) all.model = note.slice(7);
    }
    for (const [name, value] of outcome(run)) all[name] = value;
    return all;
}

// Rows of what is not the same in all runs; what changes from row to row is in the plots.
export function differences(runs) {
    const list = runs.map(traits),
        names = [...new Set(list.flatMap(Object.keys))];
    return names
        .filter(name => new Set(list.map(x => x[name] ?? '')).size > 1)
        .map(name => [name, ...list.map(x => x[name] || '–')]);
}

// [name, value, unit, interval] of what was estimated.
export function estimates(run) {
    return run.notes
        .map(n => n.match(/^param (.*?) = (\S+) (.*?) ?estimated, (.*)$/))
        .filter(Boolean)
        .map(m => [m[1], show(Number(m[2])), m[3], m[4]]);
}
