#include "convert/machine_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "convert/report_text.h"
#include "convert/sites.h"
#include "model/profile.h"

#define FIRST_EDGE_NS 2048u

const char *sn_machine_count(const struct sn_machine_report *machine, char to[96])
{
    size_t known = machine->known_count;
    char ran[48] = "";
    if (machine->ran_count < known)
        (void)snprintf(ran, sizeof(ran), ", %zu of them ran", machine->ran_count);
    (void)snprintf(to, 96, "%zu process%s%s", known, known == 1 ? "" : "es", ran);
    return to;
}

const char *sn_machine_doubt(const struct sn_machine_report *machine)
{
    return machine->has_lost_much ? "; records were lost: shares hold, sums do not" : "";
}

enum sn_wait_reason sn_off_cpu_most(const struct sn_off_cpu_report *off)
{
    enum sn_wait_reason most = SN_WAIT_IDLE;
    for (int i = 0; i < SN_WAIT_REASONS; i++) {
        if (i != SN_WAIT_IDLE && off->by_reason[i].ns &&
            (most == SN_WAIT_IDLE || off->by_reason[i].ns > off->by_reason[most].ns))
            most = (enum sn_wait_reason)i;
    }
    return most;
}

enum sn_wait_reason sn_thread_wait_most(const struct sn_thread_wait *thread)
{
    enum sn_wait_reason most = SN_WAIT_LOCK;
    for (int i = 0; i < SN_WAIT_REASONS; i++) {
        if (thread->by_reason[i] > thread->by_reason[most])
            most = (enum sn_wait_reason)i;
    }
    return most;
}

const char *sn_off_cpu_where(const struct sn_off_cpu_report *off, char to[256])
{
    SN_AUTO(sn_wait_places_done) struct sn_wait_places places = {0};
    const char *most = sn_wait_reason_name(sn_off_cpu_most(off));
    sn_wait_places_find(&places, off->profile);
    to[0] = '\0';
    for (size_t i = 0; i < places.count; i++) {
        bool is_the_runtimes = strncmp(places.items[i].name, "[runtime", 8) == 0;
        if (strcmp(places.items[i].type, most) != 0 || is_the_runtimes)
            continue;
        (void)snprintf(to, 256, ", most in %s", places.items[i].name);
        break;
    }
    return to;
}

static int by_run_queue(const void *left, const void *right)
{
    const struct sn_thread_wait *a = *(const struct sn_thread_wait *const *)left;
    const struct sn_thread_wait *b = *(const struct sn_thread_wait *const *)right;
    if (a->run_queue_ns != b->run_queue_ns)
        return a->run_queue_ns < b->run_queue_ns ? 1 : -1;
    return (a->thread_id > b->thread_id) - (a->thread_id < b->thread_id);
}

const struct sn_thread_wait **sn_run_queue_worst(const struct sn_off_cpu_report *off)
{
    const struct sn_thread_wait **list =
        calloc(off->thread_count + 1, sizeof(const struct sn_thread_wait *));
    size_t count = 0;
    for (size_t i = 0; list && i < off->thread_count; i++) {
        if (off->threads[i].run_queue_ns)
            list[count++] = &off->threads[i];
    }
    if (list && count)
        qsort(list, count, sizeof(const struct sn_thread_wait *), by_run_queue);
    return list;
}

uint64_t sn_run_queue_edge_ns(unsigned bucket)
{
    unsigned last = SN_RUN_QUEUE_BUCKETS - 1;
    return (uint64_t)FIRST_EDGE_NS << (bucket < last ? bucket : last - 1);
}

const char *sn_run_queue_edge(unsigned bucket, char to[32])
{
    return sn_text_ns(sn_run_queue_edge_ns(bucket), to);
}

/* --- places --- */

static int most_first(const void *left, const void *right)
{
    const struct sn_wait_place *a = left;
    const struct sn_wait_place *b = right;
    if (a->ns != b->ns)
        return a->ns < b->ns ? 1 : -1;
    return strcmp(a->name, b->name);
}

void sn_wait_places_find(struct sn_wait_places *places, const struct sn_profile *profile)
{
    const char *idle = sn_wait_reason_name(SN_WAIT_IDLE);
    SN_AUTO(sn_sites_done) struct sn_sites sites = {0};
    sn_sites_find(&sites, profile, 0);
    *places = (struct sn_wait_places){.items = calloc(sites.count + 1, sizeof(*places->items))};
    for (size_t i = 0; places->items && i < sites.count; i++) {
        const struct sn_site *site = &sites.items[i];
        const char *type = site->type == SN_NO_INDEX ? "" : profile->frames[site->type].name;
        if (!site->values[1] || strcmp(type, idle) == 0)
            continue;
        places->items[places->count++] = (struct sn_wait_place){
            .name = sn_site_name(site),
            .type = type,
            .is_own = site->frame && !site->frame->is_framework,
            .ns = site->values[0],
            .count = site->values[1],
        };
    }
    if (places->count)
        qsort(places->items, places->count, sizeof(*places->items), most_first);
}

void sn_wait_places_done(struct sn_wait_places *places)
{
    free(places->items);
}
