/* Writes the pages that the browser tests open, of profiles made by hand, to stdout.
 *
 *   browser_page shop | hostile | large | huge | diff | report */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "base/stream.h"
#include "convert/diff_html.h"
#include "convert/formats.h"
#include "convert/report_html.h"
#include "convert/report_show.h"
#include "model/profile.h"
#include "model/report.h"

#define MS        1000000u
#define LONG_NAME 65536u
#define DEPTH_MAX 64u

static const struct sn_column time_columns[] = {
    {"cpu", SN_UNIT_NS}, {"wall", SN_UNIT_NS}, {"wait", SN_UNIT_NS}, {"samples", SN_UNIT_COUNT}};

static struct sn_profile *new_profile(void)
{
    struct sn_profile *profile = NULL;
    struct sonde_error err = {0};
    if (sn_profile_new(time_columns, 4, &profile, &err)) {
        (void)fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    profile->end_ns = 10000ull * MS;
    return profile;
}

/* "Module!Namespace|Type.Method", "[runtime]" or "~native". */
static uint32_t add_frame(struct sn_profile *profile, const char *text)
{
    char name[256];
    char module[64] = "";
    char space[64] = "";
    struct sn_frame frame = {.kind = text[0] == '[' ? SN_FRAME_RUNTIME : SN_FRAME_MANAGED};
    const char *bang = strchr(text, '!');
    const char *bar = strchr(text, '|');
    if (bang && bar) {
        (void)snprintf(module, sizeof(module), "%.*s", (int)(bang - text), text);
        (void)snprintf(space, sizeof(space), "%.*s", (int)(bar - bang - 1), bang + 1);
        (void)snprintf(name, sizeof(name), "%s.%s", space, bar + 1);
    } else {
        (void)snprintf(name, sizeof(name), "%s", text + (text[0] == '~'));
        frame.kind = text[0] == '~' ? SN_FRAME_NATIVE : frame.kind;
    }
    char full[300];
    (void)snprintf(full, sizeof(full), "%s(class System.String,int32)", name);
    frame.name = name;
    frame.full_name = frame.kind == SN_FRAME_MANAGED ? full : name;
    frame.module = module;
    frame.name_space = space;
    frame.is_framework = strncmp(space, "System", 6) == 0 || strncmp(space, "Microsoft", 9) == 0;
    frame.file = strncmp(space, "Shop", 4) == 0 ? "src/Shop/Orders.cs" : NULL;
    frame.line = frame.file ? 42 : 0;
    return sn_profile_frame(profile, &frame);
}

/* Frames from the outside in, separated by ";". */
static void add_stack(struct sn_profile *profile, uint32_t thread, const char *stack,
                      uint64_t cpu_ms, uint64_t wait_ms)
{
    char copy[2048];
    char *rest = copy;
    uint32_t node = 0;
    (void)snprintf(copy, sizeof(copy), "%s", stack);
    for (char *frame; (frame = strsep(&rest, ";"));)
        node = sn_profile_node(profile, node, add_frame(profile, frame));
    uint64_t values[SN_COLUMN_MAX] = {cpu_ms * MS, (cpu_ms + wait_ms) * MS, wait_ms * MS,
                                      cpu_ms + wait_ms};
    sn_profile_add(profile, thread, node, values);
}

#define HOST                                                                                     \
    "System.Private.CoreLib!System.Threading|PortableThreadPool.WorkerThread.Start;"             \
    "System.Private.CoreLib!System.Threading|ThreadPoolWorkQueue.Dispatch;"                      \
    "Microsoft.AspNetCore.Server.Kestrel.Core!Microsoft.AspNetCore.Server|HttpProtocol.Process;" \
    "Microsoft.AspNetCore.Routing!Microsoft.AspNetCore.Routing|EndpointMiddleware.Invoke;"
#define ORDERS \
    HOST       \
        "Shop.Web!Shop.Web|OrdersEndpoint.PlaceAsync;Shop.Core!Shop.Orders|OrderService.PlaceAsync;"
#define BASKET HOST "Shop.Web!Shop.Web|BasketEndpoint.GetAsync;"
#define JSON   "System.Text.Json!System.Text.Json|JsonSerializer.Serialize;"

/* `slow` in percent: how long the price rules take. */
static struct sn_profile *shop(uint64_t slow)
{
    static const struct {
        const char *stack;
        uint64_t cpu_ms, wait_ms;
    } stacks[] = {
        {ORDERS "Shop.Pricing!Shop.Pricing|RuleEngine.Evaluate", 310, 0},
        {ORDERS
         "Shop.Pricing!Shop.Pricing|RuleEngine.Evaluate;Shop.Pricing!Shop.Pricing|Discount.Apply",
         1240, 0},
        {ORDERS
         "Shop.Pricing!Shop.Pricing|RuleEngine.Evaluate;Shop.Pricing!Shop.Pricing|Discount.Apply;"
         "System.Private.CoreLib!System|Decimal.Multiply",
         480, 0},
        {ORDERS
         "Shop.Pricing!Shop.Pricing|RuleEngine.Evaluate;Shop.Pricing!Shop.Pricing|RuleEngine.Evaluate",
         150, 0},
        {ORDERS "Shop.Core!Shop.Orders|Stock.Reserve", 220, 340},
        {ORDERS
         "Shop.Core!Shop.Orders|Stock.Reserve;System.Private.CoreLib!System.Threading|Monitor.Enter",
         12, 890},
        {ORDERS
         "Shop.Data!Shop.Data|OrderStore.SaveAsync;System.Data.Common!System.Data|DbCommand.Execute",
         90, 1400},
        {ORDERS "Shop.Data!Shop.Data|OrderStore.SaveAsync;" JSON
                "System.Text.Json!System.Text.Json|Utf8JsonWriter.WriteString",
         260, 0},
        {ORDERS
         "Shop.Data!Shop.Data|OrderStore.SaveAsync;" JSON
         "System.IO.Compression!System.IO.Compression|BrotliStream.Write;~libSystem.IO.Compression.Native.so",
         540, 0},
        {BASKET "Shop.Core!Shop.Baskets|Basket.Load;Shop.Data!Shop.Data|BasketStore.Find", 330, 60},
        {BASKET "Shop.Core!Shop.Baskets|Basket.Load;Shop.Data!Shop.Data|BasketStore.Find;"
                "System.Private.CoreLib!System.Collections.Generic|Dictionary`2.FindValue",
         410, 0},
        {BASKET "Shop.Core!Shop.Baskets|Basket.Total;System.Linq!System.Linq|Enumerable.Sum", 275,
         0},
        {BASKET JSON "System.Text.Json!System.Text.Json|Utf8JsonWriter.WriteNumber", 185, 0},
        {BASKET JSON "System.Text.Json!System.Text.Json|Utf8JsonWriter.WriteString", 120, 0},
        {HOST "Shop.Web!Shop.Web|HealthEndpoint.Get", 25, 0},
        {"[garbage collector]", 640, 0},
        {"[JIT compiler]", 210, 0},
    };
    struct sn_profile *profile = new_profile();
    uint32_t threads[3] = {sn_profile_thread(profile, 1, 4711, ".NET TP Worker"),
                           sn_profile_thread(profile, 1, 4712, ".NET TP Worker"),
                           sn_profile_thread(profile, 1, 4720, ".NET GC")};
    for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++) {
        bool is_slow = strstr(stacks[i].stack, "Discount") != NULL;
        uint64_t cpu = is_slow ? stacks[i].cpu_ms * slow / 100 : stacks[i].cpu_ms;
        uint32_t thread = threads[stacks[i].stack[0] == '[' ? 2 : i % 2];
        add_stack(profile, thread, stacks[i].stack, cpu, stacks[i].wait_ms);
    }
    return profile;
}

