/* Pages of the program that only its start needed are given back: what reads configuration, makes
 * certificates and opens files lies between what serves, and would stay for good. */
#ifndef SN_START_PAGES_H
#define SN_START_PAGES_H

/* Code and constants; they are read again from the file's cache as they are needed. */
void sn_start_pages_drop(void);

#endif
