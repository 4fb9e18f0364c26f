/* What a recording that ended spent its time on, put into the store: so that methods are found in
 * it without reading its file again. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "daemon/artefact.h"
#include "daemon/daemon.h"
#include "daemon/operation.h"
#include "daemon/operation_kinds.h"
#include "daemon/recording_store.h"
#include "daemon/store_desk.h"
#include "daemon/upload.h"
#include "daemon/workers.h"
#include "sonde/profile.h"

/* Of frames and of nodes: what is beyond is in the file. */
#define ROWS_MAX 200000u
/* A file from elsewhere that took longer to read is not read twice more for this. */
#define TOOK_MAX_NS (20 * (uint64_t)SN_NS_PER_SECOND)

struct reading {
    struct sn_mailbox_task task; /* to the worker, then to the store */
    struct sn_daemon *daemon;
    struct sn_artefact *artefact; /* owns a reference */
    char id[37];
    int view;
    struct sonde_profile *profile; /* owns: methods point into it */
    struct sn_store_method *methods;
    struct sn_store_profile_node *nodes;
    size_t method_count;
    size_t node_count;
};

static void free_reading(struct reading *reading)
{
    sn_artefact_release(reading->artefact);
    sonde_profile_free(reading->profile);
    free(reading->methods);
    free(reading->nodes);
    free(reading);
}

static bool read_methods(struct reading *reading)
{
    size_t count = sonde_profile_frame_count(reading->profile);
    reading->methods = count <= ROWS_MAX ? calloc(count + 1, sizeof(*reading->methods)) : NULL;
    for (size_t i = 0; reading->methods && i < count; i++) {
        struct sonde_frame frame = {.name = "", .module = ""};
        (void)sonde_profile_frame(reading->profile, i, &frame);
        reading->methods[i] = (struct sn_store_method){
            .name = frame.name, .module = frame.module, .self = frame.self, .total = frame.total};
    }
    reading->method_count = count;
    return reading->methods != NULL;
}

static bool read_nodes(struct reading *reading)
{
    size_t count = sonde_profile_node_count(reading->profile);
    reading->nodes = count <= ROWS_MAX ? calloc(count + 1, sizeof(*reading->nodes)) : NULL;
    for (size_t i = 0; reading->nodes && i < count; i++) {
        struct sonde_node node = {0};
        (void)sonde_profile_node(reading->profile, i, &node);
        reading->nodes[i] = (struct sn_store_profile_node){
            .parent = node.parent, .method = node.frame, .self = node.self};
    }
    reading->node_count = count;
    return reading->nodes != NULL;
}

/* In the store's thread. */
static void put(void *user)
{
    struct reading *reading = user;
    struct sonde_error err = {0};
    struct sn_store *store = sn_store_desk_store(reading->daemon->store);
    const struct sn_store_profile profile = {
        .view = sonde_view_name(reading->view),
        .unit = sonde_profile_unit(reading->profile),
        .methods = reading->methods,
        .method_count = reading->method_count,
        .nodes = reading->nodes,
        .node_count = reading->node_count,
    };
    if (store)
        (void)sn_store_profile_put(store, reading->id, &profile, &err);
    free_reading(reading);
}

/* In a worker. */
static void read_it(void *user)
{
    struct reading *reading = user;
    struct sonde_error err = {0};
    struct sonde_profile_options options = {.size = sizeof(options), .view = reading->view};
    int rc =
        sonde_profile_read(sn_artefact_path(reading->artefact), &options, &reading->profile, &err);
    if (rc < 0 || !read_methods(reading) || !read_nodes(reading) ||
        !sn_store_desk_offer(reading->daemon->store, &reading->task, put, reading))
        free_reading(reading);
}

static void start(const struct sn_operation *operation, int view)
{
    struct reading *reading = calloc(1, sizeof(*reading));
    if (!reading)
        return;
    reading->daemon = operation->daemon;
    reading->artefact = sn_artefact_hold(operation->artefact);
    reading->view = view;
    memcpy(reading->id, operation->id, sizeof(reading->id));
    if (!sn_workers_offer(operation->daemon->workers, &reading->task, read_it, reading))
        free_reading(reading);
}

void sn_recording_store_profile(const struct sn_operation *operation)
{
    static const int views[] = {SONDE_VIEW_CPU, SONDE_VIEW_ALLOCATION};
    const struct sn_upload_facts *facts =
        operation->kind == &sn_upload_operation ? operation->user : NULL;
    if (facts && facts->took_ns > TOOK_MAX_NS)
        return;
    for (size_t i = 0; operation->daemon->store && i < sizeof(views) / sizeof(*views); i++)
        start(operation, views[i]);
}
