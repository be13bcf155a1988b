// The model language of perp for tree-sitter. Rules follow the grammar of docs/language.md; words that came later (let, sum, part, ..) are
// names, too, where nothing of theirs begins.

const list = (rule) => seq(rule, repeat(seq(',', rule)));
const braces = ($, line) => seq('{', repeat(seq(optional(line), $._newline)), optional(line), '}');

module.exports = grammar({
  name: 'perp',

  word: ($) => $.name,

  // Whether a bracket can be closed tells the scanner that a newline is a blank.
  externals: ($) => [$._newline, ')', ']'],

  extras: ($) => [/[\s\uFEFF]/, $.comment],

  conflicts: ($) => [[$.if]],

  rules: {
    source: ($) => seq(repeat(seq(optional($._statement), $._newline)), optional($._statement)),

    comment: ($) => token(seq('#', /[^\n]*/)),

    _statement: ($) =>
      choice($.model, $.declaration, $.let, $.equation, $.add, $.pair, $.friction, $.for, $.if, $.function, $.use, $.robot, $.part,
        $.instance, $.simulate, $.draw, $.plan, $.identify),

    body: ($) => braces($, $._statement),

    model: ($) => seq('model', $.name),
    declaration: ($) => seq(choice('param', 'input', 'state', 'var', 'output', 'sum'), list($.item)),
    item: ($) =>
      seq($.name, optional($.size), optional(seq('=', choice($._expression, $.table))), optional($.range), optional($.scale),
        optional(alias($.string, $.unit))),
    size: ($) => seq('[', list($._expression), ']'),
    table: ($) => seq('table', '(', list($.string), ')'),
    range: ($) => seq('in', '[', $._expression, ',', $._expression, ']'),
    scale: ($) => seq('scale', $._expression),

    let: ($) => seq('let', list(seq($.name, '=', $._expression))),
    equation: ($) => seq($._expression, '=', $._expression),
    add: ($) => seq($._expression, '+=', $._expression),
    pair: ($) => seq($._side, choice('perp', 'complements', '⊥'), $._side, optional($.when)),
    _side: ($) => choice($._expression, $.bounds),
    bounds: ($) => seq($._expression, $.relation, $._expression, optional(seq($.relation, $._expression))),
    relation: ($) => choice('<=', '>=', '≤', '≥'),
    when: ($) => seq('when', $._guard),
    friction: ($) => seq('friction', '(', list($.contact), ')', optional($.when)),
    contact: ($) =>
      choice(seq(choice('f', 'v', 'bound', 'r'), '=', $._expression), seq('facets', '=', choice('exact', $._expression))),

    for: ($) => seq('for', $.name, 'in', $.span, $.body),
    span: ($) => seq($._expression, '..', $._expression),
    if: ($) => seq('if', $._guard, $.body, optional(seq(repeat($._newline), 'else', choice($.body, $.if)))),

    function: ($) => seq('function', alias($.name, $.function_name), '(', optional(list($.name)), optional(','), ')', '=', $._expression),
    use: ($) => seq('use', $.string),
    robot: ($) => seq('robot', $.name, '=', $.string, optional($.arguments)),
    part: ($) => seq('part', alias($.name, $.type), optional($.head), $.body),
    head: ($) => seq('(', optional(list($.item)), optional(','), ')'),
    instance: ($) => seq(alias($.name, $.type), $.name, optional(seq('[', $.name, 'in', $.span, ']')), optional($.arguments)),
    arguments: ($) => seq('(', optional(list($.argument)), optional(','), ')'),
    argument: ($) => choice($._expression, seq($.name, '=', choice($._expression, $.string))),

    simulate: ($) => seq('simulate', choice(repeat($.setting), seq('{', repeat(choice($.setting, $._newline)), '}'))),
    setting: ($) => choice(seq(choice('from', 'to', 'step'), $._expression), seq('method', $.method)),
    method: ($) => /[A-Za-z][A-Za-z0-9]*(-[A-Za-z0-9]+)*/,

    draw: ($) => seq('draw', '{', repeat(seq(optional($.shape), choice($._newline, ';'))), optional($.shape), '}'),
    shape: ($) =>
      choice(
        seq('box', 'at', $.point, 'size', $.point, optional(seq(choice('angle', 'rotation'), $._expression))),
        seq('circle', 'at', $.point, 'radius', $._expression, optional(seq('angle', $._expression))),
        seq('ground', 'at', choice(seq($.name, '=', $._expression), seq($.point, optional(seq('angle', $._expression))))),
        seq('line', 'from', $.point, 'to', $.point),
        seq('polygon', $.point, ',', $.point, ',', $.point, repeat(seq(',', $.point))),
        seq('force', 'at', $.point, '=', $.point, optional(seq('scale', $._expression)))),
    point: ($) => choice(seq('(', $._expression, ',', $._expression, optional(seq(',', $._expression)), ')'), $._expression),

    plan: ($) => seq('plan', braces($, $._planline)),
    _planline: ($) =>
      choice($.phase, $.link, $.values, $.horizon, $.count, $.choice, $.minimize, $.at, $.conditions, $.free, $.guess),
    phase: ($) => seq('phase', $.name, braces($, $._planline)),
    link: ($) => seq('link', ':', list($.given)),
    values: ($) => seq('param', list($.given)),
    given: ($) => seq($.path, '=', $._expression),
    horizon: ($) => seq('horizon', choice($._expression, seq('free', optional($.range), optional(seq('guess', $._expression))))),
    count: ($) => seq(choice('nodes', 'phases'), $._expression),
    choice: ($) => choice(seq(choice('method', 'complementarity'), $.method), seq('inputs', choice('held', 'free'))),
    minimize: ($) => seq('minimize', optional('-'), $.cost, repeat(seq(choice('+', '-'), $.cost))),
    cost: ($) =>
      seq(optional(seq($._primary, '*')),
        choice(seq('time', optional(seq('^', $._primary))), seq(choice('integral', 'end'), '(', $._expression, ')'),
          seq('at', '(', $.place, ',', $._expression, ')'))),
    at: ($) => seq('at', $.place, ':', $.conditions),
    place: ($) => choice('start', 'end', seq($._expression, '%'), seq('t', '=', $._expression)),
    conditions: ($) => list($.condition),
    condition: ($) => choice(seq($._expression, '=', $._expression), $.bounds),
    free: ($) => seq('free', $.path, optional($.range)),
    guess: ($) => seq('guess', choice($.given, 'simulate', $.table)),

    identify: ($) => seq('identify', braces($, $._studyline)),
    _studyline: ($) => choice($.estimate, $.measure, $.study),
    estimate: ($) => seq('estimate', list($.path)),
    measure: ($) => seq('measure', list(seq($.path, optional(seq(choice('noise', 'weight'), $.number))))),
    study: ($) => choice(seq('method', $.method), seq(choice('horizon', 'starts', 'seed', 'step'), $.number)),

    _guard: ($) => choice($.comparison, $.logic, $.guard_group),
    comparison: ($) => seq($._expression, choice('<=', '<', '>=', '>', '≤', '≥'), $._expression),
    logic: ($) => prec.left(seq($._guard, choice('and', 'or'), $._guard)),
    guard_group: ($) => seq('(', $._guard, ')'),

    _expression: ($) => choice($.sum, $.product, $._power),
    sum: ($) => prec.left(1, seq($._expression, choice('+', '-'), $._expression)),
    product: ($) => prec.left(2, seq($._expression, choice('*', '/', '@'), $._expression)),
    _power: ($) => choice($.sign, $.power, $._primary),
    sign: ($) => prec(3, seq(choice('-', '+'), $._power)),
    power: ($) => prec.right(4, seq($._primary, '^', $._power)),
    _primary: ($) => choice($.number, $.path, $.call, $.total, $.list, $.group),
    group: ($) => seq('(', $._expression, ')'),
    list: ($) => seq('[', list($._expression), ']'),
    call: ($) =>
      seq(choice(alias($.name, $.function_name), alias('sum', $.function_name)), '(', optional(list(choice($._expression, $._guard, $.string))), ')'),
    total: ($) => seq('sum', '(', $.name, 'in', $.span, ',', $._expression, ')'),

    path: ($) => prec.left(seq($._element, repeat(seq('.', $._element)))),
    _element: ($) => prec.left(seq(choice($.name, alias(choice('let', 'function', 'part', 'use', 'robot', 'draw', 'table'), $.name)), optional($.index))),
    index: ($) => seq('[', list(choice($._expression, $.span, ':')), ']'),

    number: ($) => seq(/\d+(\.\d+)?([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|\d+\.[eE][+-]?\d+/, optional(token.immediate('.'))),
    string: ($) => /"[^"\n]*"/,
    name: ($) => /([A-Za-z_]|[^\u0001-\u007F\u2264\u2265\u22A5])([A-Za-z0-9_]|[^\u0001-\u007F\u2264\u2265\u22A5])*/,
  },
});
