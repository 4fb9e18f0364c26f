/* GnuTLS and libmicrohttpd set TLS up before main, for every verb: it takes a millisecond and two
 * megabytes. In the static executable that is put off until net/tls.c wants it: the linker is told
 * (--wrap) to give everybody this function instead. Not part of the dynamic build, where the
 * libraries call each other. */

/* The names are the linker's and GnuTLS's own. */
/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming) */

int __wrap_gnutls_global_init(void);
int __wrap_gnutls_global_init(void)
{
    return 0;
}

/* Asked by GnuTLS at the start of the program. */
int _gnutls_global_init_skip(void);
int _gnutls_global_init_skip(void)
{
    return 1;
}

/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */
