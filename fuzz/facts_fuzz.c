/* Any bytes as the stat, the cgroup and the maps of a process: what is taken of them is text that
 * ends, and stands there. */
#include "source/proc/facts.h"

#include <stdlib.h>
#include <string.h>

static void check_text(const char *text, const char *taken, size_t size)
{
    if (!memchr(taken, 0, size) || !strstr(text, taken))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sn_proc_facts facts = {0};
    char version[32] = "";
    char *text = strndup((const char *)data, size); /* of its size, for the sanitizer */
    if (!text)
        return 0;
    if (sn_proc_facts_of_stat(text, &facts) && !strchr(text, ')'))
        abort();
    check_text(text, facts.comm, sizeof(facts.comm));
    sn_proc_facts_of_cgroup(text, &facts);
    check_text(text, facts.cgroup, sizeof(facts.cgroup));
    check_text(text, facts.container, sizeof(facts.container));
    if (facts.container[0] && strlen(facts.container) != 12)
        abort();
    if (sn_proc_version_in_maps(text, version, sizeof(version)) &&
        !strchr("0123456789", version[0]))
        abort();
    check_text(text, version, sizeof(version));
    free(text);
    return 0;
}
