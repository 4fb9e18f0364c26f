#include "source/proc/control_groups.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

static const char *const controller_names[SN_CONTROLLER_COUNT] = {
    [SN_CONTROLLER_MEMORY] = "memory",   [SN_CONTROLLER_CPU] = "cpu",
    [SN_CONTROLLER_CPUACCT] = "cpuacct", [SN_CONTROLLER_PIDS] = "pids",
    [SN_CONTROLLER_UNIFIED] = "", /* its line in /proc/PID/cgroup names none */
};

/* A piece of a text. */
struct piece {
    const char *at;
    size_t size;
};

static bool equals(struct piece piece, const char *text)
{
    return piece.size == strlen(text) && memcmp(piece.at, text, piece.size) == 0;
}

/* Cuts off what is before `separator`, which is dropped. */
static struct piece cut(struct piece *rest, char separator)
{
    const char *end = rest->size ? memchr(rest->at, separator, rest->size) : NULL;
    struct piece piece = {rest->at, end ? (size_t)(end - rest->at) : rest->size};
    size_t used = piece.size + (end != NULL);
    rest->at += used;
    rest->size -= used;
    return piece;
}

static bool lists(struct piece list, const char *name)
{
    while (list.size)
        if (equals(cut(&list, ','), name))
            return true;
    return false;
}

/* A line of mountinfo: "36 35 98:0 ROOT POINT options tags... - type source super-options". */
struct mount {
    struct piece root; /* which group is mounted */
    struct piece point;
    struct piece type;
    struct piece options;
};

static struct mount read_mount(struct piece line)
{
    struct mount mount = {0};
    for (int i = 0; i < 3; i++)
        (void)cut(&line, ' ');
    mount.root = cut(&line, ' ');
    mount.point = cut(&line, ' ');
    while (line.size && !equals(cut(&line, ' '), "-"))
        continue;
    mount.type = cut(&line, ' ');
    (void)cut(&line, ' ');
    mount.options = cut(&line, ' ');
    return mount;
}

/* What of the group's path is below the mount's root; false when it is not below it at all. */
static bool below(struct piece group, struct piece root, struct piece *ret_rest)
{
    if (equals(root, "/"))
        root.size = 0;
    if (group.size < root.size || memcmp(group.at, root.at, root.size) != 0)
        return false;
    *ret_rest = (struct piece){group.at + root.size, group.size - root.size};
    if (equals(*ret_rest, "/"))
        ret_rest->size = 0;
    return ret_rest->size == 0 || ret_rest->at[0] == '/';
}

static bool place(const char *root, struct piece path, const struct mount *mount, int version,
                  struct sn_control_group *group)
{
    struct piece rest;
    if (!below(path, mount->root, &rest))
        return false;
    int length = snprintf(group->path, sizeof(group->path), "%s%.*s%.*s", root,
                          (int)mount->point.size, mount->point.at, (int)rest.size, rest.at);
    if (length < 0 || (size_t)length >= sizeof(group->path))
        return false;
    group->top = (size_t)length - rest.size;
    group->version = version;
    return true;
}

/* Finds the folder of one group among the mounts. Namespaces show a group outside of them as
 * "/../x": such a path leads nowhere here. */
static void locate(const char *root, const char *name, struct piece path, const char *mounts,
                   struct sn_control_group *group)
{
    int version = *name ? 1 : 2;
    struct piece rest = {mounts, strlen(mounts)};
    if (memmem(path.at, path.size, "/..", 3))
        return;
    while (rest.size) {
        struct mount mount = read_mount(cut(&rest, '\n'));
        bool fits = version == 2 ? equals(mount.type, "cgroup2")
                                 : equals(mount.type, "cgroup") && lists(mount.options, name);
        if (fits && place(root, path, &mount, version, group))
            return;
    }
}

/* A line "number:controllers:path" of the process; the path may hold colons. */
static void take_line(const char *root, struct piece line, const char *mounts,
                      struct sn_control_group groups[SN_CONTROLLER_COUNT])
{
    (void)cut(&line, ':');
    const char *start = line.at;
    struct piece controllers = cut(&line, ':');
    if (line.at == start + controllers.size) /* no second colon: not such a line */
        return;
    for (int i = 0; i < SN_CONTROLLER_COUNT; i++) {
        const char *name = controller_names[i];
        if (*name ? lists(controllers, name) : controllers.size == 0)
            locate(root, name, line, mounts, &groups[i]);
    }
}

void sn_control_groups_find(const char *root, const char *cgroup_text, const char *mounts,
                            struct sn_control_group groups[SN_CONTROLLER_COUNT])
{
    memset(groups, 0, SN_CONTROLLER_COUNT * sizeof(groups[0]));
    struct piece rest = {cgroup_text, strlen(cgroup_text)};
    while (rest.size)
        take_line(root, cut(&rest, '\n'), mounts, groups);
    for (int i = 0; i < SN_CONTROLLER_UNIFIED; i++)
        if (!groups[i].version)
            groups[i] = groups[SN_CONTROLLER_UNIFIED];
}

/* Files that only the true root has, or only it lacks. */
bool sn_control_group_is_machine(const struct sn_control_group *group)
{
    char path[600];
    const char *telling = group->version == 1 ? "cgroup.sane_behavior" : "cgroup.events";
    (void)snprintf(path, sizeof(path), "%s/%s", group->path, telling);
    bool is_there = access(path, F_OK) == 0;
    return group->version == 1 ? is_there : !is_there;
}

bool sn_control_group_up(struct sn_control_group *group)
{
    char *slash = strrchr(group->path, '/');
    if (!slash || (size_t)(slash - group->path) < group->top)
        return false;
    *slash = '\0';
    return true;
}

bool sn_control_group_read(const struct sn_control_group *group, const char *file, char *to,
                           size_t size)
{
    char path[600];
    (void)snprintf(path, sizeof(path), "%s/%s", group->path, file); /* names of ours: it fits */
    return group->version && sn_file_peek_at(AT_FDCWD, path, to, size) > 0;
}
