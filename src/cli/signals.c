#include "cli/signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/err.h"

int sn_signals_open(int *ret_fd, struct sonde_error *err)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
        return sn_fail_errno(err, "cannot block signals");
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return sn_fail_errno(err, "cannot watch signals");
    *ret_fd = fd;
    return SONDE_OK;
}

bool sn_signals_pending(int fd)
{
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    return poll(&polled, 1, 0) > 0;
}

bool sn_signals_drain(int fd)
{
    struct signalfd_siginfo signal;
    bool came = false;
    while (read(fd, &signal, sizeof(signal)) > 0)
        came = true;
    return came;
}

int sn_signals_take(int fd)
{
    struct signalfd_siginfo signal;
    return read(fd, &signal, sizeof(signal)) == sizeof(signal) ? (int)signal.ssi_signo : 0;
}
