/* What a runtime is asked for in one session: providers, each once, and how one such list is joined
 * with another. */
#ifndef SN_HUB_ASK_H
#define SN_HUB_ASK_H

#include <stdbool.h>
#include <stddef.h>

struct sonde_error;
struct sonde_provider;

struct sn_ask {
    struct sonde_provider *items; /* owns, with what they point to */
    size_t count;
    size_t capacity;
    bool stacks;
};

void sn_ask_done(struct sn_ask *ask);

static inline void sn_ask_done_auto(struct sn_ask *ask)
{
    sn_ask_done(ask);
}

/* Widens `ask` so that everything of `provider` comes as well. SONDE_E_ARGUMENT: their arguments
 * cannot be joined; `ask` is then as before. */
int sn_ask_add(struct sn_ask *ask, const struct sonde_provider *provider, struct sonde_error *err);
int sn_ask_join(struct sn_ask *ask, const struct sn_ask *other, struct sonde_error *err);

/* Takes away the provider at `index`. */
void sn_ask_remove(struct sn_ask *ask, size_t index);

bool sn_ask_equals(const struct sn_ask *left, const struct sn_ask *right);

/* Whether everything of `less` comes with `wide`. */
bool sn_ask_covers(const struct sn_ask *wide, const struct sn_ask *less);

#endif
