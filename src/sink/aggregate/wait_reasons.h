/* Why a thread left the CPU, told by what it had called. No state. */
#ifndef SN_WAIT_REASONS_H
#define SN_WAIT_REASONS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/universal.h"
#include "model/kernel_report.h"

struct sn_profile;

/* `node` is where it left, `told` what the kernel says of its state. */
enum sn_wait_reason sn_wait_reason_of(const struct sn_profile *profile, uint32_t node,
                                      enum sn_off_reason told);

/* The node without the kernel's own way to give the CPU to another, which ends every such stack. */
uint32_t sn_wait_place(const struct sn_profile *profile, uint32_t node);

#endif
