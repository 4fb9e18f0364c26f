#include "flow/dispatch.h"

#include <stddef.h>

#include "base/err.h"
#include "flow/sink.h"
#include "model/event.h"

int sn_dispatch_add(struct sn_dispatcher *dispatcher, const struct sn_request *request,
                    struct sn_sink *sink, bool needs_order, struct sonde_error *err)
{
    if (~dispatcher->active == 0) {
        sink->ops->free(sink);
        return sn_fail(err, SONDE_E_LIMIT, 0, "a road takes %u subscriptions and has them all",
                       SN_SUBSCRIPTION_MAX);
    }
    unsigned bit = (unsigned)__builtin_ctzll(~dispatcher->active);
    dispatcher->subscriptions[bit] =
        (struct sn_subscription){.sink = sink, .request = *request, .needs_order = needs_order};
    dispatcher->active |= 1ull << bit;
    if (needs_order)
        dispatcher->ordered |= 1ull << bit;
    return (int)bit;
}

uint64_t sn_dispatch_wanted(const struct sn_dispatcher *dispatcher, const struct sn_schema *schema)
{
    uint64_t wanted = 0;
    for (uint64_t bits = dispatcher->active; bits; bits &= bits - 1) {
        unsigned bit = (unsigned)__builtin_ctzll(bits);
        if (sn_request_matches(&dispatcher->subscriptions[bit].request, schema))
            wanted |= 1ull << bit;
    }
    return wanted;
}

void sn_dispatch(struct sn_dispatcher *dispatcher, uint64_t wanted, const struct sn_event *event)
{
    for (wanted &= ~dispatcher->leaving; wanted; wanted &= wanted - 1) {
        unsigned bit = (unsigned)__builtin_ctzll(wanted);
        struct sn_subscription *subscription = &dispatcher->subscriptions[bit];
        if (subscription->request.pid && subscription->request.pid != event->pid)
            continue;
        int rc = subscription->sink->ops->event(subscription->sink, event);
        if (rc == SONDE_OK || rc == SONDE_END)
            subscription->delivered_count++;
        else
            subscription->declined_count++;
        if (rc == SONDE_END || rc < 0) {
            subscription->is_leaving = true;
            subscription->status = rc;
            dispatcher->leaving |= 1ull << bit;
        }
    }
}
