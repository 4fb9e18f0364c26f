/* Any bytes as the kernel's list of symbols: a search in one pass finds what the whole list has,
 * and functions begin at or before the addresses that they hold. The first bytes choose addresses:
 * a line of the list, and how far behind. */
#include "symbol/kallsyms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "sonde/error.h"

#define ADDRESS_COUNT 8u
#define HEAD_SIZE     ((size_t)2 * ADDRESS_COUNT)

struct found {
    const struct sn_kallsyms *all;
    const uint64_t *addresses;
    size_t at; /* of the address that is next */
};

/* Each is what the list has for the next address that it has something for. */
static void check(void *user, const struct sn_kallsyms_symbol *symbol)
{
    struct found *found = user;
    struct sn_kallsyms_symbol same;
    while (found->at < ADDRESS_COUNT &&
           (!sn_kallsyms_find(found->all, found->addresses[found->at], &same) ||
            found->addresses[found->at] - symbol->start >= symbol->size))
        found->at++;
    if (found->at == ADDRESS_COUNT || same.start != symbol->start || same.size != symbol->size ||
        strcmp(same.name, symbol->name) != 0)
        abort();
}

static int ascending(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one;
    uint64_t b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

/* The start of line `number`, or 0. */
static uint64_t start_of(const char *text, unsigned number)
{
    for (; text && number; number--) {
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    return text ? strtoull(text, NULL, 16) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    uint64_t addresses[ADDRESS_COUNT];
    struct sn_kallsyms *all = NULL;
    if (size < HEAD_SIZE)
        return 0;
    char *text = strndup((const char *)data + HEAD_SIZE, size - HEAD_SIZE);
    int fd = memfd_create("kallsyms", MFD_CLOEXEC);
    if (!text || fd < 0 ||
        sn_file_write_all(fd, data + HEAD_SIZE, size - HEAD_SIZE, NULL) != SONDE_OK)
        abort();
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    for (size_t i = 0; i < ADDRESS_COUNT; i++)
        addresses[i] = start_of(text, data[2 * i]) + 16u * data[2 * i + 1];
    qsort(addresses, ADDRESS_COUNT, sizeof(*addresses), ascending);
    bool is_read = sn_kallsyms_new(path, &all, NULL) == SONDE_OK;
    struct found found = {all, addresses, 0};
    if ((sn_kallsyms_search(path, addresses, ADDRESS_COUNT, check, &found, NULL) == SONDE_OK) !=
        is_read)
        abort();
    sn_kallsyms_free(all);
    (void)close(fd);
    free(text);
    return 0;
}
