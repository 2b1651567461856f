! client.f90 - a Fortran program with its own XERBLA, which calls BLAS and LAPACK and checks the results. It prints a line for
! each check: its name, and "passed" or "failed".
program client
    implicit none
    integer, parameter :: single = kind(1.0), double = kind(1d0)
    integer, parameter :: sizes(5) = [1, 3, 64, 130, 300]
    integer :: failures, i
    integer :: reports, last
    common /handler/ reports, last
    failures = 0
    reports = 0
    do i = 1, size(sizes)
        call products(sizes(i))
        call solutions(sizes(i))
        call decompositions(sizes(i))
        call dots(sizes(i))
    end do
    call errors()
    if (failures > 0) stop 1

contains

    subroutine show(name, n, ok)
        character(*), intent(in) :: name
        integer, intent(in) :: n
        logical, intent(in) :: ok
        print '(a, 1x, i0, 1x, a)', name, n, merge('passed', 'failed', ok)
        if (.not. ok) failures = failures + 1
    end subroutine

    subroutine fill(a)
        real(double), intent(out) :: a(:, :)
        integer :: j, k
        do k = 1, size(a, 2)
            do j = 1, size(a, 1)
                a(j, k) = sin(1.7d0 * j + 0.31d0 * k * k)
            end do
        end do
    end subroutine

    subroutine products(n)
        integer, intent(in) :: n
        real(double) :: a(n, n), b(n, n), c(n, n), x(n), y(n)
        complex(double) :: za(n, n), zb(n, n), zc(n, n)
        real(single) :: sa(n, n), sc(n, n)
        external :: dgemm, zgemm, sgemm, dgemv
        call fill(a)
        call fill(b)
        b = b + 0.5d0
        c = 1
        call dgemm('N', 'T', n, n, n, 2d0, a, n, b, n, 3d0, c, n)
        call show('dgemm', n, maxval(abs(c - (2 * matmul(a, transpose(b)) + 3))) < 1d-11 * n)
        za = cmplx(a, b, double)
        zb = cmplx(b, -a, double)
        call zgemm('c', 'n', n, n, n, (1d0, 0d0), za, n, zb, n, (0d0, 0d0), zc, n)
        call show('zgemm', n, maxval(abs(zc - matmul(conjg(transpose(za)), zb))) < 1d-11 * n)
        sa = real(a, single)
        call sgemm('T', 'N', n, n, n, 1.0, sa, n, sa, n, 0.0, sc, n)
        call show('sgemm', n, maxval(abs(sc - matmul(transpose(sa), sa))) < 1e-4 * n)
        x = a(:, 1)
        y = 1
        call dgemv('N', n, n, 1d0, b, n, x, 1, 1d0, y, 1)
        call show('dgemv', n, maxval(abs(y - (matmul(b, x) + 1))) < 1d-11 * n)
    end subroutine

    subroutine solutions(n)
        integer, intent(in) :: n
        real(double) :: a(n, n), f(n, n), b(n, 2), x(n, 2)
        integer :: pivots(n), info, j
        external :: dgesv, dposv
        call fill(a)
        do j = 1, n
            a(j, j) = a(j, j) + n
        end do
        b = reshape([(dble(j), j=1, 2 * n)], [n, 2])
        f = a
        x = b
        call dgesv(n, 2, f, n, pivots, x, n, info)
        call show('dgesv', n, info == 0 .and. maxval(abs(matmul(a, x) - b)) < 1d-9 * n)
        f = matmul(transpose(a), a)
        a = f
        x = b
        call dposv('Lower', n, 2, f, n, x, n, info)
        call show('dposv', n, info == 0 .and. maxval(abs(matmul(a, x) - b)) < 1d-7 * n)
    end subroutine

    subroutine decompositions(n)
        integer, intent(in) :: n
        real(double) :: a(n, n), v(n, n), w(n), u(n, n), vt(n, n), query(1), s(n, n)
        real(double), allocatable :: work(:)
        integer :: info, integers(8 * n), j
        external :: dsyev, dgesdd
        call fill(a)
        a = a + transpose(a)
        v = a
        call dsyev('Vectors', 'Upper', n, v, n, w, query, -1, info)
        allocate (work(int(query(1))))
        call dsyev('Vectors', 'Upper', n, v, n, w, work, size(work), info)
        s = 0
        do j = 1, n
            s(j, j) = w(j)
        end do
        call show('dsyev', n, info == 0 .and. maxval(abs(matmul(matmul(v, s), transpose(v)) - a)) < 1d-11 * n)
        deallocate (work)
        v = a
        call dgesdd('A', n, n, v, n, w, u, n, vt, n, query, -1, integers, info)
        allocate (work(int(query(1))))
        call dgesdd('A', n, n, v, n, w, u, n, vt, n, work, size(work), integers, info)
        do j = 1, n
            s(j, j) = w(j)
        end do
        call show('dgesdd', n, info == 0 .and. maxval(abs(matmul(matmul(u, s), vt) - a)) < 1d-11 * n)
    end subroutine

    ! Functions of all four types: gfortran takes complex results in registers, others pass an address.
    subroutine dots(n)
        integer, intent(in) :: n
        real(double) :: a(n, 2), ddot, dnrm2
        complex(double) :: z(n, 2), zdotc, zdotu
        complex(single) :: c(n, 2), cdotc
        real(single) :: s(n, 2), sdot, sasum
        integer :: idamax
        external :: ddot, dnrm2, zdotc, zdotu, cdotc, sdot, sasum, idamax
        call fill(a)
        z = cmplx(a, 1 - a, double)
        c = cmplx(z, kind=single)
        s = real(a, single)
        call show('ddot', n, abs(ddot(n, a, 1, a(1, 2), 1) - sum(a(:, 1) * a(:, 2))) < 1d-12 * n)
        call show('zdotc', n, abs(zdotc(n, z, 1, z(1, 2), 1) - sum(conjg(z(:, 1)) * z(:, 2))) < 1d-12 * n)
        call show('zdotu', n, abs(zdotu(n, z, -1, z(1, 2), -1) - sum(z(:, 1) * z(:, 2))) < 1d-12 * n)
        call show('cdotc', n, abs(cdotc(n, c, 1, c(1, 2), 1) - sum(conjg(c(:, 1)) * c(:, 2))) < 1e-5 * n)
        call show('sdot', n, abs(sdot(n, s, 1, s(1, 2), 1) - sum(s(:, 1) * s(:, 2))) < 1e-5 * n)
        call show('sasum', n, abs(sasum(n, s, 1) - sum(abs(s(:, 1)))) < 1e-5 * n)
        call show('dnrm2', n, abs(dnrm2(n, a, 1) - norm2(a(:, 1))) < 1d-12 * n)
        call show('idamax', n, idamax(n, a, 1) == maxloc(abs(a(:, 1)), 1))
    end subroutine

    ! A wrong argument calls the program's XERBLA, once, and changes nothing.
    subroutine errors()
        real(double) :: a(2, 2)
        external :: dgemm, dgesv
        integer :: pivots(2), info
        a = 7
        call dgemm('N', 'X', 2, 2, 2, 1d0, a, 2, a, 2, 0d0, a, 2)
        call show('xerbla of dgemm', 2, reports == 1 .and. last == 2 .and. all(a == 7))
        call dgesv(2, -1, a, 2, pivots, a, 2, info)
        call show('xerbla of dgesv', 2, reports == 2 .and. last == 2 .and. info == -2 .and. all(a == 7))
    end subroutine
end program

subroutine xerbla(name, info)
    implicit none
    character(*), intent(in) :: name
    integer, intent(in) :: info
    integer :: reports, last
    common /handler/ reports, last
    if (len_trim(name) < 5) return
    reports = reports + 1
    last = info
end subroutine
