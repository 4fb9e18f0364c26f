#include "symbol/names.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

#define WRAP_MAX  8u    /* a lambda in a local function in an async method ... */
#define DEPTH_MAX 64u   /* brackets in brackets */
#define ARITY_MAX 1000u /* type parameters; the runtime allows no more than 65535 */

/* A piece of a name. */
struct piece {
    const char *at;
    const char *end;
};

/* What the compiler put around a name: <Main>g__Add|0_1. */
struct wrap {
    char kind;         /* 'd' state machine, 'b' lambda, 'g' local function, '$' entry point */
    struct piece name; /* of the local function */
};

/* A type on its way out. */
struct path {
    struct sn_buf *to;
    size_t start;           /* of the name in it */
    struct piece arguments; /* type arguments not written yet: "System.Int32,System.String" */
    size_t pending;         /* of those, the ones that belong to the method of a closure */
    bool in_closure;        /* its last part is a class that holds lambdas */
    bool in_machine;        /* its last part is the state machine of a method */
};

static size_t size_of(struct piece piece)
{
    return (size_t)(piece.end - piece.at);
}

static bool starts_with(struct piece piece, const char *prefix)
{
    size_t size = strlen(prefix);
    return size_of(piece) >= size && memcmp(piece.at, prefix, size) == 0;
}

static bool equals(struct piece piece, const char *text)
{
    return size_of(piece) == strlen(text) && starts_with(piece, text);
}

static void put(struct sn_buf *to, struct piece piece)
{
    sn_buf_append(to, piece.at, size_of(piece));
}

