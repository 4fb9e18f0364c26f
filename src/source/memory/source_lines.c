#include "source/memory/source_lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/own.h"
#include "base/table.h"
#include "format/pe.h"
#include "source/memory/memory.h"
#include "source/memory/memory_pe.h"
#include "source/memory/type_system.h"
#include "symbol/methods.h"
#include "symbol/pdb_file.h"

#define MODULE_LIMIT (1u << 16)
#define READ_LIMIT   ((size_t)1 << 30) /* bytes of all PDBs together */
#define PATH_LIMIT   4096u
#define NAME_LIMIT   4096u
#define METHOD_TOKEN 0x06u

struct module {
    uint8_t pdb_guid[16]; /* what was looked for: another module may have its address later */
    bool has_pdb;
    struct sn_pdb_file file; /* owns, when it has one */
};

struct sn_source_lines {
    struct sn_memory *memory;     /* borrows */
    struct sn_table module_index; /* address of a module -> its place in `modules`, from 1 */
    struct module *modules;       /* owns */
    size_t module_count;
    size_t module_capacity;
    size_t readable; /* bytes that may still be read */
    struct sn_buf name;
};

int sn_source_lines_new(struct sn_memory *memory, struct sn_source_lines **ret_lines,
                        struct sonde_error *err)
{
    struct sn_source_lines *lines = calloc(1, sizeof(*lines));
    if (!lines)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for source lines");
    lines->memory = memory;
    lines->module_index = sn_table_with_limit(MODULE_LIMIT);
    lines->name = sn_buf_with_limit(NAME_LIMIT);
    lines->readable = READ_LIMIT;
    *ret_lines = lines;
    return SONDE_OK;
}

void sn_source_lines_free(struct sn_source_lines *lines)
{
    if (!lines)
        return;
    for (size_t i = 0; i < lines->module_count; i++) {
        if (lines->modules[i].has_pdb)
            sn_pdb_file_close(&lines->modules[i].file);
    }
    free(lines->modules);
    sn_table_done(&lines->module_index);
    sn_buf_done(&lines->name);
    free(lines);
}

/* --- where a PDB may be --- */

/* The file of a single-file program, which its modules were loaded from: that of the image's
 * mapping, or where an image was unpacked into memory, the program's. */
static void append_program(const struct sn_source_lines *lines, uint64_t image, struct sn_buf *to)
{
    const struct sn_memory_map *map = sn_memory_map_of(lines->memory, image);
    uint32_t pid = sn_memory_pid(lines->memory);
    if (map && map->path[0] == '/') {
        sn_buf_text(to, map->path);
        return;
    }
    char link[32];
    char target[PATH_LIMIT];
    (void)snprintf(link, sizeof(link), "/proc/%" PRIu32 "/exe", pid); /* fits */
    ssize_t size = pid ? readlink(link, target, sizeof(target)) : -1;
    if (size > 0 && (size_t)size < sizeof(target))
        sn_buf_append(to, target, (size_t)size);
}

/* Where its file is, or would be if it were not within a program: beside that program. */
static void append_path(const struct sn_source_lines *lines, const struct sn_memory_module *module,
                        struct sn_buf *to)
{
    if (module->path[0] == '/' || !module->path[0] || strchr(module->path, '/')) {
        sn_buf_text(to, module->path);
        return;
    }
    append_program(lines, module->image, to);
    const char *program = sn_buf_string(to);
    const char *slash = strrchr(program, '/');
    to->size = slash ? (size_t)(slash + 1 - program) : 0;
    sn_buf_text(to, module->path);
}

static bool open_by_path(struct sn_source_lines *lines, const struct sn_memory_module *module,
                         struct sn_pdb_file *ret_file)
{
    SN_AUTO(sn_buf_done) struct sn_buf path = sn_buf_with_limit(PATH_LIMIT);
    append_path(lines, module, &path);
    struct sn_module wanted = {
        .path = sn_buf_string(&path), .name = "", .pdb_path = "", .is_dynamic = module->is_dynamic};
    memcpy(wanted.pdb_guid, module->pdb_guid, sizeof(wanted.pdb_guid));
    return sn_pdb_file_open_in(sn_memory_pid(lines->memory), &wanted, &lines->readable, ret_file);
}

