/* dotnet-trace convert: sampled stacks to what other viewers read. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/dotnet_trace.h"
#include "cli/out_file.h"
#include "cli/terminal.h"
#include "sonde/profile.h"

#define TEXT_LIMIT  65536u
#define COPY_CHUNK  65536u
#define HEADER      "Nettrace"
#define HEADER_SIZE 8u

struct arguments {
    int format;
    const char *output;
};

const struct sn_net_choice sn_dotnet_formats[] = {
    {"Chromium", SN_DOTNET_CHROMIUM},
    {"NetTrace", SN_DOTNET_NETTRACE},
    {"Speedscope", SN_DOTNET_SPEEDSCOPE},
    {NULL, 0},
};

static const struct {
    const char *name;
    const char *extension;
    const char *format; /* ours */
} kinds[] = {
    [SN_DOTNET_NETTRACE] = {"NetTrace", "nettrace", NULL},
    [SN_DOTNET_SPEEDSCOPE] = {"Speedscope", "speedscope.json", "speedscope"},
    [SN_DOTNET_CHROMIUM] = {"Chromium", "chromium.json", "chrome"},
};

/* --- names --- */

void sn_dotnet_full_path(struct sn_buf *to, const char *path)
{
    SN_AUTO(sn_free) char *folder = path[0] == '/' ? NULL : getcwd(NULL, 0);
    if (folder)
        sn_buf_format(to, "%s/", strcmp(folder, "/") == 0 ? "" : folder);
    while (folder && path[0] == '.' && path[1] == '/')
        path += 2;
    sn_buf_text(to, path);
}

void sn_dotnet_converted_name(struct sn_buf *to, const char *path, int format)
{
    const char *dot = strrchr(path, '.');
    if (!dot || strchr(dot, '/'))
        dot = path + strlen(path);
    sn_buf_append(to, path, (size_t)(dot - path));
    sn_buf_format(to, ".%s", kinds[format].extension);
}

/* --- writing --- */

static void sonde_profile_free_auto(struct sonde_profile **slot)
{
    sonde_profile_free(*slot);
}

static int write_file(void *user, const void *bytes, size_t size)
{
    return sn_out_file_write(user, bytes, size, NULL);
}

static int write_profile(const struct sonde_profile *profile, const char *trace, const char *output,
                         int format, struct sonde_error *err)
{
    const char *const inputs[] = {trace, NULL};
    const char *slash = strrchr(output, '/');
    SN_AUTO(sn_free) char *title = strdup(slash ? slash + 1 : output);
    SN_AUTO(sn_out_file_close) struct sn_out_file file = {.fd = -1};
    int rc = sn_out_file_open(&file, output, inputs, err);
    if (rc != SONDE_OK)
        return rc;
    if (title && strrchr(title, '.'))
        *strrchr(title, '.') = '\0';
    struct sonde_write_options options = {
        .size = sizeof(options), .title = title, .full_names = true};
    rc = sonde_profile_write(profile, kinds[format].format, &options, write_file, &file, err);
    return rc == SONDE_OK ? sn_out_file_finish(&file, err) : rc;
}

void sn_dotnet_tell_dropped(const struct sonde_profile *profile)
{
    char number[32];
    if (sonde_profile_dropped_count(profile))
        (void)fprintf(stderr, "[WARNING] %s additions were over a ceiling and are left out\n",
                      sn_text_count(sonde_profile_dropped_count(profile), number));
}

static int convert(const char *trace, const char *output, int format, struct sonde_error *err)
{
    SN_AUTO(sonde_profile_free) struct sonde_profile *profile = NULL;
    struct sonde_profile_options options = {.size = sizeof(options),
                                            .view = SONDE_VIEW_THREAD_TIME};
    int rc = sonde_profile_read(trace, &options, &profile, err);
    if (rc != SONDE_OK)
        return rc;
    if (sonde_profile_is_partial(profile))
        (void)puts("Detected a potentially broken trace. What is intact is converted; some stacks "
                   "may be broken.");
    sn_dotnet_tell_dropped(profile);
    return write_profile(profile, trace, output, format, err);
}

