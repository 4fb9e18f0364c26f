#include "symbol/process_label.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "format/universal.h"
#include "symbol/code.h"

#define COMM_MAX 15u /* the kernel cuts names there */

struct label {
    const char *text;
    size_t size;
};

static struct label base_name(const char *path, size_t size)
{
    const char *slash = memrchr(path, '/', size);
    size_t skipped = slash ? (size_t)(slash + 1 - path) : 0;
    return (struct label){path + skipped, size - skipped};
}

/* "dotnet exec /app/Shop.dll --urls ..." is "Shop". */
static struct label managed_program(const char *command)
{
    for (const char *word = command; *word; word += strspn(word, " ")) {
        size_t size = strcspn(word, " ");
        if (size > 4 && memcmp(word + size - 4, ".dll", 4) == 0)
            return base_name(word, size - 4);
        word += size;
    }
    return (struct label){"", 0};
}

/* The program's own name where the kernel's is cut. */
static struct label whole_name(const struct sn_code_process *process)
{
    struct label program = base_name(process->command, strcspn(process->command, " "));
    size_t size = strlen(process->name);
    bool is_longer =
        size == COMM_MAX && program.size > size && memcmp(program.text, process->name, size) == 0;
    return is_longer ? program : (struct label){process->name, size};
}

static struct label label_of(const struct sn_code_process *process)
{
    struct label program = {"", 0};
    if (strcmp(process->name, "dotnet") == 0)
        program = managed_program(process->command);
    if (!program.size)
        program = whole_name(process);
    bool is_of_kernel = process->kind == SN_PROCESS_NATIVE && !process->command[0];
    const char *slash = is_of_kernel ? memchr(program.text, '/', program.size) : NULL;
    if (slash && slash != program.text) /* "kworker/0:1-events" */
        program.size = (size_t)(slash - program.text);
    return program;
}

static bool is_only_one(const struct sn_code *code, const struct sn_code_process *process,
                        struct label label)
{
    const struct sn_code_process *other = NULL;
    for (size_t i = 0; (other = sn_code_process_at(code, i)); i++) {
        if (other == process || other->kind == SN_PROCESS_NATIVE)
            continue;
        struct label theirs = label_of(other);
        if (theirs.size == label.size && memcmp(theirs.text, label.text, label.size) == 0)
            return false;
    }
    return true;
}

void sn_process_label(struct sn_buf *to, const struct sn_code *code,
                      const struct sn_code_process *process)
{
    struct label label = label_of(process);
    if (!label.size) {
        sn_buf_format(to, "process %" PRIu32, process->pid);
        return;
    }
    sn_buf_append(to, label.text, label.size);
    if (process->kind != SN_PROCESS_NATIVE && !is_only_one(code, process, label))
        sn_buf_format(to, " (%" PRIu32 ")", process->pid);
}
