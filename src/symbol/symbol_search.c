#include "symbol/symbol_search.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/own.h"

#define STEP_BUDGET \
    (32u << 20)                /* a walk: symbols that lie over each other cost no more than this */
#define TIE_BUDGET (64u << 10) /* names that are read to choose among equals */
#define TIE_SIZE   128u

/* What was found for one address. */
struct match {
    uint64_t vaddr;
    uint64_t start;   /* the best symbol whose size covers it */
    uint64_t size;    /* 0: none yet */
    uint64_t nearest; /* the last start of any symbol at or before it; 0: none */
    uint64_t next;    /* the first start after it */
    uint32_t name;
    uint32_t nearest_name;
    uint8_t table;
    uint8_t nearest_table;
    bool is_local;
    bool is_label;
    bool nearest_has_size;
};

struct search {
    const struct sn_symbol_tables *tables;
    struct match *matches; /* sorted by address */
    size_t count;
    uint8_t table; /* that is walked now */
    uint32_t steps_left;
    uint32_t ties_left;
};

/* The first match at or after `vaddr`. */
static size_t first_at(const struct search *search, uint64_t vaddr)
{
    return sn_array_first(search->matches, search->count, sizeof(*search->matches), vaddr);
}

/* Of two names for the same code the plainer: fewer underscores in front, then the shorter, then
 * by the alphabet, so that it does not depend on the order of the table. */
static bool is_plainer(struct search *search, uint32_t name, uint32_t than)
{
    const struct sn_symbol_table *table = &search->tables->items[search->table];
    char one[TIE_SIZE];
    char other[TIE_SIZE];
    if (!search->ties_left)
        return false;
    search->ties_left--;
    size_t size = sn_elf_name(&table->file, &table->symbols, name, one, sizeof(one));
    size_t other_size = sn_elf_name(&table->file, &table->symbols, than, other, sizeof(other));
    size_t lead = strspn(one, "_");
    size_t other_lead = strspn(other, "_");
    if (lead != other_lead)
        return lead < other_lead;
    return size != other_size ? size < other_size : strcmp(one, other) < 0;
}

/* Both cover the address: the later start is the inner one, then the smaller. */
static bool is_better(struct search *search, const struct sn_elf_symbol *symbol,
                      const struct match *match)
{
    if (!match->size || symbol->start != match->start)
        return !match->size || symbol->start > match->start;
    if (symbol->size != match->size)
        return symbol->size < match->size;
    if (symbol->is_local != match->is_local)
        return match->is_local;
    if (symbol->is_label != match->is_label)
        return match->is_label;
    return is_plainer(search, symbol->name, match->name);
}

static void cover(struct search *search, const struct sn_elf_symbol *symbol, struct match *match)
{
    bool is_known = match->size && match->table != search->table; /* by a better table */
    if (is_known || !is_better(search, symbol, match))
        return;
    match->start = symbol->start;
    match->size = symbol->size;
    match->name = symbol->name;
    match->table = search->table;
    match->is_local = symbol->is_local;
    match->is_label = symbol->is_label;
}

static void note_nearest(struct search *search, const struct sn_elf_symbol *symbol,
                         struct match *match)
{
    bool is_nearer = symbol->start > match->nearest;
    if (!is_nearer && symbol->start == match->nearest && symbol->size)
        match->nearest_has_size = true;
    if (!is_nearer)
        return;
    match->nearest = symbol->start;
    match->nearest_name = symbol->name;
    match->nearest_table = search->table;
    match->nearest_has_size = symbol->size != 0;
}

/* Sizes that lead out of the code are lies. */
static bool is_sane(const struct sn_elf *elf, const struct sn_elf_symbol *symbol)
{
    uint64_t last = symbol->start + (symbol->size ? symbol->size - 1 : 0);
    return symbol->start && last >= symbol->start && sn_elf_is_code(elf, symbol->start) &&
           sn_elf_is_code(elf, last);
}

static bool take_symbol(void *user, const struct sn_elf_symbol *symbol)
{
    struct search *search = user;
    if (!is_sane(search->tables->elf, symbol))
        return true;
    size_t at = first_at(search, symbol->start);
    if (at < search->count)
        note_nearest(search, symbol, &search->matches[at]);
    if (at > 0 && symbol->start < search->matches[at - 1].next)
        search->matches[at - 1].next = symbol->start;
    for (; at < search->count && search->matches[at].vaddr - symbol->start < symbol->size; at++) {
        if (!search->steps_left)
            return false;
        search->steps_left--;
        cover(search, symbol, &search->matches[at]);
    }
    return true;
}

