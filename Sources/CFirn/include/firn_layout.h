#ifndef FIRN_LAYOUT_H
#define FIRN_LAYOUT_H
#endif
