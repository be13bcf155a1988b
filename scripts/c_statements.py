"""Statements of C functions, by tokens: which are comma expressions, which have a conditional within a conditional's branch."""

import re

TOKEN = re.compile(
    r"(?P<blank>\s+|/\*.*?\*/|//[^\n]*)|(?P<text>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+')|(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<sign>->|\+\+|--|<<=|>>=|[-+*/%&|^<>=!]=|&&|\|\||<<|>>|\.\.\.|.)",
    re.S,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
CLOSES = {"(": ")", "{": "}", "[": "]"}
BODIES = {"if", "for", "while", "switch", "cJSON_ArrayForEach"}
TYPES = set("int double char unsigned signed long short float const static struct enum union size_t void typedef _Alignas".split())


def tokens(text):
    """Kind and text of each token; directives and comments are none."""
    text = DIRECTIVE.sub("", text)
    return [(m.lastgroup, m.group()) for m in TOKEN.finditer(text) if m.lastgroup != "blank"]


class Reader:
    def __init__(self, text):
        self.token = tokens(text)
        self.statements, self.lost = [], 0
        self.read_file()

    def past(self, i):
        """Behind the bracket that closes the one at i."""
        opens, closes, depth = self.token[i][1], CLOSES[self.token[i][1]], 0
        while True:
            depth += (self.token[i][1] == opens) - (self.token[i][1] == closes)
            i += 1
            if depth == 0:
                return i

    def is_function(self, i):
        """Does the brace at i open a function's body? A type whose name a macro makes, struct K(x) {, is none."""
        if self.token[i - 1][1] != ")":
            return False
        depth, j = 0, i - 1
        while True:
            depth += (self.token[j][1] == ")") - (self.token[j][1] == "(")
            if depth == 0:
                return self.token[j - 2][1] not in ("struct", "union")
            j -= 1

    def read_file(self):
        i = 0
        while i < len(self.token):
            word = self.token[i][1]
            if word == "{" and self.is_function(i):
                try:
                    i = self.read(i)
                    continue
                except IndexError:
                    self.lost += 1
            i = self.past(i) if word in ("{", "(") else i + 1

    def read(self, i):
        """A statement at i; behind it."""
        kind, word = self.token[i]
        if word == "{":
            i += 1
            while self.token[i][1] != "}":
                i = self.read(i)
            return i + 1
        if word in BODIES:
            i = self.read(self.past(i + 1))
            return self.read(i + 1) if word == "if" and self.token[i][1] == "else" else i
        if word == "do":
            return self.past(self.read(i + 1) + 1) + 1
        if word in ("case", "default") or (kind == "name" and self.token[i + 1][1] == ":"):
            while self.token[i][1] != ":":
                i += 1
            return i + 1 if self.token[i + 1][1] == "}" else self.read(i + 1)
        first = i
        while self.token[i][1] != ";":
            i = self.past(i) if self.token[i][1] in CLOSES else i + 1
        self.statements.append(self.token[first:i])
        return i + 1


def is_declaration(statement):
    if statement[0][1] in TYPES:
        return True
    rest = [word for word in statement[1:] if word[1] not in ("*", "const")]
    return statement[0][0] == "name" and statement[0][1] != "return" and bool(rest) and rest[0][0] == "name"


def is_comma(statement):
    """Is it a comma expression?"""
    depth = 0
    for kind, word in statement:
        depth += (word in CLOSES) - (kind == "sign" and word in ")}]")
        if word == "," and depth == 0:
            return not is_declaration(statement)
    return False


def nests(statement):
    """Is a branch of a conditional, with or without parentheses around it, a conditional?"""
    open_here, before = [0], ""
    for kind, word in statement:
        before, last = word, before
        if word in CLOSES:
            open_here.append(int(last in ("?", ":")))
        elif kind == "sign" and word in ")}]":
            open_here.pop()
        elif word in (",", "="):
            open_here[-1] = 0
        elif word == "?":
            if open_here[-1]:
                return True
            open_here[-1] += 1
    return False


def count(texts):
    """Of comma statements, of nested conditionals, and of functions that could not be read."""
    commas = conditionals = lost = 0
    for text in texts:
        reader = Reader(text)
        lost += reader.lost
        commas += sum(is_comma(s) for s in reader.statements if s)
        conditionals += sum(nests(s) for s in reader.statements)
    return commas, conditionals, lost
