/* Answers that say what is wrong, as application/problem+json. No state. */
#ifndef SN_PROBLEM_H
#define SN_PROBLEM_H

struct sn_buf;

#define SN_PROBLEM_TYPE "application/problem+json"

/* "Not Found". */
const char *sn_problem_title(unsigned status);

/* Which answer fits a failed call of the library: not found is 404, a limit 429, ... */
unsigned sn_problem_status(int sonde_status);

/* Appends the document. `member` NULL: no `errors`. */
void sn_problem_write(struct sn_buf *to, unsigned status, const char *detail, const char *member);

#endif
