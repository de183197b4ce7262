#include "CFirn.h"
