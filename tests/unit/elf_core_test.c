/* Core files from bytes written here: what is read of them, what is refused, and that no cut leads
 * anywhere. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "check.h"
#include "format/elf_core.h"
#include "sonde/error.h"

#define NOTES_AT 0x400u
#define SAVED_AT 0x2000u

struct image {
    struct sn_buf bytes;
    size_t cut;
};

static size_t read_image(void *user, uint64_t offset, void *to, size_t size)
{
    const struct image *image = user;
    if (offset >= image->cut)
        return 0;
    size_t left = image->cut - (size_t)offset;
    size_t got = size < left ? size : left;
    memcpy(to, image->bytes.bytes + offset, got);
    return got;
}

static void append_note(struct sn_buf *to, uint32_t type, const void *body, size_t size)
{
    static const char name[8] = "CORE";
    sn_buf_u32(to, 5);
    sn_buf_u32(to, (uint32_t)size);
    sn_buf_u32(to, type);
    sn_buf_append(to, name, sizeof(name));
    sn_buf_append(to, body, size);
    sn_buf_fill(to, 0, -size & 3);
}

static void append_thread(struct sn_buf *to, uint32_t tid, uint64_t ip)
{
    uint8_t status[336] = {0};
    struct sn_core_registers registers = {.rip = ip, .rsp = ip + 1, .rbp = ip + 2};
    memcpy(status + 32, &tid, sizeof(tid));
    memcpy(status + 112, &registers, sizeof(registers));
    append_note(to, NT_PRSTATUS, status, sizeof(status));
}

static void append_files(struct sn_buf *to)
{
    static const char names[] = "/lib/one.so\0/lib/two.so";
    const uint64_t numbers[] = {2, 4096, 0x10000, 0x11000, 0, 0x30000, 0x32000, 3};
    uint8_t body[sizeof(numbers) + sizeof(names)];
    memcpy(body, numbers, sizeof(numbers));
    memcpy(body + sizeof(numbers), names, sizeof(names));
    append_note(to, NT_FILE, body, sizeof(body));
}

static void append_load(struct sn_buf *to, uint64_t start, uint64_t size, uint64_t saved)
{
    const Elf64_Phdr header = {.p_type = PT_LOAD,
                               .p_flags = PF_R | PF_X,
                               .p_vaddr = start,
                               .p_memsz = size,
                               .p_filesz = saved,
                               .p_offset = SAVED_AT};
    sn_buf_append(to, &header, sizeof(header));
}

/* Two threads, two files, three segments of which the last lies over the second. */
static void make(struct image *image)
{
    SN_AUTO(sn_buf_done) struct sn_buf notes = sn_buf_with_limit(1u << 16);
    append_thread(&notes, 41, 0x10040);
    append_thread(&notes, 42, 0x30040);
    append_files(&notes);
    Elf64_Ehdr header = {.e_type = ET_CORE,
                         .e_machine = EM_X86_64,
                         .e_phoff = sizeof(header),
                         .e_phentsize = sizeof(Elf64_Phdr),
                         .e_phnum = 4};
    const Elf64_Phdr note = {.p_type = PT_NOTE, .p_offset = NOTES_AT, .p_filesz = notes.size};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    image->bytes = sn_buf_with_limit(1u << 20);
    sn_buf_append(&image->bytes, &header, sizeof(header));
    sn_buf_append(&image->bytes, &note, sizeof(note));
    append_load(&image->bytes, 0x30000, 0x2000, 0);
    append_load(&image->bytes, 0x10000, 0x1000, 0x800);
    append_load(&image->bytes, 0x31000, 0x1000, 0x1000);
    sn_buf_fill(&image->bytes, 0, NOTES_AT - image->bytes.size);
    sn_buf_append(&image->bytes, notes.bytes, notes.size);
    image->cut = image->bytes.size;
}

static int read_core(struct image *image, struct sn_elf_core *ret_core)
{
    const struct sn_read_at file = {read_image, image};
    struct sonde_error err = {0};
    return sn_elf_core_read(&file, ret_core, &err);
}

static void threads_files_and_segments_are_read(void **state)
{
    (void)state;
    struct image image;
    struct sn_elf_core core;
    make(&image);
    assert_int_equal(read_core(&image, &core), SONDE_OK);
    assert_int_equal(core.thread_count, 2);
    assert_int_equal(core.threads[1].tid, 42);
    assert_int_equal(core.threads[1].registers.rip, 0x30040);
    assert_int_equal(core.threads[1].registers.rbp, 0x30042);
    assert_int_equal(core.segment_count, 2); /* in order, and none over another */
    assert_int_equal(core.segments[0].start, 0x10000);
    assert_int_equal(core.segments[0].saved, 0x800);
    assert_int_equal(core.segments[1].end, 0x32000);
    assert_int_equal(core.file_count, 2);
    assert_string_equal(core.files[1].path, "/lib/two.so");
    assert_int_equal(core.files[1].offset, UINT64_C(3) * 4096);
    sn_elf_core_done(&core);
    sn_buf_done(&image.bytes);
}

/* Whatever is missing, reading ends; what is told lies within bounds. */
static void every_cut_ends(void **state)
{
    (void)state;
    struct image image;
    make(&image);
    size_t whole = image.cut;
    for (image.cut = 0; image.cut < whole; image.cut++) {
        struct sn_elf_core core;
        int rc = read_core(&image, &core);
        assert_true(core.thread_count <= 2 && core.file_count <= 2 && core.segment_count <= 3);
        if (image.cut < sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Phdr))
            assert_true(rc != SONDE_OK);
        sn_elf_core_done(&core);
    }
    sn_buf_done(&image.bytes);
}

static void what_is_no_core_file_is_refused(void **state)
{
    (void)state;
    struct image image;
    struct sn_elf_core core;
    make(&image);
    image.bytes.bytes[16] = ET_EXEC;
    assert_int_equal(read_core(&image, &core), SONDE_E_FORMAT);
    sn_elf_core_done(&core);
    image.bytes.bytes[16] = ET_CORE;
    image.bytes.bytes[18] = EM_386;
    assert_int_equal(read_core(&image, &core), SONDE_E_FORMAT);
    sn_elf_core_done(&core);
    sn_buf_done(&image.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_files_and_segments_are_read),
        cmocka_unit_test(every_cut_ends),
        cmocka_unit_test(what_is_no_core_file_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
