/* Other tools' names: called through a link named after one of them, sonde takes its command line.
 */
#ifndef SN_CLI_ALIAS_H
#define SN_CLI_ALIAS_H

/* Runs the whole command line and returns the exit code. */
typedef int sn_alias_fn(int argc, char **argv);

/* The tool that argv[0] names; NULL when that is sonde itself. */
sn_alias_fn *sn_alias_find(const char *program);

/* `sonde serve --as TOOL [that tool's options]`: the words of the same command of that tool, in
 * `argv`, which gets *ret_argc of them; the tool. NULL: it is not asked for, nothing was changed.
 */
sn_alias_fn *sn_alias_serve(int argc, char **argv, int *ret_argc);

#endif
