(comment) @comment
(string) @string
(unit) @string.special
(number) @number
(method) @constant
(name) @variable
(type) @type
(function_name) @function

["model" "param" "input" "state" "var" "output" "let" "sum" "function" "part" "use" "robot" "for" "if" "else" "in" "scale" "when" "friction"
 "simulate" "from" "to" "step" "method" "draw" "plan" "identify" "table"] @keyword

["f" "v" "bound" "facets" "exact"] @property

["box" "circle" "ground" "line" "polygon" "force" "at" "size" "radius" "angle" "rotation" "phase" "phases" "link" "horizon" "free" "guess" "nodes"
 "complementarity" "inputs" "held" "minimize" "time" "integral" "start" "end" "estimate" "measure" "noise" "weight" "starts" "seed"] @keyword

["perp" "complements" "⊥" "and" "or"] @keyword.operator
["+" "-" "*" "/" "@" "^" "=" "+=" ".." "<" ">"] @operator
(relation) @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," "." ":" ";"] @punctuation.delimiter
