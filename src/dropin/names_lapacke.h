/* names_lapacke.h - lists the names of LAPACK's C interface. */
#ifndef BP_DROPIN_NAMES_LAPACKE_H
#define BP_DROPIN_NAMES_LAPACKE_H

/* clang-format off */
#define BP__DROPIN_LAPACKE_NAMES(X) \
    X(LAPACKE_c_nancheck) X(LAPACKE_cbbcsd) X(LAPACKE_cbbcsd_work) X(LAPACKE_cbdsqr) X(LAPACKE_cbdsqr_work)                    \
    X(LAPACKE_cgb_nancheck) X(LAPACKE_cgb_trans) X(LAPACKE_cgbbrd) X(LAPACKE_cgbbrd_work) X(LAPACKE_cgbcon)                    \
    X(LAPACKE_cgbcon_work) X(LAPACKE_cgbequ) X(LAPACKE_cgbequ_work) X(LAPACKE_cgbequb) X(LAPACKE_cgbequb_work)                 \
    X(LAPACKE_cgbrfs) X(LAPACKE_cgbrfs_work) X(LAPACKE_cgbsv) X(LAPACKE_cgbsv_work) X(LAPACKE_cgbsvx) X(LAPACKE_cgbsvx_work)   \
    X(LAPACKE_cgbtrf) X(LAPACKE_cgbtrf_work) X(LAPACKE_cgbtrs) X(LAPACKE_cgbtrs_work) X(LAPACKE_cge_nancheck)                  \
    X(LAPACKE_cge_trans) X(LAPACKE_cgebak) X(LAPACKE_cgebak_work) X(LAPACKE_cgebal) X(LAPACKE_cgebal_work) X(LAPACKE_cgebrd)   \
    X(LAPACKE_cgebrd_work) X(LAPACKE_cgecon) X(LAPACKE_cgecon_work) X(LAPACKE_cgeequ) X(LAPACKE_cgeequ_work)                   \
    X(LAPACKE_cgeequb) X(LAPACKE_cgeequb_work) X(LAPACKE_cgees) X(LAPACKE_cgees_work) X(LAPACKE_cgeesx) X(LAPACKE_cgeesx_work) \
    X(LAPACKE_cgeev) X(LAPACKE_cgeev_work) X(LAPACKE_cgeevx) X(LAPACKE_cgeevx_work) X(LAPACKE_cgehrd) X(LAPACKE_cgehrd_work)   \
    X(LAPACKE_cgejsv) X(LAPACKE_cgejsv_work) X(LAPACKE_cgelq) X(LAPACKE_cgelq2) X(LAPACKE_cgelq2_work) X(LAPACKE_cgelq_work)   \
    X(LAPACKE_cgelqf) X(LAPACKE_cgelqf_work) X(LAPACKE_cgels) X(LAPACKE_cgels_work) X(LAPACKE_cgelsd) X(LAPACKE_cgelsd_work)   \
    X(LAPACKE_cgelss) X(LAPACKE_cgelss_work) X(LAPACKE_cgelsy) X(LAPACKE_cgelsy_work) X(LAPACKE_cgemlq) X(LAPACKE_cgemlq_work) \
    X(LAPACKE_cgemqr) X(LAPACKE_cgemqr_work) X(LAPACKE_cgemqrt) X(LAPACKE_cgemqrt_work) X(LAPACKE_cgeqlf)                      \
    X(LAPACKE_cgeqlf_work) X(LAPACKE_cgeqp3) X(LAPACKE_cgeqp3_work) X(LAPACKE_cgeqpf) X(LAPACKE_cgeqpf_work) X(LAPACKE_cgeqr)  \
    X(LAPACKE_cgeqr2) X(LAPACKE_cgeqr2_work) X(LAPACKE_cgeqr_work) X(LAPACKE_cgeqrf) X(LAPACKE_cgeqrf_work) X(LAPACKE_cgeqrfp) \
    X(LAPACKE_cgeqrfp_work) X(LAPACKE_cgeqrt) X(LAPACKE_cgeqrt2) X(LAPACKE_cgeqrt2_work) X(LAPACKE_cgeqrt3)                    \
    X(LAPACKE_cgeqrt3_work) X(LAPACKE_cgeqrt_work) X(LAPACKE_cgerfs) X(LAPACKE_cgerfs_work) X(LAPACKE_cgerqf)                  \
    X(LAPACKE_cgerqf_work) X(LAPACKE_cgesdd) X(LAPACKE_cgesdd_work) X(LAPACKE_cgesv) X(LAPACKE_cgesv_work) X(LAPACKE_cgesvd)   \
    X(LAPACKE_cgesvd_work) X(LAPACKE_cgesvdq) X(LAPACKE_cgesvdq_work) X(LAPACKE_cgesvdx) X(LAPACKE_cgesvdx_work)               \
    X(LAPACKE_cgesvj) X(LAPACKE_cgesvj_work) X(LAPACKE_cgesvx) X(LAPACKE_cgesvx_work) X(LAPACKE_cgetf2) X(LAPACKE_cgetf2_work) \
    X(LAPACKE_cgetrf) X(LAPACKE_cgetrf2) X(LAPACKE_cgetrf2_work) X(LAPACKE_cgetrf_work) X(LAPACKE_cgetri)                      \
    X(LAPACKE_cgetri_work) X(LAPACKE_cgetrs) X(LAPACKE_cgetrs_work) X(LAPACKE_cgetsls) X(LAPACKE_cgetsls_work)                 \
    X(LAPACKE_cgetsqrhrt) X(LAPACKE_cgetsqrhrt_work) X(LAPACKE_cgg_nancheck) X(LAPACKE_cgg_trans) X(LAPACKE_cggbak)            \
    X(LAPACKE_cggbak_work) X(LAPACKE_cggbal) X(LAPACKE_cggbal_work) X(LAPACKE_cgges) X(LAPACKE_cgges3) X(LAPACKE_cgges3_work)  \
    X(LAPACKE_cgges_work) X(LAPACKE_cggesx) X(LAPACKE_cggesx_work) X(LAPACKE_cggev) X(LAPACKE_cggev3) X(LAPACKE_cggev3_work)   \
    X(LAPACKE_cggev_work) X(LAPACKE_cggevx) X(LAPACKE_cggevx_work) X(LAPACKE_cggglm) X(LAPACKE_cggglm_work) X(LAPACKE_cgghd3)  \
    X(LAPACKE_cgghd3_work) X(LAPACKE_cgghrd) X(LAPACKE_cgghrd_work) X(LAPACKE_cgglse) X(LAPACKE_cgglse_work) X(LAPACKE_cggqrf) \
    X(LAPACKE_cggqrf_work) X(LAPACKE_cggrqf) X(LAPACKE_cggrqf_work) X(LAPACKE_cggsvd) X(LAPACKE_cggsvd3)                       \
    X(LAPACKE_cggsvd3_work) X(LAPACKE_cggsvd_work) X(LAPACKE_cggsvp) X(LAPACKE_cggsvp3) X(LAPACKE_cggsvp3_work)                \
    X(LAPACKE_cggsvp_work) X(LAPACKE_cgt_nancheck) X(LAPACKE_cgtcon) X(LAPACKE_cgtcon_work) X(LAPACKE_cgtrfs)                  \
    X(LAPACKE_cgtrfs_work) X(LAPACKE_cgtsv) X(LAPACKE_cgtsv_work) X(LAPACKE_cgtsvx) X(LAPACKE_cgtsvx_work) X(LAPACKE_cgttrf)   \
    X(LAPACKE_cgttrf_work) X(LAPACKE_cgttrs) X(LAPACKE_cgttrs_work) X(LAPACKE_chb_nancheck) X(LAPACKE_chb_trans)               \
    X(LAPACKE_chbev) X(LAPACKE_chbev_2stage) X(LAPACKE_chbev_2stage_work) X(LAPACKE_chbev_work) X(LAPACKE_chbevd)              \
    X(LAPACKE_chbevd_2stage) X(LAPACKE_chbevd_2stage_work) X(LAPACKE_chbevd_work) X(LAPACKE_chbevx) X(LAPACKE_chbevx_2stage)   \
    X(LAPACKE_chbevx_2stage_work) X(LAPACKE_chbevx_work) X(LAPACKE_chbgst) X(LAPACKE_chbgst_work) X(LAPACKE_chbgv)             \
    X(LAPACKE_chbgv_work) X(LAPACKE_chbgvd) X(LAPACKE_chbgvd_work) X(LAPACKE_chbgvx) X(LAPACKE_chbgvx_work) X(LAPACKE_chbtrd)  \
    X(LAPACKE_chbtrd_work) X(LAPACKE_che_nancheck) X(LAPACKE_che_trans) X(LAPACKE_checon) X(LAPACKE_checon_3)                  \
    X(LAPACKE_checon_3_work) X(LAPACKE_checon_work) X(LAPACKE_cheequb) X(LAPACKE_cheequb_work) X(LAPACKE_cheev)                \
    X(LAPACKE_cheev_2stage) X(LAPACKE_cheev_2stage_work) X(LAPACKE_cheev_work) X(LAPACKE_cheevd) X(LAPACKE_cheevd_2stage)      \
    X(LAPACKE_cheevd_2stage_work) X(LAPACKE_cheevd_work) X(LAPACKE_cheevr) X(LAPACKE_cheevr_2stage)                            \
    X(LAPACKE_cheevr_2stage_work) X(LAPACKE_cheevr_work) X(LAPACKE_cheevx) X(LAPACKE_cheevx_2stage)                            \
    X(LAPACKE_cheevx_2stage_work) X(LAPACKE_cheevx_work) X(LAPACKE_chegst) X(LAPACKE_chegst_work) X(LAPACKE_chegv)             \
    X(LAPACKE_chegv_2stage) X(LAPACKE_chegv_2stage_work) X(LAPACKE_chegv_work) X(LAPACKE_chegvd) X(LAPACKE_chegvd_work)        \
    X(LAPACKE_chegvx) X(LAPACKE_chegvx_work) X(LAPACKE_cherfs) X(LAPACKE_cherfs_work) X(LAPACKE_chesv) X(LAPACKE_chesv_aa)     \
    X(LAPACKE_chesv_aa_2stage) X(LAPACKE_chesv_aa_2stage_work) X(LAPACKE_chesv_aa_work) X(LAPACKE_chesv_rk)                    \
    X(LAPACKE_chesv_rk_work) X(LAPACKE_chesv_work) X(LAPACKE_chesvx) X(LAPACKE_chesvx_work) X(LAPACKE_cheswapr)                \
    X(LAPACKE_cheswapr_work) X(LAPACKE_chetrd) X(LAPACKE_chetrd_work) X(LAPACKE_chetrf) X(LAPACKE_chetrf_aa)                   \
    X(LAPACKE_chetrf_aa_2stage) X(LAPACKE_chetrf_aa_2stage_work) X(LAPACKE_chetrf_aa_work) X(LAPACKE_chetrf_rk)                \
    X(LAPACKE_chetrf_rk_work) X(LAPACKE_chetrf_rook) X(LAPACKE_chetrf_rook_work) X(LAPACKE_chetrf_work) X(LAPACKE_chetri)      \
    X(LAPACKE_chetri2) X(LAPACKE_chetri2_work) X(LAPACKE_chetri2x) X(LAPACKE_chetri2x_work) X(LAPACKE_chetri_3)                \
    X(LAPACKE_chetri_3_work) X(LAPACKE_chetri_work) X(LAPACKE_chetrs) X(LAPACKE_chetrs2) X(LAPACKE_chetrs2_work)               \
    X(LAPACKE_chetrs_3) X(LAPACKE_chetrs_3_work) X(LAPACKE_chetrs_aa) X(LAPACKE_chetrs_aa_2stage)                              \
    X(LAPACKE_chetrs_aa_2stage_work) X(LAPACKE_chetrs_aa_work) X(LAPACKE_chetrs_rook) X(LAPACKE_chetrs_rook_work)              \
    X(LAPACKE_chetrs_work) X(LAPACKE_chfrk) X(LAPACKE_chfrk_work) X(LAPACKE_chgeqz) X(LAPACKE_chgeqz_work)                     \
    X(LAPACKE_chp_nancheck) X(LAPACKE_chp_trans) X(LAPACKE_chpcon) X(LAPACKE_chpcon_work) X(LAPACKE_chpev)                     \
    X(LAPACKE_chpev_work) X(LAPACKE_chpevd) X(LAPACKE_chpevd_work) X(LAPACKE_chpevx) X(LAPACKE_chpevx_work) X(LAPACKE_chpgst)  \
    X(LAPACKE_chpgst_work) X(LAPACKE_chpgv) X(LAPACKE_chpgv_work) X(LAPACKE_chpgvd) X(LAPACKE_chpgvd_work) X(LAPACKE_chpgvx)   \
    X(LAPACKE_chpgvx_work) X(LAPACKE_chprfs) X(LAPACKE_chprfs_work) X(LAPACKE_chpsv) X(LAPACKE_chpsv_work) X(LAPACKE_chpsvx)   \
    X(LAPACKE_chpsvx_work) X(LAPACKE_chptrd) X(LAPACKE_chptrd_work) X(LAPACKE_chptrf) X(LAPACKE_chptrf_work) X(LAPACKE_chptri) \
    X(LAPACKE_chptri_work) X(LAPACKE_chptrs) X(LAPACKE_chptrs_work) X(LAPACKE_chs_nancheck) X(LAPACKE_chs_trans)               \
    X(LAPACKE_chsein) X(LAPACKE_chsein_work) X(LAPACKE_chseqr) X(LAPACKE_chseqr_work) X(LAPACKE_clacgv) X(LAPACKE_clacgv_work) \
    X(LAPACKE_clacn2) X(LAPACKE_clacn2_work) X(LAPACKE_clacp2) X(LAPACKE_clacp2_work) X(LAPACKE_clacpy) X(LAPACKE_clacpy_work) \
    X(LAPACKE_clacrm) X(LAPACKE_clacrm_work) X(LAPACKE_clag2z) X(LAPACKE_clag2z_work) X(LAPACKE_clagge) X(LAPACKE_clagge_work) \
    X(LAPACKE_claghe) X(LAPACKE_claghe_work) X(LAPACKE_clagsy) X(LAPACKE_clagsy_work) X(LAPACKE_clangb) X(LAPACKE_clangb_work) \
    X(LAPACKE_clange) X(LAPACKE_clange_work) X(LAPACKE_clanhe) X(LAPACKE_clanhe_work) X(LAPACKE_clansy) X(LAPACKE_clansy_work) \
    X(LAPACKE_clantr) X(LAPACKE_clantr_work) X(LAPACKE_clapmr) X(LAPACKE_clapmr_work) X(LAPACKE_clapmt) X(LAPACKE_clapmt_work) \
    X(LAPACKE_clarcm) X(LAPACKE_clarcm_work) X(LAPACKE_clarfb) X(LAPACKE_clarfb_work) X(LAPACKE_clarfg) X(LAPACKE_clarfg_work) \
    X(LAPACKE_clarft) X(LAPACKE_clarft_work) X(LAPACKE_clarfx) X(LAPACKE_clarfx_work) X(LAPACKE_clarnv) X(LAPACKE_clarnv_work) \
    X(LAPACKE_clascl) X(LAPACKE_clascl_work) X(LAPACKE_claset) X(LAPACKE_claset_work) X(LAPACKE_classq) X(LAPACKE_classq_work) \
    X(LAPACKE_claswp) X(LAPACKE_claswp_work) X(LAPACKE_clatms) X(LAPACKE_clatms_work) X(LAPACKE_clauum) X(LAPACKE_clauum_work) \
    X(LAPACKE_cpb_nancheck) X(LAPACKE_cpb_trans) X(LAPACKE_cpbcon) X(LAPACKE_cpbcon_work) X(LAPACKE_cpbequ)                    \
    X(LAPACKE_cpbequ_work) X(LAPACKE_cpbrfs) X(LAPACKE_cpbrfs_work) X(LAPACKE_cpbstf) X(LAPACKE_cpbstf_work) X(LAPACKE_cpbsv)  \
    X(LAPACKE_cpbsv_work) X(LAPACKE_cpbsvx) X(LAPACKE_cpbsvx_work) X(LAPACKE_cpbtrf) X(LAPACKE_cpbtrf_work) X(LAPACKE_cpbtrs)  \
    X(LAPACKE_cpbtrs_work) X(LAPACKE_cpf_nancheck) X(LAPACKE_cpf_trans) X(LAPACKE_cpftrf) X(LAPACKE_cpftrf_work)               \
    X(LAPACKE_cpftri) X(LAPACKE_cpftri_work) X(LAPACKE_cpftrs) X(LAPACKE_cpftrs_work) X(LAPACKE_cpo_nancheck)                  \
    X(LAPACKE_cpo_trans) X(LAPACKE_cpocon) X(LAPACKE_cpocon_work) X(LAPACKE_cpoequ) X(LAPACKE_cpoequ_work) X(LAPACKE_cpoequb)  \
    X(LAPACKE_cpoequb_work) X(LAPACKE_cporfs) X(LAPACKE_cporfs_work) X(LAPACKE_cposv) X(LAPACKE_cposv_work) X(LAPACKE_cposvx)  \
    X(LAPACKE_cposvx_work) X(LAPACKE_cpotrf) X(LAPACKE_cpotrf2) X(LAPACKE_cpotrf2_work) X(LAPACKE_cpotrf_work)                 \
    X(LAPACKE_cpotri) X(LAPACKE_cpotri_work) X(LAPACKE_cpotrs) X(LAPACKE_cpotrs_work) X(LAPACKE_cpp_nancheck)                  \
    X(LAPACKE_cpp_trans) X(LAPACKE_cppcon) X(LAPACKE_cppcon_work) X(LAPACKE_cppequ) X(LAPACKE_cppequ_work) X(LAPACKE_cpprfs)   \
    X(LAPACKE_cpprfs_work) X(LAPACKE_cppsv) X(LAPACKE_cppsv_work) X(LAPACKE_cppsvx) X(LAPACKE_cppsvx_work) X(LAPACKE_cpptrf)   \
    X(LAPACKE_cpptrf_work) X(LAPACKE_cpptri) X(LAPACKE_cpptri_work) X(LAPACKE_cpptrs) X(LAPACKE_cpptrs_work) X(LAPACKE_cpstrf) \
    X(LAPACKE_cpstrf_work) X(LAPACKE_cpt_nancheck) X(LAPACKE_cptcon) X(LAPACKE_cptcon_work) X(LAPACKE_cpteqr)                  \
    X(LAPACKE_cpteqr_work) X(LAPACKE_cptrfs) X(LAPACKE_cptrfs_work) X(LAPACKE_cptsv) X(LAPACKE_cptsv_work) X(LAPACKE_cptsvx)   \
    X(LAPACKE_cptsvx_work) X(LAPACKE_cpttrf) X(LAPACKE_cpttrf_work) X(LAPACKE_cpttrs) X(LAPACKE_cpttrs_work)                   \
    X(LAPACKE_csp_nancheck) X(LAPACKE_csp_trans) X(LAPACKE_cspcon) X(LAPACKE_cspcon_work) X(LAPACKE_csprfs)                    \
    X(LAPACKE_csprfs_work) X(LAPACKE_cspsv) X(LAPACKE_cspsv_work) X(LAPACKE_cspsvx) X(LAPACKE_cspsvx_work) X(LAPACKE_csptrf)   \
    X(LAPACKE_csptrf_work) X(LAPACKE_csptri) X(LAPACKE_csptri_work) X(LAPACKE_csptrs) X(LAPACKE_csptrs_work)                   \
    X(LAPACKE_cst_nancheck) X(LAPACKE_cstedc) X(LAPACKE_cstedc_work) X(LAPACKE_cstegr) X(LAPACKE_cstegr_work)                  \
    X(LAPACKE_cstein) X(LAPACKE_cstein_work) X(LAPACKE_cstemr) X(LAPACKE_cstemr_work) X(LAPACKE_csteqr) X(LAPACKE_csteqr_work) \
    X(LAPACKE_csy_nancheck) X(LAPACKE_csy_trans) X(LAPACKE_csycon) X(LAPACKE_csycon_3) X(LAPACKE_csycon_3_work)                \
    X(LAPACKE_csycon_work) X(LAPACKE_csyconv) X(LAPACKE_csyconv_work) X(LAPACKE_csyequb) X(LAPACKE_csyequb_work)               \
    X(LAPACKE_csyr) X(LAPACKE_csyr_work) X(LAPACKE_csyrfs) X(LAPACKE_csyrfs_work) X(LAPACKE_csysv) X(LAPACKE_csysv_aa)         \
    X(LAPACKE_csysv_aa_2stage) X(LAPACKE_csysv_aa_2stage_work) X(LAPACKE_csysv_aa_work) X(LAPACKE_csysv_rk)                    \
    X(LAPACKE_csysv_rk_work) X(LAPACKE_csysv_rook) X(LAPACKE_csysv_rook_work) X(LAPACKE_csysv_work) X(LAPACKE_csysvx)          \
    X(LAPACKE_csysvx_work) X(LAPACKE_csyswapr) X(LAPACKE_csyswapr_work) X(LAPACKE_csytrf) X(LAPACKE_csytrf_aa)                 \
    X(LAPACKE_csytrf_aa_2stage) X(LAPACKE_csytrf_aa_2stage_work) X(LAPACKE_csytrf_aa_work) X(LAPACKE_csytrf_rk)                \
    X(LAPACKE_csytrf_rk_work) X(LAPACKE_csytrf_rook) X(LAPACKE_csytrf_rook_work) X(LAPACKE_csytrf_work) X(LAPACKE_csytri)      \
    X(LAPACKE_csytri2) X(LAPACKE_csytri2_work) X(LAPACKE_csytri2x) X(LAPACKE_csytri2x_work) X(LAPACKE_csytri_3)                \
    X(LAPACKE_csytri_3_work) X(LAPACKE_csytri_work) X(LAPACKE_csytrs) X(LAPACKE_csytrs2) X(LAPACKE_csytrs2_work)               \
    X(LAPACKE_csytrs_3) X(LAPACKE_csytrs_3_work) X(LAPACKE_csytrs_aa) X(LAPACKE_csytrs_aa_2stage)                              \
    X(LAPACKE_csytrs_aa_2stage_work) X(LAPACKE_csytrs_aa_work) X(LAPACKE_csytrs_rook) X(LAPACKE_csytrs_rook_work)              \
    X(LAPACKE_csytrs_work) X(LAPACKE_ctb_nancheck) X(LAPACKE_ctb_trans) X(LAPACKE_ctbcon) X(LAPACKE_ctbcon_work)               \
    X(LAPACKE_ctbrfs) X(LAPACKE_ctbrfs_work) X(LAPACKE_ctbtrs) X(LAPACKE_ctbtrs_work) X(LAPACKE_ctf_nancheck)                  \
    X(LAPACKE_ctf_trans) X(LAPACKE_ctfsm) X(LAPACKE_ctfsm_work) X(LAPACKE_ctftri) X(LAPACKE_ctftri_work) X(LAPACKE_ctfttp)     \
    X(LAPACKE_ctfttp_work) X(LAPACKE_ctfttr) X(LAPACKE_ctfttr_work) X(LAPACKE_ctgevc) X(LAPACKE_ctgevc_work) X(LAPACKE_ctgexc) \
    X(LAPACKE_ctgexc_work) X(LAPACKE_ctgsen) X(LAPACKE_ctgsen_work) X(LAPACKE_ctgsja) X(LAPACKE_ctgsja_work) X(LAPACKE_ctgsna) \
    X(LAPACKE_ctgsna_work) X(LAPACKE_ctgsyl) X(LAPACKE_ctgsyl_work) X(LAPACKE_ctp_nancheck) X(LAPACKE_ctp_trans)               \
    X(LAPACKE_ctpcon) X(LAPACKE_ctpcon_work) X(LAPACKE_ctpmqrt) X(LAPACKE_ctpmqrt_work) X(LAPACKE_ctpqrt) X(LAPACKE_ctpqrt2)   \
    X(LAPACKE_ctpqrt2_work) X(LAPACKE_ctpqrt_work) X(LAPACKE_ctprfb) X(LAPACKE_ctprfb_work) X(LAPACKE_ctprfs)                  \
    X(LAPACKE_ctprfs_work) X(LAPACKE_ctptri) X(LAPACKE_ctptri_work) X(LAPACKE_ctptrs) X(LAPACKE_ctptrs_work) X(LAPACKE_ctpttf) \
    X(LAPACKE_ctpttf_work) X(LAPACKE_ctpttr) X(LAPACKE_ctpttr_work) X(LAPACKE_ctr_nancheck) X(LAPACKE_ctr_trans)               \
    X(LAPACKE_ctrcon) X(LAPACKE_ctrcon_work) X(LAPACKE_ctrevc) X(LAPACKE_ctrevc_work) X(LAPACKE_ctrexc) X(LAPACKE_ctrexc_work) \
    X(LAPACKE_ctrrfs) X(LAPACKE_ctrrfs_work) X(LAPACKE_ctrsen) X(LAPACKE_ctrsen_work) X(LAPACKE_ctrsna) X(LAPACKE_ctrsna_work) \
    X(LAPACKE_ctrsyl) X(LAPACKE_ctrsyl3) X(LAPACKE_ctrsyl3_work) X(LAPACKE_ctrsyl_work) X(LAPACKE_ctrtri)                      \
    X(LAPACKE_ctrtri_work) X(LAPACKE_ctrtrs) X(LAPACKE_ctrtrs_work) X(LAPACKE_ctrttf) X(LAPACKE_ctrttf_work) X(LAPACKE_ctrttp) \
    X(LAPACKE_ctrttp_work) X(LAPACKE_ctz_nancheck) X(LAPACKE_ctz_trans) X(LAPACKE_ctzrzf) X(LAPACKE_ctzrzf_work)               \
    X(LAPACKE_cunbdb) X(LAPACKE_cunbdb_work) X(LAPACKE_cuncsd) X(LAPACKE_cuncsd2by1) X(LAPACKE_cuncsd2by1_work)                \
    X(LAPACKE_cuncsd_work) X(LAPACKE_cungbr) X(LAPACKE_cungbr_work) X(LAPACKE_cunghr) X(LAPACKE_cunghr_work) X(LAPACKE_cunglq) \
    X(LAPACKE_cunglq_work) X(LAPACKE_cungql) X(LAPACKE_cungql_work) X(LAPACKE_cungqr) X(LAPACKE_cungqr_work) X(LAPACKE_cungrq) \
    X(LAPACKE_cungrq_work) X(LAPACKE_cungtr) X(LAPACKE_cungtr_work) X(LAPACKE_cungtsqr_row) X(LAPACKE_cungtsqr_row_work)       \
    X(LAPACKE_cunmbr) X(LAPACKE_cunmbr_work) X(LAPACKE_cunmhr) X(LAPACKE_cunmhr_work) X(LAPACKE_cunmlq) X(LAPACKE_cunmlq_work) \
    X(LAPACKE_cunmql) X(LAPACKE_cunmql_work) X(LAPACKE_cunmqr) X(LAPACKE_cunmqr_work) X(LAPACKE_cunmrq) X(LAPACKE_cunmrq_work) \
    X(LAPACKE_cunmrz) X(LAPACKE_cunmrz_work) X(LAPACKE_cunmtr) X(LAPACKE_cunmtr_work) X(LAPACKE_cupgtr) X(LAPACKE_cupgtr_work) \
    X(LAPACKE_cupmtr) X(LAPACKE_cupmtr_work) X(LAPACKE_d_nancheck) X(LAPACKE_dbbcsd) X(LAPACKE_dbbcsd_work) X(LAPACKE_dbdsdc)  \
    X(LAPACKE_dbdsdc_work) X(LAPACKE_dbdsqr) X(LAPACKE_dbdsqr_work) X(LAPACKE_dbdsvdx) X(LAPACKE_dbdsvdx_work)                 \
    X(LAPACKE_ddisna) X(LAPACKE_ddisna_work) X(LAPACKE_dgb_nancheck) X(LAPACKE_dgb_trans) X(LAPACKE_dgbbrd)                    \
    X(LAPACKE_dgbbrd_work) X(LAPACKE_dgbcon) X(LAPACKE_dgbcon_work) X(LAPACKE_dgbequ) X(LAPACKE_dgbequ_work)                   \
    X(LAPACKE_dgbequb) X(LAPACKE_dgbequb_work) X(LAPACKE_dgbrfs) X(LAPACKE_dgbrfs_work) X(LAPACKE_dgbsv) X(LAPACKE_dgbsv_work) \
    X(LAPACKE_dgbsvx) X(LAPACKE_dgbsvx_work) X(LAPACKE_dgbtrf) X(LAPACKE_dgbtrf_work) X(LAPACKE_dgbtrs) X(LAPACKE_dgbtrs_work) \
    X(LAPACKE_dge_nancheck) X(LAPACKE_dge_trans) X(LAPACKE_dgebak) X(LAPACKE_dgebak_work) X(LAPACKE_dgebal)                    \
    X(LAPACKE_dgebal_work) X(LAPACKE_dgebrd) X(LAPACKE_dgebrd_work) X(LAPACKE_dgecon) X(LAPACKE_dgecon_work) X(LAPACKE_dgeequ) \
    X(LAPACKE_dgeequ_work) X(LAPACKE_dgeequb) X(LAPACKE_dgeequb_work) X(LAPACKE_dgees) X(LAPACKE_dgees_work) X(LAPACKE_dgeesx) \
    X(LAPACKE_dgeesx_work) X(LAPACKE_dgeev) X(LAPACKE_dgeev_work) X(LAPACKE_dgeevx) X(LAPACKE_dgeevx_work) X(LAPACKE_dgehrd)   \
    X(LAPACKE_dgehrd_work) X(LAPACKE_dgejsv) X(LAPACKE_dgejsv_work) X(LAPACKE_dgelq) X(LAPACKE_dgelq2) X(LAPACKE_dgelq2_work)  \
    X(LAPACKE_dgelq_work) X(LAPACKE_dgelqf) X(LAPACKE_dgelqf_work) X(LAPACKE_dgels) X(LAPACKE_dgels_work) X(LAPACKE_dgelsd)    \
    X(LAPACKE_dgelsd_work) X(LAPACKE_dgelss) X(LAPACKE_dgelss_work) X(LAPACKE_dgelsy) X(LAPACKE_dgelsy_work) X(LAPACKE_dgemlq) \
    X(LAPACKE_dgemlq_work) X(LAPACKE_dgemqr) X(LAPACKE_dgemqr_work) X(LAPACKE_dgemqrt) X(LAPACKE_dgemqrt_work)                 \
    X(LAPACKE_dgeqlf) X(LAPACKE_dgeqlf_work) X(LAPACKE_dgeqp3) X(LAPACKE_dgeqp3_work) X(LAPACKE_dgeqpf) X(LAPACKE_dgeqpf_work) \
    X(LAPACKE_dgeqr) X(LAPACKE_dgeqr2) X(LAPACKE_dgeqr2_work) X(LAPACKE_dgeqr_work) X(LAPACKE_dgeqrf) X(LAPACKE_dgeqrf_work)   \
    X(LAPACKE_dgeqrfp) X(LAPACKE_dgeqrfp_work) X(LAPACKE_dgeqrt) X(LAPACKE_dgeqrt2) X(LAPACKE_dgeqrt2_work) X(LAPACKE_dgeqrt3) \
    X(LAPACKE_dgeqrt3_work) X(LAPACKE_dgeqrt_work) X(LAPACKE_dgerfs) X(LAPACKE_dgerfs_work) X(LAPACKE_dgerqf)                  \
    X(LAPACKE_dgerqf_work) X(LAPACKE_dgesdd) X(LAPACKE_dgesdd_work) X(LAPACKE_dgesv) X(LAPACKE_dgesv_work) X(LAPACKE_dgesvd)   \
    X(LAPACKE_dgesvd_work) X(LAPACKE_dgesvdq) X(LAPACKE_dgesvdq_work) X(LAPACKE_dgesvdx) X(LAPACKE_dgesvdx_work)               \
    X(LAPACKE_dgesvj) X(LAPACKE_dgesvj_work) X(LAPACKE_dgesvx) X(LAPACKE_dgesvx_work) X(LAPACKE_dgetf2) X(LAPACKE_dgetf2_work) \
    X(LAPACKE_dgetrf) X(LAPACKE_dgetrf2) X(LAPACKE_dgetrf2_work) X(LAPACKE_dgetrf_work) X(LAPACKE_dgetri)                      \
    X(LAPACKE_dgetri_work) X(LAPACKE_dgetrs) X(LAPACKE_dgetrs_work) X(LAPACKE_dgetsls) X(LAPACKE_dgetsls_work)                 \
    X(LAPACKE_dgetsqrhrt) X(LAPACKE_dgetsqrhrt_work) X(LAPACKE_dgg_nancheck) X(LAPACKE_dgg_trans) X(LAPACKE_dggbak)            \
    X(LAPACKE_dggbak_work) X(LAPACKE_dggbal) X(LAPACKE_dggbal_work) X(LAPACKE_dgges) X(LAPACKE_dgges3) X(LAPACKE_dgges3_work)  \
    X(LAPACKE_dgges_work) X(LAPACKE_dggesx) X(LAPACKE_dggesx_work) X(LAPACKE_dggev) X(LAPACKE_dggev3) X(LAPACKE_dggev3_work)   \
    X(LAPACKE_dggev_work) X(LAPACKE_dggevx) X(LAPACKE_dggevx_work) X(LAPACKE_dggglm) X(LAPACKE_dggglm_work) X(LAPACKE_dgghd3)  \
    X(LAPACKE_dgghd3_work) X(LAPACKE_dgghrd) X(LAPACKE_dgghrd_work) X(LAPACKE_dgglse) X(LAPACKE_dgglse_work) X(LAPACKE_dggqrf) \
    X(LAPACKE_dggqrf_work) X(LAPACKE_dggrqf) X(LAPACKE_dggrqf_work) X(LAPACKE_dggsvd) X(LAPACKE_dggsvd3)                       \
    X(LAPACKE_dggsvd3_work) X(LAPACKE_dggsvd_work) X(LAPACKE_dggsvp) X(LAPACKE_dggsvp3) X(LAPACKE_dggsvp3_work)                \
    X(LAPACKE_dggsvp_work) X(LAPACKE_dgt_nancheck) X(LAPACKE_dgtcon) X(LAPACKE_dgtcon_work) X(LAPACKE_dgtrfs)                  \
    X(LAPACKE_dgtrfs_work) X(LAPACKE_dgtsv) X(LAPACKE_dgtsv_work) X(LAPACKE_dgtsvx) X(LAPACKE_dgtsvx_work) X(LAPACKE_dgttrf)   \
    X(LAPACKE_dgttrf_work) X(LAPACKE_dgttrs) X(LAPACKE_dgttrs_work) X(LAPACKE_dhgeqz) X(LAPACKE_dhgeqz_work)                   \
    X(LAPACKE_dhs_nancheck) X(LAPACKE_dhs_trans) X(LAPACKE_dhsein) X(LAPACKE_dhsein_work) X(LAPACKE_dhseqr)                    \
    X(LAPACKE_dhseqr_work) X(LAPACKE_dlacn2) X(LAPACKE_dlacn2_work) X(LAPACKE_dlacpy) X(LAPACKE_dlacpy_work) X(LAPACKE_dlag2s) \
    X(LAPACKE_dlag2s_work) X(LAPACKE_dlagge) X(LAPACKE_dlagge_work) X(LAPACKE_dlagsy) X(LAPACKE_dlagsy_work) X(LAPACKE_dlamch) \
    X(LAPACKE_dlamch_work) X(LAPACKE_dlangb) X(LAPACKE_dlangb_work) X(LAPACKE_dlange) X(LAPACKE_dlange_work) X(LAPACKE_dlansy) \
    X(LAPACKE_dlansy_work) X(LAPACKE_dlantr) X(LAPACKE_dlantr_work) X(LAPACKE_dlapmr) X(LAPACKE_dlapmr_work) X(LAPACKE_dlapmt) \
    X(LAPACKE_dlapmt_work) X(LAPACKE_dlapy2) X(LAPACKE_dlapy2_work) X(LAPACKE_dlapy3) X(LAPACKE_dlapy3_work) X(LAPACKE_dlarfb) \
    X(LAPACKE_dlarfb_work) X(LAPACKE_dlarfg) X(LAPACKE_dlarfg_work) X(LAPACKE_dlarft) X(LAPACKE_dlarft_work) X(LAPACKE_dlarfx) \
    X(LAPACKE_dlarfx_work) X(LAPACKE_dlarnv) X(LAPACKE_dlarnv_work) X(LAPACKE_dlartgp) X(LAPACKE_dlartgp_work)                 \
    X(LAPACKE_dlartgs) X(LAPACKE_dlartgs_work) X(LAPACKE_dlascl) X(LAPACKE_dlascl_work) X(LAPACKE_dlaset)                      \
    X(LAPACKE_dlaset_work) X(LAPACKE_dlasrt) X(LAPACKE_dlasrt_work) X(LAPACKE_dlassq) X(LAPACKE_dlassq_work) X(LAPACKE_dlaswp) \
    X(LAPACKE_dlaswp_work) X(LAPACKE_dlatms) X(LAPACKE_dlatms_work) X(LAPACKE_dlauum) X(LAPACKE_dlauum_work) X(LAPACKE_dopgtr) \
    X(LAPACKE_dopgtr_work) X(LAPACKE_dopmtr) X(LAPACKE_dopmtr_work) X(LAPACKE_dorbdb) X(LAPACKE_dorbdb_work) X(LAPACKE_dorcsd) \
    X(LAPACKE_dorcsd2by1) X(LAPACKE_dorcsd2by1_work) X(LAPACKE_dorcsd_work) X(LAPACKE_dorgbr) X(LAPACKE_dorgbr_work)           \
    X(LAPACKE_dorghr) X(LAPACKE_dorghr_work) X(LAPACKE_dorglq) X(LAPACKE_dorglq_work) X(LAPACKE_dorgql) X(LAPACKE_dorgql_work) \
    X(LAPACKE_dorgqr) X(LAPACKE_dorgqr_work) X(LAPACKE_dorgrq) X(LAPACKE_dorgrq_work) X(LAPACKE_dorgtr) X(LAPACKE_dorgtr_work) \
    X(LAPACKE_dorgtsqr_row) X(LAPACKE_dorgtsqr_row_work) X(LAPACKE_dormbr) X(LAPACKE_dormbr_work) X(LAPACKE_dormhr)            \
    X(LAPACKE_dormhr_work) X(LAPACKE_dormlq) X(LAPACKE_dormlq_work) X(LAPACKE_dormql) X(LAPACKE_dormql_work) X(LAPACKE_dormqr) \
    X(LAPACKE_dormqr_work) X(LAPACKE_dormrq) X(LAPACKE_dormrq_work) X(LAPACKE_dormrz) X(LAPACKE_dormrz_work) X(LAPACKE_dormtr) \
    X(LAPACKE_dormtr_work) X(LAPACKE_dpb_nancheck) X(LAPACKE_dpb_trans) X(LAPACKE_dpbcon) X(LAPACKE_dpbcon_work)               \
    X(LAPACKE_dpbequ) X(LAPACKE_dpbequ_work) X(LAPACKE_dpbrfs) X(LAPACKE_dpbrfs_work) X(LAPACKE_dpbstf) X(LAPACKE_dpbstf_work) \
    X(LAPACKE_dpbsv) X(LAPACKE_dpbsv_work) X(LAPACKE_dpbsvx) X(LAPACKE_dpbsvx_work) X(LAPACKE_dpbtrf) X(LAPACKE_dpbtrf_work)   \
    X(LAPACKE_dpbtrs) X(LAPACKE_dpbtrs_work) X(LAPACKE_dpf_nancheck) X(LAPACKE_dpf_trans) X(LAPACKE_dpftrf)                    \
    X(LAPACKE_dpftrf_work) X(LAPACKE_dpftri) X(LAPACKE_dpftri_work) X(LAPACKE_dpftrs) X(LAPACKE_dpftrs_work)                   \
    X(LAPACKE_dpo_nancheck) X(LAPACKE_dpo_trans) X(LAPACKE_dpocon) X(LAPACKE_dpocon_work) X(LAPACKE_dpoequ)                    \
    X(LAPACKE_dpoequ_work) X(LAPACKE_dpoequb) X(LAPACKE_dpoequb_work) X(LAPACKE_dporfs) X(LAPACKE_dporfs_work)                 \
    X(LAPACKE_dposv) X(LAPACKE_dposv_work) X(LAPACKE_dposvx) X(LAPACKE_dposvx_work) X(LAPACKE_dpotrf) X(LAPACKE_dpotrf2)       \
    X(LAPACKE_dpotrf2_work) X(LAPACKE_dpotrf_work) X(LAPACKE_dpotri) X(LAPACKE_dpotri_work) X(LAPACKE_dpotrs)                  \
    X(LAPACKE_dpotrs_work) X(LAPACKE_dpp_nancheck) X(LAPACKE_dpp_trans) X(LAPACKE_dppcon) X(LAPACKE_dppcon_work)               \
    X(LAPACKE_dppequ) X(LAPACKE_dppequ_work) X(LAPACKE_dpprfs) X(LAPACKE_dpprfs_work) X(LAPACKE_dppsv) X(LAPACKE_dppsv_work)   \
    X(LAPACKE_dppsvx) X(LAPACKE_dppsvx_work) X(LAPACKE_dpptrf) X(LAPACKE_dpptrf_work) X(LAPACKE_dpptri) X(LAPACKE_dpptri_work) \
    X(LAPACKE_dpptrs) X(LAPACKE_dpptrs_work) X(LAPACKE_dpstrf) X(LAPACKE_dpstrf_work) X(LAPACKE_dpt_nancheck)                  \
    X(LAPACKE_dptcon) X(LAPACKE_dptcon_work) X(LAPACKE_dpteqr) X(LAPACKE_dpteqr_work) X(LAPACKE_dptrfs) X(LAPACKE_dptrfs_work) \
    X(LAPACKE_dptsv) X(LAPACKE_dptsv_work) X(LAPACKE_dptsvx) X(LAPACKE_dptsvx_work) X(LAPACKE_dpttrf) X(LAPACKE_dpttrf_work)   \
    X(LAPACKE_dpttrs) X(LAPACKE_dpttrs_work) X(LAPACKE_dsb_nancheck) X(LAPACKE_dsb_trans) X(LAPACKE_dsbev)                     \
    X(LAPACKE_dsbev_2stage) X(LAPACKE_dsbev_2stage_work) X(LAPACKE_dsbev_work) X(LAPACKE_dsbevd) X(LAPACKE_dsbevd_2stage)      \
    X(LAPACKE_dsbevd_2stage_work) X(LAPACKE_dsbevd_work) X(LAPACKE_dsbevx) X(LAPACKE_dsbevx_2stage)                            \
    X(LAPACKE_dsbevx_2stage_work) X(LAPACKE_dsbevx_work) X(LAPACKE_dsbgst) X(LAPACKE_dsbgst_work) X(LAPACKE_dsbgv)             \
    X(LAPACKE_dsbgv_work) X(LAPACKE_dsbgvd) X(LAPACKE_dsbgvd_work) X(LAPACKE_dsbgvx) X(LAPACKE_dsbgvx_work) X(LAPACKE_dsbtrd)  \
    X(LAPACKE_dsbtrd_work) X(LAPACKE_dsfrk) X(LAPACKE_dsfrk_work) X(LAPACKE_dsgesv) X(LAPACKE_dsgesv_work)                     \
    X(LAPACKE_dsp_nancheck) X(LAPACKE_dsp_trans) X(LAPACKE_dspcon) X(LAPACKE_dspcon_work) X(LAPACKE_dspev)                     \
    X(LAPACKE_dspev_work) X(LAPACKE_dspevd) X(LAPACKE_dspevd_work) X(LAPACKE_dspevx) X(LAPACKE_dspevx_work) X(LAPACKE_dspgst)  \
    X(LAPACKE_dspgst_work) X(LAPACKE_dspgv) X(LAPACKE_dspgv_work) X(LAPACKE_dspgvd) X(LAPACKE_dspgvd_work) X(LAPACKE_dspgvx)   \
    X(LAPACKE_dspgvx_work) X(LAPACKE_dsposv) X(LAPACKE_dsposv_work) X(LAPACKE_dsprfs) X(LAPACKE_dsprfs_work) X(LAPACKE_dspsv)  \
    X(LAPACKE_dspsv_work) X(LAPACKE_dspsvx) X(LAPACKE_dspsvx_work) X(LAPACKE_dsptrd) X(LAPACKE_dsptrd_work) X(LAPACKE_dsptrf)  \
    X(LAPACKE_dsptrf_work) X(LAPACKE_dsptri) X(LAPACKE_dsptri_work) X(LAPACKE_dsptrs) X(LAPACKE_dsptrs_work)                   \
    X(LAPACKE_dst_nancheck) X(LAPACKE_dstebz) X(LAPACKE_dstebz_work) X(LAPACKE_dstedc) X(LAPACKE_dstedc_work)                  \
    X(LAPACKE_dstegr) X(LAPACKE_dstegr_work) X(LAPACKE_dstein) X(LAPACKE_dstein_work) X(LAPACKE_dstemr) X(LAPACKE_dstemr_work) \
    X(LAPACKE_dsteqr) X(LAPACKE_dsteqr_work) X(LAPACKE_dsterf) X(LAPACKE_dsterf_work) X(LAPACKE_dstev) X(LAPACKE_dstev_work)   \
    X(LAPACKE_dstevd) X(LAPACKE_dstevd_work) X(LAPACKE_dstevr) X(LAPACKE_dstevr_work) X(LAPACKE_dstevx) X(LAPACKE_dstevx_work) \
    X(LAPACKE_dsy_nancheck) X(LAPACKE_dsy_trans) X(LAPACKE_dsycon) X(LAPACKE_dsycon_3) X(LAPACKE_dsycon_3_work)                \
    X(LAPACKE_dsycon_work) X(LAPACKE_dsyconv) X(LAPACKE_dsyconv_work) X(LAPACKE_dsyequb) X(LAPACKE_dsyequb_work)               \
    X(LAPACKE_dsyev) X(LAPACKE_dsyev_2stage) X(LAPACKE_dsyev_2stage_work) X(LAPACKE_dsyev_work) X(LAPACKE_dsyevd)              \
    X(LAPACKE_dsyevd_2stage) X(LAPACKE_dsyevd_2stage_work) X(LAPACKE_dsyevd_work) X(LAPACKE_dsyevr) X(LAPACKE_dsyevr_2stage)   \
    X(LAPACKE_dsyevr_2stage_work) X(LAPACKE_dsyevr_work) X(LAPACKE_dsyevx) X(LAPACKE_dsyevx_2stage)                            \
    X(LAPACKE_dsyevx_2stage_work) X(LAPACKE_dsyevx_work) X(LAPACKE_dsygst) X(LAPACKE_dsygst_work) X(LAPACKE_dsygv)             \
    X(LAPACKE_dsygv_2stage) X(LAPACKE_dsygv_2stage_work) X(LAPACKE_dsygv_work) X(LAPACKE_dsygvd) X(LAPACKE_dsygvd_work)        \
    X(LAPACKE_dsygvx) X(LAPACKE_dsygvx_work) X(LAPACKE_dsyrfs) X(LAPACKE_dsyrfs_work) X(LAPACKE_dsysv) X(LAPACKE_dsysv_aa)     \
    X(LAPACKE_dsysv_aa_2stage) X(LAPACKE_dsysv_aa_2stage_work) X(LAPACKE_dsysv_aa_work) X(LAPACKE_dsysv_rk)                    \
    X(LAPACKE_dsysv_rk_work) X(LAPACKE_dsysv_rook) X(LAPACKE_dsysv_rook_work) X(LAPACKE_dsysv_work) X(LAPACKE_dsysvx)          \
    X(LAPACKE_dsysvx_work) X(LAPACKE_dsyswapr) X(LAPACKE_dsyswapr_work) X(LAPACKE_dsytrd) X(LAPACKE_dsytrd_work)               \
    X(LAPACKE_dsytrf) X(LAPACKE_dsytrf_aa) X(LAPACKE_dsytrf_aa_2stage) X(LAPACKE_dsytrf_aa_2stage_work)                        \
    X(LAPACKE_dsytrf_aa_work) X(LAPACKE_dsytrf_rk) X(LAPACKE_dsytrf_rk_work) X(LAPACKE_dsytrf_rook)                            \
    X(LAPACKE_dsytrf_rook_work) X(LAPACKE_dsytrf_work) X(LAPACKE_dsytri) X(LAPACKE_dsytri2) X(LAPACKE_dsytri2_work)            \
    X(LAPACKE_dsytri2x) X(LAPACKE_dsytri2x_work) X(LAPACKE_dsytri_3) X(LAPACKE_dsytri_3_work) X(LAPACKE_dsytri_work)           \
    X(LAPACKE_dsytrs) X(LAPACKE_dsytrs2) X(LAPACKE_dsytrs2_work) X(LAPACKE_dsytrs_3) X(LAPACKE_dsytrs_3_work)                  \
    X(LAPACKE_dsytrs_aa) X(LAPACKE_dsytrs_aa_2stage) X(LAPACKE_dsytrs_aa_2stage_work) X(LAPACKE_dsytrs_aa_work)                \
    X(LAPACKE_dsytrs_rook) X(LAPACKE_dsytrs_rook_work) X(LAPACKE_dsytrs_work) X(LAPACKE_dtb_nancheck) X(LAPACKE_dtb_trans)     \
    X(LAPACKE_dtbcon) X(LAPACKE_dtbcon_work) X(LAPACKE_dtbrfs) X(LAPACKE_dtbrfs_work) X(LAPACKE_dtbtrs) X(LAPACKE_dtbtrs_work) \
    X(LAPACKE_dtf_nancheck) X(LAPACKE_dtf_trans) X(LAPACKE_dtfsm) X(LAPACKE_dtfsm_work) X(LAPACKE_dtftri)                      \
    X(LAPACKE_dtftri_work) X(LAPACKE_dtfttp) X(LAPACKE_dtfttp_work) X(LAPACKE_dtfttr) X(LAPACKE_dtfttr_work) X(LAPACKE_dtgevc) \
    X(LAPACKE_dtgevc_work) X(LAPACKE_dtgexc) X(LAPACKE_dtgexc_work) X(LAPACKE_dtgsen) X(LAPACKE_dtgsen_work) X(LAPACKE_dtgsja) \
    X(LAPACKE_dtgsja_work) X(LAPACKE_dtgsna) X(LAPACKE_dtgsna_work) X(LAPACKE_dtgsyl) X(LAPACKE_dtgsyl_work)                   \
    X(LAPACKE_dtp_nancheck) X(LAPACKE_dtp_trans) X(LAPACKE_dtpcon) X(LAPACKE_dtpcon_work) X(LAPACKE_dtpmqrt)                   \
    X(LAPACKE_dtpmqrt_work) X(LAPACKE_dtpqrt) X(LAPACKE_dtpqrt2) X(LAPACKE_dtpqrt2_work) X(LAPACKE_dtpqrt_work)                \
    X(LAPACKE_dtprfb) X(LAPACKE_dtprfb_work) X(LAPACKE_dtprfs) X(LAPACKE_dtprfs_work) X(LAPACKE_dtptri) X(LAPACKE_dtptri_work) \
    X(LAPACKE_dtptrs) X(LAPACKE_dtptrs_work) X(LAPACKE_dtpttf) X(LAPACKE_dtpttf_work) X(LAPACKE_dtpttr) X(LAPACKE_dtpttr_work) \
    X(LAPACKE_dtr_nancheck) X(LAPACKE_dtr_trans) X(LAPACKE_dtrcon) X(LAPACKE_dtrcon_work) X(LAPACKE_dtrevc)                    \
    X(LAPACKE_dtrevc_work) X(LAPACKE_dtrexc) X(LAPACKE_dtrexc_work) X(LAPACKE_dtrrfs) X(LAPACKE_dtrrfs_work) X(LAPACKE_dtrsen) \
    X(LAPACKE_dtrsen_work) X(LAPACKE_dtrsna) X(LAPACKE_dtrsna_work) X(LAPACKE_dtrsyl) X(LAPACKE_dtrsyl3)                       \
    X(LAPACKE_dtrsyl3_work) X(LAPACKE_dtrsyl_work) X(LAPACKE_dtrtri) X(LAPACKE_dtrtri_work) X(LAPACKE_dtrtrs)                  \
    X(LAPACKE_dtrtrs_work) X(LAPACKE_dtrttf) X(LAPACKE_dtrttf_work) X(LAPACKE_dtrttp) X(LAPACKE_dtrttp_work)                   \
    X(LAPACKE_dtz_nancheck) X(LAPACKE_dtz_trans) X(LAPACKE_dtzrzf) X(LAPACKE_dtzrzf_work) X(LAPACKE_get_nancheck)              \
    X(LAPACKE_ilaver) X(LAPACKE_lsame) X(LAPACKE_s_nancheck) X(LAPACKE_sbbcsd) X(LAPACKE_sbbcsd_work) X(LAPACKE_sbdsdc)        \
    X(LAPACKE_sbdsdc_work) X(LAPACKE_sbdsqr) X(LAPACKE_sbdsqr_work) X(LAPACKE_sbdsvdx) X(LAPACKE_sbdsvdx_work)                 \
    X(LAPACKE_sdisna) X(LAPACKE_sdisna_work) X(LAPACKE_set_nancheck) X(LAPACKE_sgb_nancheck) X(LAPACKE_sgb_trans)              \
    X(LAPACKE_sgbbrd) X(LAPACKE_sgbbrd_work) X(LAPACKE_sgbcon) X(LAPACKE_sgbcon_work) X(LAPACKE_sgbequ) X(LAPACKE_sgbequ_work) \
    X(LAPACKE_sgbequb) X(LAPACKE_sgbequb_work) X(LAPACKE_sgbrfs) X(LAPACKE_sgbrfs_work) X(LAPACKE_sgbsv) X(LAPACKE_sgbsv_work) \
    X(LAPACKE_sgbsvx) X(LAPACKE_sgbsvx_work) X(LAPACKE_sgbtrf) X(LAPACKE_sgbtrf_work) X(LAPACKE_sgbtrs) X(LAPACKE_sgbtrs_work) \
    X(LAPACKE_sge_nancheck) X(LAPACKE_sge_trans) X(LAPACKE_sgebak) X(LAPACKE_sgebak_work) X(LAPACKE_sgebal)                    \
    X(LAPACKE_sgebal_work) X(LAPACKE_sgebrd) X(LAPACKE_sgebrd_work) X(LAPACKE_sgecon) X(LAPACKE_sgecon_work) X(LAPACKE_sgeequ) \
    X(LAPACKE_sgeequ_work) X(LAPACKE_sgeequb) X(LAPACKE_sgeequb_work) X(LAPACKE_sgees) X(LAPACKE_sgees_work) X(LAPACKE_sgeesx) \
    X(LAPACKE_sgeesx_work) X(LAPACKE_sgeev) X(LAPACKE_sgeev_work) X(LAPACKE_sgeevx) X(LAPACKE_sgeevx_work) X(LAPACKE_sgehrd)   \
    X(LAPACKE_sgehrd_work) X(LAPACKE_sgejsv) X(LAPACKE_sgejsv_work) X(LAPACKE_sgelq) X(LAPACKE_sgelq2) X(LAPACKE_sgelq2_work)  \
    X(LAPACKE_sgelq_work) X(LAPACKE_sgelqf) X(LAPACKE_sgelqf_work) X(LAPACKE_sgels) X(LAPACKE_sgels_work) X(LAPACKE_sgelsd)    \
    X(LAPACKE_sgelsd_work) X(LAPACKE_sgelss) X(LAPACKE_sgelss_work) X(LAPACKE_sgelsy) X(LAPACKE_sgelsy_work) X(LAPACKE_sgemlq) \
    X(LAPACKE_sgemlq_work) X(LAPACKE_sgemqr) X(LAPACKE_sgemqr_work) X(LAPACKE_sgemqrt) X(LAPACKE_sgemqrt_work)                 \
    X(LAPACKE_sgeqlf) X(LAPACKE_sgeqlf_work) X(LAPACKE_sgeqp3) X(LAPACKE_sgeqp3_work) X(LAPACKE_sgeqpf) X(LAPACKE_sgeqpf_work) \
    X(LAPACKE_sgeqr) X(LAPACKE_sgeqr2) X(LAPACKE_sgeqr2_work) X(LAPACKE_sgeqr_work) X(LAPACKE_sgeqrf) X(LAPACKE_sgeqrf_work)   \
    X(LAPACKE_sgeqrfp) X(LAPACKE_sgeqrfp_work) X(LAPACKE_sgeqrt) X(LAPACKE_sgeqrt2) X(LAPACKE_sgeqrt2_work) X(LAPACKE_sgeqrt3) \
    X(LAPACKE_sgeqrt3_work) X(LAPACKE_sgeqrt_work) X(LAPACKE_sgerfs) X(LAPACKE_sgerfs_work) X(LAPACKE_sgerqf)                  \
    X(LAPACKE_sgerqf_work) X(LAPACKE_sgesdd) X(LAPACKE_sgesdd_work) X(LAPACKE_sgesv) X(LAPACKE_sgesv_work) X(LAPACKE_sgesvd)   \
    X(LAPACKE_sgesvd_work) X(LAPACKE_sgesvdq) X(LAPACKE_sgesvdq_work) X(LAPACKE_sgesvdx) X(LAPACKE_sgesvdx_work)               \
    X(LAPACKE_sgesvj) X(LAPACKE_sgesvj_work) X(LAPACKE_sgesvx) X(LAPACKE_sgesvx_work) X(LAPACKE_sgetf2) X(LAPACKE_sgetf2_work) \
    X(LAPACKE_sgetrf) X(LAPACKE_sgetrf2) X(LAPACKE_sgetrf2_work) X(LAPACKE_sgetrf_work) X(LAPACKE_sgetri)                      \
    X(LAPACKE_sgetri_work) X(LAPACKE_sgetrs) X(LAPACKE_sgetrs_work) X(LAPACKE_sgetsls) X(LAPACKE_sgetsls_work)                 \
    X(LAPACKE_sgetsqrhrt) X(LAPACKE_sgetsqrhrt_work) X(LAPACKE_sgg_nancheck) X(LAPACKE_sgg_trans) X(LAPACKE_sggbak)            \
    X(LAPACKE_sggbak_work) X(LAPACKE_sggbal) X(LAPACKE_sggbal_work) X(LAPACKE_sgges) X(LAPACKE_sgges3) X(LAPACKE_sgges3_work)  \
    X(LAPACKE_sgges_work) X(LAPACKE_sggesx) X(LAPACKE_sggesx_work) X(LAPACKE_sggev) X(LAPACKE_sggev3) X(LAPACKE_sggev3_work)   \
    X(LAPACKE_sggev_work) X(LAPACKE_sggevx) X(LAPACKE_sggevx_work) X(LAPACKE_sggglm) X(LAPACKE_sggglm_work) X(LAPACKE_sgghd3)  \
    X(LAPACKE_sgghd3_work) X(LAPACKE_sgghrd) X(LAPACKE_sgghrd_work) X(LAPACKE_sgglse) X(LAPACKE_sgglse_work) X(LAPACKE_sggqrf) \
    X(LAPACKE_sggqrf_work) X(LAPACKE_sggrqf) X(LAPACKE_sggrqf_work) X(LAPACKE_sggsvd) X(LAPACKE_sggsvd3)                       \
    X(LAPACKE_sggsvd3_work) X(LAPACKE_sggsvd_work) X(LAPACKE_sggsvp) X(LAPACKE_sggsvp3) X(LAPACKE_sggsvp3_work)                \
    X(LAPACKE_sggsvp_work) X(LAPACKE_sgt_nancheck) X(LAPACKE_sgtcon) X(LAPACKE_sgtcon_work) X(LAPACKE_sgtrfs)                  \
    X(LAPACKE_sgtrfs_work) X(LAPACKE_sgtsv) X(LAPACKE_sgtsv_work) X(LAPACKE_sgtsvx) X(LAPACKE_sgtsvx_work) X(LAPACKE_sgttrf)   \
    X(LAPACKE_sgttrf_work) X(LAPACKE_sgttrs) X(LAPACKE_sgttrs_work) X(LAPACKE_shgeqz) X(LAPACKE_shgeqz_work)                   \
    X(LAPACKE_shs_nancheck) X(LAPACKE_shs_trans) X(LAPACKE_shsein) X(LAPACKE_shsein_work) X(LAPACKE_shseqr)                    \
    X(LAPACKE_shseqr_work) X(LAPACKE_slacn2) X(LAPACKE_slacn2_work) X(LAPACKE_slacpy) X(LAPACKE_slacpy_work) X(LAPACKE_slag2d) \
    X(LAPACKE_slag2d_work) X(LAPACKE_slagge) X(LAPACKE_slagge_work) X(LAPACKE_slagsy) X(LAPACKE_slagsy_work) X(LAPACKE_slamch) \
    X(LAPACKE_slamch_work) X(LAPACKE_slangb) X(LAPACKE_slangb_work) X(LAPACKE_slange) X(LAPACKE_slange_work) X(LAPACKE_slansy) \
    X(LAPACKE_slansy_work) X(LAPACKE_slantr) X(LAPACKE_slantr_work) X(LAPACKE_slapmr) X(LAPACKE_slapmr_work) X(LAPACKE_slapmt) \
    X(LAPACKE_slapmt_work) X(LAPACKE_slapy2) X(LAPACKE_slapy2_work) X(LAPACKE_slapy3) X(LAPACKE_slapy3_work) X(LAPACKE_slarfb) \
    X(LAPACKE_slarfb_work) X(LAPACKE_slarfg) X(LAPACKE_slarfg_work) X(LAPACKE_slarft) X(LAPACKE_slarft_work) X(LAPACKE_slarfx) \
    X(LAPACKE_slarfx_work) X(LAPACKE_slarnv) X(LAPACKE_slarnv_work) X(LAPACKE_slartgp) X(LAPACKE_slartgp_work)                 \
    X(LAPACKE_slartgs) X(LAPACKE_slartgs_work) X(LAPACKE_slascl) X(LAPACKE_slascl_work) X(LAPACKE_slaset)                      \
    X(LAPACKE_slaset_work) X(LAPACKE_slasrt) X(LAPACKE_slasrt_work) X(LAPACKE_slassq) X(LAPACKE_slassq_work) X(LAPACKE_slaswp) \
    X(LAPACKE_slaswp_work) X(LAPACKE_slatms) X(LAPACKE_slatms_work) X(LAPACKE_slauum) X(LAPACKE_slauum_work) X(LAPACKE_sopgtr) \
    X(LAPACKE_sopgtr_work) X(LAPACKE_sopmtr) X(LAPACKE_sopmtr_work) X(LAPACKE_sorbdb) X(LAPACKE_sorbdb_work) X(LAPACKE_sorcsd) \
    X(LAPACKE_sorcsd2by1) X(LAPACKE_sorcsd2by1_work) X(LAPACKE_sorcsd_work) X(LAPACKE_sorgbr) X(LAPACKE_sorgbr_work)           \
    X(LAPACKE_sorghr) X(LAPACKE_sorghr_work) X(LAPACKE_sorglq) X(LAPACKE_sorglq_work) X(LAPACKE_sorgql) X(LAPACKE_sorgql_work) \
    X(LAPACKE_sorgqr) X(LAPACKE_sorgqr_work) X(LAPACKE_sorgrq) X(LAPACKE_sorgrq_work) X(LAPACKE_sorgtr) X(LAPACKE_sorgtr_work) \
    X(LAPACKE_sorgtsqr_row) X(LAPACKE_sorgtsqr_row_work) X(LAPACKE_sormbr) X(LAPACKE_sormbr_work) X(LAPACKE_sormhr)            \
    X(LAPACKE_sormhr_work) X(LAPACKE_sormlq) X(LAPACKE_sormlq_work) X(LAPACKE_sormql) X(LAPACKE_sormql_work) X(LAPACKE_sormqr) \
    X(LAPACKE_sormqr_work) X(LAPACKE_sormrq) X(LAPACKE_sormrq_work) X(LAPACKE_sormrz) X(LAPACKE_sormrz_work) X(LAPACKE_sormtr) \
    X(LAPACKE_sormtr_work) X(LAPACKE_spb_nancheck) X(LAPACKE_spb_trans) X(LAPACKE_spbcon) X(LAPACKE_spbcon_work)               \
    X(LAPACKE_spbequ) X(LAPACKE_spbequ_work) X(LAPACKE_spbrfs) X(LAPACKE_spbrfs_work) X(LAPACKE_spbstf) X(LAPACKE_spbstf_work) \
    X(LAPACKE_spbsv) X(LAPACKE_spbsv_work) X(LAPACKE_spbsvx) X(LAPACKE_spbsvx_work) X(LAPACKE_spbtrf) X(LAPACKE_spbtrf_work)   \
    X(LAPACKE_spbtrs) X(LAPACKE_spbtrs_work) X(LAPACKE_spf_nancheck) X(LAPACKE_spf_trans) X(LAPACKE_spftrf)                    \
    X(LAPACKE_spftrf_work) X(LAPACKE_spftri) X(LAPACKE_spftri_work) X(LAPACKE_spftrs) X(LAPACKE_spftrs_work)                   \
    X(LAPACKE_spo_nancheck) X(LAPACKE_spo_trans) X(LAPACKE_spocon) X(LAPACKE_spocon_work) X(LAPACKE_spoequ)                    \
    X(LAPACKE_spoequ_work) X(LAPACKE_spoequb) X(LAPACKE_spoequb_work) X(LAPACKE_sporfs) X(LAPACKE_sporfs_work)                 \
    X(LAPACKE_sposv) X(LAPACKE_sposv_work) X(LAPACKE_sposvx) X(LAPACKE_sposvx_work) X(LAPACKE_spotrf) X(LAPACKE_spotrf2)       \
    X(LAPACKE_spotrf2_work) X(LAPACKE_spotrf_work) X(LAPACKE_spotri) X(LAPACKE_spotri_work) X(LAPACKE_spotrs)                  \
    X(LAPACKE_spotrs_work) X(LAPACKE_spp_nancheck) X(LAPACKE_spp_trans) X(LAPACKE_sppcon) X(LAPACKE_sppcon_work)               \
    X(LAPACKE_sppequ) X(LAPACKE_sppequ_work) X(LAPACKE_spprfs) X(LAPACKE_spprfs_work) X(LAPACKE_sppsv) X(LAPACKE_sppsv_work)   \
    X(LAPACKE_sppsvx) X(LAPACKE_sppsvx_work) X(LAPACKE_spptrf) X(LAPACKE_spptrf_work) X(LAPACKE_spptri) X(LAPACKE_spptri_work) \
    X(LAPACKE_spptrs) X(LAPACKE_spptrs_work) X(LAPACKE_spstrf) X(LAPACKE_spstrf_work) X(LAPACKE_spt_nancheck)                  \
    X(LAPACKE_sptcon) X(LAPACKE_sptcon_work) X(LAPACKE_spteqr) X(LAPACKE_spteqr_work) X(LAPACKE_sptrfs) X(LAPACKE_sptrfs_work) \
    X(LAPACKE_sptsv) X(LAPACKE_sptsv_work) X(LAPACKE_sptsvx) X(LAPACKE_sptsvx_work) X(LAPACKE_spttrf) X(LAPACKE_spttrf_work)   \
    X(LAPACKE_spttrs) X(LAPACKE_spttrs_work) X(LAPACKE_ssb_nancheck) X(LAPACKE_ssb_trans) X(LAPACKE_ssbev)                     \
    X(LAPACKE_ssbev_2stage) X(LAPACKE_ssbev_2stage_work) X(LAPACKE_ssbev_work) X(LAPACKE_ssbevd) X(LAPACKE_ssbevd_2stage)      \
    X(LAPACKE_ssbevd_2stage_work) X(LAPACKE_ssbevd_work) X(LAPACKE_ssbevx) X(LAPACKE_ssbevx_2stage)                            \
    X(LAPACKE_ssbevx_2stage_work) X(LAPACKE_ssbevx_work) X(LAPACKE_ssbgst) X(LAPACKE_ssbgst_work) X(LAPACKE_ssbgv)             \
    X(LAPACKE_ssbgv_work) X(LAPACKE_ssbgvd) X(LAPACKE_ssbgvd_work) X(LAPACKE_ssbgvx) X(LAPACKE_ssbgvx_work) X(LAPACKE_ssbtrd)  \
    X(LAPACKE_ssbtrd_work) X(LAPACKE_ssfrk) X(LAPACKE_ssfrk_work) X(LAPACKE_ssp_nancheck) X(LAPACKE_ssp_trans)                 \
    X(LAPACKE_sspcon) X(LAPACKE_sspcon_work) X(LAPACKE_sspev) X(LAPACKE_sspev_work) X(LAPACKE_sspevd) X(LAPACKE_sspevd_work)   \
    X(LAPACKE_sspevx) X(LAPACKE_sspevx_work) X(LAPACKE_sspgst) X(LAPACKE_sspgst_work) X(LAPACKE_sspgv) X(LAPACKE_sspgv_work)   \
    X(LAPACKE_sspgvd) X(LAPACKE_sspgvd_work) X(LAPACKE_sspgvx) X(LAPACKE_sspgvx_work) X(LAPACKE_ssprfs) X(LAPACKE_ssprfs_work) \
    X(LAPACKE_sspsv) X(LAPACKE_sspsv_work) X(LAPACKE_sspsvx) X(LAPACKE_sspsvx_work) X(LAPACKE_ssptrd) X(LAPACKE_ssptrd_work)   \
    X(LAPACKE_ssptrf) X(LAPACKE_ssptrf_work) X(LAPACKE_ssptri) X(LAPACKE_ssptri_work) X(LAPACKE_ssptrs) X(LAPACKE_ssptrs_work) \
    X(LAPACKE_sst_nancheck) X(LAPACKE_sstebz) X(LAPACKE_sstebz_work) X(LAPACKE_sstedc) X(LAPACKE_sstedc_work)                  \
    X(LAPACKE_sstegr) X(LAPACKE_sstegr_work) X(LAPACKE_sstein) X(LAPACKE_sstein_work) X(LAPACKE_sstemr) X(LAPACKE_sstemr_work) \
    X(LAPACKE_ssteqr) X(LAPACKE_ssteqr_work) X(LAPACKE_ssterf) X(LAPACKE_ssterf_work) X(LAPACKE_sstev) X(LAPACKE_sstev_work)   \
    X(LAPACKE_sstevd) X(LAPACKE_sstevd_work) X(LAPACKE_sstevr) X(LAPACKE_sstevr_work) X(LAPACKE_sstevx) X(LAPACKE_sstevx_work) \
    X(LAPACKE_ssy_nancheck) X(LAPACKE_ssy_trans) X(LAPACKE_ssycon) X(LAPACKE_ssycon_3) X(LAPACKE_ssycon_3_work)                \
    X(LAPACKE_ssycon_work) X(LAPACKE_ssyconv) X(LAPACKE_ssyconv_work) X(LAPACKE_ssyequb) X(LAPACKE_ssyequb_work)               \
    X(LAPACKE_ssyev) X(LAPACKE_ssyev_2stage) X(LAPACKE_ssyev_2stage_work) X(LAPACKE_ssyev_work) X(LAPACKE_ssyevd)              \
    X(LAPACKE_ssyevd_2stage) X(LAPACKE_ssyevd_2stage_work) X(LAPACKE_ssyevd_work) X(LAPACKE_ssyevr) X(LAPACKE_ssyevr_2stage)   \
    X(LAPACKE_ssyevr_2stage_work) X(LAPACKE_ssyevr_work) X(LAPACKE_ssyevx) X(LAPACKE_ssyevx_2stage)                            \
    X(LAPACKE_ssyevx_2stage_work) X(LAPACKE_ssyevx_work) X(LAPACKE_ssygst) X(LAPACKE_ssygst_work) X(LAPACKE_ssygv)             \
    X(LAPACKE_ssygv_2stage) X(LAPACKE_ssygv_2stage_work) X(LAPACKE_ssygv_work) X(LAPACKE_ssygvd) X(LAPACKE_ssygvd_work)        \
    X(LAPACKE_ssygvx) X(LAPACKE_ssygvx_work) X(LAPACKE_ssyrfs) X(LAPACKE_ssyrfs_work) X(LAPACKE_ssysv) X(LAPACKE_ssysv_aa)     \
    X(LAPACKE_ssysv_aa_2stage) X(LAPACKE_ssysv_aa_2stage_work) X(LAPACKE_ssysv_aa_work) X(LAPACKE_ssysv_rk)                    \
    X(LAPACKE_ssysv_rk_work) X(LAPACKE_ssysv_rook) X(LAPACKE_ssysv_rook_work) X(LAPACKE_ssysv_work) X(LAPACKE_ssysvx)          \
    X(LAPACKE_ssysvx_work) X(LAPACKE_ssyswapr) X(LAPACKE_ssyswapr_work) X(LAPACKE_ssytrd) X(LAPACKE_ssytrd_work)               \
    X(LAPACKE_ssytrf) X(LAPACKE_ssytrf_aa) X(LAPACKE_ssytrf_aa_2stage) X(LAPACKE_ssytrf_aa_2stage_work)                        \
    X(LAPACKE_ssytrf_aa_work) X(LAPACKE_ssytrf_rk) X(LAPACKE_ssytrf_rk_work) X(LAPACKE_ssytrf_rook)                            \
    X(LAPACKE_ssytrf_rook_work) X(LAPACKE_ssytrf_work) X(LAPACKE_ssytri) X(LAPACKE_ssytri2) X(LAPACKE_ssytri2_work)            \
    X(LAPACKE_ssytri2x) X(LAPACKE_ssytri2x_work) X(LAPACKE_ssytri_3) X(LAPACKE_ssytri_3_work) X(LAPACKE_ssytri_work)           \
    X(LAPACKE_ssytrs) X(LAPACKE_ssytrs2) X(LAPACKE_ssytrs2_work) X(LAPACKE_ssytrs_3) X(LAPACKE_ssytrs_3_work)                  \
    X(LAPACKE_ssytrs_aa) X(LAPACKE_ssytrs_aa_2stage) X(LAPACKE_ssytrs_aa_2stage_work) X(LAPACKE_ssytrs_aa_work)                \
    X(LAPACKE_ssytrs_rook) X(LAPACKE_ssytrs_rook_work) X(LAPACKE_ssytrs_work) X(LAPACKE_stb_nancheck) X(LAPACKE_stb_trans)     \
    X(LAPACKE_stbcon) X(LAPACKE_stbcon_work) X(LAPACKE_stbrfs) X(LAPACKE_stbrfs_work) X(LAPACKE_stbtrs) X(LAPACKE_stbtrs_work) \
    X(LAPACKE_stf_nancheck) X(LAPACKE_stf_trans) X(LAPACKE_stfsm) X(LAPACKE_stfsm_work) X(LAPACKE_stftri)                      \
    X(LAPACKE_stftri_work) X(LAPACKE_stfttp) X(LAPACKE_stfttp_work) X(LAPACKE_stfttr) X(LAPACKE_stfttr_work) X(LAPACKE_stgevc) \
    X(LAPACKE_stgevc_work) X(LAPACKE_stgexc) X(LAPACKE_stgexc_work) X(LAPACKE_stgsen) X(LAPACKE_stgsen_work) X(LAPACKE_stgsja) \
    X(LAPACKE_stgsja_work) X(LAPACKE_stgsna) X(LAPACKE_stgsna_work) X(LAPACKE_stgsyl) X(LAPACKE_stgsyl_work)                   \
    X(LAPACKE_stp_nancheck) X(LAPACKE_stp_trans) X(LAPACKE_stpcon) X(LAPACKE_stpcon_work) X(LAPACKE_stpmqrt)                   \
    X(LAPACKE_stpmqrt_work) X(LAPACKE_stpqrt) X(LAPACKE_stpqrt2) X(LAPACKE_stpqrt2_work) X(LAPACKE_stpqrt_work)                \
    X(LAPACKE_stprfb) X(LAPACKE_stprfb_work) X(LAPACKE_stprfs) X(LAPACKE_stprfs_work) X(LAPACKE_stptri) X(LAPACKE_stptri_work) \
    X(LAPACKE_stptrs) X(LAPACKE_stptrs_work) X(LAPACKE_stpttf) X(LAPACKE_stpttf_work) X(LAPACKE_stpttr) X(LAPACKE_stpttr_work) \
    X(LAPACKE_str_nancheck) X(LAPACKE_str_trans) X(LAPACKE_strcon) X(LAPACKE_strcon_work) X(LAPACKE_strevc)                    \
    X(LAPACKE_strevc_work) X(LAPACKE_strexc) X(LAPACKE_strexc_work) X(LAPACKE_strrfs) X(LAPACKE_strrfs_work) X(LAPACKE_strsen) \
    X(LAPACKE_strsen_work) X(LAPACKE_strsna) X(LAPACKE_strsna_work) X(LAPACKE_strsyl) X(LAPACKE_strsyl3)                       \
    X(LAPACKE_strsyl3_work) X(LAPACKE_strsyl_work) X(LAPACKE_strtri) X(LAPACKE_strtri_work) X(LAPACKE_strtrs)                  \
    X(LAPACKE_strtrs_work) X(LAPACKE_strttf) X(LAPACKE_strttf_work) X(LAPACKE_strttp) X(LAPACKE_strttp_work)                   \
    X(LAPACKE_stz_nancheck) X(LAPACKE_stz_trans) X(LAPACKE_stzrzf) X(LAPACKE_stzrzf_work) X(LAPACKE_z_nancheck)                \
    X(LAPACKE_zbbcsd) X(LAPACKE_zbbcsd_work) X(LAPACKE_zbdsqr) X(LAPACKE_zbdsqr_work) X(LAPACKE_zcgesv) X(LAPACKE_zcgesv_work) \
    X(LAPACKE_zcposv) X(LAPACKE_zcposv_work) X(LAPACKE_zgb_nancheck) X(LAPACKE_zgb_trans) X(LAPACKE_zgbbrd)                    \
    X(LAPACKE_zgbbrd_work) X(LAPACKE_zgbcon) X(LAPACKE_zgbcon_work) X(LAPACKE_zgbequ) X(LAPACKE_zgbequ_work)                   \
    X(LAPACKE_zgbequb) X(LAPACKE_zgbequb_work) X(LAPACKE_zgbrfs) X(LAPACKE_zgbrfs_work) X(LAPACKE_zgbsv) X(LAPACKE_zgbsv_work) \
    X(LAPACKE_zgbsvx) X(LAPACKE_zgbsvx_work) X(LAPACKE_zgbtrf) X(LAPACKE_zgbtrf_work) X(LAPACKE_zgbtrs) X(LAPACKE_zgbtrs_work) \
    X(LAPACKE_zge_nancheck) X(LAPACKE_zge_trans) X(LAPACKE_zgebak) X(LAPACKE_zgebak_work) X(LAPACKE_zgebal)                    \
    X(LAPACKE_zgebal_work) X(LAPACKE_zgebrd) X(LAPACKE_zgebrd_work) X(LAPACKE_zgecon) X(LAPACKE_zgecon_work) X(LAPACKE_zgeequ) \
    X(LAPACKE_zgeequ_work) X(LAPACKE_zgeequb) X(LAPACKE_zgeequb_work) X(LAPACKE_zgees) X(LAPACKE_zgees_work) X(LAPACKE_zgeesx) \
    X(LAPACKE_zgeesx_work) X(LAPACKE_zgeev) X(LAPACKE_zgeev_work) X(LAPACKE_zgeevx) X(LAPACKE_zgeevx_work) X(LAPACKE_zgehrd)   \
    X(LAPACKE_zgehrd_work) X(LAPACKE_zgejsv) X(LAPACKE_zgejsv_work) X(LAPACKE_zgelq) X(LAPACKE_zgelq2) X(LAPACKE_zgelq2_work)  \
    X(LAPACKE_zgelq_work) X(LAPACKE_zgelqf) X(LAPACKE_zgelqf_work) X(LAPACKE_zgels) X(LAPACKE_zgels_work) X(LAPACKE_zgelsd)    \
    X(LAPACKE_zgelsd_work) X(LAPACKE_zgelss) X(LAPACKE_zgelss_work) X(LAPACKE_zgelsy) X(LAPACKE_zgelsy_work) X(LAPACKE_zgemlq) \
    X(LAPACKE_zgemlq_work) X(LAPACKE_zgemqr) X(LAPACKE_zgemqr_work) X(LAPACKE_zgemqrt) X(LAPACKE_zgemqrt_work)                 \
    X(LAPACKE_zgeqlf) X(LAPACKE_zgeqlf_work) X(LAPACKE_zgeqp3) X(LAPACKE_zgeqp3_work) X(LAPACKE_zgeqpf) X(LAPACKE_zgeqpf_work) \
    X(LAPACKE_zgeqr) X(LAPACKE_zgeqr2) X(LAPACKE_zgeqr2_work) X(LAPACKE_zgeqr_work) X(LAPACKE_zgeqrf) X(LAPACKE_zgeqrf_work)   \
    X(LAPACKE_zgeqrfp) X(LAPACKE_zgeqrfp_work) X(LAPACKE_zgeqrt) X(LAPACKE_zgeqrt2) X(LAPACKE_zgeqrt2_work) X(LAPACKE_zgeqrt3) \
    X(LAPACKE_zgeqrt3_work) X(LAPACKE_zgeqrt_work) X(LAPACKE_zgerfs) X(LAPACKE_zgerfs_work) X(LAPACKE_zgerqf)                  \
    X(LAPACKE_zgerqf_work) X(LAPACKE_zgesdd) X(LAPACKE_zgesdd_work) X(LAPACKE_zgesv) X(LAPACKE_zgesv_work) X(LAPACKE_zgesvd)   \
    X(LAPACKE_zgesvd_work) X(LAPACKE_zgesvdq) X(LAPACKE_zgesvdq_work) X(LAPACKE_zgesvdx) X(LAPACKE_zgesvdx_work)               \
    X(LAPACKE_zgesvj) X(LAPACKE_zgesvj_work) X(LAPACKE_zgesvx) X(LAPACKE_zgesvx_work) X(LAPACKE_zgetf2) X(LAPACKE_zgetf2_work) \
    X(LAPACKE_zgetrf) X(LAPACKE_zgetrf2) X(LAPACKE_zgetrf2_work) X(LAPACKE_zgetrf_work) X(LAPACKE_zgetri)                      \
    X(LAPACKE_zgetri_work) X(LAPACKE_zgetrs) X(LAPACKE_zgetrs_work) X(LAPACKE_zgetsls) X(LAPACKE_zgetsls_work)                 \
    X(LAPACKE_zgetsqrhrt) X(LAPACKE_zgetsqrhrt_work) X(LAPACKE_zgg_nancheck) X(LAPACKE_zgg_trans) X(LAPACKE_zggbak)            \
    X(LAPACKE_zggbak_work) X(LAPACKE_zggbal) X(LAPACKE_zggbal_work) X(LAPACKE_zgges) X(LAPACKE_zgges3) X(LAPACKE_zgges3_work)  \
    X(LAPACKE_zgges_work) X(LAPACKE_zggesx) X(LAPACKE_zggesx_work) X(LAPACKE_zggev) X(LAPACKE_zggev3) X(LAPACKE_zggev3_work)   \
    X(LAPACKE_zggev_work) X(LAPACKE_zggevx) X(LAPACKE_zggevx_work) X(LAPACKE_zggglm) X(LAPACKE_zggglm_work) X(LAPACKE_zgghd3)  \
    X(LAPACKE_zgghd3_work) X(LAPACKE_zgghrd) X(LAPACKE_zgghrd_work) X(LAPACKE_zgglse) X(LAPACKE_zgglse_work) X(LAPACKE_zggqrf) \
    X(LAPACKE_zggqrf_work) X(LAPACKE_zggrqf) X(LAPACKE_zggrqf_work) X(LAPACKE_zggsvd) X(LAPACKE_zggsvd3)                       \
    X(LAPACKE_zggsvd3_work) X(LAPACKE_zggsvd_work) X(LAPACKE_zggsvp) X(LAPACKE_zggsvp3) X(LAPACKE_zggsvp3_work)                \
    X(LAPACKE_zggsvp_work) X(LAPACKE_zgt_nancheck) X(LAPACKE_zgtcon) X(LAPACKE_zgtcon_work) X(LAPACKE_zgtrfs)                  \
    X(LAPACKE_zgtrfs_work) X(LAPACKE_zgtsv) X(LAPACKE_zgtsv_work) X(LAPACKE_zgtsvx) X(LAPACKE_zgtsvx_work) X(LAPACKE_zgttrf)   \
    X(LAPACKE_zgttrf_work) X(LAPACKE_zgttrs) X(LAPACKE_zgttrs_work) X(LAPACKE_zhb_nancheck) X(LAPACKE_zhb_trans)               \
    X(LAPACKE_zhbev) X(LAPACKE_zhbev_2stage) X(LAPACKE_zhbev_2stage_work) X(LAPACKE_zhbev_work) X(LAPACKE_zhbevd)              \
    X(LAPACKE_zhbevd_2stage) X(LAPACKE_zhbevd_2stage_work) X(LAPACKE_zhbevd_work) X(LAPACKE_zhbevx) X(LAPACKE_zhbevx_2stage)   \
    X(LAPACKE_zhbevx_2stage_work) X(LAPACKE_zhbevx_work) X(LAPACKE_zhbgst) X(LAPACKE_zhbgst_work) X(LAPACKE_zhbgv)             \
    X(LAPACKE_zhbgv_work) X(LAPACKE_zhbgvd) X(LAPACKE_zhbgvd_work) X(LAPACKE_zhbgvx) X(LAPACKE_zhbgvx_work) X(LAPACKE_zhbtrd)  \
    X(LAPACKE_zhbtrd_work) X(LAPACKE_zhe_nancheck) X(LAPACKE_zhe_trans) X(LAPACKE_zhecon) X(LAPACKE_zhecon_3)                  \
    X(LAPACKE_zhecon_3_work) X(LAPACKE_zhecon_work) X(LAPACKE_zheequb) X(LAPACKE_zheequb_work) X(LAPACKE_zheev)                \
    X(LAPACKE_zheev_2stage) X(LAPACKE_zheev_2stage_work) X(LAPACKE_zheev_work) X(LAPACKE_zheevd) X(LAPACKE_zheevd_2stage)      \
    X(LAPACKE_zheevd_2stage_work) X(LAPACKE_zheevd_work) X(LAPACKE_zheevr) X(LAPACKE_zheevr_2stage)                            \
    X(LAPACKE_zheevr_2stage_work) X(LAPACKE_zheevr_work) X(LAPACKE_zheevx) X(LAPACKE_zheevx_2stage)                            \
    X(LAPACKE_zheevx_2stage_work) X(LAPACKE_zheevx_work) X(LAPACKE_zhegst) X(LAPACKE_zhegst_work) X(LAPACKE_zhegv)             \
    X(LAPACKE_zhegv_2stage) X(LAPACKE_zhegv_2stage_work) X(LAPACKE_zhegv_work) X(LAPACKE_zhegvd) X(LAPACKE_zhegvd_work)        \
    X(LAPACKE_zhegvx) X(LAPACKE_zhegvx_work) X(LAPACKE_zherfs) X(LAPACKE_zherfs_work) X(LAPACKE_zhesv) X(LAPACKE_zhesv_aa)     \
    X(LAPACKE_zhesv_aa_2stage) X(LAPACKE_zhesv_aa_2stage_work) X(LAPACKE_zhesv_aa_work) X(LAPACKE_zhesv_rk)                    \
    X(LAPACKE_zhesv_rk_work) X(LAPACKE_zhesv_work) X(LAPACKE_zhesvx) X(LAPACKE_zhesvx_work) X(LAPACKE_zheswapr)                \
    X(LAPACKE_zheswapr_work) X(LAPACKE_zhetrd) X(LAPACKE_zhetrd_work) X(LAPACKE_zhetrf) X(LAPACKE_zhetrf_aa)                   \
    X(LAPACKE_zhetrf_aa_2stage) X(LAPACKE_zhetrf_aa_2stage_work) X(LAPACKE_zhetrf_aa_work) X(LAPACKE_zhetrf_rk)                \
    X(LAPACKE_zhetrf_rk_work) X(LAPACKE_zhetrf_rook) X(LAPACKE_zhetrf_rook_work) X(LAPACKE_zhetrf_work) X(LAPACKE_zhetri)      \
    X(LAPACKE_zhetri2) X(LAPACKE_zhetri2_work) X(LAPACKE_zhetri2x) X(LAPACKE_zhetri2x_work) X(LAPACKE_zhetri_3)                \
    X(LAPACKE_zhetri_3_work) X(LAPACKE_zhetri_work) X(LAPACKE_zhetrs) X(LAPACKE_zhetrs2) X(LAPACKE_zhetrs2_work)               \
    X(LAPACKE_zhetrs_3) X(LAPACKE_zhetrs_3_work) X(LAPACKE_zhetrs_aa) X(LAPACKE_zhetrs_aa_2stage)                              \
    X(LAPACKE_zhetrs_aa_2stage_work) X(LAPACKE_zhetrs_aa_work) X(LAPACKE_zhetrs_rook) X(LAPACKE_zhetrs_rook_work)              \
    X(LAPACKE_zhetrs_work) X(LAPACKE_zhfrk) X(LAPACKE_zhfrk_work) X(LAPACKE_zhgeqz) X(LAPACKE_zhgeqz_work)                     \
    X(LAPACKE_zhp_nancheck) X(LAPACKE_zhp_trans) X(LAPACKE_zhpcon) X(LAPACKE_zhpcon_work) X(LAPACKE_zhpev)                     \
    X(LAPACKE_zhpev_work) X(LAPACKE_zhpevd) X(LAPACKE_zhpevd_work) X(LAPACKE_zhpevx) X(LAPACKE_zhpevx_work) X(LAPACKE_zhpgst)  \
    X(LAPACKE_zhpgst_work) X(LAPACKE_zhpgv) X(LAPACKE_zhpgv_work) X(LAPACKE_zhpgvd) X(LAPACKE_zhpgvd_work) X(LAPACKE_zhpgvx)   \
    X(LAPACKE_zhpgvx_work) X(LAPACKE_zhprfs) X(LAPACKE_zhprfs_work) X(LAPACKE_zhpsv) X(LAPACKE_zhpsv_work) X(LAPACKE_zhpsvx)   \
    X(LAPACKE_zhpsvx_work) X(LAPACKE_zhptrd) X(LAPACKE_zhptrd_work) X(LAPACKE_zhptrf) X(LAPACKE_zhptrf_work) X(LAPACKE_zhptri) \
    X(LAPACKE_zhptri_work) X(LAPACKE_zhptrs) X(LAPACKE_zhptrs_work) X(LAPACKE_zhs_nancheck) X(LAPACKE_zhs_trans)               \
    X(LAPACKE_zhsein) X(LAPACKE_zhsein_work) X(LAPACKE_zhseqr) X(LAPACKE_zhseqr_work) X(LAPACKE_zlacgv) X(LAPACKE_zlacgv_work) \
    X(LAPACKE_zlacn2) X(LAPACKE_zlacn2_work) X(LAPACKE_zlacp2) X(LAPACKE_zlacp2_work) X(LAPACKE_zlacpy) X(LAPACKE_zlacpy_work) \
    X(LAPACKE_zlacrm) X(LAPACKE_zlacrm_work) X(LAPACKE_zlag2c) X(LAPACKE_zlag2c_work) X(LAPACKE_zlagge) X(LAPACKE_zlagge_work) \
    X(LAPACKE_zlaghe) X(LAPACKE_zlaghe_work) X(LAPACKE_zlagsy) X(LAPACKE_zlagsy_work) X(LAPACKE_zlangb) X(LAPACKE_zlangb_work) \
    X(LAPACKE_zlange) X(LAPACKE_zlange_work) X(LAPACKE_zlanhe) X(LAPACKE_zlanhe_work) X(LAPACKE_zlansy) X(LAPACKE_zlansy_work) \
    X(LAPACKE_zlantr) X(LAPACKE_zlantr_work) X(LAPACKE_zlapmr) X(LAPACKE_zlapmr_work) X(LAPACKE_zlapmt) X(LAPACKE_zlapmt_work) \
    X(LAPACKE_zlarcm) X(LAPACKE_zlarcm_work) X(LAPACKE_zlarfb) X(LAPACKE_zlarfb_work) X(LAPACKE_zlarfg) X(LAPACKE_zlarfg_work) \
    X(LAPACKE_zlarft) X(LAPACKE_zlarft_work) X(LAPACKE_zlarfx) X(LAPACKE_zlarfx_work) X(LAPACKE_zlarnv) X(LAPACKE_zlarnv_work) \
    X(LAPACKE_zlascl) X(LAPACKE_zlascl_work) X(LAPACKE_zlaset) X(LAPACKE_zlaset_work) X(LAPACKE_zlassq) X(LAPACKE_zlassq_work) \
    X(LAPACKE_zlaswp) X(LAPACKE_zlaswp_work) X(LAPACKE_zlatms) X(LAPACKE_zlatms_work) X(LAPACKE_zlauum) X(LAPACKE_zlauum_work) \
    X(LAPACKE_zpb_nancheck) X(LAPACKE_zpb_trans) X(LAPACKE_zpbcon) X(LAPACKE_zpbcon_work) X(LAPACKE_zpbequ)                    \
    X(LAPACKE_zpbequ_work) X(LAPACKE_zpbrfs) X(LAPACKE_zpbrfs_work) X(LAPACKE_zpbstf) X(LAPACKE_zpbstf_work) X(LAPACKE_zpbsv)  \
    X(LAPACKE_zpbsv_work) X(LAPACKE_zpbsvx) X(LAPACKE_zpbsvx_work) X(LAPACKE_zpbtrf) X(LAPACKE_zpbtrf_work) X(LAPACKE_zpbtrs)  \
    X(LAPACKE_zpbtrs_work) X(LAPACKE_zpf_nancheck) X(LAPACKE_zpf_trans) X(LAPACKE_zpftrf) X(LAPACKE_zpftrf_work)               \
    X(LAPACKE_zpftri) X(LAPACKE_zpftri_work) X(LAPACKE_zpftrs) X(LAPACKE_zpftrs_work) X(LAPACKE_zpo_nancheck)                  \
    X(LAPACKE_zpo_trans) X(LAPACKE_zpocon) X(LAPACKE_zpocon_work) X(LAPACKE_zpoequ) X(LAPACKE_zpoequ_work) X(LAPACKE_zpoequb)  \
    X(LAPACKE_zpoequb_work) X(LAPACKE_zporfs) X(LAPACKE_zporfs_work) X(LAPACKE_zposv) X(LAPACKE_zposv_work) X(LAPACKE_zposvx)  \
    X(LAPACKE_zposvx_work) X(LAPACKE_zpotrf) X(LAPACKE_zpotrf2) X(LAPACKE_zpotrf2_work) X(LAPACKE_zpotrf_work)                 \
    X(LAPACKE_zpotri) X(LAPACKE_zpotri_work) X(LAPACKE_zpotrs) X(LAPACKE_zpotrs_work) X(LAPACKE_zpp_nancheck)                  \
    X(LAPACKE_zpp_trans) X(LAPACKE_zppcon) X(LAPACKE_zppcon_work) X(LAPACKE_zppequ) X(LAPACKE_zppequ_work) X(LAPACKE_zpprfs)   \
    X(LAPACKE_zpprfs_work) X(LAPACKE_zppsv) X(LAPACKE_zppsv_work) X(LAPACKE_zppsvx) X(LAPACKE_zppsvx_work) X(LAPACKE_zpptrf)   \
    X(LAPACKE_zpptrf_work) X(LAPACKE_zpptri) X(LAPACKE_zpptri_work) X(LAPACKE_zpptrs) X(LAPACKE_zpptrs_work) X(LAPACKE_zpstrf) \
    X(LAPACKE_zpstrf_work) X(LAPACKE_zpt_nancheck) X(LAPACKE_zptcon) X(LAPACKE_zptcon_work) X(LAPACKE_zpteqr)                  \
    X(LAPACKE_zpteqr_work) X(LAPACKE_zptrfs) X(LAPACKE_zptrfs_work) X(LAPACKE_zptsv) X(LAPACKE_zptsv_work) X(LAPACKE_zptsvx)   \
    X(LAPACKE_zptsvx_work) X(LAPACKE_zpttrf) X(LAPACKE_zpttrf_work) X(LAPACKE_zpttrs) X(LAPACKE_zpttrs_work)                   \
    X(LAPACKE_zsp_nancheck) X(LAPACKE_zsp_trans) X(LAPACKE_zspcon) X(LAPACKE_zspcon_work) X(LAPACKE_zsprfs)                    \
    X(LAPACKE_zsprfs_work) X(LAPACKE_zspsv) X(LAPACKE_zspsv_work) X(LAPACKE_zspsvx) X(LAPACKE_zspsvx_work) X(LAPACKE_zsptrf)   \
    X(LAPACKE_zsptrf_work) X(LAPACKE_zsptri) X(LAPACKE_zsptri_work) X(LAPACKE_zsptrs) X(LAPACKE_zsptrs_work)                   \
    X(LAPACKE_zst_nancheck) X(LAPACKE_zstedc) X(LAPACKE_zstedc_work) X(LAPACKE_zstegr) X(LAPACKE_zstegr_work)                  \
    X(LAPACKE_zstein) X(LAPACKE_zstein_work) X(LAPACKE_zstemr) X(LAPACKE_zstemr_work) X(LAPACKE_zsteqr) X(LAPACKE_zsteqr_work) \
    X(LAPACKE_zsy_nancheck) X(LAPACKE_zsy_trans) X(LAPACKE_zsycon) X(LAPACKE_zsycon_3) X(LAPACKE_zsycon_3_work)                \
    X(LAPACKE_zsycon_work) X(LAPACKE_zsyconv) X(LAPACKE_zsyconv_work) X(LAPACKE_zsyequb) X(LAPACKE_zsyequb_work)               \
    X(LAPACKE_zsyr) X(LAPACKE_zsyr_work) X(LAPACKE_zsyrfs) X(LAPACKE_zsyrfs_work) X(LAPACKE_zsysv) X(LAPACKE_zsysv_aa)         \
    X(LAPACKE_zsysv_aa_2stage) X(LAPACKE_zsysv_aa_2stage_work) X(LAPACKE_zsysv_aa_work) X(LAPACKE_zsysv_rk)                    \
    X(LAPACKE_zsysv_rk_work) X(LAPACKE_zsysv_rook) X(LAPACKE_zsysv_rook_work) X(LAPACKE_zsysv_work) X(LAPACKE_zsysvx)          \
    X(LAPACKE_zsysvx_work) X(LAPACKE_zsyswapr) X(LAPACKE_zsyswapr_work) X(LAPACKE_zsytrf) X(LAPACKE_zsytrf_aa)                 \
    X(LAPACKE_zsytrf_aa_2stage) X(LAPACKE_zsytrf_aa_2stage_work) X(LAPACKE_zsytrf_aa_work) X(LAPACKE_zsytrf_rk)                \
    X(LAPACKE_zsytrf_rk_work) X(LAPACKE_zsytrf_rook) X(LAPACKE_zsytrf_rook_work) X(LAPACKE_zsytrf_work) X(LAPACKE_zsytri)      \
    X(LAPACKE_zsytri2) X(LAPACKE_zsytri2_work) X(LAPACKE_zsytri2x) X(LAPACKE_zsytri2x_work) X(LAPACKE_zsytri_3)                \
    X(LAPACKE_zsytri_3_work) X(LAPACKE_zsytri_work) X(LAPACKE_zsytrs) X(LAPACKE_zsytrs2) X(LAPACKE_zsytrs2_work)               \
    X(LAPACKE_zsytrs_3) X(LAPACKE_zsytrs_3_work) X(LAPACKE_zsytrs_aa) X(LAPACKE_zsytrs_aa_2stage)                              \
    X(LAPACKE_zsytrs_aa_2stage_work) X(LAPACKE_zsytrs_aa_work) X(LAPACKE_zsytrs_rook) X(LAPACKE_zsytrs_rook_work)              \
    X(LAPACKE_zsytrs_work) X(LAPACKE_ztb_nancheck) X(LAPACKE_ztb_trans) X(LAPACKE_ztbcon) X(LAPACKE_ztbcon_work)               \
    X(LAPACKE_ztbrfs) X(LAPACKE_ztbrfs_work) X(LAPACKE_ztbtrs) X(LAPACKE_ztbtrs_work) X(LAPACKE_ztf_nancheck)                  \
    X(LAPACKE_ztf_trans) X(LAPACKE_ztfsm) X(LAPACKE_ztfsm_work) X(LAPACKE_ztftri) X(LAPACKE_ztftri_work) X(LAPACKE_ztfttp)     \
    X(LAPACKE_ztfttp_work) X(LAPACKE_ztfttr) X(LAPACKE_ztfttr_work) X(LAPACKE_ztgevc) X(LAPACKE_ztgevc_work) X(LAPACKE_ztgexc) \
    X(LAPACKE_ztgexc_work) X(LAPACKE_ztgsen) X(LAPACKE_ztgsen_work) X(LAPACKE_ztgsja) X(LAPACKE_ztgsja_work) X(LAPACKE_ztgsna) \
    X(LAPACKE_ztgsna_work) X(LAPACKE_ztgsyl) X(LAPACKE_ztgsyl_work) X(LAPACKE_ztp_nancheck) X(LAPACKE_ztp_trans)               \
    X(LAPACKE_ztpcon) X(LAPACKE_ztpcon_work) X(LAPACKE_ztpmqrt) X(LAPACKE_ztpmqrt_work) X(LAPACKE_ztpqrt) X(LAPACKE_ztpqrt2)   \
    X(LAPACKE_ztpqrt2_work) X(LAPACKE_ztpqrt_work) X(LAPACKE_ztprfb) X(LAPACKE_ztprfb_work) X(LAPACKE_ztprfs)                  \
    X(LAPACKE_ztprfs_work) X(LAPACKE_ztptri) X(LAPACKE_ztptri_work) X(LAPACKE_ztptrs) X(LAPACKE_ztptrs_work) X(LAPACKE_ztpttf) \
    X(LAPACKE_ztpttf_work) X(LAPACKE_ztpttr) X(LAPACKE_ztpttr_work) X(LAPACKE_ztr_nancheck) X(LAPACKE_ztr_trans)               \
    X(LAPACKE_ztrcon) X(LAPACKE_ztrcon_work) X(LAPACKE_ztrevc) X(LAPACKE_ztrevc_work) X(LAPACKE_ztrexc) X(LAPACKE_ztrexc_work) \
    X(LAPACKE_ztrrfs) X(LAPACKE_ztrrfs_work) X(LAPACKE_ztrsen) X(LAPACKE_ztrsen_work) X(LAPACKE_ztrsna) X(LAPACKE_ztrsna_work) \
    X(LAPACKE_ztrsyl) X(LAPACKE_ztrsyl3) X(LAPACKE_ztrsyl3_work) X(LAPACKE_ztrsyl_work) X(LAPACKE_ztrtri)                      \
    X(LAPACKE_ztrtri_work) X(LAPACKE_ztrtrs) X(LAPACKE_ztrtrs_work) X(LAPACKE_ztrttf) X(LAPACKE_ztrttf_work) X(LAPACKE_ztrttp) \
    X(LAPACKE_ztrttp_work) X(LAPACKE_ztz_nancheck) X(LAPACKE_ztz_trans) X(LAPACKE_ztzrzf) X(LAPACKE_ztzrzf_work)               \
    X(LAPACKE_zunbdb) X(LAPACKE_zunbdb_work) X(LAPACKE_zuncsd) X(LAPACKE_zuncsd2by1) X(LAPACKE_zuncsd2by1_work)                \
    X(LAPACKE_zuncsd_work) X(LAPACKE_zungbr) X(LAPACKE_zungbr_work) X(LAPACKE_zunghr) X(LAPACKE_zunghr_work) X(LAPACKE_zunglq) \
    X(LAPACKE_zunglq_work) X(LAPACKE_zungql) X(LAPACKE_zungql_work) X(LAPACKE_zungqr) X(LAPACKE_zungqr_work) X(LAPACKE_zungrq) \
    X(LAPACKE_zungrq_work) X(LAPACKE_zungtr) X(LAPACKE_zungtr_work) X(LAPACKE_zungtsqr_row) X(LAPACKE_zungtsqr_row_work)       \
    X(LAPACKE_zunmbr) X(LAPACKE_zunmbr_work) X(LAPACKE_zunmhr) X(LAPACKE_zunmhr_work) X(LAPACKE_zunmlq) X(LAPACKE_zunmlq_work) \
    X(LAPACKE_zunmql) X(LAPACKE_zunmql_work) X(LAPACKE_zunmqr) X(LAPACKE_zunmqr_work) X(LAPACKE_zunmrq) X(LAPACKE_zunmrq_work) \
    X(LAPACKE_zunmrz) X(LAPACKE_zunmrz_work) X(LAPACKE_zunmtr) X(LAPACKE_zunmtr_work) X(LAPACKE_zupgtr) X(LAPACKE_zupgtr_work) \
    X(LAPACKE_zupmtr) X(LAPACKE_zupmtr_work)
/* clang-format on */

#endif
