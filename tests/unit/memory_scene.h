/* A runtime's memory made by hand: an ELF file that exports a contract descriptor, and what that
 * describes: threads, a method and the way to it. Where the fields lie is drawn by a number, so
 * that nothing can be read but by what the descriptor says. */
#ifndef SN_MEMORY_SCENE_H
#define SN_MEMORY_SCENE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/memory/memory.h"

#define SCENE_BASE    UINT64_C(0x7e0012300000)
#define SCENE_SIZE    (192u << 10)
#define SCENE_LIBRARY (64u << 10)  /* the part that belongs to libcoreclr.so */
#define SCENE_CODE    (128u << 10) /* where the code heap begins */
#define SCENE_FIELDS  160u
#define SCENE_THREADS 3u

struct scene_field {
    char type[32];
    char name[32];
    uint32_t offset;
};

struct scene {
    uint8_t bytes[SCENE_SIZE];
    uint32_t next; /* free from here */
    struct scene_field fields[SCENE_FIELDS];
    size_t field_count;
    uint64_t threads[SCENE_THREADS];
    uint64_t method;
    uint64_t method_table;
    uint64_t module;
    uint64_t code;  /* start of the method's code */
    uint64_t frame; /* explicit frame of the first thread: managed code that calls native code */
    uint64_t stack; /* of that thread: a chain of frame pointers */
    uint64_t descriptor; /* where the contract's header lies */
    uint64_t pointers;   /* the addresses of the globals */
    uint32_t draw;
};

/* Every type that is read, its fields in any order; a star: what follows it lies there too, so it
 * comes last; a plus: behind the fields of the type that it extends. Of "!" the size is asked. */
static const char *const scene_types[] = {
    "ThreadStore FirstThreadLink ThreadCount",
    "Thread Id OSId State PreemptiveGCDisabled Frame LinkNext GCHandle ExceptionTracker "
    "RuntimeThreadLocals",
    "ExceptionInfo ThrownObject PreviousNestedInfo",
    "RuntimeThreadLocals AllocContext",
    "EEAllocContext GCAllocationContext",
    "GCAllocContext Pointer Limit",
    "RangeSectionMap *TopLevelData",
    "RangeSectionFragment Next RangeBegin RangeEndOpen RangeSection",
    "RangeSection RangeBegin RangeEndOpen HeapList R2RModule Flags JitManager NextForDelete",
    "CodeHeapListNode Next StartAddress EndAddress MapBase HeaderMap",
    "RealCodeHeader MethodDesc DebugInfo GCInfo NumUnwindInfos *UnwindInfos",
    "RuntimeFunction BeginAddress EndAddress UnwindData !",
    "Module ReadyToRunInfo Assembly Path Base Flags",
    "Assembly Module",
    "ReadyToRunInfo ReadyToRunHeader CompositeInfo RuntimeFunctions NumRuntimeFunctions "
    "HotColdMap NumHotColdMap DelayLoadMethodCallThunks EntryPointToMethodDescMap",
    "ImageDataDirectory VirtualAddress Size",
    "HashMap Buckets",
    "Bucket Keys Values !",
    "MethodTable MTFlags MTFlags2 BaseSize EEClassOrCanonMT Module ParentMethodTable PerInstInfo "
    "NumVirtuals",
    "EEClass MethodTable",
    "GenericsDictInfo NumDicts NumTypeArgs",
    "TypeDesc TypeAndFlags",
    "ParamTypeDesc TypeArg",
    "MethodDesc ChunkIndex Slot Flags Flags3AndTokenRemainder",
    "DynamicMethodDesc +96 MethodName",
    "MethodDescChunk MethodTable Size FlagsAndTokenRange !",
    "Object m_pMethTab",
    "String m_StringLength *m_FirstChar",
    "Frame +8 Next",
    "InlinedCallFrame +64 CallSiteSP CallerReturnAddress CalleeSavedFP",
    "FramedMethodFrame +64 TransitionBlockPtr MethodDescPtr",
    "TransitionBlock ReturnAddress CalleeSavedRegisters !",
    "CalleeSavedRegisters Rbp Rbx",
    "ResumableFrame +64 TargetContextPtr",
    "SoftwareExceptionFrame +64 ReturnAddress *TargetContext",
};

