"""Where C code can be mutated, read by libclang, and the text of a file with mutations in it.

A mutation wraps a part of the text and repeats nothing that another one wraps, so any number of them fit into one file:
`benchd_mutant_is(7)` is true while mutation 7 is switched on."""

import bisect
import re
import sys

sys.path.append("/usr/lib/python3/dist-packages")  # Debian's package, whichever python3 comes first
from clang import cindex  # noqa: E402

KIND, TYPE = cindex.CursorKind, cindex.TypeKind
NEGATE, DROP, SHIFT, SWAP, RETURN, ALWAYS, NEVER = "negate", "drop", "shift", "swap", "return", "always", "never"
BOUNDS = ("<", "<=", ">", ">=")
OPERATORS = (NEGATE, DROP, SHIFT, SWAP, RETURN, ALWAYS, NEVER)
ON = "benchd_mutant_is(@)"  # the mutant's number takes the place of @
HEAD = b"""extern int benchd_mutant; extern unsigned char *benchd_mutants_reached; \
static inline int benchd_mutant_is(int n) \
{ if (benchd_mutants_reached) { benchd_mutants_reached[n] = 1; } return benchd_mutant == n; }
#line 1
"""
NUMBERS = {TYPE.CHAR_S, TYPE.SCHAR, TYPE.UCHAR, TYPE.SHORT, TYPE.USHORT, TYPE.INT, TYPE.UINT, TYPE.LONG, TYPE.ULONG,
           TYPE.LONGLONG, TYPE.ULONGLONG, TYPE.ENUM, TYPE.POINTER}


def words(text):
    """What a row may name of a place: identifiers, numbers, characters and comparisons, and the words in texts."""
    return set(re.findall(r"'(?:\\.|[^'\\])'|\w+|->|[<>=!]=|[<>]|&&|\|\|", text))


class Place:
    """A part of a function that an operator fits. `wraps` has the edits: (start, end, put before, put after), in bytes."""

    def __init__(self, function, operator, line, text, wraps, callee=""):
        self.function, self.operator, self.line, self.wraps, self.callee = function, operator, line, wraps, callee
        self.text = " ".join(text.split())

    @property
    def words(self):
        return words(self.text)

    def is_in(self, other):
        return other.wraps[0][0] <= self.wraps[0][0] and self.wraps[0][1] <= other.wraps[0][1]

    def returning(self, value):
        """The same place, returning this expression."""
        start, end, before, after = self.wraps[0]
        before = before.replace(before[before.index("return"):], f"return {value}; }} ")
        return Place(self.function, self.operator, self.line, self.text, [(start, end, before, after)])


