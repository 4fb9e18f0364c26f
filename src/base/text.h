/* Text from outside: UTF-16 to UTF-8, and what a terminal may be shown. */
#ifndef SN_TEXT_H
#define SN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_buf;
struct sonde_error;

/* Appends `units` UTF-16LE code units (unaligned) as UTF-8; lone surrogates become U+FFFD. */
void sn_text_from_utf16(struct sn_buf *buf, const uint8_t *units, size_t count);

/* Appends UTF-8 as UTF-16LE code units, without a terminator; bad sequences become U+FFFD. */
void sn_text_to_utf16(struct sn_buf *buf, const char *text, size_t size);

/* Appends what a terminal may safely print: control characters, escapes, bidirectional overrides
 * and broken UTF-8 are shown as \xNN or \u{NNNN}. */
void sn_text_printable(struct sn_buf *buf, const char *text, size_t size);

/* Decodes one code point at `text` (size > 0). Returns its length in bytes; a bad sequence gives 1
 * and *ret_point = U+FFFD with *ret_valid false. */
size_t sn_text_decode(const char *text, size_t size, uint32_t *ret_point, bool *ret_valid);

/* A number for a text, going on from one for what came before it (0 for nothing); NULL is "". */
uint64_t sn_text_hash(uint64_t before, const char *text);

/* A whole number in decimal or 0x hexadecimal, all of `text`, at most `most`. False when it is not
 * one. */
bool sn_text_to_u64(const char *text, uint64_t most, uint64_t *ret_value);

/* A number with a point, whatever the locale, as .NET writes it: "-1.5E+16", "NaN", "Infinity"; all
 * of `size` bytes, at most 63. False when it is not one. */
bool sn_text_to_real(const char *text, size_t size, double *ret_value);

/* A finite number with 15 digits and a point, whatever the locale. `to` needs 32 bytes. */
const char *sn_text_real(double value, char to[32]);

/* The same with as many digits, up to 17, as it takes to read back the same number. */
const char *sn_text_exact_real(double value, char to[32]);

/* "12 MB", "340 KB": three digits or fewer, decimal multiples. `to` needs 16 bytes. */
const char *sn_text_bytes(uint64_t bytes, char to[16]);

/* "1.2 s", "3 m 20 s", "2 d 4 h". `to` needs 32 bytes. */
const char *sn_text_duration(uint64_t ns, char to[32]);

/* "1,234,567". `to` needs 32 bytes. */
const char *sn_text_count(uint64_t count, char to[32]);

/* As much of `from` (NULL: "") as fits into `size` bytes with the zero behind it. */
void sn_text_copy(char *to, size_t size, const char *from);

#endif
