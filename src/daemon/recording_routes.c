/* The table of /api/v1/recordings. */
#include "daemon/recording_routes.h"

#include "daemon/route.h"

#define FORMATS \
    "nettrace,zip,cpu,symbols,speedscope,pprof,chrome,collapsed,html,ndjson,nettrace4,nettrace6,perfcollect"
#define VIEWS "cpu,wall,wait,alloc,exceptions,contention,samples,thread-time"

#define ID                                                                                       \
    {                                                                                            \
        .name = "id", .kind = SN_PARAMETER_GUID, .summary = "the recording", .is_required = true \
    }
#define PROCESS                                                                  \
    {                                                                            \
        .name = "process", .kind = SN_PARAMETER_TEXT,                            \
        .summary = "of a recording of the machine: a pid, or a pattern of names" \
    }
#define PART_SECONDS_MAX 1000000
#define PART                                                                                    \
    {.name = "from",                                                                            \
     .kind = SN_PARAMETER_SECONDS,                                                              \
     .summary = "only what happens from then on, seconds after its beginning",                  \
     .max = PART_SECONDS_MAX},                                                                  \
    {                                                                                           \
        .name = "to", .kind = SN_PARAMETER_SECONDS, .summary = "only what happens before then", \
        .max = PART_SECONDS_MAX                                                                 \
    }
#define NOT_FOUND                                                                \
    {                                                                            \
        404, "application/problem+json", "Problem", "there is no such recording" \
    }
#define INVALID                                                \
    {                                                          \
        400, "application/problem+json", "Problem",            \
            "the body is not as it should be: `errors` names " \
            "the member"                                       \
    }

static const struct sn_parameter id_only[] = {ID, {.name = NULL}};

static const struct sn_parameter download_parameters[] = {
    ID,
    {.name = "format",
     .kind = SN_PARAMETER_WORD,
     .summary = "what to make of it; without one, the file as it is",
     .words = FORMATS},
    {.name = "view",
     .kind = SN_PARAMETER_WORD,
     .summary = "what a profile counts; CPU time, else wall time",
     .words = VIEWS},
    PROCESS,
    PART,
    {.name = NULL},
};

static const struct sn_parameter report_parameters[] = {
    ID,
    {.name = "sections", .kind = SN_PARAMETER_TEXT, .summary = "cpu,gc,...: those only"},
    PROCESS,
    PART,
    {.name = NULL},
};

static const struct sn_parameter profile_parameters[] = {
    ID,
    {.name = "view",
     .kind = SN_PARAMETER_WORD,
     .summary = "what it counts",
     .standard = "cpu",
     .words = VIEWS},
    {.name = "since",
     .kind = SN_PARAMETER_NUMBER,
     .summary = "the version that one has already: only what changed since comes",
     .standard = "0",
     .min = 0,
     .max = INT64_MAX},
    PROCESS,
    PART,
    {.name = "nodes",
     .kind = SN_PARAMETER_NUMBER,
     .summary = "how many nodes at most: the largest",
     .standard = "20000",
     .min = 2,
     .max = 1000000},
    {.name = "lines",
     .kind = SN_PARAMETER_FLAG,
     .summary = "methods by source line, where their PDBs are at hand",
     .standard = "false"},
    {.name = NULL},
};

static const struct sn_parameter upload_parameters[] = {
    {.name = "name", .kind = SN_PARAMETER_TEXT, .summary = "what the file is called"},
    {.name = NULL},
};

static const struct sn_parameter timeline_parameters[] = {
    ID,
    PROCESS,
    {.name = "buckets",
     .kind = SN_PARAMETER_NUMBER,
     .summary = "how many parts the time is cut into",
     .standard = "600",
     .min = 10,
     .max = 4000},
    PART,
    {.name = NULL},
};

static const struct sn_response post_responses[] = {
    {200, "application/json", "Recording", "the live recording of this process that runs already"},
    {201, "application/json", "Recording",
     "it is configured, and starts unless it was told not to"},
    INVALID,
    {404, "application/problem+json", "Problem", "there is no such process"},
    {429, "application/problem+json", "Problem", "as many run as may"},
    {.status = 0},
};

static const struct sn_response list_responses[] = {
    {200, "application/json", "RecordingList", "newest first"},
    {.status = 0},
};

static const struct sn_response one_responses[] = {
    {200, "application/json", "Recording", "the recording, and how it fares"},
    NOT_FOUND,
    {.status = 0},
};

static const struct sn_response patch_responses[] = {
    {200, "application/json", "Recording", "it starts, stops, or is kept"},
    INVALID,
    NOT_FOUND,
    {409, "application/problem+json", "Problem",
     "it has ended: it cannot start again; its pid is another process now; or it is being "
     "deleted"},
    {429, "application/problem+json", "Problem", "as many run as may"},
    {.status = 0},
};

static const struct sn_response delete_responses[] = {
    {204, "", NULL, "it is gone, with its file; who reads that reads on"},
    NOT_FOUND,
    {409, "application/problem+json", "Problem", "it runs: stop it first"},
    {.status = 0},
};