/* Neighbours were noted only at the addresses beside each symbol: carries them on. */
static void spread_neighbours(struct search *search)
{
    for (size_t i = 1; i < search->count; i++) {
        struct match *match = &search->matches[i];
        const struct match *before = match - 1;
        if (before->nearest <= match->nearest)
            continue;
        match->nearest = before->nearest;
        match->nearest_name = before->nearest_name;
        match->nearest_table = before->nearest_table;
        match->nearest_has_size = before->nearest_has_size;
    }
    for (size_t i = search->count; i-- > 1;) {
        if (search->matches[i].next < search->matches[i - 1].next)
            search->matches[i - 1].next = search->matches[i].next;
    }
}

struct sn_eh_frame sn_symbol_eh_frame(const struct sn_elf *elf)
{
    return (struct sn_eh_frame){.hdr_vaddr = elf->eh_frame_vaddr,
                                .hdr_offset = elf->eh_frame_offset,
                                .hdr_size = elf->eh_frame_size,
                                .vaddr_to_offset = elf->eh_frame_vaddr - elf->eh_frame_offset};
}

/* Bounds by .eh_frame; a symbol without size has what is left of them up to the next symbol. */
static void bound(const struct sn_symbol_tables *tables, struct match *match,
                  const struct match *before)
{
    const struct sn_eh_frame frame = sn_symbol_eh_frame(tables->elf);
    uint64_t start = before ? before->start : 0;
    uint64_t size = before && !before->name ? before->size : 0;
    bool is_known = match->vaddr - start < size; /* the same function again */
    if (!is_known && (!frame.hdr_size ||
                      !sn_eh_frame_bounds(&tables->file, &frame, match->vaddr, &start, &size)))
        return;
    match->start = start;
    match->size = size;
    match->name = 0;
    if (!match->nearest || match->nearest_has_size || match->nearest < start)
        return;
    uint64_t end = match->next < start + size ? match->next : start + size;
    match->start = match->nearest;
    match->size = end - match->nearest;
    match->name = match->nearest_name;
    match->table = match->nearest_table;
}

static void tell(const struct sn_symbol_tables *tables, const struct match *match,
                 sn_symbol_found_fn *found, void *user)
{
    const struct sn_symbol_table *table = &tables->items[match->table];
    char name[SN_SYMBOL_NAME_SIZE] = "";
    if (match->name) {
        size_t size = sn_elf_name(&table->file, &table->symbols, match->name, name, 256);
        if (size == 255) /* few are that long: C++ and Rust */
            (void)sn_elf_name(&table->file, &table->symbols, match->name, name, sizeof(name));
    }
    bool is_first = match->nearest <= match->start;
    uint64_t end = match->start + match->size;
    const struct sn_symbol_answer answer = {.start = match->start,
                                            .size = match->size,
                                            .from = is_first ? match->start : match->vaddr,
                                            .until = match->next < end ? match->next : end,
                                            .name = name};
    found(user, &answer);
}

static bool is_settled(const struct search *search)
{
    for (size_t i = 0; i < search->count; i++) {
        if (!search->matches[i].size)
            return false;
    }
    return true;
}

static void search_batch(const struct sn_symbol_tables *tables, const uint64_t *vaddrs,
                         struct match *matches, size_t count)
{
    struct search search = {.tables = tables,
                            .matches = matches,
                            .count = count,
                            .steps_left = STEP_BUDGET,
                            .ties_left = TIE_BUDGET};
    for (size_t i = 0; i < count; i++)
        matches[i] = (struct match){.vaddr = vaddrs[i], .next = UINT64_MAX};
    for (; search.table < tables->count && !is_settled(&search); search.table++) {
        const struct sn_symbol_table *table = &tables->items[search.table];
        sn_elf_walk(&table->file, &table->symbols, take_symbol, &search);
    }
    spread_neighbours(&search);
    for (size_t i = 0; i < count; i++) {
        if (!matches[i].size && sn_elf_is_code(tables->elf, matches[i].vaddr))
            bound(tables, &matches[i], i ? &matches[i - 1] : NULL);
    }
}

void sn_symbol_search(const struct sn_symbol_tables *tables, const uint64_t *vaddrs, size_t count,
                      sn_symbol_found_fn *found, void *user)
{
    size_t most = count < SN_SYMBOL_BATCH_MAX ? count : SN_SYMBOL_BATCH_MAX;
    SN_AUTO(sn_free) struct match *matches = calloc(most ? most : 1, sizeof(*matches));
    uint64_t start = 0;
    uint64_t size = 0;
    for (size_t done = 0; matches && done < count; done += most) {
        size_t here = count - done < most ? count - done : most;
        search_batch(tables, vaddrs + done, matches, here);
        for (size_t i = 0; i < here; i++) {
            const struct match *match = &matches[i];
            if (!match->size || (match->start == start && match->size == size))
                continue;
            tell(tables, match, found, user);
            start = match->start;
            size = match->size;
        }
    }
}
