/* Any option strings: what the set accepts is sent as a well-formed request or refused with a
 * reason.
 *
 * Input: lines; the first letter says what the rest of the line is. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "sonde/provider.h"
#include "source/ipc/message.h"

#define PROVIDER_MAX 1000u

static int apply(struct sonde_provider_set *set, const char *line, struct sonde_error *err)
{
    switch (line[0]) {
    case 'p': return sonde_provider_set_add_profiles(set, line + 1, err);
    case 'c': return sonde_provider_set_add_clr(set, line + 1, "", err);
    case 'l': return sonde_provider_set_add_clr(set, "gc", line + 1, err);
    case 'k': return sonde_provider_set_filter(set, line + 1, false, err);
    case 'x': return sonde_provider_set_filter(set, line + 1, true, err);
    default: return sonde_provider_set_add(set, line, err);
    }
}

static void check_set(const struct sonde_provider *providers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!providers[i].name || !providers[i].name[0] || providers[i].level > 5)
            abort();
        if (providers[i].id_count && !providers[i].ids)
            abort();
        for (size_t j = 0; j < i && i < 50; j++) {
            if (strcasecmp(providers[i].name, providers[j].name) == 0)
                abort();
        }
    }
}

static void send_set(const struct sonde_provider *providers, size_t count, uint64_t rundown)
{
    static struct sn_ipc_provider wanted[PROVIDER_MAX];
    if (count > PROVIDER_MAX)
        abort();
    for (size_t i = 0; i < count; i++)
        wanted[i] = (struct sn_ipc_provider){
            .name = providers[i].name,
            .arguments = providers[i].arguments,
            .keywords = providers[i].keywords,
            .level = providers[i].level,
            .event_ids = providers[i].ids,
            .event_id_count = providers[i].id_count,
            .only_listed = providers[i].id_count && !providers[i].ids_are_excluded,
        };
    struct sn_ipc_request request = {.command = SN_IPC_COLLECT_TRACING5,
                                     .collect = {.buffer_mb = 256,
                                                 .format = 1,
                                                 .rundown_keyword = rundown,
                                                 .stacks = true,
                                                 .providers = wanted,
                                                 .provider_count = count}};
    struct sn_buf message = sn_buf_with_limit(SN_IPC_LARGEST_MESSAGE);
    struct sn_arena arena = sn_arena_with_limit(SN_IPC_REQUEST_MEMORY);
    struct sonde_error err = {0};
    int rc = sn_ipc_encode(&request, &message, &err);
    if (rc != SONDE_OK) {
        if ((rc != SONDE_E_ARGUMENT && rc != SONDE_E_LIMIT) || !err.text[0] || message.size)
            abort();
    } else {
        struct sn_ipc_request back;
        if (sn_ipc_decode_request(message.bytes, message.size, &arena, &back, &err) != SONDE_OK ||
            back.collect.provider_count != count)
            abort();
        for (size_t i = 0; i < count; i++) {
            if (strcmp(back.collect.providers[i].name, providers[i].name) != 0 ||
                back.collect.providers[i].keywords != providers[i].keywords)
                abort();
        }
    }
    sn_arena_done(&arena);
    sn_buf_done(&message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sonde_provider_set *set = NULL;
    char *text = malloc(size + 1);
    if (!text || sonde_provider_set_new(&set, NULL) != SONDE_OK) {
        free(text);
        return 0;
    }
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        struct sonde_error err = {0};
        int rc = apply(set, line, &err);
        if (rc != SONDE_OK && (rc != err.status || !err.text[0]))
            abort(); /* a refusal without a reason */
    }
    size_t count = 0;
    const struct sonde_provider *providers = sonde_provider_set_get(set, &count);
    check_set(providers, count);
    send_set(providers, count, sonde_provider_set_rundown(set));
    sonde_provider_set_free(set);
    free(text);
    return 0;
}
