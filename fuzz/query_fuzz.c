/* Any bytes as method-less request: path, query and body of every route that there is. What is
 * taken is of its kind, ends within its text, and a body is no deeper than it may be. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/json_body.h"
#include "daemon/query.h"
#include "daemon/route.h"

static void check_value(const struct sn_parameter *parameter, const char *value)
{
    char *end;
    if (!value) {
        if (parameter->is_required)
            abort();
        return;
    }
    if (parameter->kind != SN_PARAMETER_NUMBER || value == parameter->standard)
        return;
    long long number = strtoll(value, &end, 10);
    if (*end || number < parameter->min || number > parameter->max)
        abort();
}

static void try_route(const struct sn_route *route, const char *path_text, const char *query_text)
{
    const char *values[SN_QUERY_VALUES_MAX] = {NULL};
    struct sn_query_problem problem = {.member = "", .text = ""};
    char *path = strdup(path_text);
    char *query = strdup(query_text);
    if (path && query && sn_query_match(route, path, NULL) >= 0) {
        (void)sn_query_match(route, path, values);
        if (!sn_query_read(route, query, values, &problem)) {
            if (!problem.text[0])
                abort();
        } else {
            for (size_t i = 0; route->parameters && route->parameters[i].name; i++)
                check_value(&route->parameters[i], values[i]);
        }
    }
    free(path);
    free(query);
}

static void try_body(const char *text)
{
    json_t *body = NULL;
    struct sonde_error err = {0};
    if (sn_json_body_read(text, strlen(text), &body, &err) == SONDE_OK)
        json_decref(body);
    else if (!err.text[0])
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The path up to the first ?, the query up to the first line feed, then the body. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t unused;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    char *rest = text;
    char *head = strsep(&rest, "\n");
    char *path = strsep(&head, "?");
    for (const struct sn_route *const *table = sn_route_tables; *table; table++) {
        for (const struct sn_route *route = *table; route->method; route++)
            try_route(route, path, head ? head : "");
    }
    (void)sn_query_time(path, &unused);
    if (rest)
        try_body(rest);
    free(text);
    return 0;
}
