/* Repairs call chains of a process that lives: "interop_leaves PID", and a line a sample: bp, sp,
 * ip, the stack's bytes, then the chain that frame pointers gave, all in hexadecimal. Answers with
 * a line a sample: for each frame the offset in its file and the file, or "0 ?". */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "symbol/leaf.h"
#include "unit/code_space.h"

#define LINE_BYTES  (1u << 18)
#define CHAIN_MAX   128u
#define STACK_BYTES 65536u

static unsigned digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static size_t read_bytes(char **at, uint8_t *to)
{
    size_t size = 0;
    *at += strspn(*at, " ");
    for (; isxdigit((unsigned char)**at) && size < STACK_BYTES; *at += 2)
        to[size++] = (uint8_t)(digit((*at)[0]) << 4 | digit((*at)[1]));
    return size;
}

static void print_frame(const struct code_space *space, uint64_t address, bool is_leaf)
{
    uint64_t call = is_leaf ? address : address - 1;
    const struct code_mapping *item = code_space_find(space, call);
    if (item)
        printf("%" PRIx64 " %s\t", call - item->start + item->offset, item->path);
    else
        printf("0 ?\t");
}

static void repair(struct sn_leaf *leaf, struct code_space *space, char *line)
{
    uint8_t stack[STACK_BYTES];
    uint64_t chain[CHAIN_MAX + SN_LEAF_MORE];
    size_t count = 0;
    struct sn_leaf_sample sample = {.locate = code_space_locate, .user = space, .stack = stack};
    sample.bp = strtoull(line, &line, 16);
    sample.sp = strtoull(line, &line, 16);
    sample.ip = strtoull(line, &line, 16);
    sample.stack_size = read_bytes(&line, stack);
    for (line += strspn(line, " "); *line != '\n' && count < CHAIN_MAX; line += strspn(line, " "))
        chain[count++] = strtoull(line, &line, 16);
    size_t depth = sn_leaf_repair(leaf, &sample, chain, count).count;
    for (size_t i = 0; i < depth; i++)
        print_frame(space, chain[i], i == 0);
    printf("\n");
}

int main(int argc, char **argv)
{
    static struct code_space space;
    static char line[LINE_BYTES];
    struct sn_objects *objects = NULL;
    struct sn_leaf *leaf = NULL;
    uint32_t pid = argc == 2 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    if (!pid || sn_objects_new(&objects, NULL) != SONDE_OK ||
        sn_leaf_new(objects, &leaf, NULL) != SONDE_OK || !code_space_read(&space, pid, objects))
        return 2;
    while (fgets(line, sizeof(line), stdin))
        repair(leaf, &space, line);
    sn_leaf_free(leaf);
    sn_objects_free(objects);
    return 0;
}
