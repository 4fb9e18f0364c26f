/* Names of users. A static executable cannot ask the name service, so /etc/passwd is read directly.
 */
#ifndef SN_USER_H
#define SN_USER_H

#include <stdint.h>

#define SN_USER_NAME_SIZE 33u

/* The name of `uid`, else the number. Returns `to`. */
const char *sn_user_name(uint32_t uid, char to[SN_USER_NAME_SIZE]);

#endif
