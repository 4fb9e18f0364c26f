#include "source/memory/code_layout.h"

#include "base/err.h"
#include "source/memory/contract.h"
#include "source/memory/memory.h"

#define FIELD(type, name, member)                                  \
    {                                                              \
        type, name, offsetof(struct sn_code_layout, member), false \
    }

static const struct sn_contract_want wants[] = {
    FIELD("RangeSectionMap", "TopLevelData", map_top),
    FIELD("RangeSectionFragment", "Next", fragment_next),
    FIELD("RangeSectionFragment", "RangeBegin", fragment_begin),
    FIELD("RangeSectionFragment", "RangeEndOpen", fragment_end),
    FIELD("RangeSectionFragment", "RangeSection", fragment_section),
    FIELD("RangeSection", "RangeBegin", section_begin),
    FIELD("RangeSection", "RangeEndOpen", section_end),
    FIELD("RangeSection", "HeapList", section_heap),
    FIELD("RangeSection", "R2RModule", section_module),
    FIELD("CodeHeapListNode", "StartAddress", heap_start),
    FIELD("CodeHeapListNode", "EndAddress", heap_end),
    FIELD("CodeHeapListNode", "MapBase", heap_map_base),
    FIELD("CodeHeapListNode", "HeaderMap", heap_map),
    FIELD("RealCodeHeader", "MethodDesc", header_method),
    FIELD("RealCodeHeader", "NumUnwindInfos", header_unwind_count),
    FIELD("RealCodeHeader", "UnwindInfos", header_unwind),
    {"RealCodeHeader", "EHInfo", offsetof(struct sn_code_layout, header_clauses), true},
    {"RealCodeHeader", "DebugInfo", offsetof(struct sn_code_layout, header_debug_info), true},
    FIELD("RuntimeFunction", "BeginAddress", function_begin),
    FIELD("RuntimeFunction", "EndAddress", function_end),
    FIELD("RuntimeFunction", "UnwindData", function_unwind),
    FIELD("RuntimeFunction", "!", function_size),
    FIELD("Module", "ReadyToRunInfo", module_image),
    {"ReadyToRunInfo", "ReadyToRunHeader", offsetof(struct sn_code_layout, image_header), true},
    FIELD("ReadyToRunInfo", "CompositeInfo", image_composite),
    FIELD("ReadyToRunInfo", "RuntimeFunctions", image_functions),
    FIELD("ReadyToRunInfo", "NumRuntimeFunctions", image_function_count),
    FIELD("ReadyToRunInfo", "HotColdMap", image_hot_cold),
    FIELD("ReadyToRunInfo", "NumHotColdMap", image_hot_cold_count),
    FIELD("ReadyToRunInfo", "DelayLoadMethodCallThunks", image_thunks),
    FIELD("ReadyToRunInfo", "EntryPointToMethodDescMap", image_methods),
    FIELD("ImageDataDirectory", "VirtualAddress", directory_address),
    FIELD("ImageDataDirectory", "Size", directory_size),
    FIELD("HashMap", "Buckets", hash_buckets),
    FIELD("Bucket", "Keys", bucket_keys),
    FIELD("Bucket", "Values", bucket_values),
    FIELD("Bucket", "!", bucket_size),
};

static int read_globals(const struct sn_contract *contract, struct sn_code_layout *layout,
                        struct sonde_error *err)
{
    const char *missing = NULL;
    if (!sn_contract_address(contract, "ExecutionManagerCodeRangeMapAddress", &layout->range_map))
        missing = "ExecutionManagerCodeRangeMapAddress";
    else if (!sn_contract_number(contract, "StubCodeBlockLast", &layout->stub_last))
        missing = "StubCodeBlockLast";
    else if (!sn_contract_number(contract, "HashMapSlotsPerBucket", &layout->hash_slots))
        missing = "HashMapSlotsPerBucket";
    else if (!sn_contract_number(contract, "HashMapValueMask", &layout->hash_value_mask))
        missing = "HashMapValueMask";
    if (!missing)
        return SONDE_OK;
    return sn_fail(err, SONDE_E_UNSUPPORTED, 0, "the runtime does not tell of its code: %s",
                   missing);
}

int sn_code_layout_read(struct sn_contract *contract, struct sn_code_layout *ret_layout,
                        struct sonde_error *err)
{
    const char *missing = NULL;
    *ret_layout =
        (struct sn_code_layout){.version = sn_contract_version(contract, "ExecutionManager")};
    if (ret_layout->version != 1 && ret_layout->version != 2) {
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0,
                       ret_layout->version ? "contract ExecutionManager is of version %u, which "
                                             "this sonde does not know: a newer one may"
                                           : "the runtime does not tell of its code: no contract "
                                             "ExecutionManager",
                       ret_layout->version);
    }
    if (!sn_contract_bind(contract, wants, sizeof(wants) / sizeof(*wants), ret_layout, &missing)) {
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0, "the runtime does not tell of its code: %s",
                       missing);
    }
    return read_globals(contract, ret_layout, err);
}

bool sn_code_read(struct sn_code_reader *reader, uint64_t address, void *to, size_t size)
{
    if (!reader->left)
        return false;
    reader->left--;
    if (reader->is_now)
        return sn_memory_read_now(reader->memory, address, to, size) == size;
    return sn_memory_read(reader->memory, address, to, size);
}

bool sn_code_read_u8(struct sn_code_reader *reader, uint64_t address, uint8_t *ret_value)
{
    *ret_value = 0;
    return sn_code_read(reader, address, ret_value, sizeof(*ret_value));
}

bool sn_code_read_u32(struct sn_code_reader *reader, uint64_t address, uint32_t *ret_value)
{
    *ret_value = 0;
    return sn_code_read(reader, address, ret_value, sizeof(*ret_value));
}

bool sn_code_read_u64(struct sn_code_reader *reader, uint64_t address, uint64_t *ret_value)
{
    *ret_value = 0;
    return sn_code_read(reader, address, ret_value, sizeof(*ret_value));
}

bool sn_code_read_function(struct sn_code_reader *reader, uint64_t functions, uint32_t index,
                           struct sn_code_function *ret_function)
{
    const struct sn_code_layout *layout = reader->layout;
    uint64_t at = functions + (uint64_t)index * layout->function_size;
    *ret_function = (struct sn_code_function){0};
    return sn_code_read_u32(reader, at + layout->function_begin, &ret_function->begin) &&
           sn_code_read_u32(reader, at + layout->function_end, &ret_function->end) &&
           sn_code_read_u32(reader, at + layout->function_unwind, &ret_function->unwind);
}

bool sn_code_find_function(struct sn_code_reader *reader, uint64_t functions, uint32_t count,
                           uint32_t relative, uint32_t *ret_index)
{
    const struct sn_code_layout *layout = reader->layout;
    uint32_t low = 0; /* all before it begin at `relative` or before */
    uint32_t high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        uint32_t begin;
        uint64_t at = functions + (uint64_t)middle * layout->function_size;
        if (!sn_code_read_u32(reader, at + layout->function_begin, &begin))
            return false;
        if (begin <= relative)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_index = low ? low - 1 : 0;
    return low > 0;
}
