/* cmocka with the includes it wants, in their order, and how a test says that it cannot run here.
 */
#ifndef SN_TEST_CHECK_H
#define SN_TEST_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* Ends the test that calls. tools/run-tests counts these lines and lists their reasons. */
#define skip_because(reason)                                 \
    do {                                                     \
        (void)printf("skipped: %s: %s\n", __func__, reason); \
        (void)fflush(stdout);                                \
        skip();                                              \
    } while (0)

/* The end of a reason that a package would remove: with CI=true such a skip is a failure. */
#define INSTALLABLE "; 'tools/install test' installs it"

#endif
