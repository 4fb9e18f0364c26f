/* dotnet-stack symbolicate: lines of a stack trace as text that name a method by its token,
 *
 *      at Shop.Orders.Place(Int32 id) in shop.dll:token 0x600001a+0x2f
 *
 * get the source line that assemblies and PDBs at hand have for it. Both are checked as everything
 * from outside is. */
#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/dotnet_stack.h"
#include "cli/dotnet_trace.h"
#include "cli/out_file.h"
#include "cli/terminal.h"
#include "sonde/lines.h"

#define FILES_MAX     100000u /* that are looked at below the folders */
#define DEPTH_MAX     32
#define INPUT_MAX     (256 << 20)
#define NAMES_MAX     1024u /* assemblies of one trace */
#define ASSEMBLY_NAME 256u
#define PATH_LIMIT    4096u

struct arguments {
    struct sn_net_list folders;
    const char *output;
    int to_stdout;
};

struct assembly {
    char name[ASSEMBLY_NAME]; /* "shop", as the trace has it */
    struct sonde_pdb *pdb;    /* owns; NULL: none was found */
};

struct work {
    const struct arguments *arguments;
    struct assembly *assemblies; /* owns */
    size_t count;
    size_t capacity;
    struct sn_buf line; /* as it is written */
};

static void work_done_auto(struct work *work)
{
    for (size_t i = 0; i < work->count; i++)
        sonde_pdb_free(work->assemblies[i].pdb);
    free(work->assemblies);
    sn_buf_done(&work->line);
}

/* --- assemblies --- */

static bool is_assembly(const FTSENT *entry, const char *name)
{
    size_t size = strlen(name);
    return entry->fts_info == FTS_F && entry->fts_namelen == size + 4 &&
           strncasecmp(entry->fts_name, name, size) == 0 &&
           strcasecmp(entry->fts_name + size, ".dll") == 0;
}

/* The first below a folder that has a PDB. Links are not followed. */
static struct sonde_pdb *find_below(const char *folder, const char *name)
{
    SN_AUTO(sn_free) char *path = strdup(folder);
    char *const roots[] = {path, NULL};
    FTS *walk = path ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
    struct sonde_pdb *pdb = NULL;
    FTSENT *entry = NULL;
    for (size_t i = 0; walk && !pdb && i < FILES_MAX && (entry = fts_read(walk)); i++) {
        struct sonde_error ignored = {0};
        if (entry->fts_level > DEPTH_MAX)
            (void)fts_set(walk, entry, FTS_SKIP);
        else if (is_assembly(entry, name))
            (void)sonde_pdb_open(entry->fts_path, &pdb, &ignored);
    }
    if (walk)
        (void)fts_close(walk);
    return pdb;
}

static struct sonde_pdb *search(const struct work *work, const char *name)
{
    const struct sn_net_list *folders = &work->arguments->folders;
    struct sonde_pdb *pdb = NULL;
    for (size_t i = 0; i < folders->count && !pdb; i++)
        pdb = find_below(folders->items[i], name);
    return pdb ? pdb : find_below(".", name);
}

/* "shop" of "shop.dll" and "shop.ni.dll". */
static struct sonde_pdb *find_pdb(struct work *work, const char *file, size_t size)
{
    static const char *const endings[] = {".ni.dll", ".dll"};
    char name[ASSEMBLY_NAME];
    for (size_t i = 0; i < 2; i++) {
        size_t tail = strlen(endings[i]);
        if (size > tail && strncmp(file + size - tail, endings[i], tail) == 0)
            size -= tail;
    }
    if (size >= sizeof(name) || memchr(file, '/', size))
        return NULL;
    (void)snprintf(name, sizeof(name), "%.*s", (int)size, file);
    for (size_t i = 0; i < work->count; i++) {
        if (strcmp(work->assemblies[i].name, name) == 0)
            return work->assemblies[i].pdb;
    }
    struct assembly *assemblies =
        work->count < NAMES_MAX
            ? sn_array_room(work->assemblies, work->count, &work->capacity, sizeof(*assemblies))
            : NULL;
    if (!assemblies)
        return NULL;
    work->assemblies = assemblies;
    struct assembly *added = &assemblies[work->count++];
    *added = (struct assembly){.pdb = search(work, name)};
    memcpy(added->name, name, sizeof(name));
    return added->pdb;
}

/* --- lines --- */

/* "0x6000001": where it ends; NULL when it is none. */
static const char *read_number(const char *text, uint32_t *ret_value)
{
    char *end = NULL;
    if (strncmp(text, "0x", 2) != 0 || strspn(text + 2, "0123456789abcdefABCDEF") == 0)
        return NULL;
    errno = 0;
    unsigned long value = strtoul(text, &end, 16);
    *ret_value = (uint32_t)value;
    return errno || value > UINT32_MAX ? NULL : end;
}

struct place {
    const char *file; /* in the line: "shop.dll" */
    size_t file_size;
    const char *rest; /* behind the numbers */
    uint32_t token;
    uint32_t il_offset;
};

