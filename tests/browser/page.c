/* Writes the pages that the browser tests open, of profiles made by hand, to stdout.
 *
 *   browser_page shop | hostile | large | huge | diff | report */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "base/stream.h"
#include "convert/formats.h"
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
    else
        return false;
    return true;
}

int main(int count, char **arguments)
{
    SN_AUTO(sn_stream_done) struct sn_stream stream;
    struct sonde_error err = {0};
    int fd = STDOUT_FILENO;
    sn_stream_init(&stream, sn_stream_to_fd, &fd);
    if (count != 2 || !write_page(&stream, arguments[1]) || sn_stream_finish(&stream, &err)) {
        (void)fprintf(stderr, "browser_page: %s\n",
                      err.text[0] ? err.text : "shop | hostile | large | huge | diff | report");
        return 1;
    }
    return 0;
}
