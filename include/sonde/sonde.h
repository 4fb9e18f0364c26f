/** @file
 * libsonde: everything in one include. */
#ifndef SONDE_SONDE_H
#define SONDE_SONDE_H

#include "sonde/check.h"
#include "sonde/convert.h"
#include "sonde/error.h"
#include "sonde/event.h"
#include "sonde/file.h"
#include "sonde/process.h"
#include "sonde/profile.h"
#include "sonde/provider.h"
#include "sonde/report.h"
#include "sonde/target.h"
#include "sonde/trace.h"

#endif
