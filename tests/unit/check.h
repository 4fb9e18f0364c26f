/* cmocka with the includes it wants, in their order. */
#ifndef SN_TEST_CHECK_H
#define SN_TEST_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
