/* Proofs of known layouts: the map of code, and the frames that the runtime links on stacks. */
#include <string.h>

#include "source/memory/code_layout.h"
#include "source/memory/known_layouts_internal.h"
#include "source/memory/range_sections.h"
#include "source/memory/runtime_memory.h"

#define HEAP_READS_MAX (1u << 19) /* of the map of ranges, until a heap is found */
#define FUNCTIONS_MAX  (1u << 24)
#define UNWINDS_MAX    65536u
#define NIBBLE_WORDS   4096u /* of a heap's map that are looked through for a method */
#define METHODS_TRIED  64u
#define BUCKETS_TRIED  256u
#define THREADS_TRIED  64u
#define FRAMES_TRIED   64u
#define CALL_SP_BELOW  4096u       /* how far a call's stack pointer may be from its frame */
#define CALL_FP_ABOVE  (64u << 20) /* a method may have large locals */
#define FRAME_LIST_END UINT64_MAX

#define WANT(type, field, structure, member)                   \
    {                                                          \
        type, field, offsetof(struct structure, member), false \
    }
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* --- ranges --- */

static const struct sn_contract_want range_wants[] = {
    WANT("RangeSectionMap", "TopLevelData", sn_code_layout, map_top),
    WANT("RangeSectionFragment", "Next", sn_code_layout, fragment_next),
    WANT("RangeSectionFragment", "RangeBegin", sn_code_layout, fragment_begin),
    WANT("RangeSectionFragment", "RangeEndOpen", sn_code_layout, fragment_end),
    WANT("RangeSectionFragment", "RangeSection", sn_code_layout, fragment_section),
    WANT("RangeSection", "RangeBegin", sn_code_layout, section_begin),
    WANT("RangeSection", "RangeEndOpen", sn_code_layout, section_end),
    WANT("RangeSection", "R2RModule", sn_code_layout, section_module),
    WANT("RangeSection", "HeapList", sn_code_layout, section_heap),
};

static bool bind_ranges(struct sn_layout_trial *trial, struct sn_code_layout *layout)
{
    *layout = (struct sn_code_layout){0};
    return sn_trial_bind(trial, range_wants, COUNT(range_wants), layout) &&
           sn_trial_address(trial, "ExecutionManagerCodeRangeMapAddress", &layout->range_map);
}

bool sn_trial_range_of(struct sn_layout_trial *trial, uint64_t address,
                       struct sn_range_section *ret_range)
{
    struct sn_code_layout layout;
    if (!bind_ranges(trial, &layout))
        return false;
    struct sn_code_reader reader = {
        .memory = trial->memory, .layout = &layout, .left = SN_CODE_READS_MAX};
    return sn_range_sections_find(&reader, address, ret_range);
}

/* --- methods --- */

struct method_layout {
    uint32_t chunk_index;
    uint32_t chunk_size;
    uint32_t chunk_table;
};

static const struct sn_contract_want method_wants[] = {
    WANT("MethodDesc", "ChunkIndex", method_layout, chunk_index),
    WANT("MethodDescChunk", "!", method_layout, chunk_size),
    WANT("MethodDescChunk", "MethodTable", method_layout, chunk_table),
};

/* A method of the runtime's: its chunk has a type. */
static bool is_method(struct sn_layout_trial *trial, uint64_t method)
{
    struct method_layout layout;
    uint8_t index;
    uint64_t table;
    if (!sn_trial_bind(trial, method_wants, COUNT(method_wants), &layout) || !method ||
        method & 7 || !sn_memory_u8(trial->memory, method + layout.chunk_index, &index))
        return false;
    uint64_t chunk = method - 8ull * index - layout.chunk_size;
    return sn_trial_follow(trial, chunk, layout.chunk_table, &table) &&
           sn_trial_is_method_table(trial, table);
}

/* --- precompiled code --- */

struct image_layout {
    uint32_t image;
    uint32_t module;
    uint32_t functions;
    uint32_t count;
    uint32_t size;
    uint32_t begin;
    uint32_t methods;
    uint32_t buckets;
    uint32_t bucket_size;
    uint32_t keys;
    uint32_t values;
};

