/* Prints the stacks of a profile in the words of tests/interop/traceevent, so that the two can be
 * compared with cmp: method names from root to leaf with ';' between them, a space, and a number.
 *
 *   interop_folded VIEW FILE       sorted by bytes; VIEW as in `sonde convert --view`
 *   interop_folded --waits FILE    samples, with "waits " or "runs " before each stack: whether the
 *                                  leaf's name says that it waits
 *   interop_folded --names FILE    the name of every method in those stacks, a tab, and what we
 *                                  call it
 *
 * Built on the public API, but for the waits. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/profile_internal.h"
#include "base/buf.h"
#include "base/own.h"
#include "sonde/profile.h"

#define TEXT_MAX  ((size_t)1 << 30)
#define DEPTH_MAX 100000u

static void put_stack(struct sn_buf *to, const struct sonde_profile *profile, size_t node)
{
    static uint32_t frames[DEPTH_MAX];
    size_t depth = 0;
    struct sonde_node at;
    for (; node && sonde_profile_node(profile, node, &at) && depth < DEPTH_MAX; node = at.parent)
        frames[depth++] = at.frame;
    while (depth-- > 0) {
        struct sonde_frame frame;
        if (sonde_profile_frame(profile, frames[depth], &frame))
            sn_buf_text(to, frame.full_name);
        if (depth)
            sn_buf_u8(to, ';');
    }
}

static void put_state(struct sn_buf *to, const struct sonde_profile *profile, uint32_t frame)
{
    bool waits = frame != UINT32_MAX && profile->data->frames[frame].is_waiting;
    sn_buf_text(to, waits ? "waits " : "runs ");
}

struct line {
    size_t start; /* in the text, while it grows */
    const char *text;
    uint64_t count;
};

static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left;
    const struct line *b = right;
    return strcmp(a->text, b->text);
}

/* Frames of the same name in two modules, or in two loads of one, are one line. */
static void print_sorted(struct line *lines, size_t count)
{
    qsort(lines, count, sizeof(*lines), compare_lines);
    for (size_t i = 0; i < count; i++) {
        uint64_t sum = lines[i].count;
        while (i + 1 < count && compare_lines(&lines[i], &lines[i + 1]) == 0)
            sum += lines[++i].count;
        (void)printf("%s %" PRIu64 "\n", lines[i].text, sum);
    }
}

static void print_stacks(const struct sonde_profile *profile, bool with_state)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(TEXT_MAX);
    size_t node_count = sonde_profile_node_count(profile);
    SN_AUTO(sn_free) struct line *lines = calloc(node_count + 1, sizeof(*lines));
    size_t count = 0;
    for (size_t i = 0; lines && i < node_count; i++) {
        struct sonde_node node;
        if (!sonde_profile_node(profile, i, &node) || !node.self)
            continue;
        lines[count++] = (struct line){.start = text.size, .count = node.self};
        if (with_state)
            put_state(&text, profile, node.frame);
        put_stack(&text, profile, i);
        sn_buf_u8(&text, 0);
    }
    for (size_t i = 0; i < count && !text.failed; i++)
        lines[i].text = (const char *)text.bytes + lines[i].start;
    print_sorted(lines, text.failed ? 0 : count);
}

static void print_names(const struct sonde_profile *profile)
{
    struct sonde_frame frame;
    for (size_t i = 0; sonde_profile_frame(profile, i, &frame); i++)
        (void)printf("%s\t%s\n", frame.full_name, frame.name);
}

int main(int argc, char **argv)
{
    bool with_state = argc == 3 && strcmp(argv[1], "--waits") == 0;
    bool is_names = argc == 3 && strcmp(argv[1], "--names") == 0;
    int view = argc == 3 ? sonde_view_find(with_state || is_names ? "samples" : argv[1]) : -1;
    if (view < 0) {
        (void)fprintf(stderr, "usage: interop_folded VIEW|--waits|--names FILE\n");
        return 2;
    }
    struct sonde_profile_options options = {.size = sizeof(options), .view = view};
    SN_AUTO(sonde_profile_free) struct sonde_profile *profile = NULL;
    struct sonde_error err = {0};
    if (sonde_profile_read(argv[2], &options, &profile, &err) != SONDE_OK) {
        (void)fprintf(stderr, "interop_folded: %s: %s\n", argv[2], err.text);
        return 1;
    }
    if (is_names)
        print_names(profile);
    else
        print_stacks(profile, with_state);
    return 0;
}
