/* What a configuration can say: every section and key, with what it takes, its default and a line
 * of help. Reading, checking, explaining and the example all walk it. */
#include "sink/export/settings.h"

#include <string.h>

#define KEYS_END     \
    {                \
        .name = NULL \
    }

/* Of everything that sends. */
#define SENDER_KEYS                                                                   \
    {.name = "queue",                                                                 \
     .type = SN_SETTING_BYTES,                                                        \
     .fallback = "4MB",                                                               \
     .help = "what may wait while the receiver is away; then the oldest is dropped"}, \
    {                                                                                 \
        .name = "timeout", .type = SN_SETTING_DURATION, .fallback = "5s",             \
        .help = "for connecting, sending and an answer"                               \
    }

static const struct sn_setting_key target_keys[] = {
    {.name = "names",
     .type = SN_SETTING_LIST,
     .example = "shop, worker*",
     .help = "processes of these names, * and ? allowed, those to come too"},
    {.name = "pids", .type = SN_SETTING_LIST, .example = "1234", .help = "these processes"},
    {.name = "all",
     .type = SN_SETTING_FLAG,
     .example = "yes",
     .help = "every .NET process that can be reached, those to come too; so if neither is given"},
    KEYS_END,
};

static const struct sn_setting_key counter_keys[] = {
    {.name = "enabled",
     .type = SN_SETTING_FLAG,
     .fallback = "yes",
     .help = "export counters and metrics; no: only what rules make of events"},
    {.name = "counters",
     .type = SN_SETTING_LIST,
     .example = "System.Runtime, Shop.Orders[placed,failed]",
     .help = "EventSources and meters; if not given, those of the runtime and ASP.NET Core"},
    {.name = "interval",
     .type = SN_SETTING_DURATION,
     .fallback = "10s",
     .help = "between values; whole seconds for the runtimes"},
    {.name = "kernel",
     .type = SN_SETTING_FLAG,
     .fallback = "yes",
     .help = "what the kernel tells of the process and its cgroup"},
    {.name = "runtime",
     .type = SN_SETTING_FLAG,
     .fallback = "yes",
     .help = "ask the runtimes at all; no: the kernel only"},
    {.name = "max-series",
     .type = SN_SETTING_NUMBER,
     .fallback = "1000",
     .help = "time series of meters that a process may keep"},
    {.name = "max-histograms",
     .type = SN_SETTING_NUMBER,
     .fallback = "20",
     .help = "histograms that a process may keep"},
    {.name = "meters-age",
     .type = SN_SETTING_DURATION,
     .example = "5s",
     .help = "ask a process for its meters when it is that old; if not given 30s, of pids 5s"},
    KEYS_END,
};

static const struct sn_setting_key graphite_keys[] = {
    {.name = "address",
     .type = SN_SETTING_URL,
     .allowed = "tcp udp unix",
     .example = "tcp://127.0.0.1:2003",
     .help = "where carbon listens: port 2003 for lines, 2004 for pickles",
     .is_required = true},
    {.name = "protocol",
     .type = SN_SETTING_CHOICE,
     .fallback = "plain",
     .allowed = "plain pickle",
     .help = "lines of text, or pickles, which are less work for carbon"},
    {.name = "prefix", .type = SN_SETTING_TEXT, .fallback = "sonde", .help = "of every path"},
    {.name = "tags",
     .type = SN_SETTING_FLAG,
     .fallback = "yes",
     .help = "labels as tags; no: as parts of the path, for Graphite before 1.1"},
    SENDER_KEYS,
    KEYS_END,
};

static const struct sn_setting_key statsd_keys[] = {
    {.name = "address",
     .type = SN_SETTING_URL,
     .allowed = "udp tcp unix",
     .example = "udp://127.0.0.1:8125",
     .help = "where the StatsD server listens",
     .is_required = true},
    {.name = "prefix", .type = SN_SETTING_TEXT, .fallback = "sonde", .help = "of every name"},
    {.name = "tags",
     .type = SN_SETTING_FLAG,
     .fallback = "no",
     .help = "labels as DogStatsD writes them; no: as parts of the name"},
    SENDER_KEYS,
    KEYS_END,
};

static const struct sn_setting_key prometheus_keys[] = {
    {.name = "listen",
     .type = SN_SETTING_ADDRESS,
     .fallback = "127.0.0.1:9464",
     .help = "where to be scraped; :9464 is every address of this machine"},
    {.name = "path", .type = SN_SETTING_TEXT, .fallback = "/metrics", .help = "of the page"},
    {.name = "names",
     .type = SN_SETTING_CHOICE,
     .fallback = "otel",
     .allowed = "otel dotnet-monitor",
     .help = "metric names: as OpenTelemetry says, or as dotnet-monitor has them"},
    KEYS_END,
};

