/* zip.h -- zip archives: the directory of one in memory, and the writing of one. Reads members
 * that are stored or deflated; writes stored ones. What two readers could understand differently
 * is refused. */
#ifndef HOP_ZIP_H
#define HOP_ZIP_H

#include "io/file.h"

/* A member: bytes at..at+packed of the archive. */
typedef struct hop_zip_member {
	const char *name;              /* UTF-8, without control characters */
	uint64_t    at, packed, size;
	uint32_t    crc;
	bool        deflated;
	uint64_t    header, end;       /* where its own header begins, and its bytes end */
} hop_zip_member;

typedef struct hop_zip {
	size_t          n;
	hop_zip_member *member;        /* in the order of the directory */
} hop_zip;

/* Any bytes are fine; path is for messages. Members do not overlap, leave no holes, and no two have
 * one name. Their bytes are not looked at. Members and names are made in a. */
hop_status hop_zip_read(hop_env *e, hop_arena *a, const char *path, const void *p, size_t n,
                        hop_zip *out);

/* The checksum of zip: of what was summed before and n more bytes. Begin with 0. */
typedef struct hop_crc { uint32_t t[8][256]; } hop_crc;
void     hop_crc_init(hop_crc *c);
uint32_t hop_crc_of(const hop_crc *c, uint32_t sum, const void *p, size_t n);

/* Members one after another, then the directory. Each member's bytes follow its call, and begin
 * at a multiple of 64. */
typedef struct hop_zip_writer {
	hop_out *out;
	hop_buf  directory;
	uint64_t n;
} hop_zip_writer;
void hop_zip_open(hop_zip_writer *w, hop_out *out);
void hop_zip_member_begin(hop_zip_writer *w, const char *name, uint64_t size, uint32_t crc);
void hop_zip_close(hop_zip_writer *w);

#endif
