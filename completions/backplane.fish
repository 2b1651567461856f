# Completion of the command `backplane` for fish. A test compares its commands and options with `backplane help --json`.

function __backplane_settings
    env COLUMNS= backplane settings 2>/dev/null | awk 'NR > 1 { print $1 }'
end

function __backplane_assignments
    env COLUMNS= backplane settings 2>/dev/null | awk 'NR > 1 { print $1 "=" }'
end

function __backplane_command
    test (count (commandline -opc)) -eq 1
end

set -l using __fish_seen_subcommand_from

complete -c backplane -f
complete -c backplane -n __backplane_command -a list -d 'Show the math libraries of this machine'
complete -c backplane -n __backplane_command -a doctor -d 'Report conflicts, slow kernels and missing parts'
complete -c backplane -n __backplane_command -a settings -d 'Show every setting'
complete -c backplane -n __backplane_command -a get -d 'Show one setting'
complete -c backplane -n __backplane_command -a set -d 'Store a setting'
complete -c backplane -n __backplane_command -a explain -d 'Show which library would run an operation, and why'
complete -c backplane -n __backplane_command -a eval -d 'Run an operation on arrays in .npy files'
complete -c backplane -n __backplane_command -a compare -d 'Run one product on every candidate'
complete -c backplane -n __backplane_command -a tune -d 'Measure the candidates of a problem, and keep their times'
complete -c backplane -n __backplane_command -a einsum-path -d 'Show the best order of contractions'
complete -c backplane -n __backplane_command -a version -d 'Show the version'
complete -c backplane -n __backplane_command -a help -d 'Show help'
complete -c backplane -s h -l help -d 'Show help'

