/* What the numbers in the runtime's events mean, in words. No state; an unknown number has a word
 * too. */
#ifndef SN_CLR_WORDS_H
#define SN_CLR_WORDS_H

#include <stdint.h>

/* Why a collection began: GCStart's Reason. */
const char *sn_clr_gc_reason(uint32_t reason);

/* How it runs: GCStart's Type. */
const char *sn_clr_gc_type(uint32_t type);

/* How good the code of a method is: bits 7 to 9 of its flags; 8 stands for precompiled code, whose
 * bits say nothing. */
const char *sn_clr_tier_name(uint32_t tier);

/* Why the thread pool changed its number of workers. */
const char *sn_clr_pool_reason(uint32_t reason);

#endif
