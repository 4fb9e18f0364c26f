/* Any bytes as the file of keys: it is refused with a reason, or each key in it is whole. When one
 * is revoked the others are read again as they were. */
#include "daemon/key_file.h"

#include "input_folder.h"

static void check_key(const struct sn_key *key)
{
    if (key->scope <= SN_SCOPE_NONE || !key->name[0] || strpbrk(key->name, " \n\"") ||
        strpbrk(key->id, " \n"))
        abort();
}

static void check_same(const struct sn_key *one, const struct sn_key *other)
{
    if (strcmp(one->id, other->id) != 0 || strcmp(one->name, other->name) != 0 ||
        one->scope != other->scope || memcmp(one->hash, other->hash, SN_HASH_SIZE) != 0 ||
        one->created_s != other->created_s || one->expires_s != other->expires_s)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sn_key_list list = {0};
    struct sn_key_list rest = {0};
    struct sn_key revoked = {0};
    struct sonde_error err = {0};
    input_folder_write("keys", data, size);
    if (sn_key_file_read(input_folder(), &list, &err) != SONDE_OK) {
        if (!err.text[0])
            abort();
        return 0;
    }
    for (size_t i = 0; i < list.count; i++)
        check_key(&list.keys[i]);
    if (list.count) {
        if (sn_key_file_revoke(input_folder(), list.keys[0].id, &revoked, &err) != SONDE_OK ||
            sn_key_file_read(input_folder(), &rest, &err) != SONDE_OK ||
            rest.count != list.count - 1)
            abort();
        check_same(&revoked, &list.keys[0]);
        for (size_t i = 0; i < rest.count; i++)
            check_same(&rest.keys[i], &list.keys[i + 1]);
    }
    sn_key_list_done(&rest);
    sn_key_list_done(&list);
    return 0;
}
