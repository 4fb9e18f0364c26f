#include "dwarf/line_search.h"

#include <elfutils/libdw.h>
#include <gelf.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

struct search {
    const uint64_t *addresses;
    size_t count;
    int out;
};

/* The first address that is not below `from`. */
static size_t first_from(const struct search *search, uint64_t from)
{
    size_t low = 0;
    size_t high = search->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (search->addresses[middle] < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* In one piece, which a pipe takes whole or not at all. */
static bool tell(const struct search *search, uint64_t address, Dwarf_Line *line)
{
    uint8_t bytes[sizeof(struct sn_line_answer) + SN_LINE_FILE_MAX];
    _Static_assert(sizeof(bytes) <= PIPE_BUF, "so says pipe(7)");
    int number = 0;
    const char *file = dwarf_linesrc(line, NULL, NULL);
    if (!file || dwarf_lineno(line, &number) != 0 || number <= 0)
        return true;
    size_t size = strnlen(file, SN_LINE_FILE_MAX);
    const struct sn_line_answer answer = {address, (uint32_t)number, (uint32_t)size};
    memcpy(bytes, &answer, sizeof(answer));
    memcpy(bytes + sizeof(answer), file, size);
    return write(search->out, bytes, sizeof(answer) + size) == (ssize_t)(sizeof(answer) + size);
}

/* The addresses of [start, end), which lie in `unit`. */
static bool search_range(const struct search *search, Dwarf_Die *unit, uint64_t start, uint64_t end)
{
    size_t i = first_from(search, start);
    for (; i < search->count && search->addresses[i] < end; i++) {
        Dwarf_Line *line = dwarf_getsrc_die(unit, search->addresses[i]);
        if (line && !tell(search, search->addresses[i], line))
            return false;
    }
    return true;
}

static bool search_unit(const struct search *search, Dwarf_Die *unit)
{
    Dwarf_Addr base = 0;
    Dwarf_Addr start = 0;
    Dwarf_Addr end = 0;
    ptrdiff_t next = 0;
    while ((next = dwarf_ranges(unit, next, &base, &start, &end)) > 0)
        if (start < end && !search_range(search, unit, start, end))
            return false;
    return true;
}

/* By the ranges of every unit: the index of them all, .debug_aranges, is not always there. */
static void search_all(const struct search *search, Dwarf *dwarf)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    while (dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0)
        if (!search_unit(search, &die))
            return;
}

void sn_line_search(int in, const uint64_t *addresses, size_t count, int out)
{
    const struct search search = {addresses, count, out};
    if (elf_version(EV_CURRENT) == EV_NONE)
        return;
    Elf *elf = elf_begin(in, ELF_C_READ, NULL); /* never mapped: the file may shrink meanwhile */
    Dwarf *dwarf = elf ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
    if (dwarf)
        search_all(&search, dwarf);
    (void)dwarf_end(dwarf);
    (void)elf_end(elf);
}