static const struct sn_contract_want image_wants[] = {
    WANT("Module", "ReadyToRunInfo", image_layout, image),
    WANT("ReadyToRunInfo", "Module", image_layout, module),
    WANT("ReadyToRunInfo", "RuntimeFunctions", image_layout, functions),
    WANT("ReadyToRunInfo", "NumRuntimeFunctions", image_layout, count),
    WANT("RuntimeFunction", "!", image_layout, size),
    WANT("RuntimeFunction", "BeginAddress", image_layout, begin),
    WANT("ReadyToRunInfo", "EntryPointToMethodDescMap", image_layout, methods),
    WANT("HashMap", "Buckets", image_layout, buckets),
    WANT("Bucket", "!", image_layout, bucket_size),
    WANT("Bucket", "Keys", image_layout, keys),
    WANT("Bucket", "Values", image_layout, values),
};

/* The methods that were called of an image: an address of its code leads to a method. The first
 * bucket is none and tells how many there are; values lost their lowest bit. */
static bool check_entries(struct sn_layout_trial *trial, const struct image_layout *layout,
                          uint64_t image, const struct sn_range_section *range)
{
    uint64_t buckets;
    uint32_t count;
    if (!sn_trial_follow(trial, image + layout->methods, layout->buckets, &buckets) ||
        !sn_memory_u32(trial->memory, buckets, &count) || count > FUNCTIONS_MAX)
        return false;
    for (uint32_t i = 1; i <= count && i <= BUCKETS_TRIED; i++) {
        uint64_t at = buckets + (uint64_t)i * layout->bucket_size;
        uint64_t key;
        uint64_t value;
        if (!sn_memory_u64(trial->memory, at + layout->keys, &key) ||
            !sn_memory_u64(trial->memory, at + layout->values, &value))
            return false;
        if (key > 1) /* neither empty nor deleted */
            return range->begin <= key && key < range->end && is_method(trial, value << 1);
    }
    return true;
}

/* The core library's precompiled functions lie in a range that the runtime knows as the core
 * library's. *ret_is_there: it has some; a runtime may be told to use none. */
static bool check_image(struct sn_layout_trial *trial, bool *ret_is_there)
{
    struct image_layout layout;
    struct sn_range_section range;
    uint64_t module;
    uint64_t image;
    uint64_t back;
    uint64_t functions;
    uint32_t count;
    uint32_t first;
    uint32_t last;
    *ret_is_there = false;
    if (!sn_trial_bind(trial, image_wants, COUNT(image_wants), &layout) ||
        !sn_trial_core_library(trial, &module))
        return false;
    if (!sn_memory_u64(trial->memory, module + layout.image, &image))
        return sn_trial_fail(trial, "the core library cannot be read");
    if (!image)
        return true;
    if (!sn_trial_follow(trial, image, layout.module, &back) || back != module ||
        !sn_memory_u64(trial->memory, image + layout.functions, &functions) ||
        !sn_memory_u32(trial->memory, image + layout.count, &count) || !count ||
        count > FUNCTIONS_MAX)
        return sn_trial_fail(trial, "the core library's code does not point back to it");
    uint64_t end = functions + (uint64_t)(count - 1) * layout.size;
    if (!sn_memory_u32(trial->memory, functions + layout.begin, &first) ||
        !sn_memory_u32(trial->memory, end + layout.begin, &last) || first >= last)
        return sn_trial_fail(trial, "the core library's functions are in no order");
    *ret_is_there = true;
    if (!sn_trial_range_of(trial, functions, &range) || range.module != module ||
        range.begin + last >= range.end)
        return sn_trial_fail(trial, "the map of code does not have the core library's");
    return check_entries(trial, &layout, image, &range) ||
           sn_trial_fail(trial, "the core library's methods that were called are none");
}

/* --- code that was compiled here --- */

struct heap_layout {
    uint32_t start;
    uint32_t end;
    uint32_t base;
    uint32_t map;
    uint32_t method;
    uint32_t unwind_count;
    uint32_t unwinds;
    uint32_t function_begin;
};

static const struct sn_contract_want heap_wants[] = {
    WANT("CodeHeapListNode", "StartAddress", heap_layout, start),
    WANT("CodeHeapListNode", "EndAddress", heap_layout, end),
    WANT("CodeHeapListNode", "MapBase", heap_layout, base),
    WANT("CodeHeapListNode", "HeaderMap", heap_layout, map),
    WANT("RealCodeHeader", "MethodDesc", heap_layout, method),
    WANT("RealCodeHeader", "NumUnwindInfos", heap_layout, unwind_count),
    WANT("RealCodeHeader", "UnwindInfos", heap_layout, unwinds),
    WANT("RuntimeFunction", "BeginAddress", heap_layout, function_begin),
};