/* Within an image in memory: of a single-file program, or of a file that is gone. */
static bool open_in_image(struct sn_source_lines *lines, const struct sn_memory_module *module,
                          struct sn_pdb_file *ret_file)
{
    SN_AUTO(sn_buf_done) struct sn_buf packed = sn_buf_with_limit(SN_PDB_FILE_LIMIT);
    struct sn_memory_pe image = {lines->memory, module->image};
    struct sn_pe_image found = {0};
    struct sonde_error ignored = {0};
    if (!module->image ||
        sn_pe_read_image(sn_memory_pe_read, &image, SN_PE_EITHER, &found, &ignored) != SONDE_OK ||
        !found.debug.has_pdb_id || !found.debug.embedded_size ||
        found.debug.embedded_size > lines->readable ||
        memcmp(found.debug.pdb_guid, module->pdb_guid, sizeof(module->pdb_guid)) != 0)
        return false;
    uint8_t *room = sn_buf_reserve(&packed, found.debug.embedded_size);
    lines->readable -= found.debug.embedded_size;
    if (!room ||
        !sn_memory_pe_read(&image, found.debug.embedded_offset, room, found.debug.embedded_size))
        return false;
    sn_buf_grow(&packed, found.debug.embedded_size);
    return sn_pdb_file_open_packed(&packed, module->pdb_guid, &lines->readable, ret_file);
}

static bool open_pdb(struct sn_source_lines *lines, const struct sn_memory_module *module,
                     struct sn_pdb_file *ret_file)
{
    static const uint8_t none[sizeof(module->pdb_guid)] = {0};
    return !module->is_dynamic && memcmp(module->pdb_guid, none, sizeof(none)) != 0 &&
           (open_by_path(lines, module, ret_file) || open_in_image(lines, module, ret_file));
}

/* --- modules --- */

static const struct module *add_module(struct sn_source_lines *lines,
                                       const struct sn_memory_module *told)
{
    if (lines->module_count == MODULE_LIMIT)
        return NULL;
    struct module *grown =
        sn_array_room(lines->modules, lines->module_count, &lines->module_capacity, sizeof(*grown));
    if (!grown)
        return NULL;
    lines->modules = grown;
    uint64_t *index = sn_table_put(&lines->module_index, told->address);
    if (!index)
        return NULL;
    struct module *module = &lines->modules[lines->module_count];
    *module = (struct module){0};
    memcpy(module->pdb_guid, told->pdb_guid, sizeof(module->pdb_guid));
    module->has_pdb = open_pdb(lines, told, &module->file);
    *index = ++lines->module_count;
    return module;
}

/* Opened at the first question, and looked for once even when there is none. */
static const struct sn_pdb *pdb_of(struct sn_source_lines *lines,
                                   const struct sn_memory_module *told)
{
    const uint64_t *index = sn_table_find(&lines->module_index, told->address);
    const struct module *module = index && *index ? &lines->modules[*index - 1] : NULL;
    if (!module || memcmp(module->pdb_guid, told->pdb_guid, sizeof(module->pdb_guid)) != 0)
        module = add_module(lines, told);
    return module && module->has_pdb ? &module->file.pdb : NULL;
}

static bool find_point(const struct sn_pdb *pdb, uint32_t row, uint32_t il_offset,
                       struct sn_pdb_point *ret_point)
{
    if (sn_pdb_find(pdb, row, il_offset, ret_point))
        return true;
    uint32_t machine = sn_pdb_machine_of(pdb, row);
    return machine && sn_pdb_find(pdb, machine, 0, ret_point);
}

bool sn_source_lines_find(struct sn_source_lines *lines, const struct sn_memory_module *module,
                          uint32_t token, uint32_t il_offset, const char **ret_file,
                          uint32_t *ret_line)
{
    uint32_t row = token >> 24 == METHOD_TOKEN ? token & 0xFFFFFFu : 0;
    const struct sn_pdb *pdb = row && module ? pdb_of(lines, module) : NULL;
    struct sn_pdb_point point = {0};
    if (!pdb || !find_point(pdb, row, il_offset, &point))
        return false;
    sn_buf_clear(&lines->name);
    if (!sn_pdb_document(pdb, point.document, &lines->name))
        return false;
    *ret_file = sn_buf_string(&lines->name);
    *ret_line = point.line;
    return true;
}

bool sn_source_lines_find_await(struct sn_source_lines *lines,
                                const struct sn_memory_module *module, uint32_t token,
                                uint32_t number, const char **ret_file, uint32_t *ret_line)
{
    uint32_t il_offset;
    const struct sn_pdb *pdb = module ? pdb_of(lines, module) : NULL;
    return pdb && sn_pdb_await(pdb, token & 0xFFFFFFu, number, &il_offset) &&
           sn_source_lines_find(lines, module, token, il_offset, ret_file, ret_line);
}
