#include "daemon/text_operation.h"

#include <inttypes.h>
#include <stdio.h>

#include "daemon/artefact.h"
#include "daemon/operation.h"

#define TEXT_LIMIT (4u << 20)
#define TEXT_FULL  (64u << 10) /* is written at once */

int sn_text_output_begin(struct sn_text_output *output, struct sn_artefact *artefact, size_t limit,
                         struct sonde_error *err)
{
    output->artefact = artefact;
    output->text = sn_buf_with_limit(limit ? limit : TEXT_LIMIT);
    return sn_artefact_append(artefact, "", 0, err);
}

void sn_text_output_done(struct sn_text_output *output)
{
    sn_buf_done(&output->text);
}

/* The records before it are whole, and stay. */
static void take_back(struct sn_text_output *output)
{
    output->text.size = output->whole_size;
    output->text.failed = false;
}

int sn_text_output_flush(struct sn_text_output *output)
{
    if (output->err.status == SONDE_OK && output->whole_size)
        (void)sn_artefact_append(output->artefact, output->text.bytes, output->whole_size,
                                 &output->err);
    sn_buf_clear(&output->text);
    output->whole_size = 0;
    return output->err.status;
}

/* As soon as there is room for it. */
static void tell_lost(struct sn_text_output *output)
{
    output->put_lost(output->user, output->lost_count, &output->text);
    if (output->text.failed) {
        take_back(output);
        return;
    }
    output->whole_size = output->text.size;
    output->lost_count = 0;
}

void sn_text_output_put(struct sn_text_output *output)
{
    if (output->text.failed) {
        take_back(output);
        (void)sn_text_output_flush(output); /* the next beat tells of a failure */
        output->lost_count++;
        tell_lost(output);
    }
    output->whole_size = output->text.size;
    if (output->whole_size >= TEXT_FULL)
        (void)sn_text_output_flush(output); /* likewise */
}

void sn_text_output_lose(struct sn_text_output *output)
{
    output->text.failed = true;
    sn_text_output_put(output);
}

void sn_text_output_end(struct sn_text_output *output, struct sn_operation *operation, int status,
                        const char *message)
{
    char missing[96];
    (void)sn_text_output_flush(output); /* what waits leaves its room */
    if (output->lost_count)
        tell_lost(output);
    if (sn_text_output_flush(output) != SONDE_OK && status == SONDE_OK) {
        sn_operation_ended(operation, output->err.status, output->err.text);
    } else if (output->lost_count && status == SONDE_OK) {
        (void)snprintf(missing, sizeof(missing),
                       "%" PRIu64 " records are missing: there was no memory for them",
                       output->lost_count);
        sn_operation_ended(operation, SONDE_END, missing);
    } else {
        sn_operation_ended(operation, status, message);
    }
}
