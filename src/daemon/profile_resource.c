/* Flame graphs of recordings: a kind of reading. */
#include "daemon/recording_routes.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "daemon/flame.h"
#include "daemon/recording_reading.h"
#include "daemon/rest_call.h"
#include "sonde/profile.h"

static void free_profile_auto(struct sonde_profile **slot)
{
    sonde_profile_free(*slot);
}

/* --- reading --- */

static int read_graph(const struct sn_reading_order *order, void **ret_result,
                      struct sonde_error *err)
{
    const struct sn_reading_subject *of = order->of;
    const struct sonde_profile_options options = {.size = sizeof(options),
                                                  .view = of->view,
                                                  .with_lines = of->with_lines,
                                                  .process = of->process[0] ? of->process : NULL,
                                                  .names = order->names,
                                                  .from_ns = of->from_ns,
                                                  .to_ns = of->to_ns};
    struct sn_flame *flame = NULL;
    SN_AUTO(free_profile) struct sonde_profile *profile = NULL;
    int rc = sonde_profile_read(order->path, &options, &profile, err);
    if (rc >= 0)
        rc = sn_flame_new(order->before, profile, of->nodes_max, &flame, err);
    *ret_result = flame;
    return rc;
}

static void *hold(void *result)
{
    return sn_flame_hold(result);
}

static void release(void *result)
{
    sn_flame_release(result);
}

static size_t bytes_of(const void *result)
{
    return sn_flame_bytes(result);
}

/* A part in which nothing happened, or a view of what never did, is no mistake of who asks. Other
 * things that are not there (a process, CPU times) are told. */
static bool is_empty(const struct sn_reading_subject *of, const struct sonde_error *err)
{
    return err->status == SONDE_E_NOT_FOUND &&
           (of->from_ns || of->to_ns || strstr(err->text, "has no events for the view"));
}

/* --- the answer --- */

/* Written in a worker. */
struct showing {
    struct sn_flame *flame; /* owns a reference; NULL: there is nothing yet */
    struct sn_flame_show show;
};

static void free_showing(void *user)
{
    struct showing *showing = user;
    sn_flame_release(showing->flame);
    free(showing);
}

static void write_nothing(struct sn_json *json, const struct sn_flame_show *show)
{
    sn_json_object(json, NULL);
    sn_json_u64(json, "version", 0);
    sn_json_u64(json, "since", 0);
    sn_json_text(json, "view", show->view);
    sn_json_text(json, "unit", "");
    sn_json_u64(json, "total", 0);
    sn_json_real(json, "durationSeconds", 0);
    sn_json_u64(json, "lost", 0);
    sn_json_bool(json, "complete", show->is_complete);
    sn_json_array(json, "frames");
    sn_json_close(json);
    sn_json_array(json, "nodes");
    sn_json_close(json);
    sn_json_close(json);
}

/* In a worker. */
static void write_answer(struct sn_rest_call *call)
{
    const struct showing *showing = call->user;
    struct sn_json json = sn_json_to(&call->out);
    if (showing->flame)
        sn_flame_write(showing->flame, &showing->show, &call->out);
    else
        write_nothing(&json, &showing->show);
}

static bool answer(struct sn_rest_call *call, const struct sn_reading_subject *of, void *result,
                   bool is_complete)
{
    struct showing *showing = calloc(1, sizeof(*showing));
    if (!showing) {
        sn_rest_problem(call, 503, "no memory");
        return false;
    }
    showing->flame = result ? sn_flame_hold(result) : NULL;
    showing->show = (struct sn_flame_show){.since = (uint64_t)sn_rest_number(call, "since"),
                                           .view = sonde_view_name(of->view),
                                           .is_complete = is_complete};
    call->user = showing;
    call->free_user = free_showing;
    sn_rest_move(call, SN_SEAT_WORKER, write_answer);
    return true;
}

static const struct sn_reading_kind flame_graph = {.read = read_graph,
                                                   .hold = hold,
                                                   .release = release,
                                                   .bytes = bytes_of,
                                                   .is_empty = is_empty,
                                                   .answer = answer};

/* What the sampler sees comes at once; exceptions and the like may never come. */
static bool is_sampled(int view)
{
    return view != SONDE_VIEW_ALLOCATION && view != SONDE_VIEW_EXCEPTION &&
           view != SONDE_VIEW_CONTENTION;
}

void sn_profile_resource_get(struct sn_rest_call *call)
{
    int view = sonde_view_find(sn_rest_text(call, "view"));
    struct sn_reading_subject subject = {.kind = &flame_graph,
                                         .view = view,
                                         .nodes_max = (size_t)sn_rest_number(call, "nodes"),
                                         .with_lines = sn_rest_flag(call, "lines"),
                                         .is_patient = is_sampled(view)};
    struct sn_operation *operation = sn_recordings_find(call);
    if (operation && sn_reading_subject_fill(call, &subject))
        sn_reading_ask(call, operation, &subject);
}
