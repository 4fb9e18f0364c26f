#include "cli/export_spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "cli/config_problems.h"
#include "sink/export/settings.h"

#define VALUE_LIMIT 4096u

void sn_export_specs_done(struct sn_export_specs *specs)
{
    for (size_t i = 0; i < specs->count; i++)
        sn_configuration_free(specs->items[i]);
    specs->count = 0;
}

/* host:port is enough where there is one way to send. */
static int set_place(struct sn_configuration *configuration, const struct sn_section_kind *kind,
                     const char *place, struct sonde_error *err)
{
    const struct sn_setting_key *key = &kind->keys[0]; /* where, of every exporter */
    const char *scheme_end = key->example ? strstr(key->example, "://") : NULL;
    SN_AUTO(sn_buf_done) struct sn_buf whole = sn_buf_with_limit(VALUE_LIMIT);
    if (key->type == SN_SETTING_URL && scheme_end && !strstr(place, "://"))
        sn_buf_append(&whole, key->example, (size_t)(scheme_end + 3 - key->example));
    sn_buf_text(&whole, place);
    return sn_configuration_set(configuration, kind->name, key->name, sn_buf_string(&whole), err);
}

static int read_short(const char *spec, const struct sn_section_kind *kind,
                      struct sn_configuration **ret_configuration, struct sonde_error *err)
{
    const char *place = strchr(spec, '=');
    SN_AUTO(sn_configuration_free) struct sn_configuration *made = NULL;
    if (!place && kind->keys[0].is_required)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "--export %s: where to? such as %s=%s", spec,
                       kind->name, kind->keys[0].example);
    int rc = sn_configuration_new("--export", &made, err);
    if (rc == SONDE_OK)
        rc = sn_configuration_set(made, kind->name, NULL, NULL, err);
    if (rc == SONDE_OK && place)
        rc = set_place(made, kind, place + 1, err);
    if (rc == SONDE_OK)
        *ret_configuration = SN_TAKE(made);
    return rc;
}

static const struct sn_section_kind *find_kind(const char *spec)
{
    char name[32];
    size_t size = strcspn(spec, "=");
    (void)snprintf(name, sizeof(name), "%.*s", (int)(size < sizeof(name) ? size : 0), spec);
    const struct sn_section_kind *kind = sn_section_kind_find(name);
    return kind && kind->is_exporter ? kind : NULL;
}

static int read_one(const char *spec, struct sn_configuration **ret_configuration,
                    struct sonde_error *err)
{
    const struct sn_section_kind *kind = find_kind(spec);
    SN_AUTO(sn_configuration_free) struct sn_configuration *made = NULL;
    if (!kind && spec[strcspn(spec, "=/")] == '=')
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "--export: '%.40s' is none of prometheus, graphite, statsd, otlp and usdt, "
                       "nor a file",
                       spec);
    int rc = kind ? read_short(spec, kind, &made, err) : sn_configuration_read(spec, &made, err);
    if (rc == SONDE_OK)
        rc = sn_configuration_check(made, err);
    if (rc != SONDE_OK || !made)
        return rc;
    if (made->error_count == 1 && kind)
        return sn_configuration_fault(made, err);
    sn_config_print_problems(made);
    if (made->error_count)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "--export: %.200s cannot be used",
                       kind ? kind->name : spec);
    *ret_configuration = SN_TAKE(made);
    return SONDE_OK;
}

int sn_export_specs_read(struct sn_export_specs *specs, const struct sn_option_list *given,
                         struct sonde_error *err)
{
    int rc = SONDE_OK;
    if (given->count > SN_EXPORT_SPECS_MAX)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "--export: at most %u; a file can hold more",
                       SN_EXPORT_SPECS_MAX);
    for (size_t i = 0; i < given->count && rc == SONDE_OK; i++) {
        rc = read_one(given->items[i], &specs->items[i], err);
        specs->count += rc == SONDE_OK;
    }
    return rc;
}
