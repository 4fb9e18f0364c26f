/* Any bytes as the file of sessions: who is let in by it has a whole line there, and is let in
 * again by the file that is written of them. "@N" stands for the time N seconds ago. */
#include "daemon/session_file.h"

#include <inttypes.h>
#include <time.h>

#include "base/buf.h"
#include "input_folder.h"

/* The file with the times that it names. */
static void write_file(const uint8_t *data, size_t size)
{
    struct sn_buf text = sn_buf_with_limit(16 * size + 64);
    uint64_t now_s = (uint64_t)time(NULL);
    for (size_t i = 0; i < size;) {
        if (data[i] != '@') {
            sn_buf_u8(&text, data[i++]);
            continue;
        }
        uint64_t ago = 0;
        for (i++; i < size && data[i] >= '0' && data[i] <= '9' && ago < 1000000; i++)
            ago = 10 * ago + (uint64_t)(data[i] - '0');
        sn_buf_format(&text, "%" PRIu64, now_s - ago);
    }
    if (text.failed)
        abort();
    input_folder_write("sessions", text.bytes, text.size);
    sn_buf_done(&text);
}

static const struct sn_session_secret *find(const struct sn_session_table *table,
                                            const struct sn_session_secret *wanted)
{
    for (size_t i = 0; i < table->last_id; i++) {
        const struct sn_session_secret *one = &table->sessions[i];
        if (memcmp(one->hash, wanted->hash, SN_HASH_SIZE) == 0 &&
            strcmp(one->key_id, wanted->key_id) == 0)
            return one;
    }
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sn_session_table table;
    static struct sn_session_table again;
    memset(&table, 0, sizeof(table));
    memset(&again, 0, sizeof(again));
    write_file(data, size);
    sn_session_file_load(input_folder(), &table);
    if (table.last_id > SN_SESSION_COUNT_MAX || table.last_id > size / (2 * SN_HASH_SIZE))
        abort();
    for (size_t i = 0; i < table.last_id; i++)
        if (table.sessions[i].id != i + 1 || strchr(table.sessions[i].key_id, '\n'))
            abort();
    sn_session_file_save(input_folder(), &table);
    sn_session_file_load(input_folder(), &again);
    if (again.last_id > table.last_id) /* fewer: some are over by now */
        abort();
    for (size_t i = 0; i < again.last_id; i++)
        if (!find(&table, &again.sessions[i]))
            abort();
    return 0;
}
