// The only place that includes Eigen. Eigen must not start threads of its own: ours share the work in pieces of fixed size.
#pragma once

#include <Eigen/Core>
