// The reference: steps 3-5 in Eigen, written to be read. This part brings Eigen.
#pragma once

#include <diecast/reference/load.hpp>
#include <diecast/reference/reference.hpp>