static void add_named(struct sn_profile *profile, const char *name, uint64_t cpu_ms)
{
    struct sn_frame frame = {
        .name = name, .full_name = name, .module = name, .name_space = name, .file = name};
    uint32_t thread = sn_profile_thread(profile, 1, cpu_ms, name);
    uint32_t node = sn_profile_node(profile, 0, sn_profile_frame(profile, &frame));
    uint64_t values[SN_COLUMN_MAX] = {cpu_ms * MS, cpu_ms * MS, 0, 1};
    sn_profile_add(profile, thread, node, values);
}

static const char *const hostile_names[] = {
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=2</script>",
    "<img src=x onerror=window.hacked=3>",
    "<!--<script>",
    "\"'><svg onload=window.hacked=4>",
    "]]>\\u003c/script>\\\"",
    "javascript:window.hacked=5",
    "\x1b[31mred\x1b]0;title\x07",
    "line\nbreak\r\ttab",
    "\xE2\x80\xAEgnp.exe",
    "\xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D.\xD7\xA2\xD7\x95\xD7\x9C\xD7\x9D",
    "bad \xFF\xC3( utf-8",
    "__proto__",
    "constructor",
    "\xE2\x80\xA8separator\xE2\x80\xA9",
    "&lt;b&gt;&amp;",
};

