/* spec.c -- what a function takes: short words for types. */
#include "hop/types.h"

hop_spec hop_spec_of(hop_dtype d, int rank, const int64_t *dim)
{
	hop_spec s = { .dtype = d, .rank = rank };
	for (int i = 0; i < rank && i < HOP_RANK && dim; i++)
		s.dim[i] = dim[i];
	return s;
}

hop_spec hop_spec0(hop_dtype d)
{
	return hop_spec_of(d, 0, NULL);
}

hop_spec hop_spec1(hop_dtype d, int64_t n)
{
	return hop_spec_of(d, 1, &n);
}

hop_spec hop_spec2(hop_dtype d, int64_t n, int64_t m)
{
	return hop_spec_of(d, 2, (int64_t[]){ n, m });
}

hop_spec hop_spec3(hop_dtype d, int64_t n, int64_t m, int64_t k)
{
	return hop_spec_of(d, 3, (int64_t[]){ n, m, k });
}

hop_spec hop_spec_sym(hop_spec s, int axis, const char *name, int64_t min, int64_t max)
{
	if (axis >= 0 && axis < HOP_RANK) {
		s.sym[axis] = name;
		s.dim[axis] = min;
		s.max[axis] = max;
	}
	return s;
}

hop_result hop_result_of(hop_dtype d, int rank, const hop_dim *dim)
{
	hop_result r = { .dtype = d, .rank = rank };
	for (int i = 0; i < rank && i < HOP_RANK && dim; i++)
		r.dim[i] = dim[i];
	return r;
}
