#include "api/manifest_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "sonde/error.h"
#include "source/file/input.h"

#define MANIFEST_LIMIT (1u << 20)

/* A number behind its key. In a string of JSON the key's quotes would be escaped, so what is found
 * is a key. */
static uint64_t number_of(const char *text, const char *key)
{
    char quoted[64];
    (void)snprintf(quoted, sizeof(quoted), "\"%s\":", key);
    const char *found = strstr(text, quoted);
    const char *digits = found ? found + strlen(quoted) : "";
    return strtoull(digits + strspn(digits, " "), NULL, 10);
}

struct sn_manifest_facts sn_manifest_facts_read(const char *path)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(MANIFEST_LIMIT);
    struct sonde_error why = {0};
    if (sn_input_member(path, "manifest.json", &text, &why) != SONDE_OK)
        return (struct sn_manifest_facts){0};
    const char *manifest = sn_buf_string(&text);
    return (struct sn_manifest_facts){
        .is_known = true,
        .duration_ns = number_of(manifest, "duration_ns"),
        .kernel_lost_count = number_of(manifest, "kernel_records"),
    };
}