static struct sn_profile *hostile(void)
{
    struct sn_profile *profile = new_profile();
    for (size_t i = 0; i < sizeof(hostile_names) / sizeof(*hostile_names); i++)
        add_named(profile, hostile_names[i], 100 + i);
    SN_AUTO(sn_free) char *name = malloc(LONG_NAME + 1);
    memset(name, 'x', LONG_NAME);
    name[LONG_NAME] = '\0';
    add_named(profile, name, 500);
    return profile;
}

/* A tree of `count` nodes, of many depths, the same each time. */
static struct sn_profile *large(size_t count)
{
    struct sn_profile *profile = new_profile();
    uint32_t thread = sn_profile_thread(profile, 1, 1, "main");
    uint64_t random = 88172645463325252u;
    uint32_t frames[500];
    for (uint32_t i = 0; i < 500; i++) {
        char text[96];
        (void)snprintf(text, sizeof(text), "Module%u!Space%u|Type%u.Method%u", i % 12, i % 40,
                       i % 90, i);
        frames[i] = add_frame(profile, text);
    }
    while (profile->node_count < count) {
        uint32_t node = 0;
        for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            unsigned choice = (unsigned)(random % 100 < 70 ? random / 128 % 3 : random / 128 % 40);
            node = sn_profile_node(profile, node, frames[(choice * 7 + depth * 5) % 500]);
            if (random / 65536 % 24 == 0)
                break;
        }
        uint64_t values[SN_COLUMN_MAX] = {random % 5000 * 1000, random % 9000 * 1000, 0, 1};
        sn_profile_add(profile, thread, node, values);
    }
    return profile;
}

static void write_profile(struct sn_stream *stream, const struct sn_profile *profile,
                          const char *title)
{
    struct sn_format_options options = {.title = title, .view = "CPU"};
    sn_format_find("html")->write(stream, profile, &options);
}

/* --- a report --- */

static void *room(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        abort();
    return memory;
}

static void fill_gc(struct sn_gc_report *gc)
{
    gc->event_count = 1000;
    gc->total_count = gc->count = 140;
    gc->collections = room(gc->count, sizeof(*gc->collections));
    for (size_t i = 0; i < gc->count; i++) {
        uint8_t generation = i % 23 == 22 ? 2 : i % 5 == 4 ? 1 : 0;
        uint64_t pause = (i * 7919 % 900 + 300) * 1000 * (generation * 4u + 1);
        uint64_t start = (uint64_t)i * 71 * MS + 1;
        gc->collections[i] =
            (struct sn_collection){.number = (uint32_t)i + 1,
                                   .generation = generation,
                                   .type = generation == 2,
                                   .is_ended = true,
                                   .start_ns = start,
                                   .pause_start_ns = start,
                                   .duration_ns = pause,
                                   .pause_ns = pause,
                                   .heap_after_bytes = (40 + i % 23 * 6) * 1000000};
        gc->by_generation[generation]++;
        gc->pause_by_generation[generation] += pause;
        gc->by_reason[generation == 2 ? 1 : 0]++;
        gc->pause_ns += pause;
        sn_series_add(&gc->pauses, pause);
    }
    gc->heap_max_bytes = 172000000;
    gc->last_generation_bytes[0] = 1200000;
    gc->last_generation_bytes[1] = 4100000;
    gc->last_generation_bytes[2] = 61000000;
    gc->last_generation_bytes[3] = 9000000;
}

static struct sn_profile *typed_profile(const char *first, uint8_t first_unit, const char *second,
                                        uint8_t second_unit)
{
    const struct sn_column columns[] = {{first, first_unit}, {second, second_unit}};
    struct sn_profile *profile = NULL;
    if (sn_profile_new(columns, 2, &profile, NULL))
        abort();
    return profile;
}

static void fill_exceptions(struct sn_exception_report *exceptions)
{
    exceptions->event_count = 900;
    exceptions->count = 3;
    exceptions->kinds = room(3, sizeof(*exceptions->kinds));
    exceptions->kinds[0] = (struct sn_exception_kind){.name = "Shop.Orders.OutOfStockException",
                                                      .message = "Article 4711 is <b>sold out</b>",
                                                      .count = 412,
                                                      .caught_count = 410,
                                                      .cost_ns = 86 * MS,
                                                      .max_cost_ns = 3 * MS};
    exceptions->kinds[1] = (struct sn_exception_kind){.name = "System.FormatException",
                                                      .message = "The input is not a number.",
                                                      .count = 38,
                                                      .caught_count = 38,
                                                      .cost_ns = 2 * MS,
                                                      .max_cost_ns = MS};
    exceptions->kinds[2] = (struct sn_exception_kind){
        .name = hostile_names[2], .message = hostile_names[9], .count = 1};
    exceptions->profile = typed_profile("count", SN_UNIT_COUNT, "time", SN_UNIT_NS);
    uint32_t thread = sn_profile_thread(exceptions->profile, 1, 4711, "worker");
    add_stack(exceptions->profile, thread, ORDERS "Shop.Core!Shop.Orders|Stock.Reserve", 0, 0);
    struct sn_frame type = {.name = "Shop.Orders.OutOfStockException",
                            .full_name = "Shop.Orders.OutOfStockException",
                            .module = "",
                            .name_space = "Shop.Orders",
                            .kind = SN_FRAME_TYPE};
    uint32_t node = (uint32_t)exceptions->profile->node_count - 1;
    node = sn_profile_node(exceptions->profile, node, sn_profile_frame(exceptions->profile, &type));
    sn_profile_add(exceptions->profile, thread, node, (uint64_t[SN_COLUMN_MAX]){412, 86 * MS});
}