static void put_dot(struct path *path)
{
    if (path->to->size > path->start)
        sn_buf_u8(path->to, '.');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The `close` that ends what the character at `at` opens, or NULL. */
static const char *find_partner(const char *at, const char *end, char close)
{
    char open = *at;
    size_t depth = 0;
    for (; at < end; at++) {
        depth += *at == open;
        depth -= *at == close;
        if (depth == 0)
            return at;
    }
    return NULL;
}

/* The last `mark` (or '-', where dots may not stand) outside of angle brackets; NULL: none. */
static const char *find_last(struct piece piece, char mark, bool or_dash)
{
    size_t depth = 0;
    for (const char *at = piece.end; at-- > piece.at;) {
        if (*at == '>')
            depth++;
        else if (*at == '<')
            depth -= depth > 0;
        else if (depth == 0 && (*at == mark || (or_dash && *at == '-')))
            return at;
    }
    return NULL;
}

/* --- names of the compiler --- */

/* Takes one wrap off; false when there is none that we know. */
static bool unwrap(struct piece *name, struct wrap *ret_wrap)
{
    if (!starts_with(*name, "<"))
        return false;
    const char *close = find_partner(name->at, name->end, '>');
    if (!close || close == name->at + 1)
        return false;
    struct piece tail = {close + 1, name->end};
    *ret_wrap = (struct wrap){.name = tail};
    if (equals(tail, "d") || starts_with(tail, "d__"))
        ret_wrap->kind = 'd';
    else if (starts_with(tail, "b__"))
        ret_wrap->kind = 'b';
    else if (equals(tail, "$"))
        ret_wrap->kind = '$';
    else if (starts_with(tail, "g__") && (tail.end = memchr(tail.at, '|', size_of(tail)))) {
        ret_wrap->kind = 'g';
        ret_wrap->name = (struct piece){tail.at + 3, tail.end};
    } else
        return false;
    *name = (struct piece){name->at + 1, close};
    return true;
}

/* An interface as a method's name has it, without the namespaces of its arguments. */
static void put_interface(struct sn_buf *to, struct piece name, bool or_dash)
{
    size_t start = to->size;
    for (; name.at < name.end; name.at++) {
        if (*name.at == '.' || (or_dash && *name.at == '-')) {
            to->size = start;
            continue;
        }
        sn_buf_u8(to, (uint8_t)*name.at);
        if (*name.at == '<' || *name.at == ',')
            start = to->size;
    }
}

/* A name somebody wrote. Of an explicit implementation (System.Collections.IEnumerable.Reset) the
 * namespace is left out; a type's name has dashes for its dots. */
static void put_member(struct sn_buf *to, struct piece name, bool or_dash)
{
    const char *last = find_last(name, '.', or_dash);
    if (!last || last == name.at || *name.at == '.') {
        put(to, name);
        return;
    }
    put_interface(to, (struct piece){name.at, last}, or_dash);
    sn_buf_u8(to, '.');
    put(to, (struct piece){last + 1, name.end});
}

static bool put_arguments(struct path *path, size_t count);

/* <<Main>g__Add|0_1>d: Main.Add. What is pending belongs to the method within. */
static bool put_generated(struct path *path, struct piece name)
{
    struct wrap wraps[WRAP_MAX];
    size_t count = 0;
    while (count < WRAP_MAX && unwrap(&name, &wraps[count]))
        count++;
    put_member(path->to, name, count && wraps[0].kind == 'd');
    size_t pending = path->pending;
    path->pending = 0;
    if (!put_arguments(path, pending))
        return false;
    while (count-- > 0) {
        if (wraps[count].kind == 'b')
            sn_buf_text(path->to, ".{lambda}");
        if (wraps[count].kind == 'g') {
            sn_buf_u8(path->to, '.');
            put(path->to, wraps[count].name);
        }
    }
    return true;
}

static bool is_closure(struct piece name)
{
    return equals(name, "<>c") || starts_with(name, "<>c__") || starts_with(name, "_Closure$__");
}

static bool is_machine(struct piece name)
{
    struct wrap wrap;
    return starts_with(name, "VB$StateMachine_") || (unwrap(&name, &wrap) && wrap.kind == 'd');
}

/* VB$StateMachine_3_Load: Load. */
static struct piece name_of_vb_machine(struct piece name)
{
    name.at += strlen("VB$StateMachine_");
    const char *line = memchr(name.at, '_', size_of(name));
    return line ? (struct piece){line + 1, name.end} : name;
}

/* A type of one source file, <Orders>F3A0__Cache: Cache. */
static struct piece without_file(struct piece name)
{
    const char *close = starts_with(name, "<") ? find_partner(name.at, name.end, '>') : NULL;
    if (!close || close + 1 == name.end || close[1] != 'F')
        return name;
    const char *at = close + 2;
    while (at < name.end && (is_digit(*at) || (*at >= 'A' && *at <= 'F')))
        at++;
    struct piece rest = {at, name.end};
    return at > close + 2 && starts_with(rest, "__") ? (struct piece){at + 2, name.end} : name;
}

/* --- types --- */

/* Where a part of a type's name ends: Orders`1 of Orders`1+Line[System.Int32]. NULL: unbalanced. */
static const char *find_part_end(const char *at, const char *end)
{
    size_t depth = 0;
    for (; at < end; at++) {
        if (*at == '\\' && at + 1 < end)
            at++;
        else if (*at == '<')
            depth++;
        else if (*at == '>' && depth-- == 0)
            return NULL;
        else if (depth == 0 && strchr("+[],&*", *at))
            break;
    }
    return depth == 0 ? at : NULL;
}

/* Takes `1 off the end and returns the 1; 0: there is none. */
static size_t take_arity(struct piece *part)
{
    const char *at = part->end;
    size_t arity = 0;
    size_t unit = 1;
    while (at > part->at && is_digit(at[-1]) && unit < ARITY_MAX) {
        arity += (size_t)(*--at - '0') * unit;
        unit *= 10;
    }
    if (at == part->end || at == part->at || at[-1] != '`')
        return 0;
    part->end = at - 1;
    return arity;
}

static bool put_part(struct path *path, struct piece part, bool with_namespace)
{
    const char *dot = find_last(part, '.', false);
    struct piece name = {dot ? dot + 1 : part.at, part.end};
    if (with_namespace)
        put(path->to, (struct piece){part.at, name.at});
    if (starts_with(name, "<>f__AnonymousType"))
        sn_buf_text(path->to, "{anonymous}");
    else if (starts_with(name, "VB$StateMachine_"))
        put(path->to, name_of_vb_machine(name));
    else if (is_machine(name))
        return put_generated(path, name);
    else if (is_closure(name))
        sn_buf_text(path->to, "{closure}");
    else
        put(path->to, without_file(name));
    return true;
}

/* [], [,], [*]: the size of an array's brackets at `at`, 0 for those of type arguments. */
static size_t size_of_array(const char *at, const char *end)
{
    const char *start = at++;
    while (at < end && (*at == ',' || *at == '*'))
        at++;
    return at < end && *at == ']' ? (size_t)(at + 1 - start) : 0;
}

/* One type argument, without namespaces, and in it the arguments of nested types all at the end:
 * straight through, with a bit for each bracket that says what it was. */
struct argument_writer {
    struct path path; /* with nothing to distribute */
    uint64_t quoted;  /* [Name, Assembly, Version=...] */
    size_t depth;
    bool is_start; /* of a type's name */
};

static bool open_bracket(struct argument_writer *writer)
{
    if (writer->depth == DEPTH_MAX)
        return false;
    writer->depth++;
    writer->quoted = writer->quoted << 1 | writer->is_start;
    if (!writer->is_start)
        sn_buf_u8(writer->path.to, '<');
    writer->is_start = true;
    return true;
}

static bool close_bracket(struct argument_writer *writer)
{
    if (writer->depth == 0)
        return false;
    writer->depth--;
    if (!(writer->quoted & 1))
        sn_buf_u8(writer->path.to, '>');
    writer->quoted >>= 1;
    writer->is_start = false;
    return true;
}

static const char *put_argument_part(struct argument_writer *writer, const char *at,
                                     const char *end)
{
    struct piece part = {at, find_part_end(at, end)};
    if (!part.end || part.end == at)
        return NULL;
    at = part.end;
    (void)take_arity(&part);
    if (is_closure(part) && at < end && *at == '+')
        return at + 1;
    if (!put_part(&writer->path, part, !writer->is_start))
        return NULL;
    writer->is_start = false;
    return at;
}

/* Returns where it got to, or NULL. */
static const char *put_argument_piece(struct argument_writer *writer, const char *at,
                                      const char *end)
{
    size_t array_size = *at == '[' && !writer->is_start ? size_of_array(at, end) : 0;
    if (array_size || *at == '&' || *at == '*') {
        array_size += array_size == 0;
        sn_buf_append(writer->path.to, at, array_size);
        return at + array_size;
    }
    switch (*at) {
    case '[': return open_bracket(writer) ? at + 1 : NULL;
    case ']': return close_bracket(writer) ? at + 1 : NULL;
    case '+': sn_buf_u8(writer->path.to, '.'); return at + 1;
    case ',':
        if (writer->depth && (writer->quoted & 1)) /* the rest names the assembly */
            return memchr(at, ']', (size_t)(end - at));
        sn_buf_u8(writer->path.to, ',');
        writer->is_start = true;
        return at + 1;
    default: return put_argument_part(writer, at, end);
    }
}

static bool put_argument(struct sn_buf *to, struct piece argument)
{
    struct argument_writer writer = {.path = {.to = to}, .is_start = true};
    while (argument.at && argument.at < argument.end)
        argument.at = put_argument_piece(&writer, argument.at, argument.end);
    return argument.at && writer.depth == 0;
}

static struct piece take_argument(struct piece *arguments)
{
    struct piece taken = {arguments->at, arguments->at};
    size_t depth = 0;
    for (; taken.end < arguments->end && (depth || *taken.end != ','); taken.end++) {
        depth += *taken.end == '[';
        depth -= *taken.end == ']' && depth;
    }
    arguments->at = taken.end + (taken.end < arguments->end);
    return taken;
}

/* The next `count` type arguments, or as many as there are. */
static bool put_arguments(struct path *path, size_t count)
{
    if (count == 0 || path->arguments.at == path->arguments.end)
        return true;
    sn_buf_u8(path->to, '<');
    for (size_t i = 0; i < count && path->arguments.at < path->arguments.end; i++) {
        if (i)
            sn_buf_u8(path->to, ',');
        if (!put_argument(path->to, take_argument(&path->arguments)))
            return false;
    }
    sn_buf_u8(path->to, '>');
    return true;
}

/* Orders`1+Line: each part with its own arguments; a closure waits for what it is a closure of. */
static bool put_parts(struct path *path, struct piece name)
{
    while (name.at < name.end) {
        struct piece part = {name.at, find_part_end(name.at, name.end)};
        if (!part.end || (part.end < name.end && *part.end != '+'))
            return false;
        name.at = part.end + (part.end < name.end);
        size_t arity = take_arity(&part);
        path->in_closure = is_closure(part);
        path->in_machine = is_machine(part);
        if (path->in_closure) {
            path->pending = arity;
            continue;
        }
        put_dot(path);
        if (!put_part(path, part, true) || !put_arguments(path, arity))
            return false;
    }
    return true;
}

/* Splits Orders`1+Line[System.Int32][] into name, arguments and the rest. */
static bool split_type(struct piece type, struct piece *ret_name, struct piece *ret_arguments,
                       struct piece *ret_rest)
{
    const char *at = type.at;
    while ((at = find_part_end(at, type.end)) && at < type.end && *at == '+')
        at++;
    if (!at)
        return false;
    *ret_name = (struct piece){type.at, at};
    *ret_arguments = (struct piece){at, at};
    if (at < type.end && *at == '[' && size_of_array(at, type.end) == 0) {
        const char *close = find_partner(at, type.end, ']');
        if (!close)
            return false;
        *ret_arguments = (struct piece){at + 1, close};
        at = close + 1;
    }
    *ret_rest = (struct piece){at, type.end};
    return true;
}

static bool put_type(struct path *path, struct piece type)
{
    struct piece name;
    struct piece rest;
    if (equals(type, "dynamicClass")) {
        sn_buf_text(path->to, "{dynamic}");
        return true;
    }
    if (!split_type(type, &name, &path->arguments, &rest) || !put_parts(path, name))
        return false;
    if (!path->in_closure && !put_arguments(path, SIZE_MAX))
        return false;
    put(path->to, rest);
    return true;
}

static bool put_closure(struct path *path)
{
    put_dot(path);
    sn_buf_text(path->to, "{closure}");
    path->in_closure = false;
    return put_arguments(path, path->pending);
}

static bool put_method(struct path *path, struct piece method)
{
    struct piece inner = method;
    struct wrap wrap;
    if (path->in_machine && equals(method, "MoveNext"))
        return true;
    bool is_vb_lambda = starts_with(method, "_Lambda$__");
    bool is_generated = unwrap(&inner, &wrap);
    if (path->in_closure && !is_generated && !is_vb_lambda && !put_closure(path))
        return false;
    put_dot(path);
    if (is_generated)
        return put_generated(path, method);
    if (is_vb_lambda)
        sn_buf_text(path->to, "{lambda}");
    else if (starts_with(method, "<>m__Finally"))
        sn_buf_text(path->to, "{finally}");
    else
        put_member(path->to, method, false);
    return true;
}

static struct piece piece_of(const char *text)
{
    return (struct piece){text, text + strlen(text)};
}

void sn_name_readable(struct sn_buf *to, const char *type, const char *method)
{
    size_t start = to->size;
    struct path path = {.to = to, .start = start};
    if (put_type(&path, piece_of(type)) && put_method(&path, piece_of(method)))
        return;
    to->size = start; /* nothing we understand: as it is */
    sn_buf_text(to, type);
    if (*type)
        sn_buf_u8(to, '.');
    sn_buf_text(to, method);
}

void sn_name_type(struct sn_buf *to, const char *type)
{
    size_t start = to->size;
    struct path path = {.to = to, .start = start};
    if (put_type(&path, piece_of(type)) && (!path.in_closure || put_closure(&path)))
        return;
    to->size = start;
    sn_buf_text(to, type);
}

/* "instance void  (int32)" */
static bool returns_nothing(const char *signature)
{
    const char *end = strchr(signature, '(');
    while (end && end > signature && end[-1] == ' ')
        end--;
    return end && end - signature >= 4 && memcmp(end - 4, "void", 4) == 0;
}

bool sn_name_is_async(const char *type, const char *method, const char *signature)
{
    struct piece name;
    struct piece arguments;
    struct piece rest;
    if (strcmp(method, "MoveNext") != 0 || !returns_nothing(signature) ||
        !split_type(piece_of(type), &name, &arguments, &rest))
        return false;
    const char *plus = find_last(name, '+', false);
    name.at = plus ? plus + 1 : name.at;
    (void)take_arity(&name);
    return is_machine(name);
}
