/* The functions behind sn_formats, one a file; see struct sn_format. */
#ifndef SN_WRITERS_H
#define SN_WRITERS_H

struct sn_format_options;
struct sn_profile;
struct sn_stream;

void sn_speedscope_write(struct sn_stream *stream, const struct sn_profile *profile,
                         const struct sn_format_options *options);
void sn_pprof_write(struct sn_stream *stream, const struct sn_profile *profile,
                    const struct sn_format_options *options);
void sn_chrome_write(struct sn_stream *stream, const struct sn_profile *profile,
                     const struct sn_format_options *options);
void sn_collapsed_write(struct sn_stream *stream, const struct sn_profile *profile,
                        const struct sn_format_options *options);

#endif
