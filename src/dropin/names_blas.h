/* names_blas.h - lists the names of BLAS, CBLAS and FFTW routines whose arguments the stubs do not read. */
#ifndef BP_DROPIN_NAMES_BLAS_H
#define BP_DROPIN_NAMES_BLAS_H

/* clang-format off */
#define BP__DROPIN_BLAS_OTHERS(X) \
    X(caxpy) X(ccopy) X(cdotc) X(cdotu) X(cgbmv) X(cgerc) X(cgeru) X(chbmv) X(chemm) X(chemv) X(cher2) X(cher2k) X(cher)       \
    X(cherk) X(chpmv) X(chpr2) X(chpr) X(crotg) X(cscal) X(csrot) X(csscal) X(cswap) X(csymm) X(csyr2k) X(csyrk) X(ctbmv)      \
    X(ctbsv) X(ctpmv) X(ctpsv) X(ctrmm) X(ctrmv) X(ctrsm) X(ctrsv) X(dasum) X(daxpy) X(dcabs1) X(dcopy) X(ddot) X(dgbmv)       \
    X(dger) X(dnrm2) X(drot) X(drotg) X(drotm) X(drotmg) X(dsbmv) X(dscal) X(dsdot) X(dspmv) X(dspr2) X(dspr) X(dswap)         \
    X(dsymm) X(dsymv) X(dsyr2) X(dsyr2k) X(dsyr) X(dsyrk) X(dtbmv) X(dtbsv) X(dtpmv) X(dtpsv) X(dtrmm) X(dtrmv) X(dtrsm)       \
    X(dtrsv) X(dzasum) X(dznrm2) X(icamax) X(idamax) X(isamax) X(izamax) X(sasum) X(saxpy) X(scabs1) X(scasum) X(scnrm2)       \
    X(scopy) X(sdot) X(sdsdot) X(sgbmv) X(sger) X(snrm2) X(srot) X(srotg) X(srotm) X(srotmg) X(ssbmv) X(sscal) X(sspmv)        \
    X(sspr2) X(sspr) X(sswap) X(ssymm) X(ssymv) X(ssyr2) X(ssyr2k) X(ssyr) X(ssyrk) X(stbmv) X(stbsv) X(stpmv) X(stpsv)        \
    X(strmm) X(strmv) X(strsm) X(strsv) X(zaxpy) X(zcopy) X(zdotc) X(zdotu) X(zdrot) X(zdscal) X(zgbmv) X(zgerc) X(zgeru)      \
    X(zhbmv) X(zhemm) X(zhemv) X(zher2) X(zher2k) X(zher) X(zherk) X(zhpmv) X(zhpr2) X(zhpr) X(zrotg) X(zscal) X(zswap)        \
    X(zsymm) X(zsyr2k) X(zsyrk) X(ztbmv) X(ztbsv) X(ztpmv) X(ztpsv) X(ztrmm) X(ztrmv) X(ztrsm) X(ztrsv)

