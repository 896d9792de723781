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
int check_jvp_vjp(hop_ctx *c, const subject *s);
int check_vmap_vmap(hop_ctx *c, const subject *s);

/* checks_run.c: each compiled and interpreted. */

/* Lanes that go different ways and trips, alone and with a choice or a loop inside: the batch and
 * its reverse derivative. */
int check_divergent_lanes(hop_ctx *c, const subject *s);
/* Inside a long loop that keeps only some carries: the gradient has the bits of the plain one. */
int check_checkpointed(hop_ctx *c, const subject *s);
/* 16 bits: value and reverse derivative, to a few roundings. */
int check_bf16(hop_ctx *c, const subject *s);

#endif
