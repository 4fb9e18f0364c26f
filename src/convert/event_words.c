#include "convert/event_words.h"

#include <string.h>
#include <strings.h>

#include "clr/words.h"
#include "convert/event_text.h"
#include "model/schema.h"

#define RUNTIME "Microsoft-Windows-DotNETRuntime"

typedef const char *word_fn(uint32_t number);

static const struct {
    const char *event;
    const char *field;
    word_fn *word;
} worded[] = {
    {"GCStart", "Reason", sn_clr_gc_reason},
    {"GCStart", "Type", sn_clr_gc_type},
    {"GCTriggered", "Reason", sn_clr_gc_reason},
    {"GCGlobalHeapHistory", "Reason", sn_clr_gc_reason},
    {"ThreadPoolWorkerThreadAdjustmentAdjustment", "Reason", sn_clr_pool_reason},
};

const char *sn_event_word(const struct sn_schema *schema, const char *field, uint64_t number)
{
    if (!schema->layout_from_table || number > UINT32_MAX ||
        strcasecmp(schema->provider, RUNTIME) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof(worded) / sizeof(*worded); i++) {
        if (strcmp(worded[i].field, field) == 0 && strcmp(worded[i].event, schema->name) == 0)
            return worded[i].word((uint32_t)number);
    }
    return NULL;
}

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text);
    size_t end_size = strlen(end);
    return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

bool sn_event_is_address(const struct sn_schema *schema, const struct sn_field *field)
{
    static const char *const ends[] = {"Address", "EIP", "Ptr", "Flags", "HRESULT", "Token"};
    if (!schema->layout_from_table)
        return false;
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        if (ends_with(field->name, ends[i]))
            return true;
    }
    return ends_with(field->name, "ID") && !ends_with(field->name, "ThreadID") &&
           (field->type == SN_TYPE_U64 || field->type == SN_TYPE_POINTER);
}

const char *sn_event_text_provider(const char *provider)
{
    static const struct {
        const char *name;
        const char *said;
    } known[] = {
        {RUNTIME, "runtime"},
        {RUNTIME "Rundown", "rundown"},
        {RUNTIME "Private", "private"},
        {"Microsoft-DotNETCore-SampleProfiler", "sampler"},
        {"Microsoft-DotNETCore-EventPipe", "EventPipe"},
        {"System.Threading.Tasks.TplEventSource", "tasks"},
        {"Microsoft-Extensions-Logging", "logging"},
        {"Microsoft-Diagnostics-DiagnosticSource", "DiagnosticSource"},
        {"Microsoft-AspNetCore-Server-Kestrel", "Kestrel"},
        {"Sonde", "sonde"},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (strcasecmp(known[i].name, provider) == 0)
            return known[i].said;
    }
    bool is_theirs =
        strncmp(provider, "Microsoft-", 10) == 0 || strncmp(provider, "Microsoft.", 10) == 0;
    return is_theirs && provider[10] ? provider + 10 : provider;
}
