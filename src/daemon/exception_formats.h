/* Exceptions as they are shown: one shape, dotnet-monitor's, in four wrappings; and its filters. No
 * state. Any thread. */
#ifndef SN_EXCEPTION_FORMATS_H
#define SN_EXCEPTION_FORMATS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "sonde/error.h"

struct sn_buf;
struct sn_exception;
struct sn_exception_shot;

enum sn_exception_format {
    SN_EXCEPTIONS_JSON = 0, /* application/json: one array */
    SN_EXCEPTIONS_NDJSON,   /* application/x-ndjson */
    SN_EXCEPTIONS_JSON_SEQ, /* application/json-seq */
    SN_EXCEPTIONS_TEXT,     /* text/plain */
    SN_EXCEPTIONS_FORMATS,
};

const char *sn_exception_format_type(enum sn_exception_format format);

#define SN_EXCEPTION_RULES_MAX 64u

/* What an exception must be like, all of it: NULL for what does not matter. Borrows. */
struct sn_exception_rule {
    const char *exception_type;
    const char *type_name; /* of the innermost frame, as the next two */
    const char *method_name;
    const char *module_name;
};

/* Zero it for everything. */
struct sn_exception_filter {
    struct sn_exception_rule
        include[SN_EXCEPTION_RULES_MAX]; /* one of these, unless there is none */
    size_t include_count;
    struct sn_exception_rule exclude[SN_EXCEPTION_RULES_MAX]; /* and none of these */
    size_t exclude_count;
};

/* {"include": [{"exceptionType": ...}], "exclude": [...]}, in letters of any size; NULL is fine.
 * Borrows the texts. SONDE_E_ARGUMENT says which member is wrong. */
int sn_exception_filter_read(const json_t *body, struct sn_exception_filter *ret_filter,
                             struct sonde_error *err);
bool sn_exception_filter_passes(const struct sn_exception_filter *filter,
                                const struct sn_exception *exception);

/* Appends those that pass, the oldest first. `shows_secrets`: messages as they are; otherwise
 * without what looks like a secret. `filter` may be NULL. */
void sn_exceptions_write(struct sn_buf *out, const struct sn_exception_shot *shot,
                         const struct sn_exception_filter *filter, enum sn_exception_format format,
                         bool shows_secrets);

/* The types of a method's parameters in the runtime's words, "(int32,class System.String&)", as
 * .NET's: "System.Int32", "System.String&"; each goes to `take`. */
void sn_exception_parameters(const char *signature, void (*take)(void *user, const char *type),
                             void *user);

#endif