static const struct sn_setting_key otlp_keys[] = {
    {.name = "url",
     .type = SN_SETTING_URL,
     .allowed = "http https",
     .example = "http://127.0.0.1:4318/v1/metrics",
     .help = "where the collector takes metrics (OTLP over HTTP, protobuf)",
     .is_required = true},
    {.name = "header",
     .type = SN_SETTING_LINES,
     .example = "Authorization: Bearer ${OTLP_TOKEN}",
     .help = "a further header, \"Name: value\"; ${NAME} is taken from the environment"},
    {.name = "ca-file",
     .type = SN_SETTING_TEXT,
     .example = "/etc/ssl/certs/own-ca.pem",
     .help = "whom https trusts; if not given, whom the system trusts"},
    SENDER_KEYS,
    KEYS_END,
};

static const struct sn_setting_key usdt_keys[] = {
    {.name = "profile",
     .type = SN_SETTING_LIST,
     .example = "gc-collect",
     .help = "named choices of events, as 'sonde trace --list-profiles' shows them"},
    {.name = "providers",
     .type = SN_SETTING_LINES,
     .example = "Shop.Orders:0x1:verbose",
     .help = "Name[:Keywords[:Level[:key=value;...]]]"},
    {.name = "clrevents",
     .type = SN_SETTING_TEXT,
     .example = "gc+exception",
     .help = "the runtime's events, by keyword"},
    {.name = "clreventlevel",
     .type = SN_SETTING_TEXT,
     .example = "informational",
     .help = "of those"},
    {.name = "where",
     .type = SN_SETTING_LINES,
     .example = "Count > 10",
     .help = "only events for which this holds; in several lines: all of them"},
    KEYS_END,
};

static const struct sn_setting_key rule_keys[] = {
    {.name = "provider",
     .type = SN_SETTING_TEXT,
     .fallback = "Microsoft-Windows-DotNETRuntime",
     .help = "whose events"},
    {.name = "keywords",
     .type = SN_SETTING_TEXT,
     .example = "gc",
     .help = "groups of them: hexadecimal, or names for the runtime's; if not given, all"},
    {.name = "level",
     .type = SN_SETTING_TEXT,
     .fallback = "informational",
     .help = "0 to 5, or critical, error, warning, informational, verbose"},
    {.name = "event", .type = SN_SETTING_TEXT, .help = "only events of this name"},
    {.name = "where",
     .type = SN_SETTING_LINES,
     .help = "only events for which this holds; in several lines: all of them"},
    {.name = "field",
     .type = SN_SETTING_TEXT,
     .help = "the field whose number is sent; not needed to count events"},
    {.name = "path",
     .type = SN_SETTING_TEXT,
     .fallback = "events.{event}.{field}",
     .help = "where it goes; {event}, {process}, {pid}, {rule} or the value of any field by name"},
    {.name = "aggregate",
     .type = SN_SETTING_CHOICE,
     .fallback = "none",
     .allowed = "none count sum min max mean",
     .help = "one number an interval instead of every event's"},
    {.name = "to",
     .type = SN_SETTING_LIST,
     .fallback = "graphite",
     .help = "the sections it goes to: graphite, or NAME for [graphite NAME]"},
    KEYS_END,
};

static const char rule_sample[] = "event = GCHeapStats\n"
                                  "keywords = gc\n"
                                  "field = GenerationSize2\n"
                                  "path = gc.{process}.gen2_bytes\n";

const struct sn_section_kind sn_section_kinds[] = {
    {.name = "targets", .help = "which processes", .keys = target_keys},
    {.name = "counters", .help = "which numbers, and how often", .keys = counter_keys},
    {.name = "labels",
     .help = "labels of everything, besides those of the process: key = value",
     .sample = "environment = production\n"},
    {.name = "prometheus",
     .help = "a page to be scraped, as Prometheus text or OpenMetrics",
     .keys = prometheus_keys,
     .may_repeat = true,
     .is_exporter = true},
    {.name = "graphite",
     .help = "to carbon; [graphite NAME] for several",
     .keys = graphite_keys,
     .may_repeat = true,
     .is_exporter = true},
    {.name = "statsd",
     .help = "to a StatsD server; [statsd NAME] for several",
     .keys = statsd_keys,
     .may_repeat = true,
     .is_exporter = true},
    {.name = "otlp",
     .help = "to an OpenTelemetry collector; [otlp NAME] for several",
     .keys = otlp_keys,
     .may_repeat = true,
     .is_exporter = true},
    {.name = "usdt",
     .help = "events as probes of sonde's own process, for bpftrace and the like",
     .keys = usdt_keys,
     .is_exporter = true},
    {.name = "rule",
     .help = "numbers of events: [rule NAME], as many as wanted",
     .keys = rule_keys,
     .has_name = true,
     .may_repeat = true,
     .sample = rule_sample},
    {.name = NULL},
};

const struct sn_section_kind *sn_section_kind_find(const char *name)
{
    for (const struct sn_section_kind *kind = sn_section_kinds; kind->name; kind++) {
        if (strcmp(kind->name, name) == 0)
            return kind;
    }
    return NULL;
}

const struct sn_setting_key *sn_setting_key_find(const struct sn_section_kind *kind,
                                                 const char *name)
{
    for (const struct sn_setting_key *key = kind->keys; key && key->name; key++) {
        if (strcmp(key->name, name) == 0)
            return key;
    }
    return NULL;
}
