/* YAML (and JSON, its subset) to a tree: libyaml's events, one recursive descent, see tree.h.
 *
 * Errors of syntax, encoding and limits end the parsing. After an error of meaning (a trap, a
 * duplicate key) it continues, so that all of them are reported at once. An anchor is known only
 * when its node is complete, hence no cycles; an alias is a copy that counts towards the limits
 * before it is made. */
#include "doc/tree.h"

#include <errno.h>
#include <string.h>

#include <yaml.h>

#include "base/mem.h"
#include "base/str.h"

#define MAP_KEYS_MAX 1000 /* a key is compared with all before it */

struct anchor {
    char *name;
    const struct node *node; /* in the tree that is being built */
};

struct loader {
    yaml_parser_t parser;
    const char *text;
    size_t len;
    const struct tree_limits *limits;
    size_t nodes; /* so far, aliases expanded */
    size_t bytes; /* of keys and texts so far, aliases expanded */
    unsigned depth;
    struct buf path;
    VEC(struct anchor) anchors;
    struct diags *diags;
    size_t n_errors;
};

static struct mark to_mark(yaml_mark_t mark)
{
    return (struct mark){.line = (unsigned)mark.line + 1, .column = (unsigned)mark.column + 1};
}

/* Returns -EINVAL. */
static __attribute__((format(printf, 4, 5))) int complain(struct loader *l, struct mark mark,
                                                          const char *fix, const char *fmt, ...)
{
    diags_add_text(l->diags, NULL, mark, buf_cstr(&l->path), fix, xasprintf_rest(fmt));
    l->n_errors++;
    return -EINVAL;
}

/* Line and column of a byte, for errors below the level of characters. */
static struct mark mark_of_offset(const struct loader *l, size_t offset)
{
    struct mark mark = {1, 1};
    for (size_t i = 0; i < offset && i < l->len; i++) {
        if (l->text[i] == '\n') {
            mark = (struct mark){mark.line + 1, 1};
        } else if (((unsigned char)l->text[i] & 0xc0) != 0x80) {
            mark.column++;
        }
    }
    return mark;
}

/* What libyaml says of the slips that people make most, and what to do. */
static const struct {
    const char *problem, *fix; /* problem: how its text begins */
} slips[] = {
    {"could not find expected ':'", "write a space after the ':' of this line, or quote its text"},
    {"mapping values are not", "quote a text with ': '; write a space after a '-', also above"},
    {"found character that", "put quotes around a text that begins with this character"},
    {"found unknown escape", "use single quotes: in double quotes '\\' begins an escape sequence"},
    {"did not find expected ','", "close the bracket, or quote a text that has , ? [ ] { }"},
};

static int complain_syntax(struct loader *l)
{
    const yaml_parser_t *p = &l->parser;
    const char *problem = p->problem == NULL ? "out of memory" : p->problem;
    if (p->error == YAML_READER_ERROR) {
        complain(l, mark_of_offset(l, p->problem_offset), "save the file as UTF-8",
                 "the file is not valid UTF-8: %s", p->problem);
    } else if (p->error == YAML_SCANNER_ERROR && *p->buffer.pointer == '\t') { /* stopped there */
        complain(l, to_mark(p->problem_mark), "indent with spaces",
                 "YAML does not allow a tab here");
    } else {
        const typeof(slips[0]) *slip =
            array_find(slips, COUNT_OF(slips), it, str_has_prefix(problem, it->problem));
        /* Without its ':' a key is not found before the next line. */
        const bool is_above = slip == &slips[0];
        bool has_context =
            p->context != NULL && !is_above && p->context_mark.line != p->problem_mark.line;
        char *context = has_context ? xasprintf(" (%s that starts on line %zu)", p->context,
                                                p->context_mark.line + 1)
                                    : xstrdup("");
        complain(l, to_mark(is_above ? p->context_mark : p->problem_mark),
                 slip != NULL ? slip->fix : "check indentation, quotes and brackets here",
                 "not valid YAML: %s%s", problem, context);
        free(context);
    }
    return -EINVAL;
}

static int next_event(struct loader *l, yaml_event_t *ret)
{
    return yaml_parser_parse(&l->parser, ret) ? 0 : complain_syntax(l);
}

