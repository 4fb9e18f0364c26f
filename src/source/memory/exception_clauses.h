/* The clauses by which the runtime handles exceptions of a method, as far as to tell filters from
 * what runs once the stack is unwound. Private to the code map's files. */
#ifndef SN_EXCEPTION_CLAUSES_H
#define SN_EXCEPTION_CLAUSES_H

#include <stdbool.h>
#include <stdint.h>

struct sn_code_reader;
struct sn_managed_code;
struct sn_ready_to_run;

/* Whether the funclet that `code` is of is a filter, by the clauses of its method: of one that was
 * compiled here, or of `image`. False also where they are not told. */
bool sn_exception_clauses_has_filter(struct sn_code_reader *reader,
                                     const struct sn_managed_code *code);
bool sn_exception_clauses_has_image_filter(struct sn_code_reader *reader,
                                           const struct sn_ready_to_run *image,
                                           const struct sn_managed_code *code);

#endif
