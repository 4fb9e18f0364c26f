/* Numbers of the zip format that its reader and writer share: docs/formats/archive.md. */
#ifndef SN_ZIP_LAYOUT_H
#define SN_ZIP_LAYOUT_H

#define SN_ZIP_LOCAL_MARK     0x04034b50u
#define SN_ZIP_CENTRAL_MARK   0x02014b50u
#define SN_ZIP_END_MARK       0x06054b50u
#define SN_ZIP_END64_MARK     0x06064b50u
#define SN_ZIP_LOCATOR64_MARK 0x07064b50u

#define SN_ZIP_LOCAL_SIZE     30u /* without name and extra fields */
#define SN_ZIP_CENTRAL_SIZE   46u
#define SN_ZIP_END_SIZE       22u
#define SN_ZIP_END64_SIZE     56u
#define SN_ZIP_LOCATOR64_SIZE 20u

#define SN_ZIP_STORED   0u
#define SN_ZIP_DEFLATED 8u

#define SN_ZIP_FLAG_ENCRYPTED 1u
#define SN_ZIP_FLAG_UTF8      0x800u

#define SN_ZIP_EXTRA64    1u          /* the extra field with sizes of 64 bits */
#define SN_ZIP_IN_EXTRA   0xFFFFFFFFu /* stands for a number that is there */
#define SN_ZIP_IN_EXTRA16 0xFFFFu
#define SN_ZIP_NAME_MAX   1024u
#define SN_ZIP_RAW_WINDOW (-15) /* zlib: deflate without a frame of its own */

#endif
