/* libsonde as others get it: what is declared is exported, nothing else is, C++ can include it. */
#include "check.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"

#define HEADERS SONDE_SOURCE_DIR "/include/sonde"

static void *library;

/* The library of the same build: one directory above this program's. */
static void *open_library(void)
{
    char path[4096];
    ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 32);
    if (size <= 0)
        return NULL;
    path[size] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(path, '/');
        if (!slash)
            return NULL;
        *slash = '\0';
    }
    memcpy(path + strlen(path), "/libsonde.so", sizeof("/libsonde.so"));
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* Every word "sonde_...(" of a header that is no type of a function. */
static unsigned check_header(const char *text)
{
    unsigned count = 0;
    for (const char *at = strstr(text, "sonde_"); at; at = strstr(at, "sonde_")) {
        char name[128] = "";
        size_t size = 0;
        bool is_start = at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_');
        while (size + 1 < sizeof(name) && (isalnum((unsigned char)at[size]) || at[size] == '_'))
            size++;
        memcpy(name, at, size);
        at += size;
        if (!is_start || *at != '(' || strcmp(name + size - 3, "_fn") == 0)
            continue;
        if (!dlsym(library, name))
            fail_msg("'%s' is declared but not exported", name);
        count++;
    }
    return count;
}

static void every_declared_function_is_exported(void **state)
{
    (void)state;
    if (!library)
        skip_because("libsonde.so is not built");
    DIR *dir = opendir(HEADERS);
    assert_non_null(dir);
    unsigned count = 0;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(1u << 20);
        if (entry->d_name[0] == '.')
            continue;
        assert_int_equal(sn_file_read_at(dirfd(dir), entry->d_name, &text, NULL), SONDE_OK);
        count += check_header(sn_buf_string(&text));
    }
    (void)closedir(dir);
    assert_true(count > 20);
}

static void what_is_internal_stays_inside(void **state)
{
    (void)state;
    if (!library)
        skip_because("libsonde.so is not built");
    static const char *const names[] = {"sn_fail",     "sn_loop_new",   "sn_buf_append",
                                        "sn_road_new", "sn_ipc_encode", "main"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        void *found = dlsym(library, names[i]);
        Dl_info theirs;
        Dl_info ours;
        void *known = dlsym(library, "sonde_status_name");
        assert_true(dladdr(known, &theirs));
        if (found && dladdr(found, &ours))
            assert_string_not_equal(ours.dli_fname, theirs.dli_fname);
    }
}

static void a_call_into_it_works(void **state)
{
    (void)state;
    if (!library)
        skip_because("libsonde.so is not built");
    void *symbol = dlsym(library, "sonde_status_name");
    const char *(*status_name)(int) = NULL;
    assert_non_null(symbol);
    memcpy(&status_name, &symbol, sizeof(status_name));
    assert_string_equal(status_name(SONDE_E_TRUNCATED), "truncated");
}

/* Runs a compiler over one line; its exit status, or -1 when there is none. */
static int compile(const char *compiler, const char *language, const char *standard,
                   const char *line)
{
    char path[] = "/tmp/sonde-library-test-XXXXXX";
    SN_AUTO(sn_close) int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(sn_file_write_all(fd, line, strlen(line), NULL), SONDE_OK);
    const char *argv[] = {compiler,
                          "-fsyntax-only",
                          "-Wall",
                          "-Wextra",
                          "-Wpedantic",
                          "-Werror",
                          standard,
                          "-I",
                          SONDE_SOURCE_DIR "/include",
                          "-x",
                          language,
                          path,
                          NULL};
    pid_t pid;
    int status = -1;
    int rc = posix_spawnp(&pid, compiler, NULL, NULL, (char *const *)(uintptr_t)argv, environ);
    if (rc == 0)
        assert_int_equal(waitpid(pid, &status, 0), pid);
    (void)unlink(path);
    if (rc != 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void compile_each_header(const char *compiler, const char *language, const char *standard)
{
    static const char *const headers[] = {"check",  "convert", "error",   "event",
                                          "file",   "process", "profile", "provider",
                                          "report", "target",  "trace",   "sonde"};
    for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++) {
        char line[96];
        (void)snprintf(line, sizeof(line), "#include <sonde/%s.h>\nint used;\n", headers[i]);
        int rc = compile(compiler, language, standard, line);
        if (rc < 0)
            skip_because("a compiler is missing" INSTALLABLE);
        if (rc != 0)
            fail_msg("sonde/%s.h does not stand alone in %s", headers[i], standard);
    }
}

static void every_header_stands_alone_in_cpp(void **state)
{
    (void)state;
    compile_each_header("g++", "c++", "-std=c++11");
}

static void every_header_stands_alone_in_c(void **state)
{
    (void)state;
    compile_each_header("cc", "c", "-std=c11");
}

int main(void)
{
    library = open_library();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_declared_function_is_exported),
        cmocka_unit_test(what_is_internal_stays_inside),
        cmocka_unit_test(a_call_into_it_works),
        cmocka_unit_test(every_header_stands_alone_in_cpp),
        cmocka_unit_test(every_header_stands_alone_in_c),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (library)
        (void)dlclose(library);
    return failed;
}
