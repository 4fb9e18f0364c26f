/* Protocol buffers, written by hand: fields straight into a buffer, messages inside messages
 * between open and close. */
#ifndef SN_PROTOBUF_H
#define SN_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

struct sn_buf;

void sn_protobuf_varint(struct sn_buf *to, unsigned field, uint64_t value);  /* 0 is left out */
void sn_protobuf_fixed64(struct sn_buf *to, unsigned field, uint64_t value); /* also 0 */
void sn_protobuf_double(struct sn_buf *to, unsigned field, double value);    /* also 0 */
void sn_protobuf_bytes(struct sn_buf *to, unsigned field, const void *bytes, size_t size);

/* A message as a field: what is appended until the close is its content. Returns what close needs.
 */
size_t sn_protobuf_open(struct sn_buf *to, unsigned field);
void sn_protobuf_close(struct sn_buf *to, size_t opened);

#endif
