/* judge_files.h -- all programs of a folder, judged. */
#ifndef JUDGE_FILES_H
#define JUDGE_FILES_H

#include "support/judge.h"

typedef struct judge_total {
	int programs, checks, failures;
	int astray;                    /* see judge.h */
} judge_total;

/* Every .hop file of the folder, its f64 replaced by d, to the depth that it asks for but at most
 * so deep. The environment may say ONLY=part of a name, VERBOSE=1. */
/* Of `parts` parts this one: programs are dealt out, so that parts take equally long. */
void  judge_files(const char *folder, hop_dtype d, int most, int part, int parts,
                  judge_total *all);
/* The last graph of a text: those before it are its parts. */
void  judge_text(const char *text, const char *name, int depth, judge_total *all);
char *judge_read(const char *path, size_t *n);         /* a whole file, ended by 0 */

#endif