#define BP__DROPIN_CBLAS_OTHERS(X) \
    X(cblas_caxpy) X(cblas_ccopy) X(cblas_cdotc_sub) X(cblas_cdotu_sub) X(cblas_cgbmv) X(cblas_cgerc) X(cblas_cgeru)           \
    X(cblas_chbmv) X(cblas_chemm) X(cblas_chemv) X(cblas_cher) X(cblas_cher2) X(cblas_cher2k) X(cblas_cherk) X(cblas_chpmv)    \
    X(cblas_chpr) X(cblas_chpr2) X(cblas_crotg) X(cblas_cscal) X(cblas_csrot) X(cblas_csscal) X(cblas_cswap) X(cblas_csymm)    \
    X(cblas_csyr2k) X(cblas_csyrk) X(cblas_ctbmv) X(cblas_ctbsv) X(cblas_ctpmv) X(cblas_ctpsv) X(cblas_ctrmm) X(cblas_ctrmv)   \
    X(cblas_ctrsm) X(cblas_ctrsv) X(cblas_dasum) X(cblas_daxpy) X(cblas_dcabs1) X(cblas_dcopy) X(cblas_ddot) X(cblas_dgbmv)    \
    X(cblas_dger) X(cblas_dnrm2) X(cblas_drot) X(cblas_drotg) X(cblas_drotm) X(cblas_drotmg) X(cblas_dsbmv) X(cblas_dscal)     \
    X(cblas_dsdot) X(cblas_dspmv) X(cblas_dspr) X(cblas_dspr2) X(cblas_dswap) X(cblas_dsymm) X(cblas_dsymv) X(cblas_dsyr)      \
    X(cblas_dsyr2) X(cblas_dsyr2k) X(cblas_dsyrk) X(cblas_dtbmv) X(cblas_dtbsv) X(cblas_dtpmv) X(cblas_dtpsv) X(cblas_dtrmm)   \
    X(cblas_dtrmv) X(cblas_dtrsm) X(cblas_dtrsv) X(cblas_dzasum) X(cblas_dznrm2) X(cblas_icamax) X(cblas_idamax)               \
    X(cblas_isamax) X(cblas_izamax) X(cblas_sasum) X(cblas_saxpy) X(cblas_scabs1) X(cblas_scasum) X(cblas_scnrm2)              \
    X(cblas_scopy) X(cblas_sdot) X(cblas_sdsdot) X(cblas_sgbmv) X(cblas_sger) X(cblas_snrm2) X(cblas_srot) X(cblas_srotg)      \
    X(cblas_srotm) X(cblas_srotmg) X(cblas_ssbmv) X(cblas_sscal) X(cblas_sspmv) X(cblas_sspr) X(cblas_sspr2) X(cblas_sswap)    \
    X(cblas_ssymm) X(cblas_ssymv) X(cblas_ssyr) X(cblas_ssyr2) X(cblas_ssyr2k) X(cblas_ssyrk) X(cblas_stbmv) X(cblas_stbsv)    \
    X(cblas_stpmv) X(cblas_stpsv) X(cblas_strmm) X(cblas_strmv) X(cblas_strsm) X(cblas_strsv) X(cblas_zaxpy) X(cblas_zcopy)    \
    X(cblas_zdotc_sub) X(cblas_zdotu_sub) X(cblas_zdrot) X(cblas_zdscal) X(cblas_zgbmv) X(cblas_zgerc) X(cblas_zgeru)          \
    X(cblas_zhbmv) X(cblas_zhemm) X(cblas_zhemv) X(cblas_zher) X(cblas_zher2) X(cblas_zher2k) X(cblas_zherk) X(cblas_zhpmv)    \
    X(cblas_zhpr) X(cblas_zhpr2) X(cblas_zrotg) X(cblas_zscal) X(cblas_zswap) X(cblas_zsymm) X(cblas_zsyr2k) X(cblas_zsyrk)    \
    X(cblas_ztbmv) X(cblas_ztbsv) X(cblas_ztpmv) X(cblas_ztpsv) X(cblas_ztrmm) X(cblas_ztrmv) X(cblas_ztrsm) X(cblas_ztrsv)