static const struct sn_response download_responses[] = {
    {200,
     "application/octet-stream,application/zip,application/json,application/x-ndjson,text/plain,"
     "text/html",
     NULL, "the file, as it grows while the recording runs"},
    {404, "application/problem+json", "Problem", "there is no such recording, or nothing of this"},
    {409, "application/problem+json", "Problem", "it has no data, or not yet"},
    {429, "application/problem+json", "Problem", "too many are being converted"},
    {.status = 0},
};

static const struct sn_response report_responses[] = {
    {200, "application/json", NULL, "as `sonde report --json`"},
    NOT_FOUND,
    {409, "application/problem+json", "Problem", "it has no data, or not yet"},
    {.status = 0},
};

static const struct sn_response profile_responses[] = {
    {200, "application/json", "FlameGraph", "the call tree, or what changed of it"},
    NOT_FOUND,
    {409, "application/problem+json", "Problem", "it has no data, or not yet"},
    {429, "application/problem+json", "Problem", "too many are being read"},
    {.status = 0},
};

static const struct sn_response timeline_responses[] = {
    {200, "application/json", "Timeline", "what happened when, so far if it runs"},
    NOT_FOUND,
    {409, "application/problem+json", "Problem", "it has no data, or not yet"},
    {429, "application/problem+json", "Problem", "too many are being read"},
    {.status = 0},
};

static const struct sn_response upload_responses[] = {
    {201, "application/json", "Recording", "it is a recording now, one that has ended"},
    {413, "application/problem+json", "Problem", "there is no room for it: how much there is"},
    {415, "application/problem+json", "Problem", "the body is not the file itself"},
    {422, "application/problem+json", "Problem", "the file cannot be read, and why; it is gone"},
    {429, "application/problem+json", "Problem", "too many are being sent"},
    {507, "application/problem+json", "Problem", "the disk is full"},
    {.status = 0},
};

#define RECORDING "/api/v1/recordings/{id}"

const struct sn_route sn_recording_routes[] = {
    {.method = "GET",
     .path = "/api/v1/recordings",
     .resource = "recordings",
     .scope = SN_SCOPE_READ,
     .seat = SN_SEAT_ROADS,
     .has_head = true,
     .responses = list_responses,
     .summary = "recordings, those of earlier lives too",
     .handle = sn_recordings_list},
    {.method = "POST",
     .path = "/api/v1/recordings",
     .resource = "recordings",
     .scope = SN_SCOPE_CONTROL,
     .seat = SN_SEAT_ROADS,
     .body_schema = "RecordingRequest",
     .responses = post_responses,
     .summary = "configures a recording, and starts it",
     .handle = sn_recordings_post},
    {.method = "GET",
     .path = RECORDING,
     .resource = "recordings",
     .scope = SN_SCOPE_READ,
     .seat = SN_SEAT_ROADS,
     .has_head = true,
     .parameters = id_only,
     .responses = one_responses,
     .summary = "one of them",
     .handle = sn_recordings_get},
    {.method = "PATCH",
     .path = RECORDING,
     .resource = "recordings",
     .scope = SN_SCOPE_CONTROL,
     .seat = SN_SEAT_ROADS,
     .parameters = id_only,
     .body_schema = "RecordingChange",
     .responses = patch_responses,
     .summary = "starts or stops it; keeps a live one",
     .handle = sn_recordings_patch},
    {.method = "DELETE",
     .path = RECORDING,
     .resource = "recordings",
     .scope = SN_SCOPE_CONTROL,
     .seat = SN_SEAT_ROADS,
     .parameters = id_only,
     .responses = delete_responses,
     .summary = "deletes it with its file",
     .handle = sn_recordings_delete},
    {.method = "GET",
     .path = RECORDING "/download",
     .resource = "recordings",
     .scope = SN_SCOPE_READ,
     .seat = SN_SEAT_ROADS,
     .parameters = download_parameters,
     .responses = download_responses,
     .summary = "its file, or another format made of it",
     .handle = sn_download_get},
    {.method = "GET",
     .path = RECORDING "/report",
     .resource = "recordings",
     .scope = SN_SCOPE_READ,
     .seat = SN_SEAT_ROADS,
     .parameters = report_parameters,
     .responses = report_responses,
     .summary = "what it says, by topic",
     .handle = sn_report_resource_get},
    {.method = "GET",
     .path = RECORDING "/profile",
     .resource = "recordings",
     .scope = SN_SCOPE_READ,
     .seat = SN_SEAT_ROADS,
     .parameters = profile_parameters,
     .responses = profile_responses,
     .summary = "a flame graph of it, also while it runs",
     .handle = sn_profile_resource_get},
    {.method = "GET",
     .path = RECORDING "/timeline",
     .resource = "recordings",
     .scope = SN_SCOPE_READ,
     .seat = SN_SEAT_ROADS,
     .parameters = timeline_parameters,
     .responses = timeline_responses,
     .summary = "threads, collections, requests and exceptions over time",
     .handle = sn_timeline_resource_get},
    {.method = "POST",
     .path = "/api/v1/recordings/upload",
     .resource = "recordings",
     .scope = SN_SCOPE_CONTROL,
     .seat = SN_SEAT_HTTP,
     .parameters = upload_parameters,
     .takes_file = true,
     .responses = upload_responses,
     .summary = "a trace or recording from elsewhere, the file as the body",
     .handle = sn_upload_post},
    {.method = NULL},
};
