/* code.h -- a loop program compiled by the target that HOP_TARGET names, for this machine. */
#ifndef SUPPORT_CODE_H
#define SUPPORT_CODE_H

#include "target/target.h"

hop_status code_machine(hop_env *e, const hop_target_opts *o, hop_machine *out_m);
hop_status code_new(hop_env *e, const hop_prog *p, const hop_target_opts *o, hop_code **out_c);

#endif
