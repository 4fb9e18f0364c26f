/* The live view: on a terminal by ncurses, elsewhere as tables or lines of JSON. */
#ifndef SN_CLI_TOP_VIEW_H
#define SN_CLI_TOP_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/top.h"

struct sn_buf;
struct sonde_error;
struct sonde_top_method;
struct sonde_top_state;

struct sn_top_view {
    struct sonde_top *top;           /* owns: `w` opens another in its place; NULL: that failed */
    struct sonde_top_options chosen; /* what it was opened with */
    int signals;                     /* of cli/signals.h; borrows */
    uint64_t interval_ns;
    uint64_t rows; /* of a table */
    bool json;
    bool once;
    bool has_scope; /* some processes were chosen: methods are theirs */
};

/* Drives the view until `deadline_ns`, input on `input` (-1: none), or a signal: 0, 1 and 2. */
enum sn_top_wait { SN_TOP_TIME, SN_TOP_INPUT, SN_TOP_SIGNAL };
int sn_top_wait(const struct sn_top_view *view, uint64_t deadline_ns, int input,
                struct sonde_error *err);

/* "143.2", whatever the locale. */
const char *sn_top_percent_text(double percent, char to[24]);

/* "156.8 % of 2 CPUs, 642 processes, over 5.1 s". */
void sn_top_head(struct sn_buf *to, const struct sonde_top_state *state);

/* "watching costs shop about 14 % of a CPU", or why that cannot be told; nothing where no .NET
 * process is watched, or it will not be known. */
void sn_top_cost(struct sn_buf *to, const struct sn_top_view *view);

/* "29,400 events lost: ...", with what to do; nothing if none were. */
void sn_top_losses(struct sn_buf *to, const struct sn_top_view *view,
                   const struct sonde_top_state *state);

/* "" where the name begins with it: libcoreclr.so!0x5fc990. */
const char *sn_top_module(const struct sonde_top_method *method);

/* What this program costs, in percent of a CPU. */
double sn_top_own_percent(const struct sonde_top_state *state, uint64_t started_ns);

/* Tables or JSON on standard output, one an interval. Both return a status. */
int sn_top_print(const struct sn_top_view *view, struct sonde_error *err);

/* The whole terminal. SONDE_E_UNSUPPORTED, with the reason, before anything is shown: this terminal
 * cannot. It is as it was in any case when this returns. */
int sn_top_screen(struct sn_top_view *view, struct sonde_error *err);

#endif
