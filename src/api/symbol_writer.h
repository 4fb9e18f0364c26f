/* Appends names to a journal: native and kernel functions as symbols in their mappings, methods as
 * a rundown tells of them, which is how everybody knows them. One thread. */
#ifndef SN_SYMBOL_WRITER_H
#define SN_SYMBOL_WRITER_H

#include <stdint.h>

struct sn_journal;
struct sn_method_event;
struct sn_symbol_writer;
struct sonde_error;

struct sn_symbol {
    uint32_t pid;
    uint64_t mapping_id; /* of one that is in the journal */
    uint64_t start;
    uint64_t size;
    const char *name;
};

struct sn_symbol_line {
    uint32_t pid;
    uint64_t mapping_id;
    uint64_t address;
    const char *file;
    uint32_t line;
};

/* Borrows the journal and must be freed after it: its kinds of events are in use there. All that is
 * written has the time `time_ns`. */
int sn_symbol_writer_new(struct sn_journal *journal, uint64_t time_ns,
                         struct sn_symbol_writer **ret_writer, struct sonde_error *err);
void sn_symbol_writer_free(struct sn_symbol_writer *writer);

int sn_symbol_writer_put(struct sn_symbol_writer *writer, const struct sn_symbol *symbol,
                         struct sonde_error *err);

int sn_symbol_writer_put_line(struct sn_symbol_writer *writer, const struct sn_symbol_line *line,
                              struct sonde_error *err);

int sn_symbol_writer_put_method(struct sn_symbol_writer *writer, uint32_t pid,
                                const struct sn_method_event *method, struct sonde_error *err);

#endif
