/* checks.h -- what every cell about a subject asks: value and derivatives, against the
 * reference. Each returns 0 when all agreed. */
#ifndef CHECKS_H
#define CHECKS_H

#include "support/subject.h"

enum { CHECK_N = 3, CHECK_LANES = 4 };
/* Points whose conditions and trip counts differ. */
extern const double check_x[CHECK_LANES][CHECK_N];
extern const double check_k;

int check_value(hop_ctx *c, const subject *s);
int check_jvp(hop_ctx *c, const subject *s);
int check_vjp(hop_ctx *c, const subject *s);
int check_vjp_vjp(hop_ctx *c, const subject *s);
int check_vmap(hop_ctx *c, const subject *s);
int check_vmap_vjp(hop_ctx *c, const subject *s);

#endif
