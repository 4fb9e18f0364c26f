#include "daemon/counters_message.h"

#include "base/json.h"
#include "daemon/point_shot.h"
#include "daemon/point_text.h"

#define END_ROOM 128u /* of what stands behind the processes */

/* A piece that finds no room below `end` leaves nothing behind. */
struct mark {
    struct sn_json json;
    size_t size;
};

static struct mark mark_here(const struct sn_json *json)
{
    return (struct mark){*json, json->out->size};
}

static bool has_fit(struct sn_json *json, const struct mark *mark, size_t end)
{
    if (!json->out->failed && json->out->size <= end)
        return true;
    *json = mark->json;
    json->out->size = mark->size;
    json->out->failed = false;
    return false;
}

/* As many counters as find room: first those of one value each, then those that are many by their
 * tags. How many did not. */
static size_t put_counters(struct sn_json *json, const struct sn_shot_process *process, size_t end)
{
    size_t left_out = 0;
    for (unsigned with_tags = 0; with_tags < 2; with_tags++) {
        for (size_t i = 0; i < process->point_count; i++) {
            const struct sonde_point *point = &process->points[i];
            if ((point->tag_count > 0) != (with_tags > 0))
                continue;
            struct mark mark = mark_here(json);
            sn_point_json(json, point);
            left_out += !has_fit(json, &mark, end);
        }
    }
    return left_out;
}

/* A part of a process: what it is, and what it has room for. False: not even that. */
static bool put_part(struct sn_json *json, const struct sn_shot_process *process, size_t end,
                     size_t *ret_left_out)
{
    struct mark mark = mark_here(json);
    size_t most = end > END_ROOM ? end - END_ROOM : 0;
    sn_point_json_begin(json, process);
    if (!has_fit(json, &mark, most))
        return false;
    *ret_left_out = put_counters(json, process, most);
    sn_point_json_end(json, *ret_left_out);
    return has_fit(json, &mark, end);
}

static void put_process(struct sn_json *json, const struct sn_shot_process *process, size_t end,
                        struct sn_counters_left_out *left_out)
{
    struct mark mark = mark_here(json);
    size_t missing = 0;
    sn_point_json_process(json, process, &(struct sn_point_filter){0});
    if (has_fit(json, &mark, end))
        return;
    bool is_there = put_part(json, process, end, &missing);
    left_out->processes += !is_there;
    left_out->counters += is_there ? missing : process->point_count;
}

void sn_counters_message_all(const struct sn_point_shot *shot, struct sn_buf *to,
                             struct sn_counters_left_out *ret_left_out)
{
    struct sn_json json = sn_json_to(to);
    size_t most = to->limit > END_ROOM ? to->limit - END_ROOM : 0;
    *ret_left_out = (struct sn_counters_left_out){0};
    sn_json_object(&json, NULL);
    sn_json_array(&json, "processes");
    for (size_t i = 0; i < shot->process_count; i++) {
        size_t room = most > to->size ? most - to->size : 0;
        put_process(&json, &shot->processes[i], to->size + room / (shot->process_count - i),
                    ret_left_out);
    }
    sn_json_close(&json);
    if (ret_left_out->counters || ret_left_out->processes) {
        sn_json_object(&json, "leftOut");
        sn_json_u64(&json, "counters", ret_left_out->counters);
        sn_json_u64(&json, "processes", ret_left_out->processes);
        sn_json_close(&json);
    }
    sn_json_close(&json);
}

void sn_counters_message_one(const struct sn_shot_process *process, struct sn_buf *to,
                             struct sn_counters_left_out *ret_left_out)
{
    struct sn_json json = sn_json_to(to);
    *ret_left_out = (struct sn_counters_left_out){0};
    put_process(&json, process, to->limit, ret_left_out);
    to->failed |= !to->size; /* nothing is no message */
}