/* A range of code that was compiled here. */
static bool find_heap(struct sn_layout_trial *trial, struct sn_range_section *ret_range)
{
    struct sn_code_layout layout;
    if (!bind_ranges(trial, &layout))
        return false;
    struct sn_code_reader reader = {
        .memory = trial->memory, .layout = &layout, .left = HEAP_READS_MAX};
    uint64_t piece = 0;
    while (sn_range_sections_next(&reader, &piece, ret_range)) {
        if (ret_range->heap && !ret_range->module && !(ret_range->heap & 7))
            return true;
    }
    return false;
}

enum found { FOUND_NONE, FOUND_STUB, FOUND_METHOD };

/* What the word before `start` says of the code there. */
static enum found look_at(struct sn_layout_trial *trial, const struct heap_layout *layout,
                          uint64_t start, uint64_t base)
{
    uint64_t header;
    uint64_t stub_last;
    uint64_t method;
    uint32_t count;
    uint32_t begin;
    if (!sn_trial_number(trial, "StubCodeBlockLast", &stub_last) ||
        !sn_memory_u64(trial->memory, start - 8, &header))
        return FOUND_NONE;
    if (header <= stub_last)
        return FOUND_STUB;
    if (!sn_memory_u64(trial->memory, header + layout->method, &method) ||
        !sn_memory_u32(trial->memory, header + layout->unwind_count, &count) || !count ||
        count > UNWINDS_MAX ||
        !sn_memory_u32(trial->memory, header + layout->unwinds + layout->function_begin, &begin))
        return FOUND_NONE;
    return base + begin == start && is_method(trial, method) ? FOUND_METHOD : FOUND_NONE;
}

/* A method of a heap, by its map: a word of eight nibbles, the first highest, for 256 bytes. Words
 * with other things in them (from 10 on) are passed over, as what they point at proves nothing. */
static bool check_heap(struct sn_layout_trial *trial, const struct sn_range_section *range)
{
    struct heap_layout layout;
    uint64_t start;
    uint64_t end;
    uint64_t base;
    uint64_t map;
    unsigned tried = 0;
    if (!sn_trial_bind(trial, heap_wants, COUNT(heap_wants), &layout))
        return false;
    if (!sn_memory_u64(trial->memory, range->heap + layout.start, &start) ||
        !sn_memory_u64(trial->memory, range->heap + layout.end, &end) ||
        !sn_memory_u64(trial->memory, range->heap + layout.base, &base) ||
        !sn_trial_follow(trial, range->heap, layout.map, &map) || base > start || start > end ||
        start < range->begin || end > range->end)
        return sn_trial_fail(trial, "a heap of code does not lie in its range");
    for (uint32_t i = 0; i < NIBBLE_WORDS && tried < METHODS_TRIED; i++) {
        uint32_t word;
        if (!sn_memory_u32(trial->memory, map + 4ull * i, &word))
            break;
        for (unsigned k = 0; k < 8 && word; k++) {
            uint32_t nibble = (word >> (28 - 4 * k)) & 15;
            if (!nibble)
                continue;
            uint64_t code = base + 256ull * i + 32ull * k + 4ull * (nibble - 1);
            enum found found = look_at(trial, &layout, code, range->begin);
            if (found == FOUND_METHOD)
                return true;
            tried++;
        }
    }
    return sn_trial_fail(trial, "no method is found where a heap of code says that there is one");
}

bool sn_prove_code(struct sn_layout_trial *trial)
{
    struct sn_range_section range = {0};
    bool has_image = false;
    if (!check_image(trial, &has_image))
        return false;
    if (find_heap(trial, &range))
        return check_heap(trial, &range);
    return has_image || sn_trial_fail(trial, "no code is found");
}

/* --- frames --- */

struct frame_layout {
    uint32_t first;
    uint32_t next;
    uint32_t call_sp;
    uint32_t call_return;
    uint32_t call_fp;
    uint32_t store_first;
    uint32_t link;
};

