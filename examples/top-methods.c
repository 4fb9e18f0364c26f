/* top-methods FILE [COUNT]: the methods of a trace where most time was spent.
 *
 * CPU time when the trace has the record of it beside it (`sonde trace` writes one), else wall
 * time.
 *
 *   cc top-methods.c $(pkg-config --cflags --libs sonde) -o top-methods */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <sonde/sonde.h>

static int read_profile(const char *path, int view, struct sonde_profile **ret_profile,
                        struct sonde_error *err)
{
    struct sonde_profile_options options = {.size = sizeof(options), .view = view};
    *err = (struct sonde_error){0};
    return sonde_profile_read(path, &options, ret_profile, err);
}

static int largest_first(const void *left, const void *right)
{
    const struct sonde_frame *a = left;
    const struct sonde_frame *b = right;
    return (a->self < b->self) - (a->self > b->self);
}

static int print_top(const struct sonde_profile *profile, const char *what, size_t count)
{
    size_t frame_count = sonde_profile_frame_count(profile);
    struct sonde_frame *frames = calloc(frame_count + 1, sizeof(*frames));
    if (!frames)
        return 1;
    for (size_t i = 0; i < frame_count; i++)
        sonde_profile_frame(profile, i, &frames[i]);
    qsort(frames, frame_count, sizeof(*frames), largest_first);

    printf("%s of %" PRIu64 " ms%s\n", what, sonde_profile_total(profile) / 1000000,
           sonde_profile_is_partial(profile) ? ", the trace is not whole" : "");
    printf("%10s %10s  %s\n", "self ms", "total ms", "method");
    for (size_t i = 0; i < frame_count && i < count; i++)
        printf("%10" PRIu64 " %10" PRIu64 "  %s\n", frames[i].self / 1000000,
               frames[i].total / 1000000, frames[i].name);
    free(frames);
    return 0;
}

int main(int argc, char **argv)
{
    struct sonde_profile *profile = NULL;
    struct sonde_error err;
    const char *what = "CPU time";

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: top-methods FILE [COUNT]\n");
        return 2;
    }
    int rc = read_profile(argv[1], SONDE_VIEW_CPU, &profile, &err);
    if (rc == SONDE_E_NOT_FOUND) {
        what = "wall time";
        rc = read_profile(argv[1], SONDE_VIEW_WALL, &profile, &err);
    }
    if (rc != SONDE_OK) {
        fprintf(stderr, "top-methods: %s\n", err.text);
        return 1;
    }
    int code = print_top(profile, what, argc > 2 ? strtoul(argv[2], NULL, 10) : 10);
    sonde_profile_free(profile);
    return code;
}
