#include "convert/label.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "convert/formats.h"
#include "model/profile.h"

void sn_label_frame(struct sn_buf *to, const struct sn_frame *frame,
                    const struct sn_format_options *options)
{
    const char *name = options->full_names ? frame->full_name : frame->name;
    if (options->full_names && frame->module[0]) {
        sn_buf_text(to, frame->module);
        sn_buf_u8(to, '!');
    }
    sn_buf_text(to, name && name[0] ? name : "?");
}

void sn_label_frame_line(struct sn_buf *to, const struct sn_frame *frame,
                         const struct sn_format_options *options)
{
    sn_label_frame(to, frame, options);
    if (!frame->file || !frame->line)
        return;
    const char *slash = strrchr(frame->file, '/');
    sn_buf_u8(to, ' ');
    sn_buf_text(to, slash ? slash + 1 : frame->file);
    sn_buf_u8(to, ':');
    sn_buf_decimal(to, frame->line);
}

void sn_label_thread(struct sn_buf *to, const struct sn_profile_thread *thread)
{
    bool has_name = thread->name && thread->name[0];
    char id[24];
    (void)snprintf(id, sizeof(id), "(%" PRIu64 ")", thread->thread_id);
    if (has_name && strstr(thread->name, id)) { /* it says who it is itself */
        sn_buf_text(to, thread->name);
        return;
    }
    sn_buf_text(to, has_name ? thread->name : "thread");
    sn_buf_text(to, has_name ? " (" : " ");
    sn_buf_decimal(to, thread->thread_id);
    if (has_name)
        sn_buf_u8(to, ')');
}

/* Processes stand at the root: what is above a node is above its parent, too. */
uint32_t *sn_label_processes(const struct sn_profile *profile)
{
    uint32_t *of_nodes = calloc(profile->node_count + 1, sizeof(*of_nodes));
    uint32_t *of_threads = calloc(profile->thread_count + 1, sizeof(*of_threads));
    for (size_t i = 0; of_threads && i < profile->thread_count; i++)
        of_threads[i] = SN_NO_INDEX;
    for (size_t i = 0; of_nodes && i < profile->node_count; i++) {
        const struct sn_node *node = &profile->nodes[i];
        bool is_process =
            node->frame != SN_NO_INDEX && profile->frames[node->frame].kind == SN_FRAME_PROCESS;
        uint32_t above = i ? of_nodes[node->parent] : SN_NO_INDEX;
        of_nodes[i] = is_process ? node->frame : above;
    }
    for (size_t i = 0; of_nodes && of_threads && i < profile->row_count; i++)
        of_threads[profile->rows[i].thread] = of_nodes[profile->rows[i].node];
    free(of_nodes);
    return of_threads;
}

void sn_label_process(struct sn_buf *to, const struct sn_frame *frame, uint32_t pid)
{
    char id[24];
    (void)snprintf(id, sizeof(id), " (%" PRIu32 ")", pid);
    sn_buf_text(to, frame->name);
    if (!strstr(frame->name, id)) /* else several are of that name, and it says which */
        sn_buf_text(to, id);
}

void sn_label_document(struct sn_buf *to, const struct sn_format_options *options)
{
    bool has_title = options->title && options->title[0];
    if (has_title)
        sn_buf_text(to, options->title);
    if (has_title && options->view)
        sn_buf_text(to, ": ");
    if (options->view)
        sn_buf_text(to, options->view);
}

struct ranked {
    uint64_t total;
    uint32_t thread;
};

static int most_first(const void *left, const void *right)
{
    const struct ranked *a = left;
    const struct ranked *b = right;
    if (a->total != b->total)
        return a->total < b->total ? 1 : -1;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

uint32_t *sn_label_threads(const struct sn_profile *profile, int column, uint32_t *ret_count)
{
    struct ranked *ranked = calloc(profile->thread_count + 1, sizeof(*ranked));
    uint32_t *threads = calloc(profile->thread_count + 1, sizeof(*threads));
    uint32_t count = 0;
    if (ranked && threads) {
        for (uint32_t i = 0; i < profile->thread_count; i++)
            ranked[i].thread = i;
        for (size_t i = 0; i < profile->row_count; i++)
            ranked[profile->rows[i].thread].total += profile->rows[i].values[column];
        qsort(ranked, profile->thread_count, sizeof(*ranked), most_first);
        for (; count < profile->thread_count && ranked[count].total; count++)
            threads[count] = ranked[count].thread;
    }
    if (!ranked) {
        free(threads);
        threads = NULL;
    }
    free(ranked);
    *ret_count = count;
    return threads;
}
