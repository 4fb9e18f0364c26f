/* The table of verbs keeps what README promises of them. */
#include "check.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/options.h"

static bool takes_json(const struct sn_command *command)
{
    for (const struct sn_option *option = command->options; option->name; option++) {
        if (strcmp(option->name, "json") == 0)
            return true;
    }
    return false;
}

/* One writes the file that it was asked for, two serve others until they are ended, and one prints
 * a script. */
static bool gives_results(const char *verb)
{
    static const char *const others[] = {"convert", "export", "serve", "completion"};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        if (strcmp(others[i], verb) == 0)
            return false;
    }
    return true;
}

static void verbs_that_give_results_and_only_they_take_json(void **state)
{
    (void)state;
    for (size_t i = 0; sn_commands[i]; i++) {
        const char *verb = sn_commands[i]->name;
        if (takes_json(sn_commands[i]) != gives_results(verb))
            fail_msg("sonde %s: --json is %s", verb, gives_results(verb) ? "missing" : "too much");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verbs_that_give_results_and_only_they_take_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
