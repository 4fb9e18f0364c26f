/* Compares what our reader of assemblies says of every method in a trace with what the runtime's
 * own events say of it: type, name and signature, by module and token.
 *
 *   interop_assembly TRACE    what differs, then "N methods of M modules, K differ" */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/walk.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "format/assembly.h"
#include "format/pe.h"
#include "symbol/code.h"
#include "symbol/methods.h"

#define MODULE_MAX  1024u
#define SHOWN_MAX   40u
#define DYNAMIC     1u
#define METHOD_KIND 0x06u

struct module {
    uint64_t id;
    struct sn_buf file; /* owns */
    struct sn_assembly assembly;
    bool is_open;
};

struct tally {
    struct module modules[MODULE_MAX];
    size_t module_count;
    size_t method_count;
    size_t generic_count; /* of these, with arguments in the type's text */
    size_t differ_count;
};

static bool read_bytes(void *user, uint64_t offset, void *to, size_t size)
{
    const struct sn_buf *file = user;
    if (offset > file->size || size > file->size - offset)
        return false;
    memcpy(to, file->bytes + offset, size);
    return true;
}

static bool open_module(struct module *module, const char *path)
{
    struct sonde_error err = {0};
    struct sn_pe_image image = {0};
    if (sn_file_read_at(AT_FDCWD, path, &module->file, &err) != SONDE_OK ||
        sn_pe_read_image(read_bytes, &module->file, SN_PE_EITHER, &image, &err) != SONDE_OK ||
        image.metadata_size > module->file.size ||
        image.metadata_offset > module->file.size - image.metadata_size ||
        sn_assembly_open(module->file.bytes + image.metadata_offset, image.metadata_size,
                         &module->assembly, &err) != SONDE_OK) {
        (void)fprintf(stderr, "interop_assembly: %s: %s\n", path, err.text);
        return false;
    }
    return true;
}

static const struct sn_assembly *assembly_of(struct tally *tally, const struct sn_module *told)
{
    for (size_t i = 0; i < tally->module_count; i++) {
        if (tally->modules[i].id == told->module_id)
            return tally->modules[i].is_open ? &tally->modules[i].assembly : NULL;
    }
    if (tally->module_count == MODULE_MAX)
        return NULL;
    struct module *module = &tally->modules[tally->module_count++];
    *module = (struct module){.id = told->module_id, .file = sn_buf_with_limit(256u << 20)};
    module->is_open = !told->is_dynamic && told->path[0] == '/' && open_module(module, told->path);
    return module->is_open ? &module->assembly : NULL;
}

/* Up to the arguments of a generic type. */
static size_t plain_length(const char *type)
{
    for (size_t i = 0; type[i]; i++) {
        if (type[i] == '[')
            return i;
        i += type[i] == '\\' && type[i + 1];
    }
    return strlen(type);
}

static bool check(struct tally *tally, const struct sn_method *method, const char *what,
                  const char *theirs, const char *ours)
{
    if (strcmp(theirs, ours) == 0)
        return true;
    if (tally->differ_count++ < SHOWN_MAX)
        (void)printf("%08" PRIx32 " %s.%s: %s\n  theirs '%s'\n  ours   '%s'\n", method->token,
                     method->type, method->name, what, theirs, ours);
    return false;
}

/* That a type is found by the name we gave it; names with escapes are asked for without. */
static void check_found(struct tally *tally, const struct sn_assembly *assembly,
                        const struct sn_method *method, const char *name, uint32_t type)
{
    static const struct sn_assembly *last_assembly;
    static uint32_t last;
    if (strchr(name, '\\') || (last == type && last_assembly == assembly))
        return;
    last = type;
    last_assembly = assembly;
    (void)check(tally, method, "not found by name", "",
                sn_assembly_find_type(assembly, name) == type ? "" : name);
}

static void check_method(struct tally *tally, const struct sn_assembly *assembly,
                         const struct sn_method *method)
{
    SN_AUTO(sn_buf_done) struct sn_buf type_name = sn_buf_with_limit(64u << 10);
    SN_AUTO(sn_buf_done) struct sn_buf name = sn_buf_with_limit(64u << 10);
    SN_AUTO(sn_buf_done) struct sn_buf signature = sn_buf_with_limit(64u << 10);
    SN_AUTO(sn_buf_done) struct sn_buf theirs = sn_buf_with_limit(64u << 10);
    uint32_t type = 0;
    (void)sn_assembly_method(assembly, method->token, &name, &type);
    (void)sn_assembly_type_name(assembly, type, &type_name);
    (void)sn_assembly_method_signature(assembly, method->token, &signature);
    size_t plain = plain_length(method->type);
    tally->generic_count += method->type[plain] != 0;
    tally->method_count++;
    sn_buf_append(&theirs, method->type, plain);
    (void)(check(tally, method, "type", sn_buf_string(&theirs), sn_buf_string(&type_name)) &&
           check(tally, method, "name", method->name, sn_buf_string(&name)) &&
           check(tally, method, "signature", method->signature, sn_buf_string(&signature)));
    check_found(tally, assembly, method, sn_buf_string(&type_name), type);
}

static void check_all(struct tally *tally, const struct sn_methods *methods)
{
    for (size_t i = 0; i < sn_methods_count(methods); i++) {
        const struct sn_method *method = sn_methods_at(methods, i);
        const struct sn_module *module = sn_methods_module(methods, method->module_id);
        if (!module || method->flags & DYNAMIC || method->token >> 24 != METHOD_KIND)
            continue;
        const struct sn_assembly *assembly = assembly_of(tally, module);
        if (assembly)
            check_method(tally, assembly, method);
    }
}

static int read_code(const char *path, struct sn_code *code, struct sonde_error *err)
{
    SN_AUTO(sn_walk_done) struct sn_walk walk = {0};
    int rc = sn_walk_init(&walk, path, err);
    if (rc == SONDE_OK)
        rc = sn_walk_subscribe(&walk, &sn_code_request, sn_code_sink(code), false, err);
    return rc == SONDE_OK ? sn_walk_run(&walk, NULL, NULL, err) : rc;
}

int main(int argc, char **argv)
{
    static struct tally tally;
    SN_AUTO(sn_code_free) struct sn_code *code = NULL;
    struct sonde_error err = {0};
    if (argc != 2 || sn_code_new(&code, &err) != SONDE_OK ||
        read_code(argv[1], code, &err) != SONDE_OK) {
        (void)fprintf(stderr, "interop_assembly TRACE: %s\n", err.text);
        return 2;
    }
    for (size_t i = 0; i < sn_code_process_count(code); i++) {
        const struct sn_code_process *process = sn_code_process_at(code, i);
        if (process->methods)
            check_all(&tally, process->methods);
    }
    for (size_t i = 0; i < tally.module_count; i++)
        sn_buf_done(&tally.modules[i].file);
    (void)printf("%zu methods of %zu modules, %zu with type arguments, %zu differ\n",
                 tally.method_count, tally.module_count, tally.generic_count, tally.differ_count);
    return tally.method_count && !tally.differ_count ? 0 : 1;
}
