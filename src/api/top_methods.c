/* A live view's methods: the stacks of a process, each frame named once. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/live_maps.h"
#include "api/top_internal.h"
#include "api/top_window.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/table.h"
#include "base/text.h"
#include "format/universal.h"
#include "symbol/code.h"
#include "symbol/kallsyms.h"
#include "symbol/methods.h"
#include "symbol/names.h"

#define METHODS_MAX   65536u
#define ADDRESSES_MAX (1u << 20)
#define TEXTS_LIMIT   (32u << 20)

struct sum {
    const char *name;
    const char *module;
    int code;
    uint64_t self_ns;
    uint64_t total_ns;
    uint64_t last_stack; /* the last one that counted it: recursion counts once */
};

struct sums {
    struct sonde_top *top;
    uint32_t pid;
    int doing;
    struct sn_table addresses; /* process and address to the number of a sum and one */
    struct sn_table names;     /* hash of name and module to the same */
    struct sum **items;        /* owns the list; they are in the arena of the texts */
    size_t count;
    size_t capacity;
    uint64_t stack_count;
    struct sn_buf text;
};

/* --- naming --- */

static int code_of(const struct sn_place *place)
{
    switch (place->kind) {
    case SN_PLACE_MANAGED:
    case SN_PLACE_NAMELESS: return SONDE_TOP_MANAGED;
    case SN_PLACE_STUB: return SONDE_TOP_RUNTIME;
    case SN_PLACE_NATIVE: return SONDE_TOP_NATIVE;
    case SN_PLACE_KERNEL: return SONDE_TOP_KERNEL;
    default: return SONDE_TOP_UNKNOWN;
    }
}

static const char *module_of(const struct sn_place *place)
{
    if (place->kind != SN_PLACE_MANAGED)
        return place->module ? place->module : "";
    const struct sn_module *module = sn_methods_module(place->methods, place->method->module_id);
    return module ? module->name : "";
}

static void name_of(const struct sn_place *place, struct sn_buf *to)
{
    if (place->kind == SN_PLACE_MANAGED)
        sn_name_readable(to, place->method->type, place->method->name);
    else if (place->kind == SN_PLACE_STUB)
        sn_buf_text(to, "[runtime stub]");
    else if (place->kind == SN_PLACE_NAMELESS)
        sn_buf_text(to, "[managed code without names]");
    else if (place->name && *place->name)
        sn_buf_text(to, place->name);
    else if (place->kind == SN_PLACE_KERNEL)
        sn_buf_text(to, "[kernel]");
    else if (place->module && *place->module)
        sn_buf_format(to, "%s!0x%" PRIx64, place->module, place->offset);
    else
        sn_buf_text(to, "[unknown]");
}

/* No event names the kernel's functions while it runs. Read once, and only if there is need. */
static void name_kernel(struct sonde_top *top, uint64_t address, struct sn_place *place)
{
    struct sn_kallsyms_symbol symbol;
    if (!top->has_asked_kernel)
        (void)sn_kallsyms_new(SN_KALLSYMS_PATH, &top->kernel, NULL);
    top->has_asked_kernel = true;
    if (top->kernel && sn_kallsyms_find(top->kernel, address, &symbol))
        place->name = symbol.name;
}

/* The sum of a name; its number and one, 0 without memory. */
static uint64_t sum_of(struct sums *sums, const struct sn_place *place)
{
    sn_buf_clear(&sums->text);
    name_of(place, &sums->text);
    const char *name = sn_buf_string(&sums->text);
    const char *module = module_of(place);
    uint64_t *number = sn_table_put(
        &sums->names, sn_text_hash(sn_text_hash((uint64_t)code_of(place), module), name));
    if (!number || *number)
        return number ? *number : 0;
    struct sum **items =
        sn_array_room(sums->items, sums->count, &sums->capacity, sizeof(struct sum *));
    struct sn_arena *texts = &sums->top->method_texts;
    struct sum *sum = sn_arena_alloc(texts, sizeof(*sum));
    if (items)
        sums->items = items;
    if (!items || !sum)
        return 0;
    *sum = (struct sum){.name = sn_arena_copy(texts, name, strlen(name)),
                        .module = sn_arena_copy(texts, module, strlen(module)),
                        .code = code_of(place)};
    if (!sum->name || !sum->module)
        return 0;
    items[sums->count++] = sum;
    return *number = sums->count;
}

/* Kernel addresses are the same in all processes. */
static struct sum *find_sum(struct sums *sums, const struct sn_top_stack *stack, uint64_t address,
                            bool is_return)
{
    uint64_t pid = sn_universal_is_kernel(address) ? 0 : stack->pid;
    uint64_t key = (address * 2 + is_return) ^ pid * 0x9E3779B97F4A7C15ull;
    uint64_t *number = sn_table_put(&sums->addresses, key);
    if (number && !*number) {
        struct sn_place place = {0};
        sn_code_find(sums->top->code, stack->pid, address, is_return, stack->last_ns, &place);
        if (place.kind == SN_PLACE_KERNEL && !(place.name && *place.name))
            name_kernel(sums->top, address - is_return, &place);
        *number = sum_of(sums, &place);
    }
    return number && *number ? sums->items[*number - 1] : NULL;
}