enum scene_global {
    SCENE_THREAD_STORE,
    SCENE_RANGE_MAP,
    SCENE_OBJECT_TABLE,
    SCENE_GLOBALS,
};

static inline uint32_t scene_draw(struct scene *scene, uint32_t below)
{
    scene->draw = scene->draw * 1664525u + 1013904223u;
    return (scene->draw >> 8) % below;
}

static inline uint32_t scene_at(const struct scene *scene, const char *type, const char *name)
{
    for (size_t i = 0; i < scene->field_count; i++) {
        if (strcmp(scene->fields[i].type, type) == 0 && strcmp(scene->fields[i].name, name) == 0)
            return scene->fields[i].offset;
    }
    abort();
}

static inline void scene_write(struct scene *scene, uint64_t address, const void *from, size_t size)
{
    if (address < SCENE_BASE || address - SCENE_BASE > SCENE_SIZE - size)
        abort();
    memcpy(scene->bytes + (address - SCENE_BASE), from, size);
}

/* Little-endian: as many bytes as are asked for. */
static inline void scene_put(struct scene *scene, uint64_t address, size_t size, uint64_t value)
{
    scene_write(scene, address, &value, size);
}

static inline void scene_set(struct scene *scene, uint64_t object, const char *field, size_t size,
                             uint64_t value)
{
    char type[32];
    const char *dot = strchr(field, '.');
    (void)snprintf(type, sizeof(type), "%.*s", (int)(dot - field), field);
    scene_put(scene, object + scene_at(scene, type, dot + 1), size, value);
}

static inline uint64_t scene_room(struct scene *scene, uint32_t size)
{
    uint64_t address = SCENE_BASE + scene->next;
    scene->next += (size + 7u) & ~7u;
    if (scene->next > SCENE_SIZE)
        abort();
    return address;
}

/* --- where the fields are --- */

static inline void scene_add_field(struct scene *scene, const char *type, const char *name,
                                   uint32_t offset)
{
    struct scene_field *field = &scene->fields[scene->field_count++];
    if (scene->field_count > SCENE_FIELDS)
        abort();
    (void)snprintf(field->type, sizeof(field->type), "%.31s", type);
    (void)snprintf(field->name, sizeof(field->name), "%.31s", name);
    field->offset = offset;
}

static inline void scene_shuffle(struct scene *scene, char **names, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t other = scene_draw(scene, (uint32_t)i);
        char *name = names[i - 1];
        names[i - 1] = names[other];
        names[other] = name;
    }
}

