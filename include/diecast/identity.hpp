// What makes two engines the same: digests of weights, tokenizer, template and generation defaults. This part brings OpenSSL.
#pragma once

#include <diecast/identity/identity.hpp>
