#include "cli/record_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/text.h"

#define STATE_LIMIT 16384u
#define FOLDERS     3u

/* Files are removed in a moment; a stop that tells of its recording takes as long as its reader. */
#define LOCK_TRIES    200u
#define LOCK_PAUSE_MS 5

/* --- folders --- */

/* Where they may be, best first; what does not apply to this user is "". Every shell of a user
 * must come to the same, whether or not its login made a runtime folder: all are looked through. */
static void list_folders(char folders[FOLDERS][PATH_MAX])
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    memset(folders, 0, (size_t)FOLDERS * PATH_MAX);
    if (geteuid() == 0)
        (void)snprintf(folders[0], PATH_MAX, "/run/sonde");
    if (runtime && *runtime == '/')
        (void)snprintf(folders[1], PATH_MAX, "%s/sonde", runtime);
    (void)snprintf(folders[2], PATH_MAX, "/tmp/sonde-%u", (unsigned)geteuid());
}

/* What others could write to is not ours, whatever its name. */
static int open_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat about;
    if (fd >= 0 && fstat(fd, &about) == 0 && about.st_uid == geteuid() && !(about.st_mode & 077))
        return fd;
    sn_close(fd);
    errno = fd < 0 ? errno : EPERM;
    return -1;
}

int sn_record_check_name(const char *name, struct sonde_error *err)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t size = strlen(name);
    if (size && size <= SN_RECORD_NAME_MAX && strspn(name, good) == size && *name != '.' &&
        *name != '-')
        return SONDE_OK;
    return sn_fail(err, SONDE_E_ARGUMENT, 0,
                   "'%.80s' is no name for a recording: letters, digits, '.', '_' and '-', at most "
                   "%u, a letter or digit first",
                   name, SN_RECORD_NAME_MAX);
}

static void set_place(struct sn_record_place *place, int folder, const char *name)
{
    place->folder = folder;
    (void)snprintf(place->name, sizeof(place->name), "%s", name);
}

int sn_record_place_new(const char *name, struct sn_record_place *ret_place,
                        struct sonde_error *err)
{
    char folders[FOLDERS][PATH_MAX];
    list_folders(folders);
    for (size_t i = 0; i < FOLDERS; i++) {
        if (!*folders[i])
            continue;
        (void)mkdir(folders[i], 0700); /* whether it is there now and ours is seen below */
        int folder = open_folder(folders[i]);
        if (folder >= 0) {
            set_place(ret_place, folder, name);
            return SONDE_OK;
        }
    }
    return sn_fail_errno(err,
                         "no folder to keep a recording's state in: %s must be a directory of "
                         "yours that others cannot enter",
                         folders[FOLDERS - 1]);
}

int sn_record_place_find(const char *name, struct sn_record_place *ret_place,
                         struct sonde_error *err)
{
    char folders[FOLDERS][PATH_MAX];
    list_folders(folders);
    for (size_t i = 0; i < FOLDERS; i++) {
        struct sn_record_place place;
        set_place(&place, *folders[i] ? open_folder(folders[i]) : -1, name);
        int state = place.folder < 0 ? -1 : sn_record_open(&place, SN_RECORD_STATE, O_RDONLY);
        sn_close(state);
        if (state >= 0) {
            *ret_place = place;
            return SONDE_OK;
        }
        sn_record_place_done(&place);
    }
    return sn_fail(err, SONDE_E_NOT_FOUND, 0,
                   "there is no recording '%s' of yours; 'sonde record list' shows those there are",
                   name);
}

/* The name of a recording, from that of its state file. */
static bool is_state(const char *file, char name[SN_RECORD_NAME_MAX + 1])
{
    static const char ending[] = ".state";
    size_t size = strlen(file);
    size_t tail = sizeof(ending) - 1;
    if (size <= tail || size - tail > SN_RECORD_NAME_MAX || strcmp(file + size - tail, ending) != 0)
        return false;
    memcpy(name, file, size - tail);
    name[size - tail] = '\0';
    return true;
}