class Reader:
    """Finds the places of one file, or of some of its functions."""

    def __init__(self, path, code, args, functions=None):
        self.code, self.places, self.function, self.extremes = code, [], "", set()
        unit = cindex.Index.create().parse(path, args, [(path, code.decode())],
                                           cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
        self.errors = [d.spelling for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
        is_here = cindex.conf.lib.clang_Location_isFromMainFile
        top = [node for node in unit.cursor.get_children() if is_here(node.location)]
        self.macros = sorted(span(node) for node in top if node.kind == KIND.MACRO_INSTANTIATION)
        for node in top:
            if node.kind == KIND.FUNCTION_DECL and node.is_definition() and (functions is None or node.spelling in functions):
                self.function = node.spelling
                self.read_function(node)

    def text(self, node):
        start, end = span(node)
        return self.code[start:end].decode()

    def macro(self, node):
        """Of this text a macro makes "all", "part", or None."""
        start, end = span(node)
        at = bisect.bisect_right(self.macros, (start, len(self.code))) - 1
        if at < 0 or self.macros[at][1] <= start:
            return None
        if self.macros[at] == (start, end):
            return "all"
        return "part" if self.macros[at][1] >= end or self.macros[at][0] < start else None

    def add(self, operator, node, wraps, callee=""):
        line = self.code.count(b"\n", 0, span(node)[0]) + 1
        self.places.append(Place(self.function, operator, line, self.text(node), wraps, callee))

    def read_function(self, function):
        body = list(function.get_children())[-1]
        kind = function.result_type.get_canonical().kind
        statements = list(body.get_children()) if kind != TYPE.RECORD else []
        while statements and re.fullmatch(r"\(void\)\w+", self.text(statements[-1])):
            statements.pop()  # it does nothing: a return before it leaves out nothing
        for node in statements:
            if node.kind not in (KIND.DECL_STMT, KIND.LABEL_STMT) and self.macro(node) is None:
                start, value = span(node)[0], "" if kind == TYPE.VOID else "0"
                if self.code[start:start + 1] != b"#":  # a pragma and its loop
                    self.add(RETURN, node, [(start, start, f"if ({ON}) {{ return {value}; }} ", "")])
        self.read(body)

    def read(self, node, is_test=False):
        """All places in a statement or expression; is_test: somebody asks whether it is 0."""
        macro, children = self.macro(node), list(node.get_children())
        if macro == "part" or is_constant(node):
            return
        if is_test and macro == "all":
            self.add_condition(node, False)
            return
        if node.kind in (KIND.PAREN_EXPR, KIND.UNEXPOSED_EXPR) and len(children) == 1:
            self.read(children[0], is_test)
            return
        sign = self.sign(node, children)
        is_both = sign in ("&&", "||")
        if is_test or sign in ("==", "!=", "<", "<=", ">", ">=", "&&", "||", "!") or is_bool_call(node):
            self.add_condition(node, is_both)
        if macro is not None:
            return
        if sign in BOUNDS and span(node) not in self.extremes:
            self.add_bound(node, sign, children)
        if node.kind == KIND.CALL_EXPR:
            self.add_swaps(node)
        self.extremes |= self.extremes_of(node, children)
        tested = self.tested(node, children)
        for child in children:
            if node.kind == KIND.CASE_STMT and child == children[0]:
                continue
            if is_both:
                self.read(child, True)
            elif sign == "!":
                inner = without_parentheses(child)
                if self.sign(inner, list(inner.get_children())) in ("&&", "||"):
                    self.read(child, True)
                else:
                    self.read_parts(inner)
            elif node.kind in (KIND.COMPOUND_STMT, KIND.CASE_STMT, KIND.DEFAULT_STMT, KIND.LABEL_STMT):
                self.read_statement(child)
            else:
                self.read(child, tested == span(child))

    def read_statement(self, node):
        call = node
        if node.kind == KIND.CSTYLE_CAST_EXPR:
            call = without_parentheses(list(node.get_children())[-1])
        start, end = span(node)
        sign = self.sign(node, list(node.get_children()))
        if self.macro(node) is None and (call.kind == KIND.CALL_EXPR or sign == "=" or sign in ("++", "--") or
                                         node.kind == KIND.COMPOUND_ASSIGNMENT_OPERATOR):
            end = self.code.index(b";", end) + 1
            self.add(DROP, node, [(start, end, f"if (!{ON}) {{ ", " }")], call.spelling if call.kind == KIND.CALL_EXPR else "")
        if call.kind == KIND.CALL_EXPR:
            if self.macro(call) is None:
                self.read_parts(call)
        else:
            self.read(node)

    def read_parts(self, node):
        """The places below a node whose own value is not to be changed here."""
        if self.macro(node) is None:
            if node.kind == KIND.CALL_EXPR:
                self.add_swaps(node)
            for child in node.get_children():
                self.read(child)

    def sign(self, node, children):
        """The operator of an expression that is one."""
        if node.kind == KIND.BINARY_OPERATOR and len(children) == 2:
            between = self.code[span(children[0])[1]:span(children[1])[0]].decode()
            return re.sub(r"/\*.*?\*/|//[^\n]*|\s", "", between, flags=re.DOTALL)
        match = re.match(r"!|\+\+|--", self.text(node)) or re.search(r"\+\+$|--$", self.text(node))
        return match[0] if node.kind == KIND.UNARY_OPERATOR and match else ""

    def tested(self, node, children):
        """Where the condition of a statement or of ?: is; None: it has none."""
        if node.kind in (KIND.IF_STMT, KIND.WHILE_STMT, KIND.CONDITIONAL_OPERATOR):
            return span(children[0])
        if node.kind == KIND.DO_STMT:
            return span(children[-1])
        for child in children[:-1] if node.kind == KIND.FOR_STMT else []:
            if self.code[span(node)[0]:span(child)[0]].count(b";") == 1 and child.kind != KIND.DECL_STMT:
                return span(child)
        return None

    def extremes_of(self, node, children):
        """Where it takes the larger or the smaller of two values. Which one, if they are equal, changes nothing."""
        if node.kind not in (KIND.IF_STMT, KIND.CONDITIONAL_OPERATOR):
            return set()
        results = children[1:]
        if node.kind == KIND.IF_STMT:
            body = list(children[1].get_children())
            results = list(body[0].get_children()) if len(children) == 2 and len(body) == 1 and self.is_assignment(body[0]) else []
        texts = {self.text(widened(c)) for c in results}
        return {span(test) for test, sides in self.operands(children[0])
                if self.sign(test, sides) in BOUNDS and {self.text(widened(c)) for c in sides} == texts}

    def operands(self, node):
        """The conditions between && and ||, each with what it compares."""
        node = without_parentheses(node)
        sides = list(node.get_children())
        return [pair for side in sides for pair in self.operands(side)] if self.sign(node, sides) in ("&&", "||") else [(node, sides)]

    def is_assignment(self, node):
        return self.sign(node, list(node.get_children())) == "="

    def add_condition(self, node, is_both):
        start, end = span(node)
        self.add(ALWAYS, node, [(start, end, f"({ON} || (", "))")])
        self.add(NEVER, node, [(start, end, f"(!{ON} && (", "))")])
        if not is_both:
            self.add(NEGATE, node, [(start, end, f"({ON} ^ !!(", "))")])

    def add_bound(self, node, sign, children):
        """`<` becomes `<=`, and so on: the smaller side grows by one, or the larger one."""
        if all(child.type.get_canonical().kind in NUMBERS for child in children):
            start, end = span(children[0 if sign in ("<=", ">") else 1])
            self.add(SHIFT, node, [(start, end, "((", f") + {ON})")])

    def add_swaps(self, call):
        """Each two arguments in a row whose parameters have the same type."""
        arguments, types = list(call.get_arguments()), parameter_types(call)
        for i in range(min(len(arguments), len(types)) - 1):
            (a, b), texts = arguments[i:i + 2], [self.text(c) for c in arguments[i:i + 2]]
            if types[i] == types[i + 1] and texts[0] != texts[1] and self.macro(a) != "part" and self.macro(b) != "part":
                wraps = [(*span(c), f"({ON} ? ({other}) : (", "))") for c, other in zip((a, b), reversed(texts))]
                self.add(SWAP, call, wraps, call.spelling)
                self.places[-1].text = f"{call.spelling}(.. {texts[0]}, {texts[1]} ..)"


def span(node):
    return node.extent.start.offset, node.extent.end.offset


def without_parentheses(node):
    while node.kind in (KIND.PAREN_EXPR, KIND.UNEXPOSED_EXPR) and len(children := list(node.get_children())) == 1:
        node = children[0]
    return node


def widened(node):
    """What a cast to a type that has all its values is of."""
    inner = without_parentheses(list(node.get_children())[-1]) if node.kind == KIND.CSTYLE_CAST_EXPR else node
    return inner if node.type.get_size() > inner.type.get_size() else node


def is_constant(node):
    """Must the compiler know it? Then no switch fits in."""
    return node.kind in (KIND.STATIC_ASSERT, KIND.ENUM_DECL, KIND.CXX_UNARY_EXPR) or (
        node.kind == KIND.VAR_DECL and node.storage_class == cindex.StorageClass.STATIC)


def is_bool_call(node):
    return node.kind == KIND.CALL_EXPR and node.type.get_canonical().kind == TYPE.BOOL


def parameter_types(call):
    kind = call.get_children()
    callee = next(kind, None)
    kind = callee.type.get_canonical() if callee is not None else None
    if kind is not None and kind.kind == TYPE.POINTER:
        kind = kind.get_pointee()
    return [t.spelling.replace("const ", "") for t in kind.argument_types()] if kind is not None and kind.kind == TYPE.FUNCTIONPROTO else []


def numbered(text, number):
    return text.replace(ON, ON.replace("@", str(number)))


def mutated(code, mutants):
    """The text of a file with mutants in it: pairs of a number and a Place."""
    edits = []
    for number, place in mutants:
        for start, end, before, after in place.wraps:
            # At one place: first what ends there, the innermost first; then what begins, the outermost first.
            edits.append((start, 1, -(end if end > start else len(code) + 1), number, numbered(before, number)))
            if after:
                edits.append((end, 0, -start, -number, numbered(after, number)))
    parts, last = [HEAD], 0
    for at, _, _, _, text in sorted(edits):
        parts += [code[last:at], text.encode()]
        last = at
    return b"".join(parts + [code[last:]])


# What a draw leaves out because no test can see it. Kinds with their reasons, never single places.
UNSEEN_CALLS = re.compile("|".join((
    r"log_\w+",  # what is logged is for people
    r"\w*_reserve",  # room for later
    r"assert",
    r"lock|(pthread|uv)_mutex_lock",  # tsan finds what is not locked
    r"spin|wait_a_little",  # a wait that is left out only costs CPU time
    r"uv_update_time",  # a timer that comes too early finds nothing to do
)))
# A bound of two times that is one nanosecond off, and one of a descriptor at 0, which is stdin's.
UNSEEN_BOUNDS = re.compile(r"_ns\b.* [<>]=? .*_ns\b|fd [<>]=? 0$")
# These functions do not care for the order of their arguments, or for its sign alone.
SYMMETRIC_CALLS = re.compile(r"\w+_eq|json_equal|strcmp|strncmp|memcmp|fmin|fmax|dot|is_same_place|compare_curves")


def is_drawn(place):
    """Is the place one for script/mutate --draw? Which of two equal values counts as the larger is left out by extremes_of()."""
    if place.operator == DROP:
        return place.callee != "" and not UNSEEN_CALLS.fullmatch(place.callee)
    if place.operator == RETURN:
        return not place.text.startswith("return")
    if place.operator == SHIFT:
        return not UNSEEN_BOUNDS.search(place.text)
    return place.operator == NEGATE or place.operator == SWAP and not SYMMETRIC_CALLS.fullmatch(place.callee)
