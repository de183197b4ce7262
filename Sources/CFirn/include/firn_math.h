#ifndef FIRN_MATH_H
#define FIRN_MATH_H

#include <math.h>

// Trigonometry. Foundation has it, too, but would bring 40 MB of libraries into programs that need nothing else from
// it, such as the `firn` command.

static inline double firn_sin(double radians) { return sin(radians); }
static inline double firn_cos(double radians) { return cos(radians); }
static inline double firn_asin(double sine) { return asin(sine); }
static inline double firn_atan2(double y, double x) { return atan2(y, x); }

#endif
