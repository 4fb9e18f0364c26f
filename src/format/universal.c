#include "format/universal.h"

#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "model/event.h"

#define SYSTEM "Universal.System"
#define EVENTS "Universal.Events"
#define KERNEL "Sonde.Kernel"

static const struct sn_field text_unit = {.name = "", .type = SN_TYPE_UTF8_UNIT};

#define NUMBER(field_name)                            \
    {                                                 \
        .name = (field_name), .type = SN_TYPE_VARUINT \
    }
#define TEXT(field_name)                                                                      \
    {                                                                                         \
        .name = (field_name), .type = SN_TYPE_ARRAY, .child_count = 1, .children = &text_unit \
    }

static const struct sn_field process_fields[] = {NUMBER("NamespaceId"), TEXT("Name"),
                                                 TEXT("NamespaceName")};
static const struct sn_field mapping_fields[] = {NUMBER("Id"),         NUMBER("StartAddress"),
                                                 NUMBER("EndAddress"), NUMBER("FileOffset"),
                                                 TEXT("FileName"),     NUMBER("MetadataId")};
static const struct sn_field symbol_fields[] = {
    NUMBER("Id"), NUMBER("MappingId"), NUMBER("StartAddress"), NUMBER("EndAddress"), TEXT("Name")};
static const struct sn_field metadata_fields[] = {NUMBER("Id"), TEXT("SymbolMetadata"),
                                                  TEXT("VersionMetadata")};
static const struct sn_field cpu_fields[] = {NUMBER("Value")};
static const struct sn_field switch_fields[] = {NUMBER("Value"), NUMBER("RunQueueNs"),
                                                NUMBER("Reason"), NUMBER("WakerThreadId")};
static const struct sn_field facts_fields[] = {
    NUMBER("NamespacePid"), NUMBER("ParentPid"), NUMBER("UserId"),
    NUMBER("StartTicks"),   NUMBER("Kind"),      TEXT("RuntimeVersion"),
    TEXT("CommandLine"),    TEXT("Cgroup"),      TEXT("Container")};
static const struct sn_field thread_fields[] = {TEXT("Name")};
static const struct sn_field syscall_fields[] = {NUMBER("Number"), NUMBER("DurationNs"),
                                                 NUMBER("Result")};
static const struct sn_field throttle_fields[] = {NUMBER("Cpu"), NUMBER("DurationNs")};
static const struct sn_field line_fields[] = {NUMBER("MappingId"), NUMBER("Address"),
                                              NUMBER("Line"), TEXT("File")};

#define KIND(provider_name, id, event_name, fields_of)                                   \
    {                                                                                    \
        .provider = (provider_name), .name = (event_name), .event_id = (id), .level = 4, \
        .has_layout = true, .field_count = sizeof(fields_of) / sizeof(*(fields_of)),     \
        .fields = (fields_of)                                                            \
    }
#define PLAIN(provider_name, id, event_name)                                             \
    {                                                                                    \
        .provider = (provider_name), .name = (event_name), .event_id = (id), .level = 4, \
        .has_layout = true                                                               \
    }

static const struct sn_schema kinds[SN_UNIVERSAL_COUNT] = {
    [SN_UNIVERSAL_EXISTING_PROCESS] = KIND(SYSTEM, 0, "ExistingProcess", process_fields),
    [SN_UNIVERSAL_PROCESS_CREATE] = KIND(SYSTEM, 1, "ProcessCreate", process_fields),
    [SN_UNIVERSAL_PROCESS_EXIT] = PLAIN(SYSTEM, 2, "ProcessExit"),
    [SN_UNIVERSAL_MAPPING] = KIND(SYSTEM, 3, "ProcessMapping", mapping_fields),
    [SN_UNIVERSAL_SYMBOL] = KIND(SYSTEM, 4, "ProcessSymbol", symbol_fields),
    [SN_UNIVERSAL_MAPPING_METADATA] = KIND(SYSTEM, 5, "ProcessMappingMetadata", metadata_fields),
    [SN_UNIVERSAL_CPU] = KIND(EVENTS, 1, "cpu", cpu_fields),
    [SN_UNIVERSAL_SWITCH] = KIND(EVENTS, 2, "cswitch", switch_fields),
    [SN_UNIVERSAL_PROCESS_FACTS] = KIND(KERNEL, 1, "ProcessFacts", facts_fields),
    [SN_UNIVERSAL_THREAD_NAME] = KIND(KERNEL, 2, "ThreadName", thread_fields),
    [SN_UNIVERSAL_THREAD_EXIT] = PLAIN(KERNEL, 3, "ThreadExit"),
    [SN_UNIVERSAL_SYSCALL] = KIND(KERNEL, 4, "SystemCall", syscall_fields),
    [SN_UNIVERSAL_THROTTLE] = KIND(KERNEL, 5, "Throttle", throttle_fields),
    [SN_UNIVERSAL_LINE] = KIND(KERNEL, 6, "Line", line_fields),
};

void sn_universal_schemas(struct sn_schema schemas[SN_UNIVERSAL_COUNT])
{
    memcpy(schemas, kinds, sizeof(kinds));
    for (uint32_t i = 0; i < SN_UNIVERSAL_COUNT; i++)
        schemas[i].index = i;
}

int sn_universal_kind(const struct sn_schema *schema)
{
    if (schema->provider[0] != 'U' && schema->provider[0] != 'S')
        return -1;
    for (int kind = 0; kind < SN_UNIVERSAL_COUNT; kind++) {
        const struct sn_schema *known = &kinds[kind];
        bool by_name = strcmp(known->provider, EVENTS) == 0; /* ids are free there */
        if (strcmp(known->provider, schema->provider) == 0 &&
            (by_name ? strcmp(known->name, schema->name) == 0
                     : known->event_id == schema->event_id))
            return kind;
    }
    return -1;
}

static void put_text(struct sn_buf *to, const struct sn_universal_text *text)
{
    size_t size = text->size < SN_UNIVERSAL_TEXT_LIMIT ? text->size : SN_UNIVERSAL_TEXT_LIMIT;
    while (size < text->size && size && ((unsigned char)text->bytes[size] & 0xC0u) == 0x80u)
        size--; /* not in the middle of a character */
    sn_buf_u16(to, (uint16_t)size);
    sn_buf_append(to, text->bytes, size);
}

void sn_universal_encode(enum sn_universal kind, const struct sn_universal_fields *fields,
                         struct sn_buf *to)
{
    const uint64_t *number = fields->numbers;
    const struct sn_universal_text *text = fields->texts;
    for (size_t i = 0; i < kinds[kind].field_count; i++) {
        if (kinds[kind].fields[i].type == SN_TYPE_VARUINT)
            sn_buf_varuint(to, *number++);
        else
            put_text(to, text++);
    }
}

bool sn_universal_decode(enum sn_universal kind, const struct sn_event *event,
                         struct sn_universal_fields *ret_fields)
{
    struct sn_cursor cur = sn_cursor_over(event->payload, event->payload_size);
    *ret_fields = (struct sn_universal_fields){0};
    uint64_t *number = ret_fields->numbers;
    struct sn_universal_text *text = ret_fields->texts;
    for (size_t i = 0; i < kinds[kind].field_count; i++) {
        if (i && !sn_cursor_left(&cur))
            break;
        if (kinds[kind].fields[i].type == SN_TYPE_VARUINT) {
            *number++ = sn_cursor_varuint64(&cur);
        } else {
            text->size = sn_cursor_u16(&cur);
            text->bytes = (const char *)sn_cursor_bytes(&cur, text->size);
            text++;
        }
    }
    return !cur.bad;
}
