#ifndef FIRN_KERNELS_H
#define FIRN_KERNELS_H
#endif
