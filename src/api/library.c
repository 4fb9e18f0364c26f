/* libsonde.so is made of the static libraries; the linker wants one source of its own. */
#include "sonde/error.h"
