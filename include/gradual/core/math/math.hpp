#pragma once
// All elementary functions: the same bits in constant evaluation, scalar code, vectorised loops and device code.

#include <gradual/core/math/arithmetic.hpp>
#include <gradual/core/math/atan2.hpp>
#include <gradual/core/math/bits.hpp>
#include <gradual/core/math/cos.hpp>
#include <gradual/core/math/digamma.hpp>
#include <gradual/core/math/erf.hpp>
#include <gradual/core/math/erfcx.hpp>
#include <gradual/core/math/exp.hpp>
#include <gradual/core/math/expm1.hpp>
#include <gradual/core/math/floor.hpp>
#include <gradual/core/math/flush_subnormal.hpp>
#include <gradual/core/math/fma.hpp>
#include <gradual/core/math/lgamma.hpp>
#include <gradual/core/math/log.hpp>
#include <gradual/core/math/log1p.hpp>
#include <gradual/core/math/pow.hpp>
#include <gradual/core/math/quotient.hpp>
#include <gradual/core/math/round.hpp>
#include <gradual/core/math/sigmoid.hpp>
#include <gradual/core/math/sin.hpp>
#include <gradual/core/math/softplus.hpp>
#include <gradual/core/math/sqrt.hpp>
#include <gradual/core/math/tanh.hpp>
