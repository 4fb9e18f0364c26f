/* What the parts of the store share: the database, the processes and series that points come for,
 * and what waits for the next commit. */
#ifndef SN_STORE_STATE_H
#define SN_STORE_STATE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/table.h"
#include "sink/store/store.h"
#include "sink/store/store_chunk.h"
#include "sink/store/store_pack.h"
#include "sink/store/store_points.h"

#define SN_STORE_BATCH_MAX    (128u << 10) /* numbers that wait for a commit: 4 MB */
#define SN_STORE_SERIES_MAX   (64u << 10)  /* in memory */
#define SN_STORE_LIVE_MAX     8192u        /* processes in memory */
#define SN_STORE_WAITING_MAX  256u         /* recordings that wait for a commit */
#define SN_STORE_NS_PER_MS    1000000u
#define SN_STORE_COMMIT_CYCLE 16u /* commits between looks at everything */

/* What is kept of each point. Part of what a series is: one of an older store goes on as another.
 */
enum sn_store_shape {
    SN_STORE_NUMBER = 0, /* one number, by its kind; of a histogram, in version 2: its mean */
    SN_STORE_HISTOGRAM,  /* its parts: enum sn_store_part */
    SN_STORE_LEVEL       /* where something stands that the runtime tells as a rate */
};

/* A process that points come for. */
struct sn_store_live {
    struct sn_store_live *next;
    int64_t id;
    uint32_t pid;
    uint64_t start_ticks;
    char *texts[5]; /* own: name, runtime, user, container, command line */
    uint64_t first_ms;
    uint64_t last_ms;
    bool is_pending;                /* has no row yet */
    bool is_dirty;                  /* its row's times are old */
    struct sn_store_series *series; /* in the order of their coming */
    struct sn_store_series *latest; /* that a point came for; borrows */
};

/* One counter of it. */
struct sn_store_series {
    struct sn_store_series *next;      /* of the same process */
    struct sn_store_series *same_hash; /* of the table */
    struct sn_store_live *live;
    int64_t id;
    uint64_t hash;
    char *texts[4]; /* own, in one block: provider, counter, tags, unit */
    int kind;
    enum sn_store_shape shape;
    bool is_pending;
    bool is_sealing;      /* with the commit under way */
    bool wants_seal;      /* full, or holds back what could go */
    int64_t first_block;  /* that has points of it which no chunk has; 0: none */
    int64_t sealed_block; /* the last whose points are in chunks; 0: none */
    struct sn_store_points points;
};

struct sn_store_batched {
    struct sn_store_series *series;
    uint64_t time_ms;
    double value;
    unsigned part; /* of a point of several numbers: which */
};

/* A recording that could not be written yet; the texts are one block. */
struct sn_store_waiting {
    struct sn_store_waiting *next;
    struct sn_store_recording recording; /* its texts are owned */
};

/* A file that was there before us and that nothing is known of: of an artefact that nobody kept,
 * of a database that was set aside. */
struct sn_store_sweep_file {
    uint64_t written_ns;
    uint64_t bytes;
    bool is_beside; /* beside the database, not in files/ */
    char name[256];
};
struct sn_store_sweep_files {
    struct sn_store_sweep_file *files; /* owns; the oldest last */
    size_t count;
    size_t capacity;
};

struct sn_store {
    sqlite3 *db; /* NULL: could not be opened again */
    char *folder;
    char *files;
    uint64_t bytes_max;
    uint64_t age_max_ns;
    uint64_t opened_utc_ns;
    char boot[40];
    struct sn_store_packer packer;

    struct sn_store_live *lives;
    struct sn_table live_by_id;   /* struct sn_store_live * */
    struct sn_table series_table; /* by hash: struct sn_store_series *, a chain */
    size_t live_count;
    size_t series_count;
    int64_t next_process_id;
    int64_t next_series_id;
    int64_t last_block;
    uint64_t newest_ms;

    struct sn_store_batched *batch; /* owns; grows to SN_STORE_BATCH_MAX */
    size_t batch_count;
    size_t batch_capacity;
    struct sn_store_waiting *waiting;
    size_t waiting_count;
    bool has_news; /* rows that wait: processes, series, chunks */
    unsigned commit_count;
    bool must_try;  /* a write failed: the next commit tries one whatever there is */
    bool must_end;  /* recordings of an earlier life */
    bool is_loaded; /* numbers and blocks of the database are known */
    bool is_damaged;
    bool is_taking; /* a point is under way: its series stays */

    struct sn_store_health health;
    int64_t damaged_ids[64]; /* chunks that were counted */

    bool has_swept;                  /* chunks went: series may be without any */
    int64_t swept_series;            /* looked at up to here */
    struct sn_store_sweep_files old; /* files that no recording names */
    bool must_look;                  /* for them */
};

/* --- store_live.c --- */

struct sn_store_live *sn_store_live_find(struct sn_store *store, int64_t id,
                                         struct sonde_error *err);
void sn_store_live_forget(struct sn_store *store, bool everything);
/* A point that was committed and is in no chunk: from a block. */
int sn_store_live_recall(struct sn_store *store, struct sn_table *by_id,
                         const struct sn_store_entry *entry, int64_t block,
                         struct sonde_error *err);

/* --- store_commit.c --- */

int sn_store_commit_recall(struct sn_store *store, struct sonde_error *err);
void sn_store_commit_failed(struct sn_store *store, const struct sonde_error *err);
/* BEGIN and COMMIT around one write; failed ones are rolled back and noted. */
int sn_store_commit_begin(struct sn_store *store, struct sonde_error *err);
int sn_store_commit_end(struct sn_store *store, int rc, struct sonde_error *err);

/* --- store_recordings.c --- */

int sn_store_recordings_write(struct sn_store *store, struct sonde_error *err);
void sn_store_recordings_written(struct sn_store *store);
/* Takes over what can be read of them in a database that was set aside. */
void sn_store_recordings_salvage(struct sn_store *store, const char *aside);
int sn_store_recordings_end(struct sn_store *store, struct sonde_error *err);

/* --- store_sweep.c --- */

void sn_store_sweep_measure(struct sn_store *store);
/* Removes the file of a recording and what lies beside it: files that are called as it is but for
 * what comes after the first dot. */
void sn_store_sweep_recording(struct sn_store *store, const char *file);

/* --- store.c --- */

int sn_store_load(struct sn_store *store, struct sonde_error *err);
void sn_store_count_damaged(struct sn_store *store, int64_t chunk_id);
int sn_store_ready(struct sn_store *store, struct sonde_error *err); /* there is a database */

/* Whether the time for this question is over; says so to who asked. */
bool sn_store_is_late(const struct sn_store_query *query);

#endif
