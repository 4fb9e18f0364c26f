#include "sonde/filter.h"

#include "api/event_internal.h"
#include "base/err.h"
#include "model/event_filter.h"

/* The public name of the same thing: never defined, only cast. */

int sonde_filter_new(const char *text, struct sonde_filter **ret_filter, struct sonde_error *err)
{
    struct sn_event_filter *filter = NULL;
    if (!text || !ret_filter)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "a condition needs a text");
    int rc = sn_event_filter_new(text, &filter, err);
    if (rc == SONDE_OK)
        *ret_filter = (struct sonde_filter *)filter;
    return rc;
}

void sonde_filter_free(struct sonde_filter *filter)
{
    sn_event_filter_free((struct sn_event_filter *)filter);
}

bool sonde_filter_holds(const struct sonde_filter *filter, const struct sonde_event *event)
{
    return sn_event_filter_holds((const struct sn_event_filter *)filter, event->event);
}