static void fill_allocations(struct sn_allocation_report *allocations)
{
    static const char *const types[] = {"System.String", "Shop.Orders.OrderLine[]",
                                        "System.Byte[]"};
    allocations->event_count = allocations->sample_count = 5400;
    allocations->bytes = 540000000;
    allocations->count = 3;
    allocations->kinds = room(3, sizeof(*allocations->kinds));
    allocations->profile = typed_profile("bytes", SN_UNIT_BYTES, "count", SN_UNIT_COUNT);
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t bytes = (i == 0 ? 300u : i == 1 ? 200u : 40u) * 1000000u;
        allocations->kinds[i] = (struct sn_allocation_kind){
            .name = types[i], .sample_count = bytes / 100000, .bytes = bytes};
        struct sn_profile *profile = allocations->profile;
        uint32_t thread = sn_profile_thread(profile, 1, 4711 + i % 2, "worker");
        add_stack(profile, thread,
                  i ? ORDERS "Shop.Core!Shop.Orders|OrderLine.Make" : BASKET JSON "~x", 0, 0);
        struct sn_frame type = {.name = types[i],
                                .full_name = types[i],
                                .module = "",
                                .name_space = "",
                                .kind = SN_FRAME_TYPE};
        uint32_t node = sn_profile_node(profile, (uint32_t)profile->node_count - 1,
                                        sn_profile_frame(profile, &type));
        sn_profile_add(profile, thread, node, (uint64_t[SN_COLUMN_MAX]){bytes, bytes / 100000});
    }
}

static void fill_requests(struct sn_request_report *requests)
{
    static const char *const patterns[] = {"/orders/{n}", "/basket",
                                           "/<script>window.hacked=6</script>"};
    requests->event_count = 4000;
    requests->count = 3;
    requests->open_count = 2;
    requests->routes = room(3, sizeof(*requests->routes));
    for (uint64_t i = 0; i < 3; i++) {
        struct sn_route *route = &requests->routes[i];
        *route = (struct sn_route){.method = i ? "GET" : "POST",
                                   .pattern = patterns[i],
                                   .count = 900 - i * 400,
                                   .failed_count = i == 0 ? 12 : 0};
        for (uint64_t n = 0; n < route->count; n++)
            sn_series_add(&route->times, (n * 7919 % 1000 + 50) * 20000);
    }
}

static void fill_rest(struct sn_report *report)
{
    report->jit = (struct sn_jit_report){.event_count = 1,
                                         .jitted_count = 1830,
                                         .time_ns = 690 * MS,
                                         .native_bytes = 4100000,
                                         .by_tier = {0, 20, 1500, 310},
                                         .count = 1};
    report->jit.methods = room(1, sizeof(*report->jit.methods));
    report->jit.methods[0] = (struct sn_jit_method){.name = "Shop.Pricing.RuleEngine.Evaluate",
                                                    .count = 2,
                                                    .time_ns = 14 * MS,
                                                    .il_bytes = 2100,
                                                    .native_bytes = 9800};
    report->pool = (struct sn_pool_report){.event_count = 1,
                                           .has_workers = true,
                                           .worker_min = 2,
                                           .worker_max = 14,
                                           .worker_start_count = 12,
                                           .count = 12};
    report->pool.adjustments = room(12, sizeof(*report->pool.adjustments));
    for (size_t i = 0; i < 12; i++)
        report->pool.adjustments[i] =
            (struct sn_pool_adjustment){i * 800ull * MS, (uint32_t)(2 + i * 5 % 13), 3, 100};
    report->pool.by_reason[3] = 12;
    report->thread_count = 2;
    report->threads = room(2, sizeof(*report->threads));
    report->threads[0] = (struct sn_thread_time){.thread_id = 4711,
                                                 .name = ".NET TP Worker",
                                                 .process = "",
                                                 .cpu_ns = 3100ull * MS,
                                                 .wall_ns = 9000ull * MS,
                                                 .sample_count = 900};
    report->threads[1] = (struct sn_thread_time){.thread_id = 4720,
                                                 .name = hostile_names[0],
                                                 .process = hostile_names[1],
                                                 .cpu_ns = 640 * MS,
                                                 .wall_ns = 9000ull * MS,
                                                 .sample_count = 900};
    report->contention.event_count = report->contention.count = 77;
    report->contention.wait_ns = 890 * MS;
    for (uint64_t i = 1; i <= 77; i++)
        sn_series_add(&report->contention.waits, i * 300000);
    report->tasks = (struct sn_task_report){.event_count = 1,
                                            .scheduled_count = 5000,
                                            .completed_count = 4990,
                                            .failed_count = 3,
                                            .count = 1};
    report->tasks.kinds = room(1, sizeof(*report->tasks.kinds));
    report->tasks.kinds[0] = (struct sn_task_kind){
        .name = "Async: Shop.Orders.PlaceAsync", .count = 900, .done_count = 898, .open_count = 2};
    sn_series_add(&report->tasks.kinds[0].times, 12 * MS);
}