/* Takes one more node and `bytes` of text from the limits. */
static int spend(struct loader *l, struct mark mark, size_t nodes, size_t bytes)
{
    l->nodes += nodes;
    l->bytes += bytes;
    if (l->nodes > l->limits->nodes) {
        return complain(l, mark, "make the file smaller; an alias counts as a copy of its anchor",
                        "the file has more than %zu values", l->limits->nodes);
    }
    if (l->bytes > 4 * l->limits->bytes) {
        return complain(l, mark, "make the file smaller; an alias counts as a copy of its anchor",
                        "the file has more than %zu bytes with its aliases expanded",
                        4 * l->limits->bytes);
    }
    return 0;
}

static struct node *complain_depth(struct loader *l, struct mark mark)
{
    (void)complain(l, mark, "reduce the nesting", "is nested deeper than %u levels",
                   l->limits->depth); /* NULL says it */
    return NULL;
}

static struct node *load_alias(struct loader *l, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;
    struct mark mark = to_mark(event->start_mark);
    const struct node *source = NULL;
    vec_each (struct anchor, it, &l->anchors) {
        if (str_eq(it->name, name)) {
            source = it->node; /* the last one wins, as YAML says */
        }
    }
    if (source == NULL) {
        complain(l, mark, "define the whole anchor before the alias",
                 "alias '*%s' has no complete anchor '&%s' before it", name, name);
        return NULL;
    }
    const struct tree_size size = tree_measure(source);
    if (spend(l, mark, size.nodes, size.bytes) < 0) {
        return NULL;
    }
    if (l->depth + size.depth > l->limits->depth) {
        return complain_depth(l, mark);
    }
    struct node *copy = tree_copy(source);
    free(copy->key);
    copy->key = NULL;
    return copy;
}

static void check_tag(struct loader *l, struct mark mark, const yaml_char_t *tag)
{
    if (tag != NULL) {
        complain(l, mark, "remove the tag", "tag '%s' is not supported", (const char *)tag);
    }
}

/* A value, or a key, which must be a text on its face. */
static struct node *load_scalar(struct loader *l, const yaml_event_t *event, bool is_key)
{
    const char *text = (const char *)event->data.scalar.value, *why, *fix;
    const yaml_char_t *tag = event->data.scalar.tag;
    const bool is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && tag == NULL;
    struct node *node = tree_new(NODE_STRING);
    node->mark = to_mark(event->start_mark);
    if (spend(l, node->mark, !is_key, event->data.scalar.length) < 0) {
        tree_free(node);
        return NULL;
    }
    if (strlen(text) != event->data.scalar.length) {
        complain(l, node->mark, "remove it", "the %s contains a NUL character",
                 is_key ? "key" : "string");
    }
    check_tag(l, node->mark, tag);
    if (is_plain && tree_resolve_plain(text, node, &why, &fix) == 0) {
        return node;
    }
    if (is_plain) {
        complain(l, node->mark, is_key ? "put quotes around the key" : fix, "unquoted %s'%s' %s",
                 is_key ? "key " : "", text, why);
    }
    node->kind = NODE_STRING;
    node->s = xstrdup(text);
    return node;
}

/* NULL: the reading cannot go on, and why was noted. The event stays the caller's. */
static struct node *load_node(struct loader *l, const yaml_event_t *event);

static struct node *load_next(struct loader *l)
{
    yaml_event_t event;
    if (next_event(l, &event) < 0) {
        return NULL;
    }
    struct node *node = load_node(l, &event);
    yaml_event_delete(&event);
    return node;
}

/* Children add their step to the path while they are read; this takes it off again. */
static void cut_path(struct loader *l, size_t len)
{
    l->path.len = len;
    l->path.data[len] = '\0';
}

/* The value of a key, which is owned by the caller. */
static int load_value(struct loader *l, struct node *map, const char *key, const struct node *is)
{
    const struct node *first = tree_get(map, key);
    if (first != NULL) {
        complain(l, is->mark, "remove one of the two", "duplicate key '%s': it is also on line %u",
                 key, first->key_mark.line);
    }
    if (map->n_children == MAP_KEYS_MAX) {
        return complain(l, is->mark, NULL, "the map has more than %d keys", MAP_KEYS_MAX);
    }
    struct node *child = load_next(l);
    if (child == NULL) {
        return -EINVAL;
    }
    child->key = xstrdup(key);
    child->key_kind = is->kind;
    child->key_mark = is->mark;
    /* A second value is kept as well: anchors may point into it, and the reading fails anyway. */
    tree_append_take(map, child);
    return 0;
}

