/* Folders that are read: the listing closes itself at the end of its scope. */
#ifndef SN_FOLDER_H
#define SN_FOLDER_H

#include <dirent.h>

/* SN_AUTO(sn_closedir) DIR *folder = opendir(path); NULL is fine. */
static inline void sn_closedir_auto(DIR *const *folder)
{
    if (*folder)
        (void)closedir(*folder); /* only read from */
}

#endif