void sn_dotnet_convert_file(const char *trace, const char *output, int format)
{
    struct sonde_error err = {0};
    (void)fputs("Processing trace data file '", stdout);
    sn_terminal_put(stdout, SN_STYLE_NONE, trace);
    (void)printf("' to create a new %s file '", kinds[format].name);
    sn_terminal_put(stdout, SN_STYLE_NONE, output);
    (void)puts("'.");
    (void)fflush(stdout);
    if (convert(trace, output, format, &err) != SONDE_OK)
        (void)sn_dotnet_fail(0, "%s", err.text);
    (void)puts("Conversion complete"); /* also when it failed: so does dotnet-trace */
}

/* --- copying --- */

static int copy_bytes(int from, int to)
{
    SN_AUTO(sn_free) char *chunk = malloc(COPY_CHUNK);
    ssize_t got = -1;
    while (chunk && (got = read(from, chunk, COPY_CHUNK)) > 0) {
        if (sn_file_write_all(to, chunk, (size_t)got, NULL) != SONDE_OK)
            return -1;
    }
    return got == 0 ? 0 : -1;
}

static int copy(const char *trace, const char *output)
{
    if (strcmp(trace, output) == 0) {
        (void)fputs("Input and output are the same file. Nothing is copied.\n", stderr);
        return SN_DOTNET_OK;
    }
    (void)printf("Copying nettrace to:\t%s\n", output);
    (void)fflush(stdout);
    SN_AUTO(sn_close) int from = open(trace, O_RDONLY | O_CLOEXEC);
    SN_AUTO(sn_close) int to = open(output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (from >= 0 && to >= 0 && copy_bytes(from, to) == 0)
        return SN_DOTNET_OK;
    (void)fprintf(stderr, "Error copying nettrace to %s: %s\n", output, strerror(errno));
    return SN_DOTNET_UNKNOWN;
}

/* --- the verb --- */

static int check_header(const char *path)
{
    char header[HEADER_SIZE] = "";
    SN_AUTO(sn_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, header, sizeof(header));
    if (got < 0)
        (void)fprintf(stderr, "Error reading '%s': %s\n", path, strerror(errno));
    else if (got != (ssize_t)sizeof(header) || memcmp(header, HEADER, HEADER_SIZE) != 0)
        (void)fprintf(stderr, "'%s' is not a valid nettrace file.\n", path);
    else
        return SN_DOTNET_OK;
    return SN_DOTNET_ARGUMENT;
}

static int run(const struct sn_net_line *line)
{
    const struct arguments *arguments = line->arguments;
    SN_AUTO(sn_buf_done) struct sn_buf trace = sn_buf_with_limit(TEXT_LIMIT);
    SN_AUTO(sn_buf_done) struct sn_buf wanted = sn_buf_with_limit(TEXT_LIMIT);
    SN_AUTO(sn_buf_done) struct sn_buf output = sn_buf_with_limit(TEXT_LIMIT);
    if (arguments->format < SN_DOTNET_NETTRACE || arguments->format > SN_DOTNET_CHROMIUM) {
        (void)fputs("--format takes NetTrace, Speedscope or Chromium.\n", stderr);
        return SN_DOTNET_ARGUMENT;
    }
    sn_dotnet_full_path(&trace, line->operand ? line->operand : "default");
    int code = check_header(sn_buf_string(&trace));
    if (code != SN_DOTNET_OK)
        return code;
    bool is_named = arguments->output && arguments->output[0];
    sn_dotnet_full_path(&wanted, is_named ? arguments->output : sn_buf_string(&trace));
    sn_dotnet_converted_name(&output, sn_buf_string(&wanted), arguments->format);
    if (arguments->format == SN_DOTNET_NETTRACE)
        return copy(sn_buf_string(&trace), sn_buf_string(&output));
    sn_dotnet_convert_file(sn_buf_string(&trace), sn_buf_string(&output), arguments->format);
    return SN_DOTNET_OK;
}

static const struct sn_net_option options[] = {
    {"--format", NULL, SN_NET_CHOICE, offsetof(struct arguments, format), sn_dotnet_formats, true,
     "What to convert to."},
    {"--output", "-o", SN_NET_TEXT, offsetof(struct arguments, output), NULL, false,
     "The file to write; the format's extension is put in."},
    SN_NET_OPTIONS_END,
};

const struct sn_net_command sn_dotnet_convert = {
    .name = "convert",
    .path = "convert [<input-filename>] ",
    .summary = "Converts the sampled stacks of a .nettrace file to other formats.",
    .operand = "input-filename",
    .operand_help = "The trace. [default: default]",
    .operand_exists = true,
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