static const struct sn_contract_want frame_wants[] = {
    WANT("Thread", "Frame", frame_layout, first),
    WANT("Frame", "Next", frame_layout, next),
    WANT("InlinedCallFrame", "CallSiteSP", frame_layout, call_sp),
    WANT("InlinedCallFrame", "CallerReturnAddress", frame_layout, call_return),
    WANT("InlinedCallFrame", "CalleeSavedFP", frame_layout, call_fp),
    WANT("ThreadStore", "FirstThreadLink", frame_layout, store_first),
    WANT("Thread", "LinkNext", frame_layout, link),
};

struct frame_facts {
    uint64_t call_class;
    uint64_t outermost; /* class of the last frame of the thread */
    uint32_t calls;     /* calls out of managed code that are under way */
    uint32_t good_calls;
};

static bool is_frame_class(const struct sn_layout_trial *trial, uint64_t word)
{
    for (size_t i = 0; i < trial->frame_class_count; i++) {
        if (word && trial->frame_classes[i] == word)
            return true;
    }
    return false;
}

/* A call out of managed code: it comes back to managed code, on the stack where the frame is. One
 * that is not under way has no return address. */
static void check_call(struct sn_layout_trial *trial, const struct frame_layout *layout,
                       uint64_t frame, struct frame_facts *facts)
{
    struct sn_range_section range;
    uint64_t address;
    uint64_t sp;
    uint64_t fp;
    if (!sn_memory_u64(trial->memory, frame + layout->call_return, &address) ||
        !sn_memory_u64(trial->memory, frame + layout->call_sp, &sp) ||
        !sn_memory_u64(trial->memory, frame + layout->call_fp, &fp) || !address)
        return;
    facts->calls++;
    facts->good_calls += sp <= frame && frame - sp < CALL_SP_BELOW && fp > frame &&
                         fp - frame < CALL_FP_ABOVE && sn_trial_range_of(trial, address, &range);
}

/* The frames of a thread, each farther up on its stack than the one before. */
static bool check_frames(struct sn_layout_trial *trial, const struct frame_layout *layout,
                         uint64_t thread, struct frame_facts *facts)
{
    uint64_t frame;
    uint64_t last = 0;
    if (!sn_memory_u64(trial->memory, thread + layout->first, &frame))
        return false;
    for (unsigned i = 0; frame != FRAME_LIST_END && i < FRAMES_TRIED; i++) {
        uint64_t word;
        if (frame & 7 || frame <= last || !sn_memory_u64(trial->memory, frame, &word) ||
            !is_frame_class(trial, word))
            return false;
        if (word == facts->call_class)
            check_call(trial, layout, frame, facts);
        facts->outermost = word;
        last = frame;
        if (!sn_memory_u64(trial->memory, frame + layout->next, &frame))
            return false;
    }
    return true;
}

/* Half must hold: threads run on while their frames are read. */
static bool check_threads(struct sn_layout_trial *trial, const struct frame_layout *layout,
                          uint64_t store, struct frame_facts *facts)
{
    uint64_t link;
    unsigned good = 0;
    unsigned count = 0;
    if (!sn_memory_u64(trial->memory, store + layout->store_first, &link))
        return false;
    for (; link && count < THREADS_TRIED; count++) {
        good += check_frames(trial, layout, link - layout->link, facts);
        if (!sn_memory_u64(trial->memory, link, &link))
            break;
    }
    return count && good * 2 >= count && facts->good_calls * 2 >= facts->calls;
}

/* The finalizer thread was started by the runtime: its outermost frame is of the class that catches
 * at the border of managed code. That fixes which class is which. */
bool sn_prove_frames(struct sn_layout_trial *trial)
{
    struct frame_layout layout;
    struct frame_facts facts = {0};
    uint64_t border;
    uint64_t store;
    uint64_t finalizer;
    if (!sn_trial_bind(trial, frame_wants, COUNT(frame_wants), &layout))
        return false;
    if (!sn_trial_number(trial, "DebuggerU2MCatchHandlerFrameIdentifier", &border) ||
        !sn_trial_number(trial, "InlinedCallFrameIdentifier", &facts.call_class) ||
        !sn_trial_pointer(trial, "ThreadStore", &store) ||
        !sn_trial_pointer(trial, "FinalizerThread", &finalizer))
        return sn_trial_fail(trial, "the classes of frames are not known");
    if (!check_frames(trial, &layout, finalizer, &facts) || facts.outermost != border)
        return sn_trial_fail(trial, "the finalizer thread's frames are not what they should be");
    return check_threads(trial, &layout, store, &facts) ||
           sn_trial_fail(trial, "the frames of threads are not what they should be");
}