static void write_report(struct sn_stream *stream)
{
    SN_AUTO(sn_report_free) struct sn_report *report = NULL;
    if (sn_report_new(&report, NULL))
        abort();
    report->duration_ns = 10000ull * MS;
    report->cpu_truth = SN_CPU_KNOWN;
    report->cpu_ns = 5500ull * MS;
    report->tracing_cpu_ns = 90 * MS;
    report->samples = shop(100);
    fill_gc(&report->gc);
    fill_exceptions(&report->exceptions);
    fill_allocations(&report->allocations);
    fill_requests(&report->requests);
    fill_rest(report);
    const struct sn_file_facts file = {.path = "/traces/shop.nettrace",
                                       .format = 4,
                                       .pid = 4700,
                                       .start_utc_ns = 1790000000ull * 1000 * MS,
                                       .byte_count = 18400000,
                                       .event_count = 123456,
                                       .lost_count = 12};
    const struct sn_report_show show = {.report = report, .file = &file, .count = 15};
    sn_report_html_write(stream, &show);
}

static void write_diff(struct sn_stream *stream)
{
    SN_AUTO(sn_profile_free) struct sn_profile *before = shop(100);
    SN_AUTO(sn_profile_free) struct sn_profile *after = shop(190);
    add_stack(before, 0, BASKET "Shop.Core!Shop.Baskets|Basket.Recount", 400, 0);
    add_stack(after, 0, BASKET "Shop.Core!Shop.Baskets|Basket.Audit", 300, 0);
    struct sn_diff_html_options options = {.title_before = "/home/me/monday.nettrace",
                                           .title_after = "tuesday.nettrace",
                                           .view = "CPU",
                                           .column = "cpu",
                                           .duration_before_ns = 10000ull * MS,
                                           .duration_after_ns = 10000ull * MS};
    sn_diff_html_write(stream, before, after, &options);
}

static bool write_page(struct sn_stream *stream, const char *kind)
{
    SN_AUTO(sn_profile_free) struct sn_profile *profile = NULL;
    if (strcmp(kind, "shop") == 0)
        write_profile(stream, profile = shop(100), "shop.nettrace");
    else if (strcmp(kind, "hostile") == 0)
        write_profile(stream, profile = hostile(), hostile_names[1]);
    else if (strcmp(kind, "large") == 0)
        write_profile(stream, profile = large(100000), "large.nettrace");
    else if (strcmp(kind, "huge") == 0)
        write_profile(stream, profile = large(250000), "huge.nettrace");
    else if (strcmp(kind, "report") == 0)
        write_report(stream);
    else if (strcmp(kind, "diff") == 0)
        write_diff(stream);
    else
        return false;
    return true;
}

int main(int count, char **arguments)
{
    SN_AUTO(sn_stream_done) struct sn_stream stream;
    struct sonde_error err = {0};
    int fd = STDOUT_FILENO;
    (void)setlocale(LC_ALL, ""); /* of whoever runs it: no page may depend on it */
    sn_stream_init(&stream, sn_stream_to_fd, &fd);
    if (count != 2 || !write_page(&stream, arguments[1]) || sn_stream_finish(&stream, &err)) {
        (void)fprintf(stderr, "browser_page: %s\n",
                      err.text[0] ? err.text : "shop | hostile | large | huge | diff | report");
        return 1;
    }
    return 0;
}
