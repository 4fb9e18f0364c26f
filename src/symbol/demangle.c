#include "symbol/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

/* Parameters tell overloads apart; what a function returns does not help to find it. The limit of
 * recursion stays on: DMGL_NO_RECURSE_LIMIT is not among them. */
#define CPLUS_OPTIONS (DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP)
#define OUTPUT_MAX    (64u << 10)
#define ELLIPSIS      "..."

struct output {
    char *to;
    size_t size;
    size_t used; /* with what did not fit */
    jmp_buf enough;
};

/* What does not fit is passed over. But a name of a few hundred bytes can stand for a text of more
 * than the universe holds, by repeating parts of parts, and the library goes on printing whatever
 * becomes of it: after a while we leave it behind. Its state lives on the stack, but for an
 * identifier that it is printing and that is not ASCII: that much is lost, once such a name. */
static void append(const char *text, size_t size, void *user)
{
    struct output *output = user;
    size_t room = output->used < output->size - 1 ? output->size - 1 - output->used : 0;
    size_t part = size < room ? size : room;
    if (part) /* an empty text may be NULL */
        memcpy(output->to + output->used, text, part);
    output->used += size;
    if (output->used > OUTPUT_MAX)
        longjmp(output->enough, 1);
}

static bool demangle(const char *name, struct output *output)
{
    if (setjmp(output->enough))
        return true;
    if (rust_demangle_callback(name, DMGL_ANSI, append, output) && output->used)
        return true;
    output->used = 0;
    return cplus_demangle_v3_callback(name, CPLUS_OPTIONS, append, output) && output->used;
}

const char *sn_demangle(const char *name, char *to, size_t size)
{
    struct output output = {.to = to, .size = size};
    bool is_mangled = name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' || name[1] == 'G');
    if (is_mangled && size > sizeof(ELLIPSIS) &&
        strnlen(name, SN_DEMANGLE_INPUT_MAX) < SN_DEMANGLE_INPUT_MAX && demangle(name, &output)) {
        if (output.used < size)
            to[output.used] = 0;
        else
            memcpy(to + size - sizeof(ELLIPSIS), ELLIPSIS, sizeof(ELLIPSIS));
        return to;
    }
    size_t length = strnlen(name, size - 1);
    memcpy(to, name, length);
    to[length] = 0;
    return to;
}