/* " at TYPE.METHOD(...) in FILE:token 0x1+0x2"; the last of them in a line. */
static bool find_place(const char *line, struct place *ret_place)
{
    static const char mark[] = ":token ";
    const char *at = strstr(line, " at ");
    const char *token = at ? strstr(at, mark) : NULL;
    const char *file = token;
    while (file && file > at && file[-1] != ' ')
        file--;
    if (!token || file == token || file - at < 6 || strncmp(file - 5, ") in ", 5) != 0)
        return false;
    const char *plus = read_number(token + strlen(mark), &ret_place->token);
    const char *rest = plus && *plus == '+' ? read_number(plus + 1, &ret_place->il_offset) : NULL;
    ret_place->file = file;
    ret_place->file_size = (size_t)(token - file);
    ret_place->rest = rest;
    return rest != NULL;
}

static const char *symbolicate(struct work *work, const char *line)
{
    struct place place;
    const char *file = NULL;
    uint32_t number = 0;
    if (!find_place(line, &place))
        return line;
    struct sonde_pdb *pdb = find_pdb(work, place.file, place.file_size);
    if (!pdb || !sonde_pdb_find(pdb, place.token, place.il_offset, &file, &number))
        return line;
    sn_buf_clear(&work->line);
    sn_buf_append(&work->line, line, (size_t)(place.file - line));
    sn_buf_format(&work->line, "%s:line %" PRIu32 "%s", file, number, place.rest);
    return sn_buf_string(&work->line);
}

static int write_lines(struct work *work, FILE *input, struct sn_out_file *output,
                       struct sonde_error *err)
{
    SN_AUTO(sn_free) char *line = NULL;
    size_t room = 0;
    int rc = SONDE_OK;
    while (rc == SONDE_OK && getline(&line, &room, input) >= 0) {
        line[strcspn(line, "\r\n")] = '\0';
        const char *told = symbolicate(work, line);
        rc = sn_out_file_write(output, told, strlen(told), err);
        if (rc == SONDE_OK)
            rc = sn_out_file_write(output, "\n", 1, err);
        if (work->arguments->to_stdout == SN_NET_ON) {
            sn_terminal_put(stdout, SN_STYLE_NONE, told);
            (void)fputc('\n', stdout);
        }
    }
    return rc == SONDE_OK && ferror(input) ? sn_fail_errno(err, "cannot read the trace") : rc;
}

static int write_file(struct work *work, const char *from, const char *to, struct sonde_error *err)
{
    const char *const inputs[] = {from, NULL};
    SN_AUTO(sn_out_file_close) struct sn_out_file output = {.fd = -1};
    struct stat status = {0};
    FILE *input = fopen(from, "re");
    if (!input)
        return sn_fail_errno(err, "cannot open '%.200s'", from);
    int rc = fstat(fileno(input), &status) == 0 && status.st_size > INPUT_MAX
                 ? sn_fail(err, SONDE_E_LIMIT, 0, "'%.200s' is too large for a trace", from)
                 : SONDE_OK;
    if (rc == SONDE_OK)
        rc = sn_out_file_open(&output, to, inputs, err);
    if (rc == SONDE_OK)
        rc = write_lines(work, input, &output, err);
    if (rc == SONDE_OK)
        rc = sn_out_file_finish(&output, err);
    (void)fclose(input);
    return rc;
}

static int run(const struct sn_net_line *line)
{
    const struct arguments *arguments = line->arguments;
    struct sonde_error err = {0};
    SN_AUTO(work_done)
    struct work work = {.arguments = arguments, .line = sn_buf_with_limit(1u << 20)};
    SN_AUTO(sn_buf_done) struct sn_buf path = sn_buf_with_limit(PATH_LIMIT);
    sn_dotnet_full_path(&path, arguments->output ? arguments->output : line->operand);
    sn_buf_text(&path, arguments->output ? "" : ".symbolicated");
    if (write_file(&work, line->operand, sn_buf_string(&path), &err) != SONDE_OK)
        return sn_dotnet_fail(SN_NET_EXIT_USAGE, "%s", err.text);
    (void)fputs("\nOutput: ", stdout);
    sn_terminal_put(stdout, SN_STYLE_NONE, sn_buf_string(&path));
    (void)fputs("\n\n", stdout);
    return SN_DOTNET_OK;
}

#define AT(member) offsetof(struct arguments, member)

static const struct sn_net_option options[] = {
    {"--search-dir", "-d", SN_NET_WORDS, AT(folders), NULL, false,
     "Folders with assemblies and PDBs, and what is below them; the current one as well."},
    {"--output", "-o", SN_NET_TEXT, AT(output), NULL, false,
     "The file to write. [default: <input-path>.symbolicated]"},
    {"--stdout", "-c", SN_NET_SWITCH, AT(to_stdout), NULL, false, "Print it, too."},
    SN_NET_OPTIONS_END,
};

const struct sn_net_command sn_dotnet_symbolicate = {
    .name = "symbolicate",
    .path = "symbolicate <input-path> ",
    .summary = "Finds source lines for the tokens and IL offsets in the text of a stack trace.",
    .operand = "input-path",
    .operand_help = "The file with the text.",
    .needs_operand = true,
    .operand_exists = true,
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
