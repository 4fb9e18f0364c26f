/* Numbers of counters for people: scaled by their unit, with points whatever the locale, and as
 * lines of blocks. */
#ifndef SN_CLI_COUNTER_TEXT_H
#define SN_CLI_COUNTER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_buf;
struct sonde_point;

#define SN_COUNTER_TEXT 48u

/* "12.3 MB", "1.25 ms", "3.2 %", "1,234", "17 widgets"; "-" for what is no number. The unit may
 * come from outside: it is cut, not made safe. */
const char *sn_counter_text(double value, const char *unit, char to[SN_COUNTER_TEXT]);

/* Its rate, "120/s", "8.1 KB/s"; "" when it has none. */
const char *sn_counter_rate_text(const struct sonde_point *point, char to[SN_COUNTER_TEXT]);

/* The number of a point that says most: the total of what adds up, the median of a histogram. */
double sn_counter_main(const struct sonde_point *point);

/* The one whose course is worth a line: rates of what adds up. */
double sn_counter_course(const struct sonde_point *point);

/* Appends what does not fit into two numbers: "p50 1.2 ms  p95 3 ms  sum 1.2 s  120 values". */
void sn_counter_detail(struct sn_buf *to, const struct sonde_point *point);

/* Appends tags with the last part of their keys only: "method=GET,route=/" for
 * "http.request.method=GET,http.route=/". */
void sn_counter_short_tags(struct sn_buf *to, const char *tags);

/* Appends one character a value, the lowest to the highest of them as ▁ to █, or in ASCII. What is
 * no number is a gap. */
void sn_counter_spark(struct sn_buf *to, const double *values, size_t count, bool in_ascii);

#endif
