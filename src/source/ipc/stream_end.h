/* The runtime's end of a session's stream, as the kernel knows it: while that socket is open the
 * session lives, and no other can have its id. Asked of the kernel by sock_diag, which needs no
 * rights and tells nothing of other network namespaces. */
#ifndef SN_STREAM_END_H
#define SN_STREAM_END_H

#include <stdbool.h>
#include <stdint.h>

/* No other socket has the same cookie until the machine is started anew. */
struct sn_stream_end {
    uint32_t inode;
    uint64_t cookie;
};

enum sn_stream_state {
    SN_STREAM_UNKNOWN, /* the kernel does not say */
    SN_STREAM_CLOSED,  /* there is no such socket any more */
    SN_STREAM_HELD,    /* somebody has the other end */
    SN_STREAM_ALONE,   /* nobody has the other end any more */
};

/* What the connected Unix socket `fd` leads to. False: it cannot be told. */
bool sn_stream_end_of(int fd, struct sn_stream_end *ret_end);

enum sn_stream_state sn_stream_end_state(const struct sn_stream_end *end);

/* Whether the process has it open; false as well when that cannot be seen. */
bool sn_stream_end_is_of(const struct sn_stream_end *end, int pid);

/* The network namespace that we are in; 0: cannot be told. */
uint64_t sn_stream_network(void);

#endif
