#include "api/symbol_writer.h"

#include <stdlib.h>

#include "api/method_event.h"
#include "base/buf.h"
#include "base/err.h"
#include "clr/runtime_events.h"
#include "format/universal.h"
#include "model/event.h"
#include "model/schema.h"
#include "sink/archive/journal.h"

/* Opcode and keywords (JIT, NGen) of a rundown's methods. */
#define METHOD_DC_END   40
#define METHOD_KEYWORDS 0x30u

struct sn_symbol_writer {
    struct sn_journal *journal;
    uint64_t time_ns;
    uint64_t symbol_count;
    struct sn_schema schemas[SN_UNIVERSAL_COUNT];
    struct sn_schema method;
    struct sn_buf payload;
};

int sn_symbol_writer_new(struct sn_journal *journal, uint64_t time_ns,
                         struct sn_symbol_writer **ret_writer, struct sonde_error *err)
{
    struct sn_symbol_writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for names");
    writer->journal = journal;
    writer->time_ns = time_ns;
    writer->payload = sn_buf_with_limit(1u << 18);
    sn_universal_schemas(writer->schemas);
    writer->method = (struct sn_schema){.provider = SN_RUNDOWN_PROVIDER,
                                        .name = "",
                                        .event_id = SN_METHOD_144,
                                        .version = 1,
                                        .level = 4,
                                        .opcode = METHOD_DC_END,
                                        .keywords = METHOD_KEYWORDS};
    (void)sn_clr_describe(&writer->method); /* without, its payload is opaque */
    *ret_writer = writer;
    return SONDE_OK;
}

void sn_symbol_writer_free(struct sn_symbol_writer *writer)
{
    if (!writer)
        return;
    sn_buf_done(&writer->payload);
    free(writer);
}

static int put(struct sn_symbol_writer *writer, const struct sn_schema *schema, uint32_t pid,
               struct sonde_error *err)
{
    struct sn_event event = {.schema = schema,
                             .time_ns = writer->time_ns,
                             .pid = pid,
                             .cpu = UINT32_MAX,
                             .thread_id = pid,
                             .capture_thread_id = pid,
                             .pointer_size = 8,
                             .payload = writer->payload.bytes,
                             .payload_size = (uint32_t)writer->payload.size};
    return writer->payload.failed ? SONDE_OK : sn_journal_event(writer->journal, &event, err);
}

int sn_symbol_writer_put(struct sn_symbol_writer *writer, const struct sn_symbol *symbol,
                         struct sonde_error *err)
{
    struct sn_universal_fields fields = {.numbers = {++writer->symbol_count, symbol->mapping_id,
                                                     symbol->start,
                                                     symbol->start + symbol->size - 1},
                                         .texts = {sn_universal_text_of(symbol->name)}};
    sn_buf_clear(&writer->payload);
    sn_universal_encode(SN_UNIVERSAL_SYMBOL, &fields, &writer->payload);
    return put(writer, &writer->schemas[SN_UNIVERSAL_SYMBOL], symbol->pid, err);
}

int sn_symbol_writer_put_line(struct sn_symbol_writer *writer, const struct sn_symbol_line *line,
                              struct sonde_error *err)
{
    struct sn_universal_fields fields = {.numbers = {line->mapping_id, line->address, line->line},
                                         .texts = {sn_universal_text_of(line->file)}};
    sn_buf_clear(&writer->payload);
    sn_universal_encode(SN_UNIVERSAL_LINE, &fields, &writer->payload);
    return put(writer, &writer->schemas[SN_UNIVERSAL_LINE], line->pid, err);
}

int sn_symbol_writer_put_method(struct sn_symbol_writer *writer, uint32_t pid,
                                const struct sn_method_event *method, struct sonde_error *err)
{
    sn_buf_clear(&writer->payload);
    sn_method_rundown(&writer->payload, method);
    return put(writer, &writer->method, pid, err);
}
