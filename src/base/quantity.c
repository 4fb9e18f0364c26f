#include "base/quantity.h"

#include <string.h>

#include "base/clock.h"
#include "base/text.h"

static bool parse_clock_duration(const char *text, uint64_t *ret_ns)
{
    uint64_t parts[4] = {0};
    size_t count = 0;
    while (*text) {
        size_t size = strcspn(text, ":");
        char number[12] = "";
        bool is_last = text[size] != ':';
        if (count == 4 || size >= sizeof(number) || strspn(text, "0123456789") != size ||
            (!is_last && !text[size + 1]))
            return false;
        memcpy(number, text, size);
        if (!sn_text_to_u64(number, 100000, &parts[count++]))
            return false;
        text += size + !is_last;
    }
    uint64_t seconds = 0;
    static const uint64_t weights[] = {86400, 3600, 60, 1};
    for (size_t i = 0; i < count; i++)
        seconds += parts[i] * weights[4 - count + i];
    *ret_ns = seconds * SN_NS_PER_SECOND;
    return true;
}

static uint64_t unit_ns(const char *unit, size_t size)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"ms", SN_NS_PER_MS},
                 {"s", SN_NS_PER_SECOND},
                 {"m", 60ull * SN_NS_PER_SECOND},
                 {"h", 3600ull * SN_NS_PER_SECOND},
                 {"d", 86400ull * SN_NS_PER_SECOND}};
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (strlen(units[i].name) == size && strncmp(units[i].name, unit, size) == 0)
            return units[i].ns;
    }
    return size ? 0 : SN_NS_PER_SECOND;
}

/* ".25" is 250 thousandths; what is finer does not count. No fraction: 0, and the text stays. */
static uint64_t take_fraction(const char **text)
{
    if (**text != '.' || (*text)[1] < '0' || (*text)[1] > '9')
        return 0;
    uint64_t thousandths = 0;
    uint64_t weight = 100;
    for (++*text; **text >= '0' && **text <= '9'; ++*text, weight /= 10)
        thousandths += weight * (uint64_t)(**text - '0');
    return thousandths;
}

bool sn_quantity_duration(const char *text, uint64_t *ret_ns)
{
    if (strchr(text, ':'))
        return parse_clock_duration(text, ret_ns);
    uint64_t total = 0;
    if (!*text)
        return false;
    while (*text) {
        size_t digits = strspn(text, "0123456789");
        char number[12] = "";
        uint64_t value = 0;
        if (!digits || digits >= sizeof(number))
            return false;
        memcpy(number, text, digits);
        text += digits;
        uint64_t thousandths = take_fraction(&text);
        size_t letters = strcspn(text, "0123456789");
        uint64_t ns = unit_ns(text, letters);
        if (!ns || !sn_text_to_u64(number, 100000000000ull, &value) || value > UINT64_MAX / ns / 4)
            return false;
        total += value * ns + thousandths * (ns / 1000);
        if (total > UINT64_MAX / 2)
            return false;
        text += letters;
    }
    *ret_ns = total;
    return true;
}

bool sn_quantity_bytes(const char *text, uint64_t *ret_bytes)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } units[] = {{"", 1},           {"B", 1},           {"k", 1000},       {"K", 1000},
                 {"kB", 1000},      {"KB", 1000},       {"M", 1000000},    {"MB", 1000000},
                 {"G", 1000000000}, {"GB", 1000000000}, {"KiB", 1u << 10}, {"MiB", 1u << 20},
                 {"GiB", 1u << 30}};
    size_t digits = strspn(text, "0123456789");
    char number[20] = "";
    uint64_t value = 0;
    if (!digits || digits >= sizeof(number))
        return false;
    memcpy(number, text, digits);
    if (!sn_text_to_u64(number, UINT64_MAX, &value))
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (strcmp(units[i].name, text + digits) == 0) {
            if (value > INT64_MAX / units[i].bytes)
                return false;
            *ret_bytes = value * units[i].bytes;
            return true;
        }
    }
    return false;
}