complete -c backplane -n "$using list doctor settings get explain compare tune einsum-path version help" -l json -d 'Write JSON'
complete -c backplane -n "$using list" -s a -l all -d 'Show every file and property'
complete -c backplane -n "$using list" -s b -l backends -d 'Show the backends of torch.backends'
complete -c backplane -n "$using list" -s p -l probe -d 'Probe every library again'
complete -c backplane -n "$using settings" -l changed -d 'Show changed settings'
complete -c backplane -n "$using set" -s u -l unset -d 'Remove the setting'
complete -c backplane -n "$using get set" -a '(__backplane_settings)'
complete -c backplane -n "$using explain eval compare tune" -s s -l set -x -a '(__backplane_assignments)' -d 'Use this setting'
complete -c backplane -n "$using explain eval tune" -a 'matmul gemm einsum'
complete -c backplane -n "$using explain eval tune" -a 'fft fft2 fftn ifft ifft2 ifftn rfft rfft2 rfftn irfft irfft2 irfftn hfft hfft2 hfftn ihfft ihfft2 ihfftn'
complete -c backplane -n "$using explain eval tune" -a 'fftshift ifftshift'
complete -c backplane -n "$using explain eval tune" -a 'inv solve solve_triangular cholesky cholesky_solve cholesky_inverse lu_factor lu lu_solve qr'
complete -c backplane -n "$using explain eval tune" -a 'eigh eigvalsh eig eigvals svd svdvals lstsq det slogdet pinv matrix_rank cond matrix_norm'
complete -c backplane -n "$using explain eval tune" -a 'vector_norm vecdot multi_dot matrix_power'
complete -c backplane -n "$using compare" -a matmul
complete -c backplane -n "$using explain tune" -a 'f16 bf16 f32 f64 c64 c128'
complete -c backplane -n "$using explain eval tune" -l alpha -x -d 'Factor of the product'
complete -c backplane -n "$using explain eval tune" -l beta -x -d 'Factor of the old C'
complete -c backplane -n "$using explain eval tune" -l trans-a -d 'Transpose A'
complete -c backplane -n "$using explain eval tune" -l trans-b -d 'Transpose B'
complete -c backplane -n "$using explain eval tune" -l conj-a -d 'Conjugate A'
complete -c backplane -n "$using explain eval tune" -l conj-b -d 'Conjugate B'
complete -c backplane -n "$using explain eval tune" -l n -x -d 'Length of a transform'
complete -c backplane -n "$using explain eval tune" -l s -x -d 'Lengths of a transform'
complete -c backplane -n "$using explain eval tune" -l dim -x -d 'Dimensions'
complete -c backplane -n "$using explain eval tune" -l norm -x -a 'backward ortho forward' -d 'Scale of a transform'
complete -c backplane -n "$using explain eval tune" -l upper -d 'The upper triangle'
complete -c backplane -n "$using explain eval tune" -l right -d 'Solve X A = B'
complete -c backplane -n "$using explain eval tune" -l adjoint -d 'Conjugate transpose of A'
complete -c backplane -n "$using explain eval tune" -l unitriangular -d 'Ones on the diagonal'
complete -c backplane -n "$using explain eval tune" -l hermitian -d 'A is Hermitian'
complete -c backplane -n "$using explain eval tune" -l full-matrices -d 'Square U and Vh'
complete -c backplane -n "$using explain eval tune" -l mode -x -a 'reduced complete r' -d 'Factors of qr'
complete -c backplane -n "$using explain eval tune" -l driver -x -a 'gelsy gels gelsd gelss' -d 'Routine of lstsq'
complete -c backplane -n "$using explain eval tune" -l rcond -x -d 'Smallest singular value'
complete -c backplane -n "$using explain eval tune" -l rtol -x -d 'Relative tolerance'
complete -c backplane -n "$using explain eval tune" -l atol -x -d 'Absolute tolerance'
complete -c backplane -n "$using explain eval tune" -l ord -x -a 'fro nuc 1 -1 2 -2 inf -inf' -d 'Which norm'
complete -c backplane -n "$using explain eval tune" -l keepdim -d 'Keep reduced dimensions'
complete -c backplane -n "$using explain eval tune" -l power -x -d 'Exponent'
complete -c backplane -n "$using eval" -s o -l output -r -F -d 'File to write'
complete -c backplane -n "$using eval" -s e -l explain -d 'Show every candidate'
complete -c backplane -n "$using eval compare" -l bf16 -d 'Read V2 as bfloat16'
complete -c backplane -n "$using eval compare" -F
complete -c backplane -n "$using compare" -s n -l repeat -x -d 'Samples per candidate'
complete -c backplane -n "$using tune" -l from -r -F -d 'Trace, log or list of problems'
complete -c backplane -n "$using tune" -l seconds -x -d 'Time limit'
complete -c backplane -n "$using tune" -l show -d 'Show the records'
complete -c backplane -n "$using tune" -l clear -d 'Remove all records'
complete -c backplane -n "$using tune" -l export -r -F -d 'File to add the records to'
complete -c backplane -n "$using tune" -l import -r -F -d 'File of records'
complete -c backplane -n "$using einsum-path" -l sizes -x -d 'Sizes of labels'
complete -c backplane -n "$using einsum-path" -l shapes -x -d 'Shapes of operands'
complete -c backplane -n "$using einsum-path explain eval" -l strategy -x -a 'auto auto-hq optimal dp branch-all branch-2 branch-1 greedy random-greedy left-to-right' -d 'Search strategy'
complete -c backplane -n "$using einsum-path explain eval" -l minimize -x -a 'flops size write combo limit' -d 'What to minimize'
complete -c backplane -n "$using einsum-path explain eval" -l memory-limit -x -d 'Largest intermediate result'
complete -c backplane -n "$using einsum-path explain eval" -l trials -x -d 'Number of trials'
complete -c backplane -n "$using einsum-path explain eval" -l seconds -x -d 'Time limit'
complete -c backplane -n "$using einsum-path explain eval" -l work -x -d 'Work limit'
complete -c backplane -n "$using einsum-path explain eval" -l seed -x -d 'Seed of random trials'
complete -c backplane -n "$using einsum-path explain eval" -l contraction-path -x -d 'The path itself'
complete -c backplane -n "$using einsum-path" -l dtype -x -a 'f16 bf16 f32 f64 c64 c128' -d 'Element type'
