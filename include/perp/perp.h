/// perp/perp.h - all public headers, in the order of the data flow.

#ifndef PERP_PERP_H
#define PERP_PERP_H

#include "perp/base.h"
#include "perp/ranks.h"
#include "perp/lcp.h"
#include "perp/mcp.h"
#include "perp/friction.h"
#include "perp/pile.h"
#include "perp/petsc.h"
#include "perp/fclib.h"
#include "perp/impact.h"
#include "perp/shapes.h"
#include "perp/bodies.h"
#include "perp/joints.h"
#include "perp/bodies_batch.h"
#include "perp/robots.h"
#include "perp/trajectory.h"
#include "perp/model.h"
#include "perp/outline.h"
#include "perp/simulate.h"
#include "perp/batch.h"
#include "perp/plan.h"
#include "perp/program.h"
#include "perp/identify.h"
#include "perp/sweep.h"
#include "perp/report.h"
#include "perp/export.h"

#endif
