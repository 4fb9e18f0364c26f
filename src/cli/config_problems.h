/* What is wrong with a configuration, for people: a line each, as compilers write them. */
#ifndef SN_CLI_CONFIG_PROBLEMS_H
#define SN_CLI_CONFIG_PROBLEMS_H

#include "sink/export/settings.h"

/* To standard error. */
void sn_config_print_problems(const struct sn_configuration *configuration);

#endif
