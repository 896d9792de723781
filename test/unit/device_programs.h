/* device_programs.h -- programs that are scheduled for a device: a nest of each kind, and where one kind
 * ends and the next begins. */
#ifndef DEVICE_PROGRAMS_H
#define DEVICE_PROGRAMS_H

#include <stdint.h>

/* text, how many tiles and sums of a thread are in its schedule, values of size parameters */
typedef struct program { const char *name, *text; int tiles, sums; int64_t syms[3]; } program;

static const program programs[] = {
	{ "by twos, and on the way what could be where the next state will",
	  "hop 1\n"
	  "graph @f(%0: f64[20, 20]) {\n"
	  "  %1 = constant {value = f64 0.02}\n"
	  "  %2 = broadcast %1 {dims = [20, 20], axes = []}\n"
	  "  %3 = scan %0, %2 {ncarry = 1, nx = 0, length = 5} {\n"
	  "    body(%0: f64[20, 20], %1: f64[20, 20]) -> f64[20, 20] {\n"
	  "      %2 = cos %0\n"
	  "      %3 = dot %2, %2 {lbatch = [], rbatch = [], lsum = [1], rsum = [0], dtype = f64}\n"
	  "      %4 = mul %3, %1\n"
	  "      %5 = dot %4, %4 {lbatch = [], rbatch = [], lsum = [1], rsum = [0], dtype = f64}\n"
	  "      %6 = mul %5, %1\n"
	  "      %7 = dot %6, %6 {lbatch = [], rbatch = [], lsum = [1], rsum = [0], dtype = f64}\n"
	  "      %8 = mul %7, %1\n"
	  "      %9 = permute %0 {axes = [1, 0]}\n"
	  "      %10 = add %8, %9\n"
	  "      return %10\n"
	  "    }\n"
	  "  }\n"
	  "  return %3\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "by twos, with a state that no step makes",
	  "hop 1\n"
	  "graph @f(%0: f64[20, 20], %1: f64[20, 20]) {\n"
	  "  %2 = cos %1\n"
	  "  %3 = scan %0, %2 {ncarry = 1, nx = 0, length = 4} {\n"
	  "    body(%0: f64[20, 20], %1: f64[20, 20]) {\n"
	  "      return %1\n"
	  "    }\n"
	  "  }\n"
	  "  return %3\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "by twos, with states that change places",
	  "hop 1\n"
	  "graph @f(%0: f64[20, 20], %1: f64[20, 20]) {\n"
	  "  %2, %3, %4 = scan %0, %1, %1 {ncarry = 3, nx = 0, length = 3} {\n"
	  "    body(%0: f64[20, 20], %1: f64[20, 20], %2: f64[20, 20]) {\n"
	  "      %3 = permute %2 {axes = [1, 0]}\n"
	  "      %4 = add %3, %0\n"
	  "      %5 = sin %4\n"
	  "      return %1, %0, %5\n"
	  "    }\n"
	  "  }\n"
	  "  return %2, %3, %4\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "by twos, with states that are the same",
	  "hop 1\n"
	  "graph @f(%0: f64[20, 20], %1: f64[20, 20]) {\n"
	  "  %2, %3 = scan %0, %1 {ncarry = 2, nx = 0, length = 4} {\n"
	  "    body(%0: f64[20, 20], %1: f64[20, 20]) {\n"
	  "      %2 = permute %1 {axes = [1, 0]}\n"
	  "      %3 = add %2, %0\n"
	  "      %4 = sin %3\n"
	  "      return %4, %4\n"
	  "    }\n"
	  "  }\n"
	  "  return %2, %3\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "parts of columns that are fewer than could be",
	  "hop 1\n"
	  "graph @f(%0: f64[60, 3]) {\n"
	  "  %1 = sum %0 {axes = [0]}\n"
	  "  return %1\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "sums of the numbers of their steps",
	  "hop 1\n"
	  "graph @f() {\n"
	  "  %1 = iota {dtype = i64, dims = [50, 70], axis = 1}\n"
	  "  %2 = sum %1 {axes = [0, 1]}\n"
	  "  %3 = iota {dtype = i64, dims = [50, 70, 3], axis = 0}\n"
	  "  %4 = sum %3 {axes = [0, 1]}\n"
	  "  return %2, %4\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "rows of any number of steps",
	  "hop 1\n"
	  "graph @f<s0: 0..1000>(%0: f64[30, 5], %1: i64[s0], %2: f64[s0, 5]) {\n"
	  "  %3 = scatter %0, %1, %2 {mode = add, axis = 0}\n"
	  "  return %3\n"
	  "}\n",
	  0, 2, { 23 } },
	{ "few rows of any number of steps",
	  "hop 1\n"
	  "graph @f<s0: 0..1000>(%0: f64[2, 5], %1: i64[s0], %2: f64[s0, 5]) {\n"
	  "  %3 = scatter %0, %1, %2 {mode = add, axis = 0}\n"
	  "  return %3\n"
	  "}\n",
	  0, 2, { 23 } },
	{ "rows of no steps",
	  "hop 1\n"
	  "graph @f<s0: 0..1000>(%0: f64[30, 5], %1: i64[s0], %2: f64[s0, 5]) {\n"
	  "  %3 = scatter %0, %1, %2 {mode = add, axis = 0}\n"
	  "  return %3\n"
	  "}\n",
	  0, 2, { 0 } },
	{ "zeros and any number of steps",
	  "hop 1\n"
	  "graph @f<s0: 0..1000>(%0: i64[s0], %1: f32[s0, 6]) {\n"
	  "  %2 = constant {value = f32 0}\n"
	  "  %3 = broadcast %2 {dims = [11, 6], axes = []}\n"
	  "  %4 = scatter %3, %0, %1 {mode = add, axis = 0, nbatch = 0}\n"
	  "  return %4\n"
	  "}\n",
	  0, 2, { 17 } },
	{ "zeros and no steps",
	  "hop 1\n"
	  "graph @f<s0: 0..1000>(%0: i64[s0], %1: f32[s0, 6]) {\n"
	  "  %2 = constant {value = f32 0}\n"
	  "  %3 = broadcast %2 {dims = [11, 6], axes = []}\n"
	  "  %4 = scatter %3, %0, %1 {mode = add, axis = 0, nbatch = 0}\n"
	  "  return %4\n"
	  "}\n",
	  0, 2, { 0 } },
	{ "rows of as many steps as a round has",
	  "hop 1\n"
	  "graph @f<s0: 0..1000>(%0: f32[9], %1: i64[s0], %2: f32[s0]) {\n"
	  "  %3 = scatter %0, %1, %2 {mode = max, axis = 0}\n"
	  "  return %3\n"
	  "}\n",
	  0, 2, { 14 } },
	{ "rows of steps over two axes",
	  "hop 1\n"
	  "graph @f<s0: 0..1000>(%0: f64[30, 5], %1: i64[s0, 3], %2: f64[s0, 3, 5],\n"
	  "                      %3: i64[4, 6], %4: f64[4, 6, 5]) {\n"
	  "  %5 = scatter %0, %1, %2 {mode = add, axis = 0}\n"
	  "  %6 = scatter %5, %3, %4 {mode = add, axis = 0}\n"
	  "  return %6\n"
	  "}\n",
	  0, 5, { 9 } },
	{ "rows of steps whose axes do not go on",
	  "hop 1\n"
	  "graph @f(%0: f64[30, 5], %1: i64[4, 6], %2: f64[6, 4, 5]) {\n"
	  "  %3 = permute %2 {axes = [1, 0, 2]}\n"
	  "  %4 = scatter %0, %1, %3 {mode = set, axis = 0}\n"
	  "  return %4\n"
	  "}\n",
	  0, 3, { 0 } },
	{ "rows of lanes",
	  "hop 1\n"
	  "graph @f(%0: f64[3, 7, 5], %1: i64[3, 11], %2: f64[3, 11, 5]) {\n"
	  "  %3 = scatter %0, %1, %2 {mode = add, axis = 1, nbatch = 1}\n"
	  "  return %3\n"
	  "}\n",
	  0, 3, { 0 } },
	{ "rows of lanes over two axes, of any number of steps",
	  "hop 1\n"
	  "graph @f<s0: 0..1000>(%0: f64[2, 3, 7], %1: i64[2, 3, s0], %2: f64[2, 3, s0]) {\n"
	  "  %3 = scatter %0, %1, %2 {mode = set, axis = 2, nbatch = 2}\n"
	  "  return %3\n"
	  "}\n",
	  0, 2, { 10 } },
	{ "rows of lanes whose steps are over two axes",
	  "hop 1\n"
	  "graph @f(%0: f64[3, 7], %1: i64[3, 4, 5], %2: f64[5, 3, 4]) {\n"
	  "  %3 = permute %2 {axes = [1, 2, 0]}\n"
	  "  %4 = scatter %0, %1, %3 {mode = add, axis = 1, nbatch = 1}\n"
	  "  return %4\n"
	  "}\n",
	  0, 3, { 0 } },
	{ "columns of any length",
	  "hop 1\n"
	  "graph @f<s0: 0..1000>(%0: f64[s0, 3]) {\n"
	  "  %1 = sum %0 {axes = [0]}\n"
	  "  %2 = amax %0 {axes = [0]}\n"
	  "  return %1, %2\n"
	  "}\n",
	  0, 0, { 37 } },
	{ "columns of none",
	  "hop 1\n"
	  "graph @f<s0: 0..1000>(%0: i64[s0, 3], %1: i64[3]) {\n"
	  "  %2 = sum %0 {axes = [0]}\n"
	  "  %3 = add %2, %1\n"
	  "  return %3\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "columns of one",
	  "hop 1\n"
	  "graph @f<s0: 1..1000>(%0: f64[s0, 7]) {\n"
	  "  %1 = sum %0 {axes = [0]}\n"
	  "  return %1\n"
	  "}\n",
	  0, 0, { 1 } },
	{ "columns over two axes, one of any length",
	  "hop 1\n"
	  "graph @f<s0: 0..1000>(%0: f64[s0, 5, 3], %1: f64[4, 30, 3]) {\n"
	  "  %2 = sum %0 {axes = [0, 1]}\n"
	  "  %3 = sum %1 {axes = [0, 1]}\n"
	  "  return %2, %3\n"
	  "}\n",
	  0, 0, { 11 } },
	{ "copy",
	  "hop 1\n"
	  "graph @f(%0: f32[40, 70]) {\n"
	  "  %1 = permute %0 {axes = [1, 0]}\n"
	  "  %2 = exp %1\n"
	  "  return %2\n"
	  "}\n",
	  1, 0, { 0 } },
	{ "even",
	  "hop 1\n"
	  "graph @f(%0: f64[64, 32]) {\n"
	  "  %1 = permute %0 {axes = [1, 0]}\n"
	  "  %2 = neg %1\n"
	  "  return %2\n"
	  "}\n",
	  1, 0, { 0 } },
	{ "sum of sums",
	  "hop 1\n"
	  "graph @f(%0: f64[70, 90], %1: i64[7, 5, 300]) {\n"
	  "  %2 = sum %0 {axes = [0, 1]}\n"
	  "  %3 = sum %1 {axes = [0, 1, 2]}\n"
	  "  return %2, %3\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "sums that go apart",
	  "hop 1\n"
	  "graph @f(%0: f64[70, 90], %1: f64[90], %2: f64[70]) {\n"
	  "  %3 = broadcast %1 {dims = [70, 90], axes = [1]}\n"
	  "  %4 = broadcast %2 {dims = [70, 90], axes = [0]}\n"
	  "  %5 = mul %0, %3\n"
	  "  %6 = mul %5, %4\n"
	  "  %7 = sum %6 {axes = [0, 1]}\n"
	  "  return %7\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "sums and rows",
	  "hop 1\n"
	  "graph @f(%0: f64[90, 300]) {\n"
	  "  %1 = mul %0, %0\n"
	  "  %2 = sum %1 {axes = [0, 1]}\n"
	  "  %3 = sum %0 {axes = [1]}\n"
	  "  return %2, %3\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "unknown sums",
	  "hop 1\n"
	  "graph @f<s: 0.., t: 0..>(%0: f64[s, t]) {\n"
	  "  %1 = mul %0, %0\n"
	  "  %2 = sum %1 {axes = [0, 1]}\n"
	  "  %3 = sum %0 {axes = [1]}\n"
	  "  return %2, %3\n"
	  "}\n",
	  0, 0, { 61, 301 } },
	{ "rows that data chooses",
	  "hop 1\n"
	  "graph @f<u: 1..67>(%0: f64[3, u, 2], %1: i64[2], %2: f64[3, 2, 2], %3: f64[u, 3]) {\n"
	  "  %4 = permute %3 {axes = [1, 0]}\n"
	  "  %5 = broadcast %4 {dims = [3, u, 2], axes = [0, 1]}\n"
	  "  %6 = exp %5\n"
	  "  %7 = scatter %6, %1, %2 {mode = mul, axis = 1, nbatch = 0}\n"
	  "  %8 = cos %5\n"
	  "  %9 = scatter %8, %1, %2 {mode = add, axis = 1, nbatch = 0}\n"
	  "  %10 = sin %5\n"
	  "  %11 = scatter %10, %1, %2 {mode = mul, axis = 1, nbatch = 0}\n"
	  "  return %7, %9, %11\n"
	  "}\n",
	  0, 0, { 40 } },
	{ "two",
	  "hop 1\n"
	  "graph @f(%0: f32[33, 9], %1: i32[33, 9], %2: f32[9, 33]) {\n"
	  "  %3 = permute %0 {axes = [1, 0]}\n"
	  "  %4 = permute %1 {axes = [1, 0]}\n"
	  "  %5 = cast %4 {dtype = f32}\n"
	  "  %6 = mul %3, %5\n"
	  "  %7 = add %6, %2\n"
	  "  return %7\n"
	  "}\n",
	  2, 0, { 0 } },
	{ "half",
	  "hop 1\n"
	  "graph @f(%0: bf16[35, 37]) {\n"
	  "  %1 = permute %0 {axes = [1, 0]}\n"
	  "  %2 = cast %1 {dtype = f32}\n"
	  "  %3 = exp %2\n"
	  "  return %3\n"
	  "}\n",
	  1, 0, { 0 } },
	{ "bool",
	  "hop 1\n"
	  "graph @f(%0: bool[35, 37]) {\n"
	  "  %1 = permute %0 {axes = [1, 0]}\n"
	  "  %2 = not %1\n"
	  "  return %2\n"
	  "}\n",
	  1, 0, { 0 } },
	{ "batch",
	  "hop 1\n"
	  "graph @f(%0: f32[3, 34, 5]) {\n"
	  "  %1 = permute %0 {axes = [0, 2, 1]}\n"
	  "  %2 = exp %1\n"
	  "  return %2\n"
	  "}\n",
	  1, 0, { 0 } },
	{ "ends",
	  "hop 1\n"
	  "graph @f(%0: f32[6, 3, 2, 36]) {\n"
	  "  %1 = permute %0 {axes = [3, 2, 1, 0]}\n"
	  "  %2 = exp %1\n"
	  "  return %2\n"
	  "}\n",
	  1, 0, { 0 } },
	{ "sizes",
	  "hop 1\n"
	  "graph @f<s: 1.., t: 1..>(%0: f32[s, t], %1: f32[t]) {\n"
	  "  %2 = permute %0 {axes = [1, 0]}\n"
	  "  %3 = broadcast %1 {dims = [t, s], axes = [0]}\n"
	  "  %4 = add %2, %3\n"
	  "  return %4\n"
	  "}\n",
	  1, 0, { 70, 35 } },
	{ "rows",
	  "hop 1\n"
	  "graph @f(%0: f32[9, 5], %1: i64[70], %2: f32[70, 5]) {\n"
	  "  %9 = scatter %0, %1, %2 {mode = add, axis = 0, nbatch = 0}\n"
	  "  return %9\n"
	  "}\n",
	  0, 3, { 0 } },
	{ "many rows",
	  "hop 1\n"
	  "graph @f(%0: f32[300, 2], %1: i32[43], %2: f32[43, 2]) {\n"
	  "  %9 = scatter %0, %1, %2 {mode = add, axis = 0, nbatch = 0}\n"
	  "  return %9\n"
	  "}\n",
	  0, 3, { 0 } },
	{ "zeros",
	  "hop 1\n"
	  "graph @f(%0: i64[64], %1: f32[64, 6]) {\n"
	  "  %2 = constant {value = f32 0}\n"
	  "  %3 = broadcast %2 {dims = [50, 6], axes = []}\n"
	  "  %4 = scatter %3, %0, %1 {mode = add, axis = 0, nbatch = 0}\n"
	  "  return %4\n"
	  "}\n",
	  0, 3, { 0 } },
	{ "more zeros",
	  "hop 1\n"
	  "graph @f(%0: i32[65], %1: bf16[65, 4, 32]) {\n"
	  "  %2 = constant {value = bf16 0}\n"
	  "  %3 = broadcast %2 {dims = [9, 4, 32], axes = []}\n"
	  "  %4 = scatter %3, %0, %1 {mode = add, axis = 0, nbatch = 0}\n"
	  "  %5 = scatter %4, %0, %1 {mode = add, axis = 0, nbatch = 0}\n"
	  "  return %4, %5\n"
	  "}\n",
	  0, 12, { 0 } },
	{ "one of many rows",
	  "hop 1\n"
	  "graph @f(%0: i64[70], %1: f32[70, 3], %2: f32[9, 3]) {\n"
	  "  %3 = constant {value = i64 0}\n"
	  "  %4 = broadcast %3 {dims = [70], axes = []}\n"
	  "  %5 = min %0, %4\n"
	  "  %6 = exp %2\n"
	  "  %7 = scatter %6, %5, %1 {mode = add, axis = 0, nbatch = 0}\n"
	  "  return %7\n"
	  "}\n",
	  0, 3, { 0 } },
	{ "elements",
	  "hop 1\n"
	  "graph @f(%0: f64[6], %1: i64[31], %2: f64[31]) {\n"
	  "  %9 = scatter %0, %1, %2 {mode = mul, axis = 0, nbatch = 0}\n"
	  "  return %9\n"
	  "}\n",
	  0, 3, { 0 } },
	{ "last",
	  "hop 1\n"
	  "graph @f(%0: f32[5], %1: i64[31], %2: f32[31]) {\n"
	  "  %9 = scatter %0, %1, %2 {mode = set, axis = 0, nbatch = 0}\n"
	  "  return %9\n"
	  "}\n",
	  0, 3, { 0 } },
	{ "inner",
	  "hop 1\n"
	  "graph @f(%0: i32[4, 6, 3], %1: i64[10], %2: i32[4, 10, 3]) {\n"
	  "  %9 = scatter %0, %1, %2 {mode = max, axis = 1, nbatch = 0}\n"
	  "  return %9\n"
	  "}\n",
	  0, 3, { 0 } },
	{ "pieces",
	  "hop 1\n"
	  "graph @f(%0: f32[7, 2], %1: i64[2100], %2: f32[2100, 2]) {\n"
	  "  %9 = scatter %0, %1, %2 {mode = add, axis = 0, nbatch = 0}\n"
	  "  return %9\n"
	  "}\n",
	  0, 3, { 0 } },
	{ "wide",
	  "hop 1\n"
	  "graph @f(%0: f32[3, 8, 17], %1: i64[9], %2: f32[9, 8, 17]) {\n"
	  "  %9 = scatter %0, %1, %2 {mode = add, axis = 0, nbatch = 0}\n"
	  "  return %9\n"
	  "}\n",
	  0, 6, { 0 } },
	{ "one row",
	  "hop 1\n"
	  "graph @f(%0: f32[1, 5], %1: i64[8], %2: f32[8, 5]) {\n"
	  "  %9 = scatter %0, %1, %2 {mode = add, axis = 0, nbatch = 0}\n"
	  "  return %9\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "sort",
	  "hop 1\n"
	  "graph @f(%0: f32[37]) {\n"
	  "  %1 = argsort %0 {axis = 0, down = false}\n"
	  "  return %1\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "sort down",
	  "hop 1\n"
	  "graph @f(%0: f64[3, 21, 2]) {\n"
	  "  %1 = argsort %0 {axis = 1, down = true}\n"
	  "  return %1\n"
	  "}\n",
	  2, 0, { 0 } },
	{ "sort few",
	  "hop 1\n"
	  "graph @f(%0: i64[9, 4]) {\n"
	  "  %1 = argsort %0 {axis = 1, down = false}\n"
	  "  return %1\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "sort bools",
	  "hop 1\n"
	  "graph @f(%0: bool[19]) {\n"
	  "  %1 = argsort %0 {axis = 0, down = true}\n"
	  "  return %1\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "sort halves",
	  "hop 1\n"
	  "graph @f(%0: bf16[2, 18]) {\n"
	  "  %1 = argsort %0 {axis = 1, down = false}\n"
	  "  return %1\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "sort sizes",
	  "hop 1\n"
	  "graph @f<s: 0..40, t: 0..>(%0: i32[s, t]) {\n"
	  "  %1 = argsort %0 {axis = 0, down = false}\n"
	  "  %2 = argsort %0 {axis = 1, down = true}\n"
	  "  return %1, %2\n"
	  "}\n",
	  2, 0, { 23, 11 } },
	{ "sort nothing",
	  "hop 1\n"
	  "graph @f(%0: f32[0], %1: f32[5, 0], %2: f32[1], %3: f32[0, 6]) {\n"
	  "  %4 = argsort %0 {axis = 0, down = false}\n"
	  "  %5 = argsort %1 {axis = 1, down = false}\n"
	  "  %6 = argsort %2 {axis = 0, down = false}\n"
	  "  %7 = argsort %3 {axis = 1, down = false}\n"
	  "  return %4, %5, %6, %7\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "kept row",
	  "hop 1\n"
	  "graph @f(%0: f32[3, 1024]) {\n"
	  "  %1 = amax %0 {axes = [1]}\n"
	  "  %2 = broadcast %1 {dims = [3, 1024], axes = [0]}\n"
	  "  %3 = sub %0, %2\n"
	  "  %4 = exp %3\n"
	  "  %5 = sum %4 {axes = [1]}\n"
	  "  %6 = broadcast %5 {dims = [3, 1024], axes = [0]}\n"
	  "  %7 = div %4, %6\n"
	  "  return %7\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "kept row with an end",
	  "hop 1\n"
	  "graph @f(%0: f32[2, 1100]) {\n"
	  "  %1 = amax %0 {axes = [1]}\n"
	  "  %2 = broadcast %1 {dims = [2, 1100], axes = [0]}\n"
	  "  %3 = sub %0, %2\n"
	  "  %4 = exp %3\n"
	  "  %5 = sum %4 {axes = [1]}\n"
	  "  %6 = broadcast %5 {dims = [2, 1100], axes = [0]}\n"
	  "  %7 = div %4, %6\n"
	  "  return %7\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "kept row, odd",
	  "hop 1\n"
	  "graph @f(%0: f32[2, 517]) {\n"
	  "  %1 = amax %0 {axes = [1]}\n"
	  "  %2 = broadcast %1 {dims = [2, 517], axes = [0]}\n"
	  "  %3 = sub %0, %2\n"
	  "  %4 = exp %3\n"
	  "  %5 = sum %4 {axes = [1]}\n"
	  "  %6 = broadcast %5 {dims = [2, 517], axes = [0]}\n"
	  "  %7 = div %4, %6\n"
	  "  return %7\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "kept row, half",
	  "hop 1\n"
	  "graph @f(%0: bf16[2, 2048]) {\n"
	  "  %10 = cast %0 {dtype = f32}\n"
	  "  %1 = amax %10 {axes = [1]}\n"
	  "  %2 = broadcast %1 {dims = [2, 2048], axes = [0]}\n"
	  "  %3 = sub %10, %2\n"
	  "  %4 = exp %3\n"
	  "  %5 = sum %4 {axes = [1]}\n"
	  "  %6 = broadcast %5 {dims = [2, 2048], axes = [0]}\n"
	  "  %7 = div %4, %6\n"
	  "  %8 = cast %7 {dtype = bf16}\n"
	  "  return %8\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "columns",
	  "hop 1\n"
	  "graph @f(%0: f32[640, 512]) {\n"
	  "  %1 = sum %0 {axes = [0]}\n"
	  "  %2 = neg %1\n"
	  "  return %2\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "columns, two of them",
	  "hop 1\n"
	  "graph @f(%0: f32[700, 515]) {\n"
	  "  %1 = sum %0 {axes = [0]}\n"
	  "  %2 = amax %0 {axes = [0]}\n"
	  "  %3 = add %1, %2\n"
	  "  return %3, %2\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "loops in a trip, whose carries share bytes",
	  "hop 1\n"
	  "graph @body(%0: f64, %1: f64, %2: f64, %3: f64[3], %4: f64) -> f64, f64, f64 {\n"
	  "  %5 = sin %4\n"
	  "  %6 = cos %5\n"
	  "  %7 = sin %0\n"
	  "  %8 = add %2, %7\n"
	  "  return %6, %7, %8\n"
	  "}\n"
	  "graph @f(%0: f64, %1: f64[30, 3]) -> f64, f64, f64[30, 3] {\n"
	  "  %2, %3, %4, %5, %6, %7 = call %0, %0, %0, %1, %0 {\n"
	  "    body(%0: f64, %1: f64, %2: f64, %3: f64[30, 3], %4: f64) -> f64, f64, f64, "
	  "f64[5], f64[5], f64[5] {\n"
	  "      %5 = reshape %3 {dims = [5, 6, 3]}\n"
	  "      %6, %7, %8, %9, %10, %11 = scan %0, %1, %2, %5, %4 {ncarry = 3, nx = 1, "
	  "length = 5, every = 0, slots = 0} {\n"
	  "        body(%0: f64, %1: f64, %2: f64, %3: f64[6, 3], %4: f64) "
	  "-> f64, f64, f64, f64, f64, f64 {\n"
	  "          %5, %6, %7 = scan %0, %1, %2, %3, %4 {ncarry = 3, nx = 1, length = 6, "
	  "every = 0, slots = 0, body = @body}\n"
	  "          %8 = stop_gradient %0\n"
	  "          %9 = stop_gradient %1\n"
	  "          %10 = stop_gradient %2\n"
	  "          return %5, %6, %7, %8, %9, %10\n"
	  "        }\n"
	  "      }\n"
	  "      return %6, %7, %8, %9, %10, %11\n"
	  "    }\n"
	  "  }\n"
	  "  %8 = add %2, %4\n"
	  "  %9 = constant {value = i64 30}\n"
	  "  %10 = constant {value = i64 6}\n"
	  "  %11 = add %9, %10\n"
	  "  %12 = constant {value = i64 1}\n"
	  "  %13 = sub %11, %12\n"
	  "  %14 = max %10, %12\n"
	  "  %15 = div %13, %14\n"
	  "  %16 = constant {value = f64 1.0}\n"
	  "  %17 = constant {value = f64 0.0}\n"
	  "  %18, %19, %20, %21, %22 = replay %9, %10, %15, %0, %0, %0, %1, %0, %5, %6, %7, %16, "
	  "%17, %16 {ncarry = 3, nx = 1, length = 30, size = 0, whole = true, rows = 0, "
	  "slots = 0, leaf = 6, wrt = [0, 1, 2, 3, 4], live = [0, 1, 2], step = @body}\n"
	  "  %23 = add %18, %19\n"
	  "  %24 = add %23, %20\n"
	  "  %25 = add %24, %22\n"
	  "  return %8, %25, %21\n"
	  "}\n",
	  0, 15, { 0 } },
	{ "steps with matrices of their own, and a number from before",
	  "hop 1\n"
	  "graph @f<s: 1..20, t: 1..20>(%0: f64[s], %1: f64[t, t]) {\n"
	  "  %2 = sum %0 {axes = [0]}\n"
	  "  %3 = map %0, %1, %2 {nx = 1, length = s} {\n"
	  "    body<s: 1..20, t: 1..20>(%0: f64, %1: f64[t, t], %2: f64) {\n"
	  "      %3 = sin %1\n"
	  "      %4 = broadcast %0 {dims = [t, 2], axes = []}\n"
	  "      %5 = triangular_solve %3, %4\n"
	  "      %6 = broadcast %2 {dims = [t, 2], axes = []}\n"
	  "      %7 = mul %5, %6\n"
	  "      return %7\n"
	  "    }\n"
	  "  }\n"
	  "  return %3\n"
	  "}\n",
	  0, 0, { 7, 5 } },
	{ "sizes that branches bind",
	  "hop 1\n"
	  "graph @f(%0: f64, %1: f64[2]) {\n"
	  "  %2 = constant {value = f64 0.0}\n"
	  "  %3 = lt %2, %0\n"
	  "  %4 = cond %3, %0, %1 {\n"
	  "    then(%0: f64, %1: f64[2]) {\n"
	  "      %2 = constant {value = f64 9.0}\n"
	  "      %3 = mul %0, %2\n"
	  "      %4 = cast %3 {dtype = i64}\n"
	  "      %5 = as_size %4 {min = 2, max = 12, sym = s0: 2..12}\n"
	  "      %6 = iota {dtype = f64, dims = [s0], axis = 0}\n"
	  "      %7 = sin %6\n"
	  "      %8 = sum %7 {axes = [0]}\n"
	  "      %9 = broadcast %8 {dims = [2], axes = []}\n"
	  "      %10 = mul %1, %9\n"
	  "      return %10\n"
	  "    }\n"
	  "    else(%0: f64, %1: f64[2]) {\n"
	  "      %2 = neg %1\n"
	  "      return %2\n"
	  "    }\n"
	  "  }\n"
	  "  return %4\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "branches in a loop",
	  "hop 1\n"
	  "graph @f(%0: f64[40]) {\n"
	  "  %1 = scan %0 {ncarry = 1, nx = 0, length = 5} {\n"
	  "    body(%0: f64[40]) {\n"
	  "      %1 = sum %0 {axes = [0]}\n"
	  "      %2 = constant {value = f64 3.0}\n"
	  "      %3 = lt %1, %2\n"
	  "      %4 = cond %3, %0 {\n"
	  "        then(%0: f64[40]) {\n"
	  "          %1 = exp %0\n"
	  "          %2 = sum %1 {axes = [0]}\n"
	  "          %3 = broadcast %2 {dims = [40], axes = []}\n"
	  "          %4 = div %1, %3\n"
	  "          %5 = add %4, %0\n"
	  "          return %5\n"
	  "        }\n"
	  "        else(%0: f64[40]) {\n"
	  "          %1 = sin %0\n"
	  "          return %1\n"
	  "        }\n"
	  "      }\n"
	  "      return %4\n"
	  "    }\n"
	  "  }\n"
	  "  return %1\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "rows that the block which ends a sum does by warps",
	  "hop 1\n"
	  "graph @f(%0: f64[6000], %1: f64[9, 40]) {\n"
	  "  %2 = sum %0 {axes = [0]}\n"
	  "  %3 = broadcast %2 {dims = [9, 40], axes = []}\n"
	  "  %4 = mul %1, %3\n"
	  "  %5 = amax %4 {axes = [1]}\n"
	  "  %6 = broadcast %5 {dims = [9, 40], axes = [0]}\n"
	  "  %7 = sub %4, %6\n"
	  "  %8 = sum %7 {axes = [1]}\n"
	  "  return %8\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "a product of any length by parts",
	  "hop 1\n"
	  "graph @f<s0: 0..10000>(%0: f64[s0, 6], %1: f64[s0, 5], %2: f64[6]) {\n"
	  "  %3 = dot %0, %1 {lbatch = [], rbatch = [], lsum = [0], rsum = [0]}\n"
	  "  %4 = broadcast %2 {dims = [6, 5], axes = [0]}\n"
	  "  %5 = mul %3, %4\n"
	  "  return %5\n"
	  "}\n",
	  0, 0, { 3001 } },
	{ "a product of any length that its parts divide",
	  "hop 1\n"
	  "graph @f<s0: 0..10000>(%0: f64[s0, 3, 6], %1: f64[s0, 3, 5]) {\n"
	  "  %2 = dot %0, %1 {lbatch = [], rbatch = [], lsum = [0, 1], rsum = [0, 1]}\n"
	  "  return %2\n"
	  "}\n",
	  0, 0, { 41 } },
	{ "a product of any length that is short",
	  "hop 1\n"
	  "graph @f<s0: 0..10000>(%0: f64[s0, 6], %1: f64[s0, 5], %2: f64[6]) {\n"
	  "  %3 = dot %0, %1 {lbatch = [], rbatch = [], lsum = [0], rsum = [0]}\n"
	  "  %4 = broadcast %2 {dims = [6, 5], axes = [0]}\n"
	  "  %5 = mul %3, %4\n"
	  "  return %5\n"
	  "}\n",
	  0, 0, { 2 } },
	{ "a product of any length that is none",
	  "hop 1\n"
	  "graph @f<s0: 0..10000>(%0: f64[s0, 6], %1: f64[s0, 5], %2: f64[6]) {\n"
	  "  %3 = dot %0, %1 {lbatch = [], rbatch = [], lsum = [0], rsum = [0]}\n"
	  "  %4 = broadcast %2 {dims = [6, 5], axes = [0]}\n"
	  "  %5 = mul %3, %4\n"
	  "  return %5\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "a long product by parts, and what is left over",
	  "hop 1\n"
	  "graph @f(%0: f64[6, 3001], %1: f64[3001, 5], %2: f64[6]) {\n"
	  "  %3 = dot %0, %1 {lbatch = [], rbatch = [], lsum = [1], rsum = [0]}\n"
	  "  %4 = broadcast %2 {dims = [6, 5], axes = [0]}\n"
	  "  %5 = mul %3, %4\n"
	  "  %6 = sin %3\n"
	  "  return %5, %6\n"
	  "}\n",
	  0, 0, { 0 } },
	{ "steps that a thread runs alone",
	  "hop 1\n"
	  "graph @f(%0: f64[40], %1: f64[40], %2: f64, %3: f64[7]) {\n"
	  "  %4, %5, %6 = map %0, %1, %2, %3 {nx = 2, length = 40} {\n"
	  "    body(%0: f64, %1: f64, %2: f64, %3: f64[7]) {\n"
	  "      %4, %5, %6 = scan %0, %1, %3, %2 {ncarry = 2, nx = 1, length = 7} {\n"
	  "        body(%0: f64, %1: f64, %2: f64, %3: f64) {\n"
	  "          %4 = sin %0\n"
	  "          %5 = mul %4, %3\n"
	  "          %6 = sub %1, %5\n"
	  "          %7 = add %0, %2\n"
	  "          return %7, %6, %5\n"
	  "        }\n"
	  "      }\n"
	  "      return %4, %5, %6\n"
	  "    }\n"
	  "  }\n"
	  "  return %4, %5, %6\n"
	  "}\n",
	  0, 2, { 0 } },
	{ "steps in steps, and none of them",
	  "hop 1\n"
	  "graph @f(%0: i64[40], %1: f64[40]) {\n"
	  "  %2, %3 = map %0, %1 {nx = 2, length = 40} {\n"
	  "    body(%0: i64, %1: f64) {\n"
	  "      %2 = constant {value = i64 0}\n"
	  "      %3, %4, %5 = while %2, %1, %0, %1 {ncarry = 2, max_trips = 0} {\n"
	  "        test(%0: i64, %1: f64, %2: i64, %3: f64) {\n"
	  "          %4 = lt %0, %2\n"
	  "          return %4\n"
	  "        }\n"
	  "        body(%0: i64, %1: f64, %2: i64, %3: f64) {\n"
	  "          %4 = constant {value = i64 1}\n"
	  "          %5 = add %0, %4\n"
	  "          %6 = scan %1, %3 {ncarry = 1, nx = 0, length = 3} {\n"
	  "            body(%0: f64, %1: f64) {\n"
	  "              %2 = mul %0, %1\n"
	  "              %3 = cos %2\n"
	  "              return %3\n"
	  "            }\n"
	  "          }\n"
	  "          return %5, %6\n"
	  "        }\n"
	  "      }\n"
	  "      return %4, %5\n"
	  "    }\n"
	  "  }\n"
	  "  return %2, %3\n"
	  "}\n",
	  0, 2, { 0 } },
	{ "a lane a thread",
	  "hop 1\n"
	  "graph @f(%0: f64[40], %1: f64[40], %2: f64[7, 40], %3: f64[40]) {\n"
	  "  %4, %5, %6 = scan %0, %1, %2, %3 {ncarry = 2, nx = 1, length = 7} {\n"
	  "    body(%0: f64[40], %1: f64[40], %2: f64[40], %3: f64[40]) {\n"
	  "      %4 = sin %0\n"
	  "      %5 = mul %4, %3\n"
	  "      %6 = sub %1, %5\n"
	  "      %7 = add %0, %2\n"
	  "      return %7, %6, %5\n"
	  "    }\n"
	  "  }\n"
	  "  return %4, %5, %6\n"
	  "}\n",
	  0, 3, { 0 } },
	{ "along",
	  "hop 1\n"
	  "graph @f(%0: f32[40, 70]) {\n"
	  "  %1 = exp %0\n"
	  "  return %1\n"
	  "}\n",
	  0, 0, { 0 } },
};

#endif
