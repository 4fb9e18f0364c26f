/* Reading a configuration file: lines to sections, keys and values. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "sink/export/settings.h"
#include "sink/export/settings_parts.h"

#define FILE_LIMIT (1u << 20)
#define WORD_LIMIT (64u << 10) /* of a title, a key or a value */

struct reader {
    struct sn_configuration *configuration;
    struct sn_settings *settings; /* the present section; NULL: an unknown one */
    bool has_section;
    unsigned line;
    struct sn_buf key;
    struct sn_buf value;
    struct sonde_error *err;
};

/* A part of the text, without blanks around it. */
struct span {
    const char *at;
    size_t size;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct span trim(const char *at, size_t size)
{
    while (size && is_blank(*at))
        at++, size--;
    while (size && is_blank(at[size - 1]))
        size--;
    return (struct span){at, size};
}

/* What stands before a semicolon with a blank before it. */
static struct span without_comment(struct span line)
{
    for (size_t i = 1; i < line.size; i++) {
        if (line.at[i] == ';' && is_blank(line.at[i - 1]))
            return trim(line.at, i);
    }
    return line;
}

/* The span as a C string, in a buffer of the reader. */
static const char *keep(struct sn_buf *to, struct span span)
{
    sn_buf_clear(to);
    sn_buf_append(to, span.at, span.size);
    return sn_buf_string(to);
}

static int open_section(struct reader *reader, struct span line)
{
    const char *end = memchr(line.at, ']', line.size);
    reader->has_section = true;
    reader->settings = NULL;
    if (!end || end != line.at + line.size - 1) {
        sn_configuration_problem(reader->configuration, reader->line, false,
                                 end ? "something stands behind the ']' of a section"
                                     : "'[' begins a section that ']' must end");
        return SONDE_OK;
    }
    const char *title = keep(&reader->key, trim(line.at + 1, line.size - 2));
    return sn_settings_open(reader->configuration, title, reader->line, &reader->settings,
                            reader->err);
}

static int take_key(struct reader *reader, struct span line, size_t equals)
{
    const char *key = keep(&reader->key, trim(line.at, equals));
    const char *value = keep(&reader->value, trim(line.at + equals + 1, line.size - equals - 1));
    if (!key[0])
        sn_configuration_problem(reader->configuration, reader->line, false,
                                 "a value without a key before '='");
    else if (!reader->has_section)
        sn_configuration_problem(reader->configuration, reader->line, false,
                                 "'%s' stands before any [section]", key);
    else if (reader->value.failed)
        sn_configuration_problem(reader->configuration, reader->line, false,
                                 "'%s' is longer than 64 KB", key);
    else if (reader->settings)
        return sn_settings_add(reader->configuration, reader->settings, key, value, reader->line,
                               reader->err);
    return SONDE_OK;
}

static int take_line(struct reader *reader, struct span line)
{
    if (memchr(line.at, '\0', line.size)) {
        sn_configuration_problem(reader->configuration, reader->line, false,
                                 "a zero byte: this is no text");
        return SONDE_OK;
    }
    if (!line.size || line.at[0] == ';' || line.at[0] == '#')
        return SONDE_OK;
    line = without_comment(line);
    if (line.at[0] == '[')
        return open_section(reader, line);
    const char *equals = memchr(line.at, '=', line.size);
    if (equals)
        return take_key(reader, line, (size_t)(equals - line.at));
    sn_configuration_problem(reader->configuration, reader->line, false,
                             "neither 'key = value' nor '[section]'");
    return SONDE_OK;
}

static int take_lines(struct reader *reader, const char *text, size_t size)
{
    int rc = SONDE_OK;
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) /* how some editors mark UTF-8 */
        text += 3, size -= 3;
    for (const char *end = text + size; text < end && rc == SONDE_OK;) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((stop ? stop : end) - text);
        reader->line++;
        rc = take_line(reader, trim(text, length));
        text += length + (stop != NULL);
    }
    return rc;
}

int sn_configuration_parse(const char *path, const char *text, size_t size,
                           struct sn_configuration **ret_configuration, struct sonde_error *err)
{
    SN_AUTO(sn_configuration_free) struct sn_configuration *made = NULL;
    int rc = sn_configuration_new(path, &made, err);
    if (rc != SONDE_OK)
        return rc;
    struct reader reader = {.configuration = made,
                            .key = sn_buf_with_limit(WORD_LIMIT),
                            .value = sn_buf_with_limit(WORD_LIMIT),
                            .err = err};
    rc = take_lines(&reader, text, size);
    sn_buf_done(&reader.key);
    sn_buf_done(&reader.value);
    if (rc == SONDE_OK)
        *ret_configuration = SN_TAKE(made);
    return rc;
}

/* Whether a header, which may be a password, stands in the file itself. */
static unsigned literal_header(const struct sn_configuration *configuration)
{
    for (size_t i = 0; i < configuration->section_count; i++) {
        const struct sn_settings *section = configuration->sections[i];
        for (size_t k = 0; k < section->count; k++) {
            if (strcmp(section->items[k].name, "header") == 0 && section->items[k].is_literal)
                return section->items[k].line;
        }
    }
    return 0;
}

static int read_whole(const char *path, struct sn_buf *text, mode_t *ret_mode,
                      struct sonde_error *err)
{
    struct stat stat;
    SN_AUTO(sn_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &stat) != 0)
        return sn_fail_errno(err, "cannot open %s", path);
    if (S_ISDIR(stat.st_mode))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "%s is a folder, not a file", path);
    *ret_mode = stat.st_mode;
    for (;;) {
        uint8_t *room = sn_buf_reserve(text, 65536);
        if (!room)
            return sn_fail(err, SONDE_E_LIMIT, 0, "%s is larger than a configuration can be", path);
        ssize_t size = read(fd, room, 65536);
        if (size < 0)
            return sn_fail_errno(err, "cannot read %s", path);
        if (size == 0)
            return SONDE_OK;
        sn_buf_grow(text, (size_t)size);
    }
}

static int parse_whole(const char *path, struct sn_buf *text,
                       struct sn_configuration **ret_configuration, struct sonde_error *err)
{
    struct sn_buf_view whole = sn_buf_view(text);
    return text->failed
               ? sn_fail(err, SONDE_E_NOMEM, 0, "no memory for %s", path)
               : sn_configuration_parse(path, whole.text, whole.size, ret_configuration, err);
}

int sn_configuration_read(const char *path, struct sn_configuration **ret_configuration,
                          struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(FILE_LIMIT);
    mode_t mode = 0;
    int rc = read_whole(path, &text, &mode, err);
    if (rc == SONDE_OK)
        rc = parse_whole(path, &text, ret_configuration, err);
    if (rc != SONDE_OK)
        return rc;
    unsigned line = literal_header(*ret_configuration);
    if (line && (mode & S_IROTH))
        sn_configuration_problem(*ret_configuration, line, true,
                                 "everybody can read this header, which may be a secret: chmod "
                                 "o-r %s, or take it from the environment with ${NAME}",
                                 path);
    return SONDE_OK;
}
