#include "net/waiter.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"

int sn_waiter_init(struct sn_waiter *waiter, struct sonde_error *err)
{
    waiter->end_ns = UINT64_MAX;
    waiter->stop_fd = -1;
    waiter->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (waiter->end_fd < 0)
        return sn_fail_errno(err, "cannot create an event descriptor");
    return SONDE_OK;
}

void sn_waiter_done(struct sn_waiter *waiter)
{
    sn_close(waiter->end_fd);
}

void sn_waiter_end_at(struct sn_waiter *waiter, uint64_t end_ns)
{
    waiter->end_ns = end_ns;
    (void)eventfd_write(waiter->end_fd, 1);
}

bool sn_waiter_is_ending(const struct sn_waiter *waiter)
{
    return waiter->end_ns != UINT64_MAX;
}

bool sn_waiter_is_over(const struct sn_waiter *waiter)
{
    uint64_t end_ns = waiter->end_ns;
    return end_ns != UINT64_MAX && sn_clock_monotonic_ns() >= end_ns;
}

int sn_waiter_wait(struct sn_waiter *waiter, int fd, short events, uint64_t deadline_ns)
{
    for (;;) {
        uint64_t end_ns = waiter->end_ns;
        uint64_t until = deadline_ns < end_ns ? deadline_ns : end_ns;
        /* Once the end is set, its descriptor stays readable and has nothing more to tell. */
        struct pollfd polled[] = {
            {.fd = fd, .events = events},
            {.fd = end_ns == UINT64_MAX ? waiter->end_fd : -1, .events = POLLIN},
            {.fd = waiter->stop_fd, .events = POLLIN},
        };
        int count = poll(polled, 3, sn_clock_poll_ms(until));
        if (count < 0 && errno != EINTR)
            return SONDE_E_SYSTEM;
        if (count > 0 && polled[2].revents)
            return SONDE_E_TIMEOUT;
        if (count > 0 && polled[0].revents)
            return SONDE_OK;
        if (sn_clock_monotonic_ns() >= until)
            return SONDE_E_TIMEOUT;
    }
}
