/* Answers that say what is wrong, as application/problem+json. No state. */
#ifndef SN_PROBLEM_H
#define SN_PROBLEM_H

struct sn_buf;
struct sonde_error;

#define SN_PROBLEM_TYPE "application/problem+json"

/* "Not Found". */
const char *sn_problem_title(unsigned status);

/* What people must do when a disk has no room or cannot be written; NULL: it was something else. */
const char *sn_problem_of_disk(const struct sonde_error *err);

/* Which answer fits a failed call of the library: not found is 404, a limit 429, a full disk 507
 * ... */
unsigned sn_problem_status(const struct sonde_error *err);

/* Appends the document. `member` NULL: no `errors`. */
void sn_problem_write(struct sn_buf *to, unsigned status, const char *detail, const char *member);

#endif
