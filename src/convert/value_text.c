#include "convert/value_text.h"

#include <string.h>

#include "base/guid_text.h"

#define NS_PER_SECOND   1000000000u
#define SECONDS_PER_DAY 86400u

/* 100 ns steps, as FILETIME counts; it starts at 1601-01-01. */
#define STEPS_PER_SECOND   10000000u
#define DAYS_1601_TO_1970  134774u
#define YEAR_10000_IN_DAYS 3067671u /* from 1601-01-01 */

/* --- times --- */

static char *put_digits(char *to, uint32_t value, unsigned count)
{
    for (unsigned i = count; i > 0; i--) {
        to[i - 1] = (char)('0' + value % 10);
        value /= 10;
    }
    return to + count;
}

/* Days since 1601-01-01 as "YYYY-MM-DD". 1601 begins a cycle of 400 years of the calendar; a year
 * is counted from March here, so that the leap day is its last. */
static char *put_date(char *to, uint32_t days)
{
    uint32_t since_march = days + 306; /* 1600-03-01 */
    uint32_t cycle = since_march / 146097;
    uint32_t day = since_march % 146097;
    uint32_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    uint32_t day_of_year = day - (365 * year + year / 4 - year / 100);
    uint32_t month = (5 * day_of_year + 2) / 153; /* 0: March */
    uint32_t day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    uint32_t calendar_month = month < 10 ? month + 3 : month - 9;
    to = put_digits(to, 1600 + cycle * 400 + year + (calendar_month <= 2), 4);
    *to++ = '-';
    to = put_digits(to, calendar_month, 2);
    *to++ = '-';
    return put_digits(to, day_of_month, 2);
}

/* Seconds since 1601-01-01, then a fraction of `digits` digits. */
static size_t put_time(char *to, uint64_t seconds, uint32_t fraction, unsigned digits)
{
    char *at = put_date(to, (uint32_t)(seconds / SECONDS_PER_DAY));
    uint32_t second = (uint32_t)(seconds % SECONDS_PER_DAY);
    *at++ = 'T';
    at = put_digits(at, second / 3600, 2);
    *at++ = ':';
    at = put_digits(at, second / 60 % 60, 2);
    *at++ = ':';
    at = put_digits(at, second % 60, 2);
    *at++ = '.';
    at = put_digits(at, fraction, digits);
    *at++ = 'Z';
    return (size_t)(at - to);
}

size_t sn_value_utc(char to[SN_VALUE_TIME_MAX], uint64_t utc_ns)
{
    return put_time(to, utc_ns / NS_PER_SECOND + (uint64_t)DAYS_1601_TO_1970 * SECONDS_PER_DAY,
                    (uint32_t)(utc_ns % NS_PER_SECOND), 9);
}

size_t sn_value_file_time(char to[SN_VALUE_TIME_MAX], uint64_t steps)
{
    uint64_t seconds = steps / STEPS_PER_SECOND;
    if (seconds / SECONDS_PER_DAY >= YEAR_10000_IN_DAYS)
        return 0;
    return put_time(to, seconds, (uint32_t)(steps % STEPS_PER_SECOND), 7);
}

/* --- other values --- */

static char *put_hex(char *to, uint64_t value, unsigned digits)
{
    for (unsigned i = digits; i > 0; i--)
        *to++ = "0123456789abcdef"[value >> 4 * (i - 1) & 15u];
    return to;
}

size_t sn_value_hex(char to[16], uint64_t value)
{
    unsigned digits = value ? (67u - (unsigned)__builtin_clzll(value)) / 4 : 1;
    return (size_t)(put_hex(to, value, digits) - to);
}

size_t sn_value_guid(char to[SN_VALUE_GUID_MAX], const uint8_t *guid)
{
    return strlen(sn_guid_write(guid, to));
}
