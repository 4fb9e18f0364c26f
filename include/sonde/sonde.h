/** @file
 * libsonde: everything in one include.
 *
 * A struct whose first member is its `size` may grow: later versions add members at its end. Set
 * `size` to sizeof and zero what you do not want to set. So a program keeps working with a library
 * of another version. What an older header does not have is at its default; what a newer one has
 * and the library does not know must be zero, else the call fails with SONDE_E_ARGUMENT, as it does
 * when `size` was not set. NULL in the place of options means that all are at their defaults.
 *
 * Every other struct stays as it is, to the last offset, as long as the library is called
 * libsonde.so.0.
 *
 * Any thread may call anything, but only one at a time with the same object: a tracer, a
 * subscription, a profile, a comparison, a report (also to read or to write it). Nothing is shared
 * between objects, but for a comparison and the profiles that it compares. */
#ifndef SONDE_SONDE_H
#define SONDE_SONDE_H

#include "sonde/check.h"
#include "sonde/convert.h"
#include "sonde/counters.h"
#include "sonde/error.h"
#include "sonde/event.h"
#include "sonde/file.h"
#include "sonde/filter.h"
#include "sonde/hub.h"
#include "sonde/lines.h"
#include "sonde/log.h"
#include "sonde/names.h"
#include "sonde/process.h"
#include "sonde/profile.h"
#include "sonde/provider.h"
#include "sonde/record.h"
#include "sonde/report.h"
#include "sonde/stacks.h"
#include "sonde/target.h"
#include "sonde/timeline.h"
#include "sonde/top.h"
#include "sonde/trace.h"
#include "sonde/writer.h"

#endif
