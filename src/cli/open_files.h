/* How many files may be open at once: who watches many processes needs several for each. */
#ifndef SN_CLI_OPEN_FILES_H
#define SN_CLI_OPEN_FILES_H

#include <stddef.h>

/* As many as this process may have without further rights. */
void sn_open_files_raise(void);

/* Says so on standard error, once, when the limit is near for so many watched processes. */
void sn_open_files_mind(size_t process_count);

#endif