static void each_in_folder(const char *path, sn_record_place_fn *each, void *user)
{
    struct sn_record_place place = {.folder = *path ? open_folder(path) : -1};
    int listed = place.folder < 0 ? -1 : fcntl(place.folder, F_DUPFD_CLOEXEC, 0);
    DIR *folder = listed < 0 ? NULL : fdopendir(listed);
    if (!folder)
        sn_close(listed);
    for (const struct dirent *entry = NULL; folder && (entry = readdir(folder));) {
        if (is_state(entry->d_name, place.name))
            each(user, &place);
    }
    if (folder)
        (void)closedir(folder);
    sn_record_place_done(&place);
}

void sn_record_places(sn_record_place_fn *each, void *user)
{
    char folders[FOLDERS][PATH_MAX];
    list_folders(folders);
    for (size_t i = 0; i < FOLDERS; i++)
        each_in_folder(folders[i], each, user);
}

void sn_record_place_done(struct sn_record_place *place)
{
    sn_close(place->folder);
    place->folder = -1;
}

/* --- files --- */

static void file_path(const struct sn_record_place *place, enum sn_record_file file,
                      char to[SN_RECORD_NAME_MAX + 16])
{
    static const char *const endings[] = {
        [SN_RECORD_LOCK] = "lock",   [SN_RECORD_STATE] = "state", [SN_RECORD_NEW_STATE] = "state+",
        [SN_RECORD_WORDS] = "words", [SN_RECORD_JSON] = "json",   [SN_RECORD_LOG] = "log",
    };
    (void)snprintf(to, SN_RECORD_NAME_MAX + 16, "%s.%s", place->name, endings[file]);
}

int sn_record_open(const struct sn_record_place *place, enum sn_record_file file, int flags)
{
    char path[SN_RECORD_NAME_MAX + 16];
    file_path(place, file, path);
    return openat(place->folder, path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
}

/* The lock last: whoever gets it finds nothing of before, and nothing of theirs is removed. */
void sn_record_forget(const struct sn_record_place *place)
{
    for (int file = SN_RECORD_FILE_COUNT; file-- > 0;) {
        char path[SN_RECORD_NAME_MAX + 16];
        file_path(place, (enum sn_record_file)file, path);
        (void)unlinkat(place->folder, path, 0);
    }
}

/* Whether a file that was open already when it was locked still has its name. */
static bool is_named(const struct sn_record_place *place, int fd)
{
    char path[SN_RECORD_NAME_MAX + 16];
    struct stat locked = {0};
    struct stat named = {0};
    file_path(place, SN_RECORD_LOCK, path);
    return fstat(fd, &locked) == 0 &&
           fstatat(place->folder, path, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
}

/* Who has it only for the moment in which files are removed gives no pid. */
static bool is_recorder(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0;
}

/* `command` is F_SETLK for a recorder, F_OFD_SETLK for the moment. -1 with errno. */
static int lock_file(const struct sn_record_place *place, int command)
{
    for (unsigned tries = 0; tries < LOCK_TRIES; tries++) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int fd = sn_record_open(place, SN_RECORD_LOCK, O_RDWR | O_CREAT);
        if (fd < 0)
            return -1;
        bool is_locked = fcntl(fd, command, &lock) == 0;
        if (is_locked && is_named(place, fd))
            return fd;
        int error = is_locked ? EAGAIN : errno;
        bool is_held = error == EAGAIN || error == EACCES;
        bool is_over = !is_locked && (!is_held || is_recorder(fd));
        sn_close(fd);
        errno = error;
        if (is_over)
            return -1;
        (void)poll(NULL, 0, LOCK_PAUSE_MS);
    }
    return -1;
}

int sn_record_take(const struct sn_record_place *place)
{
    return lock_file(place, F_OFD_SETLK);
}

int sn_record_hold(const struct sn_record_place *place, struct sonde_error *err)
{
    /* Stays open until this process ends: to close any descriptor of it would let the lock go. */
    int fd = lock_file(place, F_SETLK);
    if (fd >= 0)
        return SONDE_OK;
    if (errno != EAGAIN && errno != EACCES)
        return sn_fail_errno(err, "cannot lock the recording '%s'", place->name);
    return sn_fail(err, SONDE_E_ARGUMENT, 0,
                   "a recording '%s' runs already; 'sonde record stop %s' ends it", place->name,
                   place->name);
}

pid_t sn_record_holder(const struct sn_record_place *place)
{
    SN_AUTO(sn_close) int fd = sn_record_open(place, SN_RECORD_LOCK, O_RDWR);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fd < 0 || fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK)
        return 0;
    return lock.l_pid > 0 ? lock.l_pid : 0;
}

