// DIECAST_ISA names the inline namespace of code that depends on the instruction set that a unit is compiled for, so that objects
// compiled for different sets cannot mix: the linker keeps one of several equal inline functions, and it might be one that this machine
// cannot run. It exists between this header and isa_end.hpp only, so that no macro is left behind: both are included anew by every such
// header, hence no #pragma once.
#ifdef DIECAST_ISA
#error "diecast/isa_begin.hpp is included twice: isa_end.hpp is missing, or a header is included between the two"
#endif
// Up to the first _ stands the set whose kernels are used (`diecast::isa`); what follows is what the compiler may use of its own accord.
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__) && defined(__AVX512VNNI__) && defined(__AMX_INT8__)
#define DIECAST_ISA avx512_with_amx
#elif defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__) && defined(__AVX512VNNI__)
#define DIECAST_ISA avx512
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__) && defined(__AVX512F__)
#define DIECAST_ISA avx2_with_avx512f
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define DIECAST_ISA avx2
#elif defined(__ARM_FEATURE_DOTPROD) && defined(__ARM_FEATURE_SVE)
#define DIECAST_ISA dotprod_with_sve
#elif defined(__ARM_FEATURE_DOTPROD)
#define DIECAST_ISA dotprod
#elif defined(__aarch64__) && defined(__ARM_NEON)
#define DIECAST_ISA neon
#elif defined(__AVX__)
#define DIECAST_ISA portable_with_avx
#elif defined(__SSE4_1__)
#define DIECAST_ISA portable_with_sse4
#else
#define DIECAST_ISA portable
#endif