#define BP__DROPIN_FFTW_NAMES(X, p) \
    X(p##execute) X(p##plan_dft) X(p##plan_dft_1d) X(p##plan_dft_2d) X(p##plan_dft_3d) X(p##plan_many_dft) X(p##plan_guru_dft) \
    X(p##plan_guru_split_dft) X(p##plan_guru64_dft) X(p##plan_guru64_split_dft) X(p##execute_dft) X(p##execute_split_dft)      \
    X(p##plan_many_dft_r2c) X(p##plan_dft_r2c) X(p##plan_dft_r2c_1d) X(p##plan_dft_r2c_2d) X(p##plan_dft_r2c_3d)               \
    X(p##plan_many_dft_c2r) X(p##plan_dft_c2r) X(p##plan_dft_c2r_1d) X(p##plan_dft_c2r_2d) X(p##plan_dft_c2r_3d)               \
    X(p##plan_guru_dft_r2c) X(p##plan_guru_dft_c2r) X(p##plan_guru_split_dft_r2c) X(p##plan_guru_split_dft_c2r)                \
    X(p##plan_guru64_dft_r2c) X(p##plan_guru64_dft_c2r) X(p##plan_guru64_split_dft_r2c) X(p##plan_guru64_split_dft_c2r)        \
    X(p##execute_dft_r2c) X(p##execute_dft_c2r) X(p##execute_split_dft_r2c) X(p##execute_split_dft_c2r) X(p##plan_many_r2r)    \
    X(p##plan_r2r) X(p##plan_r2r_1d) X(p##plan_r2r_2d) X(p##plan_r2r_3d) X(p##plan_guru_r2r) X(p##plan_guru64_r2r)             \
    X(p##execute_r2r) X(p##destroy_plan) X(p##forget_wisdom) X(p##cleanup) X(p##set_timelimit) X(p##plan_with_nthreads)        \
    X(p##planner_nthreads) X(p##init_threads) X(p##cleanup_threads) X(p##threads_set_callback) X(p##make_planner_thread_safe)  \
    X(p##export_wisdom_to_filename) X(p##export_wisdom_to_file) X(p##export_wisdom_to_string) X(p##export_wisdom)              \
    X(p##import_system_wisdom) X(p##import_wisdom_from_filename) X(p##import_wisdom_from_file) X(p##import_wisdom_from_string) \
    X(p##import_wisdom) X(p##fprint_plan) X(p##print_plan) X(p##sprint_plan) X(p##malloc) X(p##alloc_real) X(p##alloc_complex) \
    X(p##free) X(p##flops) X(p##estimate_cost) X(p##cost) X(p##alignment_of)

/* Of the legacy Fortran interface of FFTW, without the underscore at the end. */
#define BP__DROPIN_FFTW_FORTRAN_NAMES(X, p) \
    X(p##execute) X(p##plan_dft) X(p##plan_dft_1d) X(p##plan_dft_2d) X(p##plan_dft_3d) X(p##plan_many_dft) X(p##plan_guru_dft) \
    X(p##plan_guru_split_dft) X(p##execute_dft) X(p##execute_split_dft) X(p##plan_many_dft_r2c) X(p##plan_dft_r2c)             \
    X(p##plan_dft_r2c_1d) X(p##plan_dft_r2c_2d) X(p##plan_dft_r2c_3d) X(p##plan_many_dft_c2r) X(p##plan_dft_c2r)               \
    X(p##plan_dft_c2r_1d) X(p##plan_dft_c2r_2d) X(p##plan_dft_c2r_3d) X(p##plan_guru_dft_r2c) X(p##plan_guru_dft_c2r)          \
    X(p##plan_guru_split_dft_r2c) X(p##plan_guru_split_dft_c2r) X(p##execute_dft_r2c) X(p##execute_dft_c2r)                    \
    X(p##execute_split_dft_r2c) X(p##execute_split_dft_c2r) X(p##plan_many_r2r) X(p##plan_r2r) X(p##plan_r2r_1d)               \
    X(p##plan_r2r_2d) X(p##plan_r2r_3d) X(p##plan_guru_r2r) X(p##execute_r2r) X(p##destroy_plan) X(p##forget_wisdom)           \
    X(p##cleanup) X(p##set_timelimit) X(p##plan_with_nthreads) X(p##planner_nthreads) X(p##init_threads) X(p##cleanup_threads) \
    X(p##export_wisdom) X(p##import_system_wisdom) X(p##import_wisdom) X(p##print_plan) X(p##flops) X(p##estimate_cost)        \
    X(p##cost)
/* clang-format on */

#endif