static inline void scene_lay_out_type(struct scene *scene, const char *words)
{
    char text[256];
    char *names[16];
    char *last = NULL;
    bool has_size = false;
    size_t count = 0;
    uint32_t at = 0;
    char *rest = NULL;
    (void)snprintf(text, sizeof(text), "%s", words);
    char *type = strtok_r(text, " ", &rest);
    for (char *name = strtok_r(NULL, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
        if (strcmp(name, "!") == 0)
            has_size = true;
        else if (name[0] == '+')
            at = (uint32_t)strtoul(name, NULL, 10);
        else if (name[0] == '*')
            last = name + 1;
        else
            names[count++] = name;
    }
    scene_shuffle(scene, names, count);
    for (size_t i = 0; i < count; i++) {
        at += scene_draw(scene, 3) * 8;
        scene_add_field(scene, type, names[i], at);
        at += 8;
    }
    if (last)
        scene_add_field(scene, type, last, at);
    if (has_size)
        scene_add_field(scene, type, "!", at);
}

/* --- the file --- */

static inline uint32_t scene_hash(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (uint8_t)*name;
    return hash;
}

static inline void scene_make_file(struct scene *scene)
{
    static const char name[] = "DotNetRuntimeContractDescriptor";
    uint64_t names = scene_room(scene, 64);
    uint64_t symbols = scene_room(scene, 2 * sizeof(Elf64_Sym));
    uint64_t hash = scene_room(scene, 64);
    uint64_t dynamic = scene_room(scene, 4 * sizeof(Elf64_Dyn));
    const Elf64_Ehdr header = {
        .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_phoff = sizeof(Elf64_Ehdr),
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = 2};
    const Elf64_Phdr segments[] = {
        {.p_type = PT_LOAD, .p_filesz = SCENE_LIBRARY, .p_memsz = SCENE_LIBRARY},
        {.p_type = PT_DYNAMIC, .p_vaddr = dynamic - SCENE_BASE, .p_offset = dynamic - SCENE_BASE}};
    const Elf64_Dyn entries[] = {{.d_tag = DT_SYMTAB, .d_un.d_ptr = symbols},
                                 {.d_tag = DT_STRTAB, .d_un.d_ptr = names},
                                 {.d_tag = DT_GNU_HASH, .d_un.d_ptr = hash},
                                 {.d_tag = DT_NULL}};
    const Elf64_Sym symbol = {
        .st_name = 1, .st_shndx = 1, .st_value = scene->descriptor - SCENE_BASE};
    /* one bucket, the first symbol is 1, a filter of one word that lets all pass */
    const uint32_t table[] = {1, 1, 1, 6, UINT32_MAX, UINT32_MAX, 1, scene_hash(name) | 1u};
    scene_write(scene, SCENE_BASE, &header, sizeof(header));
    scene_write(scene, SCENE_BASE + sizeof(header), segments, sizeof(segments));
    scene_write(scene, dynamic, entries, sizeof(entries));
    scene_write(scene, symbols + sizeof(symbol), &symbol, sizeof(symbol));
    scene_write(scene, names + 1, name, sizeof(name));
    scene_write(scene, hash, table, sizeof(table));
}

/* --- the descriptor --- */

static inline size_t scene_json(const struct scene *scene, char *to, size_t size)
{
    size_t used = (size_t)snprintf(to, size, "{\"version\":0,\"baseline\":\"empty\",\"types\":{");
    const char *type = "";
    for (size_t i = 0; i < scene->field_count; i++) {
        const struct scene_field *field = &scene->fields[i];
        if (strcmp(type, field->type) != 0)
            used += (size_t)snprintf(to + used, size - used, "%s\"%s\":{", *type ? "}," : "",
                                     field->type);
        else
            to[used++] = ',';
        used += (size_t)snprintf(to + used, size - used, "\"%s\":%u", field->name, field->offset);
        type = field->type;
    }
    used += (size_t)snprintf(
        to + used, size - used,
        "}},\"globals\":{\"ThreadStore\":[[%u],\"pointer\"],"
        "\"ExecutionManagerCodeRangeMapAddress\":[[%u],\"pointer\"],"
        "\"ObjectMethodTable\":[[%u],\"pointer\"],\"StubCodeBlockLast\":[\"0xf\",\"uint8\"],"
        "\"HashMapSlotsPerBucket\":[\"0x4\",\"uint32\"],"
        "\"HashMapValueMask\":[\"0x7fffffffffffffff\",\"uint64\"],"
        "\"InlinedCallFrameIdentifier\":[\"0x1\",\"nuint\"],"
        "\"ResumableFrameIdentifier\":[\"0x2\",\"nuint\"],"
        "\"SoftwareExceptionFrameIdentifier\":[\"0x5\",\"nuint\"],"
        "\"PrestubMethodFrameIdentifier\":[\"0x9\",\"nuint\"],"
        "\"MethodDescAlignment\":[\"0x8\",\"uint64\"]},"
        "\"contracts\":{\"Thread\":1,\"ExecutionManager\":2,\"RuntimeTypeSystem\":1,\"Loader\":1,"
        "\"Object\":1,\"StackWalk\":1}}",
        SCENE_THREAD_STORE, SCENE_RANGE_MAP, SCENE_OBJECT_TABLE);
    return used;
}

static inline void scene_put_descriptor(struct scene *scene, const char *json, size_t size)
{
    uint64_t text = scene_room(scene, (uint32_t)size + 1);
    scene_write(scene, text, json, size);
    scene_write(scene, scene->descriptor, "DNCCDAC", 8);
    scene_put(scene, scene->descriptor + 8, 4, 1);
    scene_put(scene, scene->descriptor + 12, 4, size);
    scene_put(scene, scene->descriptor + 16, 8, text);
    scene_put(scene, scene->descriptor + 24, 4, SCENE_GLOBALS);
    scene_put(scene, scene->descriptor + 32, 8, scene->pointers);
}

/* --- what it describes --- */

#define SCENE_OBJECT 1024u /* more than any type here takes */

static inline void scene_make_threads(struct scene *scene)
{
    uint64_t store = scene_room(scene, SCENE_OBJECT);
    uint64_t link = 0;
    for (uint32_t i = SCENE_THREADS; i-- > 0;) {
        uint64_t thread = scene_room(scene, SCENE_OBJECT);
        uint64_t locals = scene_room(scene, SCENE_OBJECT);
        uint64_t context = locals + scene_at(scene, "RuntimeThreadLocals", "AllocContext") +
                           scene_at(scene, "EEAllocContext", "GCAllocationContext");
        scene_set(scene, thread, "Thread.Id", 4, i + 1);
        scene_set(scene, thread, "Thread.OSId", 8, 1000 + i);
        scene_set(scene, thread, "Thread.State", 4, 0x200u << i);
        scene_set(scene, thread, "Thread.PreemptiveGCDisabled", 4, i == 1);
        scene_set(scene, thread, "Thread.Frame", 8, UINT64_MAX);
        scene_set(scene, thread, "Thread.RuntimeThreadLocals", 8, locals);
        scene_set(scene, context, "GCAllocContext.Pointer", 8, SCENE_BASE + 64 * i);
        scene_set(scene, context, "GCAllocContext.Limit", 8, SCENE_BASE + 64 * i + 32);
        scene_set(scene, thread, "Thread.LinkNext", 8, link);
        link = thread + scene_at(scene, "Thread", "LinkNext");
        scene->threads[i] = thread;
    }
    scene_set(scene, store, "ThreadStore.FirstThreadLink", 8, link);
    scene_set(scene, store, "ThreadStore.ThreadCount", 4, SCENE_THREADS);
    uint64_t variable = scene_room(scene, 8);
    scene_put(scene, variable, 8, store);
    scene_put(scene, scene->pointers + 8 * SCENE_THREAD_STORE, 8, variable);
}

/* A method without metadata: made at run time, so it has its name with it. */
static inline void scene_make_method(struct scene *scene)
{
    static const char name[] = "ShiftedMethod";
    uint64_t chunk_size = scene_at(scene, "MethodDescChunk", "!");
    uint64_t chunk = scene_room(scene, SCENE_OBJECT);
    uint64_t assembly = scene_room(scene, SCENE_OBJECT);
    uint64_t clazz = scene_room(scene, SCENE_OBJECT);
    uint64_t text = scene_room(scene, sizeof(name));
    uint64_t variable = scene_room(scene, 8);
    scene->module = scene_room(scene, SCENE_OBJECT);
    scene->method_table = scene_room(scene, SCENE_OBJECT);
    scene->method = chunk + chunk_size + 8;
    scene_write(scene, text, name, sizeof(name));
    scene_set(scene, scene->module, "Module.Assembly", 8, assembly);
    scene_set(scene, assembly, "Assembly.Module", 8, scene->module);
    scene_set(scene, scene->method_table, "MethodTable.Module", 8, scene->module);
    scene_set(scene, scene->method_table, "MethodTable.EEClassOrCanonMT", 8, clazz);
    scene_set(scene, scene->method_table, "MethodTable.BaseSize", 4, 24);
    scene_set(scene, clazz, "EEClass.MethodTable", 8, scene->method_table);
    scene_set(scene, chunk, "MethodDescChunk.MethodTable", 8, scene->method_table);
    scene_set(scene, chunk, "MethodDescChunk.Size", 1, 4);
    scene_set(scene, scene->method, "DynamicMethodDesc.MethodName", 8, text);
    scene_set(scene, scene->method, "MethodDesc.Slot", 2, 0);
    scene_set(scene, scene->method, "MethodDesc.Flags3AndTokenRemainder", 2, 0);
    scene_set(scene, scene->method, "MethodDesc.Flags", 2, 7); /* dynamic */
    scene_set(scene, scene->method, "MethodDesc.ChunkIndex", 1, 1);
    scene_put(scene, variable, 8, scene->method_table);
    scene_put(scene, scene->pointers + 8 * SCENE_OBJECT_TABLE, 8, variable);
}

static inline uint64_t scene_make_header(struct scene *scene, uint64_t begin)
{
    uint64_t header = scene_room(scene, SCENE_OBJECT);
    uint64_t pieces = header + scene_at(scene, "RealCodeHeader", "UnwindInfos");
    uint32_t size = scene_at(scene, "RuntimeFunction", "!");
    uint64_t relative = scene->code - begin;
    scene_set(scene, header, "RealCodeHeader.MethodDesc", 8, scene->method);
    scene_set(scene, header, "RealCodeHeader.NumUnwindInfos", 4, 2);
    for (uint32_t i = 0; i < 2; i++) { /* the method, and a handler of its */
        scene_set(scene, pieces + i * size, "RuntimeFunction.BeginAddress", 4, relative + i * 96);
        scene_set(scene, pieces + i * size, "RuntimeFunction.EndAddress", 4,
                  relative + i * 96 + 96);
    }
    return header;
}

static inline void scene_make_code(struct scene *scene)
{
    uint64_t begin = SCENE_BASE + SCENE_CODE;
    uint64_t end = SCENE_BASE + SCENE_SIZE;
    uint64_t section = scene_room(scene, SCENE_OBJECT);
    uint64_t fragment = scene_room(scene, SCENE_OBJECT);
    uint64_t heap = scene_room(scene, SCENE_OBJECT);
    uint64_t nibbles = scene_room(scene, (SCENE_SIZE - SCENE_CODE) / 64 + 8);
    uint64_t map = scene_room(scene, 2048 + SCENE_OBJECT);
    scene->code = begin + 256 + 32; /* in the second word, in its second nibble */
    scene_put(scene, nibbles + 4, 4, UINT64_C(1) << 24);
    scene_put(scene, scene->code - 8, 8, scene_make_header(scene, begin));
    scene_set(scene, heap, "CodeHeapListNode.StartAddress", 8, begin);
    scene_set(scene, heap, "CodeHeapListNode.EndAddress", 8, end);
    scene_set(scene, heap, "CodeHeapListNode.MapBase", 8, begin);
    scene_set(scene, heap, "CodeHeapListNode.HeaderMap", 8, nibbles);
    scene_set(scene, section, "RangeSection.RangeBegin", 8, begin);
    scene_set(scene, section, "RangeSection.RangeEndOpen", 8, end);
    scene_set(scene, section, "RangeSection.HeapList", 8, heap);
    scene_set(scene, fragment, "RangeSectionFragment.RangeBegin", 8, begin);
    scene_set(scene, fragment, "RangeSectionFragment.RangeEndOpen", 8, end);
    scene_set(scene, fragment, "RangeSectionFragment.RangeSection", 8, section);
    scene_put(scene, scene->pointers + 8 * SCENE_RANGE_MAP, 8, map);
    uint64_t level = map + scene_at(scene, "RangeSectionMap", "TopLevelData");
    for (unsigned i = 0; i < 5; i++) {
        uint64_t next = i == 4 ? fragment : scene_room(scene, 2048);
        scene_put(scene, level + (begin >> (49 - 8 * i) & 255u) * 8, 8, next);
        level = next;
    }
}

#define SCENE_STACK 2048u
#define SCENE_CALLS 3u

/* The first thread waits in native code, which a chain of calls of the one method has called: at
 * 128 where it called, at 256 its note of that, from 1024 on the records of the frame pointers. */
static inline void scene_make_stack(struct scene *scene)
{
    uint64_t stack = scene_room(scene, SCENE_STACK);
    scene->stack = stack;
    scene->frame = stack + 256;
    scene_put(scene, stack + 120, 8, scene->code + 17);
    scene_put(scene, scene->frame, 8, 1);
    scene_set(scene, scene->frame, "Frame.Next", 8, UINT64_MAX);
    scene_set(scene, scene->frame, "InlinedCallFrame.CallSiteSP", 8, stack + 128);
    scene_set(scene, scene->frame, "InlinedCallFrame.CallerReturnAddress", 8, scene->code + 17);
    scene_set(scene, scene->frame, "InlinedCallFrame.CalleeSavedFP", 8, stack + 1024);
    for (uint64_t i = 0; i < SCENE_CALLS; i++) {
        scene_put(scene, stack + 1024 + 128 * i, 8, stack + 1024 + 128 * (i + 1));
        scene_put(scene, stack + 1024 + 128 * i + 8, 8, scene->code + 17);
    }
    scene_set(scene, scene->threads[0], "Thread.Frame", 8, scene->frame);
    scene_put(scene, scene->code + 12, 1, 0xe8); /* a call ends where it returns to */
}

/* `json` NULL: what fits. */
static inline void scene_make(struct scene *scene, uint32_t seed, const char *json, size_t size)
{
    static char text[16384];
    memset(scene, 0, sizeof(*scene));
    scene->draw = seed;
    scene->next = 512;
    for (size_t i = 0; i < sizeof(scene_types) / sizeof(*scene_types); i++)
        scene_lay_out_type(scene, scene_types[i]);
    scene->descriptor = scene_room(scene, 64);
    scene->pointers = scene_room(scene, 8 * SCENE_GLOBALS);
    scene_make_file(scene);
    if (!json) {
        size = scene_json(scene, text, sizeof(text));
        json = text;
    }
    scene_put_descriptor(scene, json, size);
    scene_make_threads(scene);
    scene_make_method(scene);
    scene_make_code(scene);
    scene_make_stack(scene);
    if (scene->next > SCENE_CODE)
        abort();
}

/* --- as a memory --- */

static inline size_t scene_read(void *user, uint64_t address, void *to, size_t size)
{
    const struct scene *scene = user;
    if (address < SCENE_BASE || address - SCENE_BASE >= SCENE_SIZE)
        return 0;
    size_t left = SCENE_SIZE - (size_t)(address - SCENE_BASE);
    size_t got = size < left ? size : left;
    memcpy(to, scene->bytes + (address - SCENE_BASE), got);
    return got;
}

/* What `read` gives, mapped as the scene is. */
static inline struct sn_memory *scene_memory(size_t (*read)(void *, uint64_t, void *, size_t),
                                             void *user)
{
    const struct sn_memory_map maps[] = {
        {.start = SCENE_BASE,
         .end = SCENE_BASE + SCENE_LIBRARY,
         .inode = 7,
         .path = "/opt/Microsoft.NETCore.App/10.0.99/libcoreclr.so",
         .flags = SN_MAP_READ | SN_MAP_CODE},
        {.start = SCENE_BASE + SCENE_LIBRARY,
         .end = SCENE_BASE + SCENE_SIZE,
         .path = "",
         .flags = SN_MAP_READ | SN_MAP_WRITE | SN_MAP_CODE},
    };
    const struct sn_memory_source source = {.read = read, .user = user};
    struct sn_memory *memory = NULL;
    if (sn_memory_of_source(&source, maps, 2, &memory, NULL) != 0)
        return NULL;
    return memory;
}

#endif