/* --- how far it is --- */

static void read_line(struct sn_record_state *state, const char *key, const char *value)
{
    uint64_t number = 0;
    bool is_number = sn_text_to_u64(value, UINT64_MAX, &number);
    if (strcmp(key, "output") == 0)
        (void)snprintf(state->output, sizeof(state->output), "%s", value);
    else if (!is_number)
        return;
    else if (strcmp(key, "stage") == 0)
        state->stage = number <= SONDE_RECORD_DONE ? (int)number : SONDE_RECORD_DONE;
    else if (strcmp(key, "duration") == 0)
        state->duration_ns = number;
    else if (strcmp(key, "samples") == 0)
        state->sample_count = number;
    else if (strcmp(key, "lost") == 0)
        state->lost_count = number;
    else if (strcmp(key, "processes") == 0)
        state->process_count = number;
    else if (strcmp(key, "runtimes") == 0)
        state->runtime_count = number;
    else if (strcmp(key, "bytes") == 0)
        state->byte_count = number;
    else if (strcmp(key, "exit") == 0) {
        state->is_over = true;
        state->exit_code = (int)(number & 255);
    }
}

bool sn_record_state_read(const struct sn_record_place *place, struct sn_record_state *ret_state)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(STATE_LIMIT);
    char path[SN_RECORD_NAME_MAX + 16];
    file_path(place, SN_RECORD_STATE, path);
    *ret_state = (struct sn_record_state){.pid = sn_record_holder(place)};
    if (sn_file_read_at(place->folder, path, &text, NULL) < 0)
        return false;
    (void)sn_buf_string(&text); /* ends it with a zero */
    char *rest = (char *)text.bytes;
    for (char *line; rest && (line = strsep(&rest, "\n"));) {
        char *space = strchr(line, ' ');
        if (!space)
            continue;
        *space = '\0';
        read_line(ret_state, line, space + 1);
    }
    return true;
}

/* A new file that takes the old one's name: a reader sees one or the other. */
void sn_record_state_write(const struct sn_record_place *place, const struct sn_record_state *state)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(STATE_LIMIT);
    sn_buf_format(&text, "stage %d\nduration %" PRIu64 "\nsamples %" PRIu64 "\nlost %" PRIu64 "\n",
                  state->stage, state->duration_ns, state->sample_count, state->lost_count);
    sn_buf_format(&text, "processes %" PRIu64 "\nruntimes %" PRIu64 "\nbytes %" PRIu64 "\n",
                  state->process_count, state->runtime_count, state->byte_count);
    sn_buf_format(&text, "output %s\n", state->output);
    if (state->is_over)
        sn_buf_format(&text, "exit %d\n", state->exit_code);
    char from[SN_RECORD_NAME_MAX + 16];
    char to[SN_RECORD_NAME_MAX + 16];
    file_path(place, SN_RECORD_NEW_STATE, from);
    file_path(place, SN_RECORD_STATE, to);
    SN_AUTO(sn_close)
    int fd = sn_record_open(place, SN_RECORD_NEW_STATE, O_WRONLY | O_CREAT | O_TRUNC);
    if (fd >= 0 && !text.failed && sn_file_write_all(fd, text.bytes, text.size, NULL) == SONDE_OK)
        (void)renameat(place->folder, from, place->folder, to);
}
