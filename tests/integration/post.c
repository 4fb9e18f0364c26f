/* Posts each line of its input to a URL by a sender, and prints how that went:
 *
 *   integration_post URL [CA-FILE]     "sent 3, dropped 0, retried 1, up", then the last reason */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "net/sender.h"

int main(int argc, char **argv)
{
    struct sn_sender *sender = NULL;
    struct sn_sender_state state = {0};
    struct sonde_error err = {0};
    struct sn_sender_options options = {.url = argc > 1 ? argv[1] : "",
                                        .ca_file = argc > 2 ? argv[2] : NULL,
                                        .content_type = "text/plain"};
    char line[4096];
    uint64_t count = 0;
    if (sn_sender_new(&options, &sender, &err) != SONDE_OK) {
        (void)printf("%s\n", err.text);
        return 1;
    }
    for (; fgets(line, sizeof(line), stdin); count++)
        (void)sn_sender_put(sender, line, strlen(line), 1);
    uint64_t deadline = sn_clock_deadline(10ull * SN_NS_PER_SECOND);
    while (state.sent_count + state.dropped_count < count && state.retry_count < 2 &&
           sn_clock_monotonic_ns() < deadline) {
        (void)poll(NULL, 0, 5);
        sn_sender_state(sender, &state);
    }
    sn_sender_free(sender, 0);
    (void)printf("sent %llu, dropped %llu, retried %llu, %s\n%s\n",
                 (unsigned long long)state.sent_count, (unsigned long long)state.dropped_count,
                 (unsigned long long)state.retry_count, state.is_up ? "up" : "down", state.reason);
    return 0;
}
