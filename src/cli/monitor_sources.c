/* Settings of dotnet-monitor from files, folders and variables. */
#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/own.h"
#include "cli/monitor_settings.h"

#define FILE_LIMIT  (1u << 20)
#define NAME_LIMIT  1024u
#define DEPTH_MAX   16u
#define VALUE_LIMIT 65536u

/* --- JSON --- */

/* A list or an object that is being walked. */
struct level {
    json_t *container;
    void *at;         /* of an object */
    size_t index;     /* of a list */
    size_t name_size; /* of what leads here */
};

static void set_value(struct sn_monitor_settings *settings, const char *name, const json_t *value,
                      const char *source)
{
    char number[64] = "";
    const char *text = number;
    if (json_is_string(value))
        text = json_string_value(value);
    else if (json_is_boolean(value))
        text = json_is_true(value) ? "True" : "False";
    else if (json_is_integer(value))
        (void)snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        (void)snprintf(number, sizeof(number), "%.15g", json_real_value(value));
    else
        text = NULL;
    (void)sn_monitor_settings_set(settings, name, text, source);
}

/* The next member or element, its name put behind `name`; NULL: there is none. */
static json_t *next_of(struct level *level, struct sn_buf *name)
{
    json_t *value;
    const char *colon = level->name_size ? ":" : "";
    name->size = level->name_size;
    if (json_is_array(level->container)) {
        value = json_array_get(level->container, level->index);
        sn_buf_format(name, "%s%zu", colon, level->index++);
        return value;
    }
    level->at = level->at ? json_object_iter_next(level->container, level->at)
                          : json_object_iter(level->container);
    if (!level->at)
        return NULL;
    sn_buf_format(name, "%s%s", colon, json_object_iter_key(level->at));
    return json_object_iter_value(level->at);
}

static int walk(struct sn_monitor_settings *settings, json_t *root, const char *source,
                struct sonde_error *err)
{
    struct level levels[DEPTH_MAX] = {{.container = root}};
    size_t depth = 1;
    SN_AUTO(sn_buf_done) struct sn_buf name = sn_buf_with_limit(NAME_LIMIT);
    while (depth) {
        json_t *value = next_of(&levels[depth - 1], &name);
        if (name.failed)
            return sn_fail(err, SONDE_E_LIMIT, 0, "%s: a name is too long", source);
        if (!value) {
            depth--;
            continue;
        }
        if (!json_is_object(value) && !json_is_array(value)) {
            set_value(settings, sn_buf_string(&name), value, source);
            continue;
        }
        if (depth == DEPTH_MAX)
            return sn_fail(err, SONDE_E_LIMIT, 0, "%s: it is too deep", source);
        levels[depth++] = (struct level){.container = value, .name_size = name.size};
    }
    return SONDE_OK;
}

int sn_monitor_settings_read_file(struct sn_monitor_settings *settings, const char *path,
                                  struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(FILE_LIMIT);
    json_error_t where;
    int rc = sn_file_read_at(AT_FDCWD, path, &text, err);
    if (rc != SONDE_OK)
        return rc;
    json_t *root = json_loadb((const char *)text.bytes, text.size, 0, &where);
    if (!root)
        return sn_fail(err, SONDE_E_FORMAT, 0, "%s, line %d: %s", path, where.line, where.text);
    rc = json_is_object(root) ? walk(settings, root, path, err)
                              : sn_fail(err, SONDE_E_FORMAT, 0, "%s: it is no object", path);
    json_decref(root);
    return rc;
}

/* --- names with "__" --- */

/* A__B as A:B. False: it is too long. */
static bool put_name(const char *from, size_t size, char *to, size_t room)
{
    size_t used = 0;
    for (size_t i = 0; i < size && used + 1 < room; i++) {
        bool is_colon = from[i] == '_' && i + 1 < size && from[i + 1] == '_';
        to[used] = from[i];
        if (is_colon) {
            to[used] = ':';
            i++;
        }
        used++;
    }
    to[used] = '\0';
    return used + 1 < room;
}

void sn_monitor_settings_read_folder(struct sn_monitor_settings *settings, const char *path)
{
    SN_AUTO(sn_closedir) DIR *folder = opendir(path);
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(VALUE_LIMIT);
    const struct dirent *entry;
    char name[NAME_LIMIT];
    while (folder && (entry = readdir(folder))) {
        sn_buf_clear(&text);
        if (entry->d_name[0] == '.' || entry->d_type == DT_DIR ||
            !put_name(entry->d_name, strlen(entry->d_name), name, sizeof(name)) ||
            sn_file_read_at(dirfd(folder), entry->d_name, &text, NULL) != SONDE_OK)
            continue;
        while (text.size && strchr("\r\n", text.bytes[text.size - 1]))
            text.size--;
        (void)sn_monitor_settings_set(settings, name, sn_buf_string(&text), path);
    }
}

/* Whether the first part of a name is in a list with commas. */
static bool is_section(const char *sections, const char *name)
{
    size_t size = strcspn(name, ":");
    for (const char *at = sections; *at;) {
        size_t length = strcspn(at, ",");
        if (length == size && strncasecmp(at, name, size) == 0)
            return true;
        at += length + (at[length] == ',');
    }
    return false;
}

void sn_monitor_settings_read_variables(struct sn_monitor_settings *settings,
                                        char *const *variables, const char *prefix,
                                        const char *sections)
{
    size_t skip = strlen(prefix);
    char name[NAME_LIMIT];
    char source[64];
    (void)snprintf(source, sizeof(source), "environment variables%s%s", *prefix ? " " : "", prefix);
    for (; *variables; variables++) {
        const char *text = *variables;
        const char *sign = strchr(text, '=');
        if (!sign || strncasecmp(text, prefix, skip) != 0 || sign < text + skip ||
            !put_name(text + skip, (size_t)(sign - text) - skip, name, sizeof(name)) || !*name)
            continue;
        if (!sections || is_section(sections, name))
            (void)sn_monitor_settings_set(settings, name, sign + 1, source);
    }
}
