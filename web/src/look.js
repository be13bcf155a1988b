// One scheme for all plots: eight colours that differ also for those who see fewer of them and in grey, then dashes.

import {color, svg} from './state.js';

const dashes = [undefined, [7, 4], [2, 3], [9, 3, 2, 3]];

export function seriesColor(k) {
    return color((k % 8) + 1);
}

// Of the k-th series of a plot, or of the k-th run where colours tell names.
export function dashOf(k) {
    return dashes[k % dashes.length];
}

// A piece of the line, for legends; it follows the theme.
export function sample(k, dash, width = 2) {
    return svg(
        'svg',
        {width: 26, height: 10, viewBox: '0 0 26 10', class: 'sample', 'aria-hidden': 'true'},
        svg('line', {
            x1: 0,
            x2: 26,
            y1: 5,
            y2: 5,
            'stroke-width': width,
            style: `stroke: var(--${(k % 8) + 1})`,
            ...(dash ? {'stroke-dasharray': dash.join(' ')} : {}),
        }),
    );
}