static int load_pair(struct loader *l, struct node *map, const yaml_event_t *event)
{
    const struct mark mark = to_mark(event->start_mark);
    if (event->type != YAML_SCALAR_EVENT) {
        return complain(
            l, mark,
            "write the key as a plain word; render a template with {{...}} first, or quote it",
            "a key must be a string");
    }
    const char *key = (const char *)event->data.scalar.value;
    buf_printf(&l->path, "%s%s", l->path.len == 0 ? "" : ".", key);
    struct node *is = load_scalar(l, event, true);
    if (is != NULL && str_eq(key, "<<") && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
        complain(l, mark, "write the keys out, or use an alias for the whole value",
                 "merge keys ('<<') are not supported");
    }
    const int r = is == NULL ? -EINVAL : load_value(l, map, key, is);
    tree_free(is);
    return r;
}

static int load_item(struct loader *l, struct node *list, const yaml_event_t *event)
{
    buf_printf(&l->path, "[%zu]", list->n_children);
    struct node *child = load_node(l, event);
    if (child == NULL) {
        return -EINVAL;
    }
    tree_append_take(list, child);
    return 0;
}

static int load_children(struct loader *l, struct node *parent)
{
    for (;;) {
        yaml_event_t event;
        int r = next_event(l, &event);
        if (r < 0) {
            return r;
        }
        const bool is_end =
            event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
        if (!is_end) {
            const size_t path_len = l->path.len;
            buf_puts(&l->path, ""); /* so that it can be cut */
            r = parent->kind == NODE_MAP ? load_pair(l, parent, &event)
                                         : load_item(l, parent, &event);
            cut_path(l, path_len);
        }
        yaml_event_delete(&event);
        if (is_end || r < 0) {
            return r;
        }
    }
}

static bool is_number(enum node_kind kind)
{
    return kind == NODE_INT || kind == NODE_FLOAT;
}

/* "{workers: 1,2,4}" is a map with the keys workers, 2 and 4: what was meant are the values of one.
 * How many children there are of that kind after the one at `i`. */
static size_t count_loose(const struct node *map, size_t i)
{
    size_t n = 0;
    while (is_number(map->children[i]->kind) && i + n + 1 < map->n_children &&
           is_number(map->children[i + n + 1]->key_kind) &&
           map->children[i + n + 1]->kind == NODE_NULL) {
        n++;
    }
    return n;
}

static void complain_loose(struct loader *l, struct node *const *children, size_t n)
{
    const struct node *first = children[0];
    _cleanup_(buf_done) struct buf fix = BUF_INIT;
    buf_printf(&fix, "write '%s: [", first->key);
    tree_put_scalar(first, &fix);
    for (size_t i = 1; i <= n; i++) {
        buf_printf(&fix, ", %s", children[i]->key);
    }
    buf_puts(&fix, "]'");
    complain(l, children[1]->key_mark, buf_cstr(&fix), "several values must be a list");
}

static void check_keys(struct loader *l, const struct node *map)
{
    size_t n_loose;
    for (size_t i = 0; i < map->n_children; i += 1 + n_loose) {
        const struct node *child = map->children[i];
        const size_t path_len = l->path.len;
        buf_printf(&l->path, "%s%s", path_len == 0 ? "" : ".", child->key);
        if (child->key_kind != NODE_STRING) {
            complain(l, child->key_mark, "put quotes around the key",
                     "key '%s' is %s; keys must be strings", child->key,
                     node_kind_to_string(child->key_kind));
        }
        n_loose = count_loose(map, i);
        if (n_loose > 0) {
            complain_loose(l, &map->children[i], n_loose);
        }
        cut_path(l, path_len);
    }
}

static struct node *load_collection(struct loader *l, const yaml_event_t *event)
{
    bool is_map = event->type == YAML_MAPPING_START_EVENT;
    struct mark mark = to_mark(event->start_mark);
    check_tag(l, mark, is_map ? event->data.mapping_start.tag : event->data.sequence_start.tag);
    if (spend(l, mark, 1, 0) < 0) {
        return NULL;
    }
    struct node *node = tree_new(is_map ? NODE_MAP : NODE_SEQ);
    node->mark = mark;
    const int r = load_children(l, node);
    if (is_map) {
        check_keys(l, node);
    }
    if (r < 0) {
        tree_free(node);
        return NULL;
    }
    return node;
}

