#ifndef CFIRN_H
#define CFIRN_H
#include "firn_crc32c.h"
#include "firn_system.h"
#include "firn_layout.h"
#include "firn_core.h"
#include "firn_mapping.h"
#include "firn_scratch.h"
#include "firn_secrets.h"
#include "firn_kernels.h"
#include "firn_math.h"
#include "firn_images.h"
#include "firn_executor.h"
#include "firn_accessor.h"
#endif