/* --- adding up --- */

/* Whether a frame is told of: where a thread waits the kernel's own frames are always the same. */
static bool is_told(const struct sums *sums, uint64_t address)
{
    return sums->doing == SONDE_TOP_RUNNING || !sn_universal_is_kernel(address);
}

/* Of a stack that ran: its leaf. Of one that waits: the innermost managed frame, else the leaf. */
static bool is_better_self(const struct sums *sums, const struct sum *before,
                           const struct sum *found)
{
    if (!before)
        return true;
    return sums->doing == SONDE_TOP_WAITING && before->code != SONDE_TOP_MANAGED &&
           found->code == SONDE_TOP_MANAGED;
}

static void sum_stack(void *user, const struct sn_top_stack *stack)
{
    struct sums *sums = user;
    enum sn_top_kind kind = sums->doing == SONDE_TOP_RUNNING ? SN_TOP_RUN : SN_TOP_WAIT;
    if ((sums->pid && stack->pid != sums->pid) || stack->kind != kind || !stack->weight_ns)
        return;
    struct sum *self = NULL;
    uint64_t weight_ns = stack->weight_ns;
    if (kind == SN_TOP_RUN)
        weight_ns = sn_top_clocks_real(&sums->top->clocks, stack->pid, weight_ns);
    sums->stack_count++;
    for (uint32_t i = 0; i < stack->depth; i++) {
        bool is_leaf = i == 0 || (sn_universal_is_kernel(stack->frames[i - 1]) &&
                                  !sn_universal_is_kernel(stack->frames[i]));
        struct sum *sum = is_told(sums, stack->frames[i])
                              ? find_sum(sums, stack, stack->frames[i], !is_leaf)
                              : NULL;
        if (!sum)
            continue;
        if (is_better_self(sums, self, sum))
            self = sum;
        if (sum->last_stack == sums->stack_count)
            continue;
        sum->last_stack = sums->stack_count;
        sum->total_ns += weight_ns;
    }
    if (self)
        self->self_ns += weight_ns;
}

/* All that will be named: what is native, together. */
static void want_stack(void *user, const struct sn_top_stack *stack)
{
    struct sums *sums = user;
    enum sn_top_kind kind = sums->doing == SONDE_TOP_RUNNING ? SN_TOP_RUN : SN_TOP_WAIT;
    if ((sums->pid && stack->pid != sums->pid) || stack->kind != kind || !stack->weight_ns)
        return;
    for (uint32_t i = 0; i < stack->depth; i++) {
        bool is_leaf = i == 0 || sn_universal_is_kernel(stack->frames[i - 1]);
        if (!sn_universal_is_kernel(stack->frames[i]))
            sn_live_maps_want(sums->top->maps, stack->pid, stack->frames[i] - !is_leaf);
    }
}

static int by_self(const void *left, const void *right)
{
    const struct sum *a = *(struct sum *const *)left;
    const struct sum *b = *(struct sum *const *)right;
    if (a->self_ns != b->self_ns)
        return a->self_ns < b->self_ns ? 1 : -1;
    if (a->total_ns != b->total_ns)
        return a->total_ns < b->total_ns ? 1 : -1;
    return strcmp(a->name, b->name);
}

static void show(struct sonde_top *top, const struct sum *sum, struct sonde_top_method *to)
{
    *to = (struct sonde_top_method){.code = sum->code,
                                    .self_percent = sn_top_percent(top, sum->self_ns),
                                    .total_percent = sn_top_percent(top, sum->total_ns),
                                    .name = sum->name,
                                    .module = sum->module};
}

int sonde_top_methods(struct sonde_top *top, uint32_t pid, int doing,
                      const struct sonde_top_method **ret_methods, size_t *ret_count,
                      struct sonde_error *err)
{
    struct sums sums = {.top = top,
                        .pid = pid,
                        .doing = doing,
                        .addresses = sn_table_with_limit(ADDRESSES_MAX),
                        .names = sn_table_with_limit(METHODS_MAX),
                        .text = sn_buf_with_limit(1u << 20)};
    sn_arena_done(&top->method_texts);
    top->method_texts = sn_arena_with_limit(TEXTS_LIMIT);
    sn_top_settle(top);
    sn_live_maps_begin(top->maps);
    sn_top_window_each(top->window, want_stack, &sums);
    sn_live_maps_settle(top->maps);
    sn_top_window_each(top->window, sum_stack, &sums);
    if (sums.count)
        qsort(sums.items, sums.count, sizeof(struct sum *), by_self);
    free(top->methods);
    top->methods = calloc(sums.count + 1, sizeof(*top->methods));
    for (size_t i = 0; top->methods && i < sums.count; i++)
        show(top, sums.items[i], &top->methods[i]);
    *ret_methods = top->methods;
    *ret_count = sums.count;
    sn_table_done(&sums.addresses);
    sn_table_done(&sums.names);
    sn_buf_done(&sums.text);
    free(sums.items);
    return top->methods ? SONDE_OK : sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a list");
}
