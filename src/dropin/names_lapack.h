/* names_lapack.h - lists the names of LAPACK routines whose arguments the stubs do not read. */
#ifndef BP_DROPIN_NAMES_LAPACK_H
#define BP_DROPIN_NAMES_LAPACK_H

/* clang-format off */
#define BP__DROPIN_LAPACK_OTHERS(X) \
    X(cbbcsd) X(cbdsqr) X(cgbbrd) X(cgbcon) X(cgbequ) X(cgbequb) X(cgbrfs) X(cgbsv) X(cgbsvx) X(cgbtf2) X(cgbtrf) X(cgbtrs)    \
    X(cgebak) X(cgebal) X(cgebd2) X(cgebrd) X(cgecon) X(cgeequ) X(cgeequb) X(cgees) X(cgeesx) X(cgeev) X(cgeevx) X(cgegs)      \
    X(cgegv) X(cgehd2) X(cgehrd) X(cgejsv) X(cgelq2) X(cgelq) X(cgelqf) X(cgelqt3) X(cgelqt) X(cgels) X(cgelsd) X(cgelss)      \
    X(cgelst) X(cgelsx) X(cgelsy) X(cgemlq) X(cgemlqt) X(cgemqr) X(cgemqrt) X(cgeql2) X(cgeqlf) X(cgeqp3) X(cgeqpf) X(cgeqr2)  \
    X(cgeqr2p) X(cgeqr) X(cgeqrf) X(cgeqrfp) X(cgeqrt2) X(cgeqrt3) X(cgeqrt) X(cgerfs) X(cgerq2) X(cgerqf) X(cgesc2) X(cgesdd) \
    X(cgesvd) X(cgesvdq) X(cgesvdx) X(cgesvj) X(cgesvx) X(cgetc2) X(cgetf2) X(cgetrf2) X(cgetri) X(cgetsls) X(cgetsqrhrt)      \
    X(cggbak) X(cggbal) X(cgges3) X(cgges) X(cggesx) X(cggev3) X(cggev) X(cggevx) X(cggglm) X(cgghd3) X(cgghrd) X(cgglse)      \
    X(cggqrf) X(cggrqf) X(cggsvd3) X(cggsvd) X(cggsvp3) X(cggsvp) X(cgsvj0) X(cgsvj1) X(cgtcon) X(cgtrfs) X(cgtsv) X(cgtsvx)   \
    X(cgttrf) X(cgttrs) X(cgtts2) X(chb2st_kernels) X(chbev) X(chbev_2stage) X(chbevd) X(chbevd_2stage) X(chbevx)              \
    X(chbevx_2stage) X(chbgst) X(chbgv) X(chbgvd) X(chbgvx) X(chbtrd) X(checon) X(checon_3) X(checon_rook) X(cheequb) X(cheev) \
    X(cheev_2stage) X(cheevd) X(cheevd_2stage) X(cheevr) X(cheevr_2stage) X(cheevx) X(cheevx_2stage) X(chegs2) X(chegst)       \
    X(chegv) X(chegv_2stage) X(chegvd) X(chegvx) X(cherfs) X(chesv) X(chesv_aa) X(chesv_aa_2stage) X(chesv_rk) X(chesv_rook)   \
    X(chesvx) X(cheswapr) X(chetd2) X(chetf2) X(chetf2_rk) X(chetf2_rook) X(chetrd) X(chetrd_2stage) X(chetrd_hb2st)           \
    X(chetrd_he2hb) X(chetrf) X(chetrf_aa) X(chetrf_aa_2stage) X(chetrf_rk) X(chetrf_rook) X(chetri2) X(chetri2x) X(chetri)    \
    X(chetri_3) X(chetri_3x) X(chetri_rook) X(chetrs2) X(chetrs) X(chetrs_3) X(chetrs_aa) X(chetrs_aa_2stage) X(chetrs_rook)   \
    X(chfrk) X(chgeqz) X(chpcon) X(chpev) X(chpevd) X(chpevx) X(chpgst) X(chpgv) X(chpgvd) X(chpgvx) X(chprfs) X(chpsv)        \
    X(chpsvx) X(chptrd) X(chptrf) X(chptri) X(chptrs) X(chsein) X(chseqr) X(clabrd) X(clacgv) X(clacn2) X(clacon) X(clacp2)    \
    X(clacpy) X(clacrm) X(clacrt) X(cladiv) X(claed0) X(claed7) X(claed8) X(claein) X(claesy) X(claev2) X(clag2z) X(clags2)    \
    X(clagtm) X(clahef) X(clahef_aa) X(clahef_rk) X(clahef_rook) X(clahqr) X(clahr2) X(clahrd) X(claic1) X(clals0) X(clalsa)   \
    X(clalsd) X(clamswlq) X(clamtsqr) X(clangb) X(clange) X(clangt) X(clanhb) X(clanhe) X(clanhf) X(clanhp) X(clanhs)          \
    X(clanht) X(clansb) X(clansp) X(clansy) X(clantb) X(clantp) X(clantr) X(clapll) X(clapmr) X(clapmt) X(claqgb) X(claqge)    \
    X(claqhb) X(claqhe) X(claqhp) X(claqp2) X(claqps) X(claqr0) X(claqr1) X(claqr2) X(claqr3) X(claqr4) X(claqr5) X(claqsb)    \
    X(claqsp) X(claqsy) X(claqz0) X(claqz1) X(claqz2) X(claqz3) X(clar1v) X(clar2v) X(clarcm) X(clarf) X(clarfb)               \
    X(clarfb_gett) X(clarfg) X(clarfgp) X(clarft) X(clarfx) X(clarfy) X(clargv) X(clarnv) X(clarrv) X(clartg) X(clartv)        \
    X(clarz) X(clarzb) X(clarzt) X(clascl) X(claset) X(clasr) X(classq) X(claswlq) X(claswp) X(clasyf) X(clasyf_aa)            \
    X(clasyf_rk) X(clasyf_rook) X(clatbs) X(clatdf) X(clatps) X(clatrd) X(clatrs3) X(clatrs) X(clatrz) X(clatsqr) X(clatzm)    \
    X(claunhr_col_getrfnp2) X(claunhr_col_getrfnp) X(clauu2) X(clauum) X(cpbcon) X(cpbequ) X(cpbrfs) X(cpbstf) X(cpbsv)        \
    X(cpbsvx) X(cpbtf2) X(cpbtrf) X(cpbtrs) X(cpftrf) X(cpftri) X(cpftrs) X(cpocon) X(cpoequ) X(cpoequb) X(cporfs) X(cposvx)   \
    X(cpotf2) X(cpotrf2) X(cpotri) X(cppcon) X(cppequ) X(cpprfs) X(cppsv) X(cppsvx) X(cpptrf) X(cpptri) X(cpptrs) X(cpstf2)    \
    X(cpstrf) X(cptcon) X(cpteqr) X(cptrfs) X(cptsv) X(cptsvx) X(cpttrf) X(cpttrs) X(cptts2) X(crot) X(cspcon) X(cspmv)        \
    X(cspr) X(csprfs) X(cspsv) X(cspsvx) X(csptrf) X(csptri) X(csptrs) X(csrscl) X(cstedc) X(cstegr) X(cstein) X(cstemr)       \
    X(csteqr) X(csycon) X(csycon_3) X(csycon_rook) X(csyconv) X(csyconvf) X(csyconvf_rook) X(csyequb) X(csymv) X(csyr)         \
    X(csyrfs) X(csysv) X(csysv_aa) X(csysv_aa_2stage) X(csysv_rk) X(csysv_rook) X(csysvx) X(csyswapr) X(csytf2) X(csytf2_rk)   \
    X(csytf2_rook) X(csytrf) X(csytrf_aa) X(csytrf_aa_2stage) X(csytrf_rk) X(csytrf_rook) X(csytri2) X(csytri2x) X(csytri)     \
    X(csytri_3) X(csytri_3x) X(csytri_rook) X(csytrs2) X(csytrs) X(csytrs_3) X(csytrs_aa) X(csytrs_aa_2stage) X(csytrs_rook)   \
    X(ctbcon) X(ctbrfs) X(ctbtrs) X(ctfsm) X(ctftri) X(ctfttp) X(ctfttr) X(ctgevc) X(ctgex2) X(ctgexc) X(ctgsen) X(ctgsja)     \
    X(ctgsna) X(ctgsy2) X(ctgsyl) X(ctpcon) X(ctplqt2) X(ctplqt) X(ctpmlqt) X(ctpmqrt) X(ctpqrt2) X(ctpqrt) X(ctprfb)          \
    X(ctprfs) X(ctptri) X(ctptrs) X(ctpttf) X(ctpttr) X(ctrcon) X(ctrevc3) X(ctrevc) X(ctrexc) X(ctrrfs) X(ctrsen) X(ctrsna)   \
    X(ctrsyl3) X(ctrsyl) X(ctrti2) X(ctrtri) X(ctrtrs) X(ctrttf) X(ctrttp) X(ctzrqf) X(ctzrzf) X(cunbdb1) X(cunbdb2)           \
    X(cunbdb3) X(cunbdb4) X(cunbdb5) X(cunbdb6) X(cunbdb) X(cuncsd2by1) X(cuncsd) X(cung2l) X(cung2r) X(cungbr) X(cunghr)      \
    X(cungl2) X(cunglq) X(cungql) X(cungqr) X(cungr2) X(cungrq) X(cungtr) X(cungtsqr) X(cungtsqr_row) X(cunhr_col) X(cunm22)   \
    X(cunm2l) X(cunm2r) X(cunmbr) X(cunmhr) X(cunml2) X(cunmlq) X(cunmql) X(cunmqr) X(cunmr2) X(cunmr3) X(cunmrq) X(cunmrz)    \
    X(cunmtr) X(cupgtr) X(cupmtr) X(dbbcsd) X(dbdsdc) X(dbdsqr) X(dbdsvdx) X(ddisna) X(dgbbrd) X(dgbcon) X(dgbequ) X(dgbequb)  \
    X(dgbrfs) X(dgbsv) X(dgbsvx) X(dgbtf2) X(dgbtrf) X(dgbtrs) X(dgebak) X(dgebal) X(dgebd2) X(dgebrd) X(dgecon) X(dgeequ)     \
    X(dgeequb) X(dgees) X(dgeesx) X(dgeev) X(dgeevx) X(dgegs) X(dgegv) X(dgehd2) X(dgehrd) X(dgejsv) X(dgelq2) X(dgelq)        \
    X(dgelqf) X(dgelqt3) X(dgelqt) X(dgels) X(dgelsd) X(dgelss) X(dgelst) X(dgelsx) X(dgelsy) X(dgemlq) X(dgemlqt) X(dgemqr)   \
    X(dgemqrt) X(dgeql2) X(dgeqlf) X(dgeqp3) X(dgeqpf) X(dgeqr2) X(dgeqr2p) X(dgeqr) X(dgeqrf) X(dgeqrfp) X(dgeqrt2)           \
    X(dgeqrt3) X(dgeqrt) X(dgerfs) X(dgerq2) X(dgerqf) X(dgesc2) X(dgesdd) X(dgesvd) X(dgesvdq) X(dgesvdx) X(dgesvj) X(dgesvx) \
    X(dgetc2) X(dgetf2) X(dgetrf2) X(dgetri) X(dgetsls) X(dgetsqrhrt) X(dggbak) X(dggbal) X(dgges3) X(dgges) X(dggesx)         \
    X(dggev3) X(dggev) X(dggevx) X(dggglm) X(dgghd3) X(dgghrd) X(dgglse) X(dggqrf) X(dggrqf) X(dggsvd3) X(dggsvd) X(dggsvp3)   \
    X(dggsvp) X(dgsvj0) X(dgsvj1) X(dgtcon) X(dgtrfs) X(dgtsv) X(dgtsvx) X(dgttrf) X(dgttrs) X(dgtts2) X(dhgeqz) X(dhsein)     \
    X(dhseqr) X(dlabrd) X(dlacn2) X(dlacon) X(dlacpy) X(dladiv1) X(dladiv2) X(dladiv) X(dlae2) X(dlaebz) X(dlaed0) X(dlaed1)   \
    X(dlaed2) X(dlaed3) X(dlaed4) X(dlaed5) X(dlaed6) X(dlaed7) X(dlaed8) X(dlaed9) X(dlaeda) X(dlaein) X(dlaev2) X(dlaexc)    \
    X(dlag2) X(dlag2s) X(dlags2) X(dlagtf) X(dlagtm) X(dlagts) X(dlagv2) X(dlahqr) X(dlahr2) X(dlahrd) X(dlaic1) X(dlaln2)     \
    X(dlals0) X(dlalsa) X(dlalsd) X(dlamrg) X(dlamswlq) X(dlamtsqr) X(dlaneg) X(dlangb) X(dlange) X(dlangt) X(dlanhs)          \
    X(dlansb) X(dlansf) X(dlansp) X(dlanst) X(dlansy) X(dlantb) X(dlantp) X(dlantr) X(dlanv2) X(dlaorhr_col_getrfnp2)          \
    X(dlaorhr_col_getrfnp) X(dlapll) X(dlapmr) X(dlapmt) X(dlapy2) X(dlapy3) X(dlaqgb) X(dlaqge) X(dlaqp2) X(dlaqps) X(dlaqr0) \
    X(dlaqr1) X(dlaqr2) X(dlaqr3) X(dlaqr4) X(dlaqr5) X(dlaqsb) X(dlaqsp) X(dlaqsy) X(dlaqtr) X(dlaqz0) X(dlaqz1) X(dlaqz2)    \
    X(dlaqz3) X(dlaqz4) X(dlar1v) X(dlar2v) X(dlarf) X(dlarfb) X(dlarfb_gett) X(dlarfg) X(dlarfgp) X(dlarft) X(dlarfx)         \
    X(dlarfy) X(dlargv) X(dlarmm) X(dlarnv) X(dlarra) X(dlarrb) X(dlarrc) X(dlarrd) X(dlarre) X(dlarrf) X(dlarrj) X(dlarrk)    \
    X(dlarrr) X(dlarrv) X(dlartg) X(dlartgp) X(dlartgs) X(dlartv) X(dlaruv) X(dlarz) X(dlarzb) X(dlarzt) X(dlas2) X(dlascl)    \
    X(dlasd0) X(dlasd1) X(dlasd2) X(dlasd3) X(dlasd4) X(dlasd5) X(dlasd6) X(dlasd7) X(dlasd8) X(dlasda) X(dlasdq) X(dlasdt)    \
    X(dlaset) X(dlasq1) X(dlasq2) X(dlasq3) X(dlasq4) X(dlasq5) X(dlasq6) X(dlasr) X(dlasrt) X(dlassq) X(dlasv2) X(dlaswlq)    \
    X(dlaswp) X(dlasy2) X(dlasyf) X(dlasyf_aa) X(dlasyf_rk) X(dlasyf_rook) X(dlat2s) X(dlatbs) X(dlatdf) X(dlatps) X(dlatrd)   \
    X(dlatrs3) X(dlatrs) X(dlatrz) X(dlatsqr) X(dlatzm) X(dlauu2) X(dlauum) X(dopgtr) X(dopmtr) X(dorbdb1) X(dorbdb2)          \
    X(dorbdb3) X(dorbdb4) X(dorbdb5) X(dorbdb6) X(dorbdb) X(dorcsd2by1) X(dorcsd) X(dorg2l) X(dorg2r) X(dorgbr) X(dorghr)      \
    X(dorgl2) X(dorglq) X(dorgql) X(dorgqr) X(dorgr2) X(dorgrq) X(dorgtr) X(dorgtsqr) X(dorgtsqr_row) X(dorhr_col) X(dorm22)   \
    X(dorm2l) X(dorm2r) X(dormbr) X(dormhr) X(dorml2) X(dormlq) X(dormql) X(dormqr) X(dormr2) X(dormr3) X(dormrq) X(dormrz)    \
    X(dormtr) X(dpbcon) X(dpbequ) X(dpbrfs) X(dpbstf) X(dpbsv) X(dpbsvx) X(dpbtf2) X(dpbtrf) X(dpbtrs) X(dpftrf) X(dpftri)     \
    X(dpftrs) X(dpocon) X(dpoequ) X(dpoequb) X(dporfs) X(dposvx) X(dpotf2) X(dpotrf2) X(dpotri) X(dppcon) X(dppequ) X(dpprfs)  \
    X(dppsv) X(dppsvx) X(dpptrf) X(dpptri) X(dpptrs) X(dpstf2) X(dpstrf) X(dptcon) X(dpteqr) X(dptrfs) X(dptsv) X(dptsvx)      \
    X(dpttrf) X(dpttrs) X(dptts2) X(drscl) X(dsb2st_kernels) X(dsbev) X(dsbev_2stage) X(dsbevd) X(dsbevd_2stage) X(dsbevx)     \
    X(dsbevx_2stage) X(dsbgst) X(dsbgv) X(dsbgvd) X(dsbgvx) X(dsbtrd) X(dsfrk) X(dsgesv) X(dspcon) X(dspev) X(dspevd)          \
    X(dspevx) X(dspgst) X(dspgv) X(dspgvd) X(dspgvx) X(dsposv) X(dsprfs) X(dspsv) X(dspsvx) X(dsptrd) X(dsptrf) X(dsptri)      \
    X(dsptrs) X(dstebz) X(dstedc) X(dstegr) X(dstein) X(dstemr) X(dsteqr) X(dsterf) X(dstev) X(dstevd) X(dstevr) X(dstevx)     \
    X(dsycon) X(dsycon_3) X(dsycon_rook) X(dsyconv) X(dsyconvf) X(dsyconvf_rook) X(dsyequb) X(dsyev) X(dsyev_2stage) X(dsyevd) \
    X(dsyevd_2stage) X(dsyevr) X(dsyevr_2stage) X(dsyevx) X(dsyevx_2stage) X(dsygs2) X(dsygst) X(dsygv) X(dsygv_2stage)        \
    X(dsygvd) X(dsygvx) X(dsyrfs) X(dsysv) X(dsysv_aa) X(dsysv_aa_2stage) X(dsysv_rk) X(dsysv_rook) X(dsysvx) X(dsyswapr)      \
    X(dsytd2) X(dsytf2) X(dsytf2_rk) X(dsytf2_rook) X(dsytrd) X(dsytrd_2stage) X(dsytrd_sb2st) X(dsytrd_sy2sb) X(dsytrf)       \
    X(dsytrf_aa) X(dsytrf_aa_2stage) X(dsytrf_rk) X(dsytrf_rook) X(dsytri2) X(dsytri2x) X(dsytri) X(dsytri_3) X(dsytri_3x)     \
    X(dsytri_rook) X(dsytrs2) X(dsytrs) X(dsytrs_3) X(dsytrs_aa) X(dsytrs_aa_2stage) X(dsytrs_rook) X(dtbcon) X(dtbrfs)        \
    X(dtbtrs) X(dtfsm) X(dtftri) X(dtfttp) X(dtfttr) X(dtgevc) X(dtgex2) X(dtgexc) X(dtgsen) X(dtgsja) X(dtgsna) X(dtgsy2)     \
    X(dtgsyl) X(dtpcon) X(dtplqt2) X(dtplqt) X(dtpmlqt) X(dtpmqrt) X(dtpqrt2) X(dtpqrt) X(dtprfb) X(dtprfs) X(dtptri)          \
    X(dtptrs) X(dtpttf) X(dtpttr) X(dtrcon) X(dtrevc3) X(dtrevc) X(dtrexc) X(dtrrfs) X(dtrsen) X(dtrsna) X(dtrsyl3) X(dtrsyl)  \
    X(dtrti2) X(dtrtri) X(dtrtrs) X(dtrttf) X(dtrttp) X(dtzrqf) X(dtzrzf) X(dzsum1) X(icmax1) X(ilaclc) X(ilaclr) X(iladlc)    \
    X(iladlr) X(ilaslc) X(ilaslr) X(ilazlc) X(ilazlr) X(izmax1) X(sbbcsd) X(sbdsdc) X(sbdsqr) X(sbdsvdx) X(scsum1) X(sdisna)   \
    X(sgbbrd) X(sgbcon) X(sgbequ) X(sgbequb) X(sgbrfs) X(sgbsv) X(sgbsvx) X(sgbtf2) X(sgbtrf) X(sgbtrs) X(sgebak) X(sgebal)    \
    X(sgebd2) X(sgebrd) X(sgecon) X(sgeequ) X(sgeequb) X(sgees) X(sgeesx) X(sgeev) X(sgeevx) X(sgegs) X(sgegv) X(sgehd2)       \
    X(sgehrd) X(sgejsv) X(sgelq2) X(sgelq) X(sgelqf) X(sgelqt3) X(sgelqt) X(sgels) X(sgelsd) X(sgelss) X(sgelst) X(sgelsx)     \
    X(sgelsy) X(sgemlq) X(sgemlqt) X(sgemqr) X(sgemqrt) X(sgeql2) X(sgeqlf) X(sgeqp3) X(sgeqpf) X(sgeqr2) X(sgeqr2p) X(sgeqr)  \
    X(sgeqrf) X(sgeqrfp) X(sgeqrt2) X(sgeqrt3) X(sgeqrt) X(sgerfs) X(sgerq2) X(sgerqf) X(sgesc2) X(sgesdd) X(sgesvd)           \
    X(sgesvdq) X(sgesvdx) X(sgesvj) X(sgesvx) X(sgetc2) X(sgetf2) X(sgetrf2) X(sgetri) X(sgetsls) X(sgetsqrhrt) X(sggbak)      \
    X(sggbal) X(sgges3) X(sgges) X(sggesx) X(sggev3) X(sggev) X(sggevx) X(sggglm) X(sgghd3) X(sgghrd) X(sgglse) X(sggqrf)      \
    X(sggrqf) X(sggsvd3) X(sggsvd) X(sggsvp3) X(sggsvp) X(sgsvj0) X(sgsvj1) X(sgtcon) X(sgtrfs) X(sgtsv) X(sgtsvx) X(sgttrf)   \
    X(sgttrs) X(sgtts2) X(shgeqz) X(shsein) X(shseqr) X(slabrd) X(slacn2) X(slacon) X(slacpy) X(sladiv1) X(sladiv2) X(sladiv)  \
    X(slae2) X(slaebz) X(slaed0) X(slaed1) X(slaed2) X(slaed3) X(slaed4) X(slaed5) X(slaed6) X(slaed7) X(slaed8) X(slaed9)     \
    X(slaeda) X(slaein) X(slaev2) X(slaexc) X(slag2) X(slag2d) X(slags2) X(slagtf) X(slagtm) X(slagts) X(slagv2) X(slahqr)     \
    X(slahr2) X(slahrd) X(slaic1) X(slaln2) X(slals0) X(slalsa) X(slalsd) X(slamrg) X(slamswlq) X(slamtsqr) X(slaneg)          \
    X(slangb) X(slange) X(slangt) X(slanhs) X(slansb) X(slansf) X(slansp) X(slanst) X(slansy) X(slantb) X(slantp) X(slantr)    \
    X(slanv2) X(slaorhr_col_getrfnp2) X(slaorhr_col_getrfnp) X(slapll) X(slapmr) X(slapmt) X(slapy2) X(slapy3) X(slaqgb)       \
    X(slaqge) X(slaqp2) X(slaqps) X(slaqr0) X(slaqr1) X(slaqr2) X(slaqr3) X(slaqr4) X(slaqr5) X(slaqsb) X(slaqsp) X(slaqsy)    \
    X(slaqtr) X(slaqz0) X(slaqz1) X(slaqz2) X(slaqz3) X(slaqz4) X(slar1v) X(slar2v) X(slarf) X(slarfb) X(slarfb_gett)          \
    X(slarfg) X(slarfgp) X(slarft) X(slarfx) X(slarfy) X(slargv) X(slarmm) X(slarnv) X(slarra) X(slarrb) X(slarrc) X(slarrd)   \
    X(slarre) X(slarrf) X(slarrj) X(slarrk) X(slarrr) X(slarrv) X(slartg) X(slartgp) X(slartgs) X(slartv) X(slaruv) X(slarz)   \
    X(slarzb) X(slarzt) X(slas2) X(slascl) X(slasd0) X(slasd1) X(slasd2) X(slasd3) X(slasd4) X(slasd5) X(slasd6) X(slasd7)     \
    X(slasd8) X(slasda) X(slasdq) X(slasdt) X(slaset) X(slasq1) X(slasq2) X(slasq3) X(slasq4) X(slasq5) X(slasq6) X(slasr)     \
    X(slasrt) X(slassq) X(slasv2) X(slaswlq) X(slaswp) X(slasy2) X(slasyf) X(slasyf_aa) X(slasyf_rk) X(slasyf_rook) X(slatbs)  \
    X(slatdf) X(slatps) X(slatrd) X(slatrs3) X(slatrs) X(slatrz) X(slatsqr) X(slatzm) X(slauu2) X(slauum) X(sopgtr) X(sopmtr)  \
    X(sorbdb1) X(sorbdb2) X(sorbdb3) X(sorbdb4) X(sorbdb5) X(sorbdb6) X(sorbdb) X(sorcsd2by1) X(sorcsd) X(sorg2l) X(sorg2r)    \
    X(sorgbr) X(sorghr) X(sorgl2) X(sorglq) X(sorgql) X(sorgqr) X(sorgr2) X(sorgrq) X(sorgtr) X(sorgtsqr) X(sorgtsqr_row)      \
    X(sorhr_col) X(sorm22) X(sorm2l) X(sorm2r) X(sormbr) X(sormhr) X(sorml2) X(sormlq) X(sormql) X(sormqr) X(sormr2) X(sormr3) \
    X(sormrq) X(sormrz) X(sormtr) X(spbcon) X(spbequ) X(spbrfs) X(spbstf) X(spbsv) X(spbsvx) X(spbtf2) X(spbtrf) X(spbtrs)     \
    X(spftrf) X(spftri) X(spftrs) X(spocon) X(spoequ) X(spoequb) X(sporfs) X(sposvx) X(spotf2) X(spotrf2) X(spotri) X(sppcon)  \
    X(sppequ) X(spprfs) X(sppsv) X(sppsvx) X(spptrf) X(spptri) X(spptrs) X(spstf2) X(spstrf) X(sptcon) X(spteqr) X(sptrfs)     \
    X(sptsv) X(sptsvx) X(spttrf) X(spttrs) X(sptts2) X(srscl) X(ssb2st_kernels) X(ssbev) X(ssbev_2stage) X(ssbevd)             \
    X(ssbevd_2stage) X(ssbevx) X(ssbevx_2stage) X(ssbgst) X(ssbgv) X(ssbgvd) X(ssbgvx) X(ssbtrd) X(ssfrk) X(sspcon) X(sspev)   \
    X(sspevd) X(sspevx) X(sspgst) X(sspgv) X(sspgvd) X(sspgvx) X(ssprfs) X(sspsv) X(sspsvx) X(ssptrd) X(ssptrf) X(ssptri)      \
    X(ssptrs) X(sstebz) X(sstedc) X(sstegr) X(sstein) X(sstemr) X(ssteqr) X(ssterf) X(sstev) X(sstevd) X(sstevr) X(sstevx)     \
    X(ssycon) X(ssycon_3) X(ssycon_rook) X(ssyconv) X(ssyconvf) X(ssyconvf_rook) X(ssyequb) X(ssyev) X(ssyev_2stage) X(ssyevd) \
    X(ssyevd_2stage) X(ssyevr) X(ssyevr_2stage) X(ssyevx) X(ssyevx_2stage) X(ssygs2) X(ssygst) X(ssygv) X(ssygv_2stage)        \
    X(ssygvd) X(ssygvx) X(ssyrfs) X(ssysv) X(ssysv_aa) X(ssysv_aa_2stage) X(ssysv_rk) X(ssysv_rook) X(ssysvx) X(ssyswapr)      \
    X(ssytd2) X(ssytf2) X(ssytf2_rk) X(ssytf2_rook) X(ssytrd) X(ssytrd_2stage) X(ssytrd_sb2st) X(ssytrd_sy2sb) X(ssytrf)       \
    X(ssytrf_aa) X(ssytrf_aa_2stage) X(ssytrf_rk) X(ssytrf_rook) X(ssytri2) X(ssytri2x) X(ssytri) X(ssytri_3) X(ssytri_3x)     \
    X(ssytri_rook) X(ssytrs2) X(ssytrs) X(ssytrs_3) X(ssytrs_aa) X(ssytrs_aa_2stage) X(ssytrs_rook) X(stbcon) X(stbrfs)        \
    X(stbtrs) X(stfsm) X(stftri) X(stfttp) X(stfttr) X(stgevc) X(stgex2) X(stgexc) X(stgsen) X(stgsja) X(stgsna) X(stgsy2)     \
    X(stgsyl) X(stpcon) X(stplqt2) X(stplqt) X(stpmlqt) X(stpmqrt) X(stpqrt2) X(stpqrt) X(stprfb) X(stprfs) X(stptri)          \
    X(stptrs) X(stpttf) X(stpttr) X(strcon) X(strevc3) X(strevc) X(strexc) X(strrfs) X(strsen) X(strsna) X(strsyl3) X(strsyl)  \
    X(strti2) X(strtri) X(strtrs) X(strttf) X(strttp) X(stzrqf) X(stzrzf) X(zbbcsd) X(zbdsqr) X(zcgesv) X(zcposv) X(zdrscl)    \
    X(zgbbrd) X(zgbcon) X(zgbequ) X(zgbequb) X(zgbrfs) X(zgbsv) X(zgbsvx) X(zgbtf2) X(zgbtrf) X(zgbtrs) X(zgebak) X(zgebal)    \
    X(zgebd2) X(zgebrd) X(zgecon) X(zgeequ) X(zgeequb) X(zgees) X(zgeesx) X(zgeev) X(zgeevx) X(zgegs) X(zgegv) X(zgehd2)       \
    X(zgehrd) X(zgejsv) X(zgelq2) X(zgelq) X(zgelqf) X(zgelqt3) X(zgelqt) X(zgels) X(zgelsd) X(zgelss) X(zgelst) X(zgelsx)     \
    X(zgelsy) X(zgemlq) X(zgemlqt) X(zgemqr) X(zgemqrt) X(zgeql2) X(zgeqlf) X(zgeqp3) X(zgeqpf) X(zgeqr2) X(zgeqr2p) X(zgeqr)  \
    X(zgeqrf) X(zgeqrfp) X(zgeqrt2) X(zgeqrt3) X(zgeqrt) X(zgerfs) X(zgerq2) X(zgerqf) X(zgesc2) X(zgesdd) X(zgesvd)           \
    X(zgesvdq) X(zgesvdx) X(zgesvj) X(zgesvx) X(zgetc2) X(zgetf2) X(zgetrf2) X(zgetri) X(zgetsls) X(zgetsqrhrt) X(zggbak)      \
    X(zggbal) X(zgges3) X(zgges) X(zggesx) X(zggev3) X(zggev) X(zggevx) X(zggglm) X(zgghd3) X(zgghrd) X(zgglse) X(zggqrf)      \
    X(zggrqf) X(zggsvd3) X(zggsvd) X(zggsvp3) X(zggsvp) X(zgsvj0) X(zgsvj1) X(zgtcon) X(zgtrfs) X(zgtsv) X(zgtsvx) X(zgttrf)   \
    X(zgttrs) X(zgtts2) X(zhb2st_kernels) X(zhbev) X(zhbev_2stage) X(zhbevd) X(zhbevd_2stage) X(zhbevx) X(zhbevx_2stage)       \
    X(zhbgst) X(zhbgv) X(zhbgvd) X(zhbgvx) X(zhbtrd) X(zhecon) X(zhecon_3) X(zhecon_rook) X(zheequb) X(zheev) X(zheev_2stage)  \
    X(zheevd) X(zheevd_2stage) X(zheevr) X(zheevr_2stage) X(zheevx) X(zheevx_2stage) X(zhegs2) X(zhegst) X(zhegv)              \
    X(zhegv_2stage) X(zhegvd) X(zhegvx) X(zherfs) X(zhesv) X(zhesv_aa) X(zhesv_aa_2stage) X(zhesv_rk) X(zhesv_rook) X(zhesvx)  \
    X(zheswapr) X(zhetd2) X(zhetf2) X(zhetf2_rk) X(zhetf2_rook) X(zhetrd) X(zhetrd_2stage) X(zhetrd_hb2st) X(zhetrd_he2hb)     \
    X(zhetrf) X(zhetrf_aa) X(zhetrf_aa_2stage) X(zhetrf_rk) X(zhetrf_rook) X(zhetri2) X(zhetri2x) X(zhetri) X(zhetri_3)        \
    X(zhetri_3x) X(zhetri_rook) X(zhetrs2) X(zhetrs) X(zhetrs_3) X(zhetrs_aa) X(zhetrs_aa_2stage) X(zhetrs_rook) X(zhfrk)      \
    X(zhgeqz) X(zhpcon) X(zhpev) X(zhpevd) X(zhpevx) X(zhpgst) X(zhpgv) X(zhpgvd) X(zhpgvx) X(zhprfs) X(zhpsv) X(zhpsvx)       \
    X(zhptrd) X(zhptrf) X(zhptri) X(zhptrs) X(zhsein) X(zhseqr) X(zlabrd) X(zlacgv) X(zlacn2) X(zlacon) X(zlacp2) X(zlacpy)    \
    X(zlacrm) X(zlacrt) X(zladiv) X(zlaed0) X(zlaed7) X(zlaed8) X(zlaein) X(zlaesy) X(zlaev2) X(zlag2c) X(zlags2) X(zlagtm)    \
    X(zlahef) X(zlahef_aa) X(zlahef_rk) X(zlahef_rook) X(zlahqr) X(zlahr2) X(zlahrd) X(zlaic1) X(zlals0) X(zlalsa) X(zlalsd)   \
    X(zlamswlq) X(zlamtsqr) X(zlangb) X(zlange) X(zlangt) X(zlanhb) X(zlanhe) X(zlanhf) X(zlanhp) X(zlanhs) X(zlanht)          \
    X(zlansb) X(zlansp) X(zlansy) X(zlantb) X(zlantp) X(zlantr) X(zlapll) X(zlapmr) X(zlapmt) X(zlaqgb) X(zlaqge) X(zlaqhb)    \
    X(zlaqhe) X(zlaqhp) X(zlaqp2) X(zlaqps) X(zlaqr0) X(zlaqr1) X(zlaqr2) X(zlaqr3) X(zlaqr4) X(zlaqr5) X(zlaqsb) X(zlaqsp)    \
    X(zlaqsy) X(zlaqz0) X(zlaqz1) X(zlaqz2) X(zlaqz3) X(zlar1v) X(zlar2v) X(zlarcm) X(zlarf) X(zlarfb) X(zlarfb_gett)          \
    X(zlarfg) X(zlarfgp) X(zlarft) X(zlarfx) X(zlarfy) X(zlargv) X(zlarnv) X(zlarrv) X(zlartg) X(zlartv) X(zlarz) X(zlarzb)    \
    X(zlarzt) X(zlascl) X(zlaset) X(zlasr) X(zlassq) X(zlaswlq) X(zlaswp) X(zlasyf) X(zlasyf_aa) X(zlasyf_rk) X(zlasyf_rook)   \
    X(zlat2c) X(zlatbs) X(zlatdf) X(zlatps) X(zlatrd) X(zlatrs3) X(zlatrs) X(zlatrz) X(zlatsqr) X(zlatzm)                      \
    X(zlaunhr_col_getrfnp2) X(zlaunhr_col_getrfnp) X(zlauu2) X(zlauum) X(zpbcon) X(zpbequ) X(zpbrfs) X(zpbstf) X(zpbsv)        \
    X(zpbsvx) X(zpbtf2) X(zpbtrf) X(zpbtrs) X(zpftrf) X(zpftri) X(zpftrs) X(zpocon) X(zpoequ) X(zpoequb) X(zporfs) X(zposvx)   \
    X(zpotf2) X(zpotrf2) X(zpotri) X(zppcon) X(zppequ) X(zpprfs) X(zppsv) X(zppsvx) X(zpptrf) X(zpptri) X(zpptrs) X(zpstf2)    \
    X(zpstrf) X(zptcon) X(zpteqr) X(zptrfs) X(zptsv) X(zptsvx) X(zpttrf) X(zpttrs) X(zptts2) X(zrot) X(zspcon) X(zspmv)        \
    X(zspr) X(zsprfs) X(zspsv) X(zspsvx) X(zsptrf) X(zsptri) X(zsptrs) X(zstedc) X(zstegr) X(zstein) X(zstemr) X(zsteqr)       \
    X(zsycon) X(zsycon_3) X(zsycon_rook) X(zsyconv) X(zsyconvf) X(zsyconvf_rook) X(zsyequb) X(zsymv) X(zsyr) X(zsyrfs)         \
    X(zsysv) X(zsysv_aa) X(zsysv_aa_2stage) X(zsysv_rk) X(zsysv_rook) X(zsysvx) X(zsyswapr) X(zsytf2) X(zsytf2_rk)             \
    X(zsytf2_rook) X(zsytrf) X(zsytrf_aa) X(zsytrf_aa_2stage) X(zsytrf_rk) X(zsytrf_rook) X(zsytri2) X(zsytri2x) X(zsytri)     \
    X(zsytri_3) X(zsytri_3x) X(zsytri_rook) X(zsytrs2) X(zsytrs) X(zsytrs_3) X(zsytrs_aa) X(zsytrs_aa_2stage) X(zsytrs_rook)   \
    X(ztbcon) X(ztbrfs) X(ztbtrs) X(ztfsm) X(ztftri) X(ztfttp) X(ztfttr) X(ztgevc) X(ztgex2) X(ztgexc) X(ztgsen) X(ztgsja)     \
    X(ztgsna) X(ztgsy2) X(ztgsyl) X(ztpcon) X(ztplqt2) X(ztplqt) X(ztpmlqt) X(ztpmqrt) X(ztpqrt2) X(ztpqrt) X(ztprfb)          \
    X(ztprfs) X(ztptri) X(ztptrs) X(ztpttf) X(ztpttr) X(ztrcon) X(ztrevc3) X(ztrevc) X(ztrexc) X(ztrrfs) X(ztrsen) X(ztrsna)   \
    X(ztrsyl3) X(ztrsyl) X(ztrti2) X(ztrtri) X(ztrtrs) X(ztrttf) X(ztrttp) X(ztzrqf) X(ztzrzf) X(zunbdb1) X(zunbdb2)           \
    X(zunbdb3) X(zunbdb4) X(zunbdb5) X(zunbdb6) X(zunbdb) X(zuncsd2by1) X(zuncsd) X(zung2l) X(zung2r) X(zungbr) X(zunghr)      \
    X(zungl2) X(zunglq) X(zungql) X(zungqr) X(zungr2) X(zungrq) X(zungtr) X(zungtsqr) X(zungtsqr_row) X(zunhr_col) X(zunm22)   \
    X(zunm2l) X(zunm2r) X(zunmbr) X(zunmhr) X(zunml2) X(zunmlq) X(zunmql) X(zunmqr) X(zunmr2) X(zunmr3) X(zunmrq) X(zunmrz)    \
    X(zunmtr) X(zupgtr) X(zupmtr)

#define BP__DROPIN_LAPACK_HELPERS(X) \
    X(chla_transtype) X(disnan) X(dlabad) X(dlaisnan) X(dlamc3) X(dlamch) X(droundup_lwork) X(dsecnd) X(ieeeck) X(iladiag)     \
    X(ilaenv2stage) X(ilaenv) X(ilaprec) X(ilatrans) X(ilauplo) X(ilaver) X(iparam2stage) X(iparmq) X(lsamen) X(second)        \
    X(sisnan) X(slabad) X(slaisnan) X(slamc3) X(slamch) X(sroundup_lwork)
/* clang-format on */

#endif