static struct node *load_node(struct loader *l, const yaml_event_t *event)
{
    if (event->type == YAML_ALIAS_EVENT) {
        return load_alias(l, event);
    }
    struct node *node;
    const yaml_char_t *anchor;
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        node = load_scalar(l, event, false);
    } else {
        anchor = event->type == YAML_MAPPING_START_EVENT ? event->data.mapping_start.anchor
                                                         : event->data.sequence_start.anchor;
        if (l->depth == l->limits->depth) {
            return complain_depth(l, to_mark(event->start_mark));
        }
        l->depth++;
        node = load_collection(l, event);
        l->depth--;
    }
    if (node != NULL && anchor != NULL) {
        *vec_push(&l->anchors) = (struct anchor){xstrdup((const char *)anchor), node};
    }
    return node;
}

/* The next event must be of this type. */
static int expect(struct loader *l, yaml_event_type_t type, const char *fix, const char *message)
{
    yaml_event_t event;
    const int r = next_event(l, &event);
    if (r < 0) {
        return r;
    }
    const struct mark mark = to_mark(event.start_mark);
    const bool is_right = event.type == type;
    yaml_event_delete(&event);
    return is_right ? 0 : complain(l, mark, fix, "%s", message);
}

static int load_document(struct loader *l, struct node **ret)
{
    static const char more[] = "a second document starts here",
                      more_fix[] = "keep one document in a file; remove everything from '---' on";
    if (expect(l, YAML_STREAM_START_EVENT, NULL, "") < 0 ||
        expect(l, YAML_DOCUMENT_START_EVENT,
               "for a definition of a program: benchctl init -- COMMAND",
               "the file is empty") < 0) {
        return -EINVAL;
    }
    *ret = load_next(l);
    return *ret == NULL || expect(l, YAML_DOCUMENT_END_EVENT, more_fix, more) < 0
               ? -EINVAL
               : expect(l, YAML_STREAM_END_EVENT, more_fix, more);
}

/* Three characters are line breaks in YAML, which may end a key and are trimmed around; in JSON
 * they are letters. */
static const char *const breaks[][2] = {
    {"\xc2\x85", "\\u0085"}, {"\xe2\x80\xa8", "\\u2028"}, {"\xe2\x80\xa9", "\\u2029"}};

static bool begins(const char *text, size_t len, const char *with)
{
    return len >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

/* Escapes them in the texts of a JSON document. */
static void escape_breaks(const char *text, size_t len, struct buf *ret)
{
    bool is_text = false;
    for (size_t i = 0; i < len; i++) {
        const char *const(*found)[2] =
            is_text ? array_find(breaks, COUNT_OF(breaks), it, begins(text + i, len - i, (*it)[0]))
                    : NULL;
        if (found != NULL) {
            buf_puts(ret, (*found)[1]);
            i += strlen((*found)[0]) - 1;
            continue;
        }
        is_text ^= text[i] == '"';
        buf_putc(ret, text[i]);
        if (text[i] == '\\' && i + 1 < len) {
            buf_putc(ret, text[++i]);
        }
    }
}

int tree_parse(const char *text, size_t len, const struct tree_limits *limits, struct node **ret,
               struct diags *diags)
{
    _cleanup_(buf_done) struct buf json = BUF_INIT;
    if (len > limits->bytes) {
        diags_add(diags, (struct mark){0}, "", NULL, "the file is larger than %zu bytes",
                  limits->bytes);
        return -EINVAL;
    }
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3; /* a byte order mark says nothing here */
        len -= 3;
    }
    if (len > 0 && text[0] == '{' &&
        array_any(breaks, COUNT_OF(breaks), it, memmem(text, len, (*it)[0], strlen((*it)[0])))) {
        escape_breaks(text, len, &json);
        text = json.data;
        len = json.len;
    }
    struct loader l = {.text = text, .len = len, .limits = limits, .diags = diags};
    if (!yaml_parser_initialize(&l.parser)) {
        abort(); /* as base/mem.h: memory is gone */
    }
    yaml_parser_set_encoding(&l.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&l.parser, (const unsigned char *)text, len);
    struct node *root = NULL;
    int r = load_document(&l, &root);
    yaml_parser_delete(&l.parser);
    vec_each (struct anchor, it, &l.anchors) {
        free(it->name);
    }
    vec_done(&l.anchors);
    buf_done(&l.path);
    if (r < 0 || l.n_errors > 0) {
        tree_free(root);
        return -EINVAL;
    }
    *ret = root;
    return 0;
}
