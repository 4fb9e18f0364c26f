/* What we know of the methods in a trace's sampled stacks, where no output for users tells it.
 *
 *   interop_frames --names FILE    TraceEvent's name of each, a tab, and what we call it
 *   interop_frames --waits FILE    the stacks: "waits " or "runs ", as the leaf's name says, then
 * the names from root to leaf with ';' between them, a space, and how many samples have it */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/profile_internal.h"
#include "base/own.h"
#include "sonde/profile.h"

#define DEPTH_MAX 100000u

static void print_stack(const struct sonde_profile *profile, size_t node)
{
    static uint32_t frames[DEPTH_MAX];
    size_t depth = 0;
    struct sonde_node at;
    for (; node && sonde_profile_node(profile, node, &at) && depth < DEPTH_MAX; node = at.parent)
        frames[depth++] = at.frame;
    while (depth-- > 0) {
        struct sonde_frame frame;
        if (sonde_profile_frame(profile, frames[depth], &frame))
            (void)fputs(frame.full_name, stdout);
        if (depth)
            (void)putchar(';');
    }
}

static void print_stacks(const struct sonde_profile *profile)
{
    struct sonde_node node;
    for (size_t i = 1; sonde_profile_node(profile, i, &node); i++) {
        if (!node.self)
            continue;
        (void)fputs(profile->data->frames[node.frame].is_waiting ? "waits " : "runs ", stdout);
        print_stack(profile, i);
        (void)printf(" %" PRIu64 "\n", node.self);
    }
}

static void print_names(const struct sonde_profile *profile)
{
    struct sonde_frame frame;
    for (size_t i = 0; sonde_profile_frame(profile, i, &frame); i++)
        (void)printf("%s\t%s\n", frame.full_name, frame.name);
}

int main(int argc, char **argv)
{
    bool wants_names = argc == 3 && strcmp(argv[1], "--names") == 0;
    if (!wants_names && (argc != 3 || strcmp(argv[1], "--waits") != 0)) {
        (void)fprintf(stderr, "usage: interop_frames --names|--waits FILE\n");
        return 2;
    }
    struct sonde_profile_options options = {.size = sizeof(options), .view = SONDE_VIEW_SAMPLES};
    SN_AUTO(sonde_profile_free) struct sonde_profile *profile = NULL;
    struct sonde_error err = {0};
    if (sonde_profile_read(argv[2], &options, &profile, &err) != SONDE_OK) {
        (void)fprintf(stderr, "interop_frames: %s: %s\n", argv[2], err.text);
        return 1;
    }
    if (wants_names)
        print_names(profile);
    else
        print_stacks(profile);
    return 0;
}
