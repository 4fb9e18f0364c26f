/* Arguments of providers, from whoever types them: any two texts are joined or refused, and what
 * was joined covers both. */
#include <stdlib.h>
#include <string.h>

#include "api/hub_arguments.h"
#include "base/buf.h"
#include "base/own.h"
#include "sonde/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Joined once more with one of its parts it must stay: otherwise a session would be exchanged for
 * ever. */
static void check_covers(const char *provider, struct sn_buf *joined, struct sn_buf *part)
{
    SN_AUTO(sn_buf_done) struct sn_buf again = sn_buf_with_limit(SN_ARGUMENTS_LIMIT);
    if (sn_arguments_join(provider, sn_buf_string(joined), sn_buf_string(part), &again, NULL) !=
            SONDE_OK ||
        strcmp(sn_buf_string(joined), sn_buf_string(&again)) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const providers[] = {SN_METRICS_PROVIDER, "Microsoft-Extensions-Logging",
                                            "Microsoft-Diagnostics-DiagnosticSource", "A"};
    if (size < 1 || size > 4096)
        return 0;
    const char *provider = providers[data[0] % 4];
    SN_AUTO(sn_free) char *left = strndup((const char *)data + 1, size - 1);
    size_t length = left ? strlen(left) + 2 : size;
    SN_AUTO(sn_free)
    char *right = length < size ? strndup((const char *)data + length, size - length) : NULL;
    SN_AUTO(sn_buf_done) struct sn_buf ours = sn_buf_with_limit(SN_ARGUMENTS_LIMIT);
    SN_AUTO(sn_buf_done) struct sn_buf theirs = sn_buf_with_limit(SN_ARGUMENTS_LIMIT);
    SN_AUTO(sn_buf_done) struct sn_buf joined = sn_buf_with_limit(SN_ARGUMENTS_LIMIT);
    if (sn_arguments_normal(provider, left, &ours, NULL) != SONDE_OK ||
        sn_arguments_normal(provider, right, &theirs, NULL) != SONDE_OK ||
        sn_arguments_join(provider, sn_buf_string(&ours), sn_buf_string(&theirs), &joined, NULL) !=
            SONDE_OK)
        return 0;
    check_covers(provider, &joined, &ours);
    check_covers(provider, &joined, &theirs);
    return 0;
}
