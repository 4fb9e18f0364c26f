/* Takes stacks of a process from its memory, again and again without a pause: integration_snapshots
 * PID COUNT PREFIX
 *
 * Prints of every thread whose name begins with PREFIX its managed frames, the innermost first, as
 * "type.method;type.method"; an empty line: it ran and could not be held. At the end "looks=N
 * failed=N cut=N": cut are looks that remark something. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sonde/stacks.h"

static void print_thread(const struct sonde_stack_thread *thread)
{
    const char *before = "";
    for (size_t i = 0; i < thread->frame_count; i++) {
        const struct sonde_stack_frame *frame = &thread->frames[i];
        if (frame->kind != SONDE_FRAME_MANAGED)
            continue;
        (void)printf("%s%s.%s", before, frame->type_name, frame->method_name);
        before = ";";
    }
    (void)printf("\n");
}

static void print_stacks(const struct sonde_stacks *stacks, const char *prefix)
{
    for (size_t i = 0; i < sonde_stacks_thread_count(stacks); i++) {
        const struct sonde_stack_thread *thread = sonde_stacks_thread(stacks, i);
        if (strncmp(thread->name, prefix, strlen(prefix)) == 0)
            print_thread(thread);
    }
}

int main(int argc, char **argv)
{
    uint64_t failed = 0;
    uint64_t cut = 0;
    if (argc != 4) {
        (void)fprintf(stderr, "usage: integration_snapshots PID COUNT PREFIX\n");
        return 2;
    }
    uint32_t pid = (uint32_t)strtoul(argv[1], NULL, 10);
    uint64_t count = strtoull(argv[2], NULL, 10);
    const struct sonde_stacks_options options = {.size = sizeof(options),
                                                 .way = SONDE_STACKS_MEMORY};
    for (uint64_t i = 0; i < count; i++) {
        struct sonde_stacks *stacks = NULL;
        struct sonde_error err = {0};
        if (sonde_stacks_take(pid, &options, &stacks, &err) != SONDE_OK) {
            failed++;
            (void)fprintf(stderr, "%s\n", err.text);
            continue;
        }
        cut += sonde_stacks_remark(stacks, 0) != NULL;
        print_stacks(stacks, argv[3]);
        sonde_stacks_free(stacks);
    }
    (void)printf("looks=%" PRIu64 " failed=%" PRIu64 " cut=%" PRIu64 "\n", count, failed, cut);
    return 0;
}
