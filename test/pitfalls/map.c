/* map.c -- pitfalls of bodies over slices in no order. */
#include "pitfall.h"

BODY(product)
{
	hop_value w = *(hop_value *)user;
	hop_return(t, hop_sum_all(t, hop_sin(t, hop_mul(t, w, in[0]))), in[0]);
}

BODY(over_rows)
{
	hop_value out[2], w = in[0];
	hop_map(t, product, &w, 1, in + 1, 0, 2, out);
	hop_return(t, hop_sum_all(t, out[0]), out[1]);
}

PITFALL(61, "a map over nothing, and one that returns its slices")
{
	gives(over_rows, NULL, LIST(F(1, 2), EMPTY2(HOP_f64, 0, 2)),
	      LIST(F0(0), EMPTY2(HOP_f64, 0, 2)));
	gradient(over_rows, NULL, LIST(F(1, 2), EMPTY2(HOP_f64, 0, 2)), WRT(0, 1),
	         LIST(F(0, 0), EMPTY2(HOP_f64, 0, 2)));
	gives(over_rows, NULL, LIST(F(1, 2), F2(1, 2, 3, 4)), LIST(F0(sin(3) + sin(8)),
	      F2(1, 2, 3, 4)));
}

PITFALL(62, "the gradient of a captured weight, added up over a map; and the map batched")
{
	tensor w = F(0.5, -1), x = F2(3, 2, 1, 2, 3, 4, 5, 6);
	slopes(over_rows, NULL, LIST(w, x), WRT(0, 1));
	slopes2(over_rows, NULL, LIST(w, x), WRT(0));
	lanes(over_rows, NULL, LIST(F2(2, 2, 1, 2, 3, 4), x), AXES(0, -1));
}

BODY(adds_up)
{
	hop_add_(t, *(hop_value *)user, hop_sum_all(t, in[0]));
	hop_return(t, in[0]);
}

BODY(racing)
{
	hop_value out[1], sum = in[0];
	hop_map(t, adds_up, &sum, 1, in + 1, 0, 1, out);
	hop_return(t, out[0]);
}

BODY(both)
{
	hop_return(t, hop_mul(t, in[0], in[1]));
}

BODY(unequal)
{
	hop_value out[1];
	hop_map(t, both, NULL, 2, in, 0, 1, out);
	hop_return(t, out[0]);
}

PITFALL(63, "a map that writes what it captures, or goes over different lengths")
{
	refuses(racing, NULL, LIST(F0(0), F(1, 2)), HOP_EREFUSED,
	        "map: a captured tensor is written in the body of map");
	refuses(unequal, NULL, LIST(F(1, 2, 3), F(1, 2)), HOP_ESHAPE,
	        "map: x[1] has length 2, the map has 3");
	refuses(unequal, NULL, LIST(F(1, 2, 3), F0(1)), HOP_ESHAPE,
	        "map: x[1] is f64, it has no axis 0");
}

BODY(cells)
{
	hop_value *o = user;
	hop_return(t, hop_mul(t, hop_sin(t, in[0]), o[0]));
}

BODY(row)
{
	hop_value out[1], *o = user, both[1] = { hop_mul(t, in[1], o[0]) };
	hop_map(t, cells, both, 1, in, 0, 1, out);
	hop_return(t, hop_sum_all(t, out[0]));
}

BODY(grid)
{
	hop_value out[2], w = in[2];
	hop_map_chunked(t, row, &w, 2, in, 0, 2, 1, out);
	hop_map(t, row, &w, 2, in, 0, 1, out + 1);
	hop_return(t, hop_sum_all(t, hop_mul(t, out[0], out[1])), out[0]);
}

PITFALL(226, "a map in a map, some slices at a time, with one left over")
{
	double s[5], sum = 0, x[15];
	for (int i = 0; i < 5; i++) {
		s[i] = 0;
		for (int j = 0; j < 3; j++)
			s[i] += sin(x[3 * i + j] = 0.1 * i * j - 0.2) * (i + 1) * 0.5;
		sum += s[i] * s[i];
	}
	tensor m = tensor_of(HOP_f64, 2, 5, 3, 0, x), k = F(1, 2, 3, 4, 5);
	gives(grid, NULL, LIST(m, k, F0(0.5)), LIST(F0(sum), tensor_of(HOP_f64, 1, 5, 0, 0, s)));
	slopes(grid, NULL, LIST(m, k, F0(0.5)), WRT(0, 1, 2));
	slopes2(grid, NULL, LIST(m, k, F0(0.5)), WRT(1, 2));
}
