/* What sonde counters was asked for and is not there: processes, meters and EventSources. */
#ifndef SN_CLI_COUNTERS_ABSENT_H
#define SN_CLI_COUNTERS_ABSENT_H

#include <stdbool.h>
#include <stddef.h>

struct sn_buf;
struct sonde_counters_options;
struct sonde_point;

/* Why no process is watched: "no .NET process called 'shop'". */
void sn_counters_say_nobody(struct sn_buf *to, const struct sonde_counters_options *options);

#define SN_ASKED_MAX 64u

/* One meter or EventSource of --counters; patterns too. */
struct sn_counters_asked {
    char name[128];
    bool is_told;
};

/* Who of them has told something. Beyond the limit nobody is missed, nor are longer names. */
struct sn_counters_asked_list {
    struct sn_counters_asked items[SN_ASKED_MAX];
    size_t count;
    size_t silent_count;
};

void sn_counters_asked_begin(struct sn_counters_asked_list *asked,
                             const struct sonde_counters_options *options);
void sn_counters_asked_take(struct sn_counters_asked_list *asked, const struct sonde_point *point);

/* A line for each that was silent, on standard error. */
void sn_counters_asked_tell(const struct sn_counters_asked_list *asked);

#endif
