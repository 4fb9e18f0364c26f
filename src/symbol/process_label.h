/* What a process is called in a report. No state. */
#ifndef SN_PROCESS_LABEL_H
#define SN_PROCESS_LABEL_H

struct sn_buf;
struct sn_code;
struct sn_code_process;

/* Appends its name: that of the program for "dotnet Shop.dll", "kworker" for all of those; with the
 * pid where several .NET processes are called the same. Others of one name are told as one. */
void sn_process_label(struct sn_buf *to, const struct sn_code *code,
                      const struct sn_code_process *process);

#endif
