/* Any text as a configuration: read, checked and explained, or refused with a line and a reason. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "sink/export/explain.h"
#include "sink/export/settings.h"

static void check_lists(struct sn_configuration *made, const struct sn_settings *settings)
{
    for (const struct sn_setting_key *key = settings->kind->keys; key && key->name; key++) {
        size_t count = 0;
        if (key->type != SN_SETTING_LIST && key->type != SN_SETTING_LINES)
            continue;
        const char *const *words = sn_settings_list(made, settings, key->name, &count);
        for (size_t i = 0; words && i < count; i++) {
            if (!words[i] || !words[i][0])
                abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SN_AUTO(sn_configuration_free) struct sn_configuration *made = NULL;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(16u << 20);
    struct sonde_error err = {0};
    unsigned lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    if (sn_configuration_parse("x.ini", (const char *)data, size, &made, &err) != SONDE_OK ||
        sn_configuration_check(made, &err) != SONDE_OK) {
        if (!err.text[0])
            abort();
        return 0;
    }
    for (size_t i = 0; i < made->problem_count; i++) {
        if (!made->problems[i].text[0] || made->problems[i].line > lines)
            abort();
    }
    if ((sn_configuration_fault(made, &err) != SONDE_OK) != (made->error_count > 0))
        abort();
    for (size_t i = 0; i < made->section_count; i++) {
        check_lists(made, made->sections[i]);
        sn_settings_explain(made, made->sections[i], &text);
    }
    return 0;
}
