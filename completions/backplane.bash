# Completion of the command `backplane` for bash. A test compares its commands and options with `backplane help --json`.

_backplane_settings() {
    COLUMNS= backplane settings 2>/dev/null | awk 'NR > 1 { print $1 }'
}

# Options that are not for all operations.
_backplane_search_options="--strategy --minimize --memory-limit --trials --seconds --work --seed --contraction-path"
_backplane_own_options="$_backplane_search_options --alpha --beta --trans-a --trans-b --conj-a --conj-b --n --s --dim --norm"
_backplane_own_options+=" --upper --right --adjoint --unitriangular --hermitian --full-matrices --mode --driver --rcond --rtol --atol --ord --keepdim --power"
_backplane_own_options+=" --stride --padding --padding-end --dilation --groups --output-padding --activation --relu"
_backplane_own_options+=" --kernel --output-size --ceil --exclude-padding --divisor --eps"
_backplane_own_options+=" --causal --gqa --scale --dropout --reverse --projection --kind --to --row-dims"

_backplane_devices() {
    COLUMNS= backplane list --devices 2>/dev/null | awk 'NR > 1 && $2 == "ready" { print $1 }'
}

# The options of a command.
_backplane_options() {
    case $1 in
        list) echo "--all --backends --devices --device --record --probe --json" ;;
        doctor | get | version | help) echo "--json" ;;
        settings) echo "--changed --json" ;;
        set) echo "--unset --system --file" ;;
        explain) echo "--set --json --device $_backplane_own_options --lda --ldb --ldc" ;;
        eval) echo "--output --set --explain --device --bf16 $_backplane_own_options" ;;
        einsum-path) echo "--sizes --shapes --dtype --json $_backplane_search_options" ;;
        launch) echo "--set --library --threads --deterministic --only --exclude --observe --profile --explain --output --trace --tune --instances --instance-options" ;;
        inspect) echo "--pid --output --json" ;;
        report) echo "--output --html --json" ;;
        bench) echo "--sizes --dtype --threads --libraries --seconds --html --set --json" ;;
        tune) echo "--from --machine --seconds --show --clear --export --import --set --json $_backplane_own_options --lda --ldb --ldc" ;;
        compare) echo "--repeat --set --bf16 --json $_backplane_own_options" ;;
    esac
}

_backplane_operations="matmul gemm einsum
    fft fft2 fftn ifft ifft2 ifftn rfft rfft2 rfftn irfft irfft2 irfftn hfft hfft2 hfftn ihfft ihfft2 ihfftn
    fftshift ifftshift
    conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
    max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d
    adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d
    batch_norm sdpa rnn lstm gru reduce softmax log_softmax softmax_input log_softmax_input layer_norm rms_norm group_norm
    unary binary take gather concat linear
    inv solve solve_triangular cholesky cholesky_solve cholesky_inverse lu_factor lu lu_solve ldl_factor ldl_solve qr eigh eigvalsh eig eigvals
    svd svdvals lstsq det slogdet pinv matrix_rank cond matrix_norm
    vector_norm vecdot multi_dot matrix_power"

_backplane_bench_operations="matmul fft solve cholesky qr eigh svd einsum
    rfft fft2 inv lu_factor det eigvalsh eig svdvals multi_dot vecdot vector_norm"

_backplane() {
    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} before=${COMP_WORDS[COMP_CWORD - 1]} offers=""
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        offers="list doctor settings get set explain eval compare bench tune einsum-path launch inspect report version help --help --version"
    elif [[ $before == --set || ($before == -s && $command != set) ]]; then
        compopt -o nospace 2>/dev/null
        offers=$(_backplane_settings | sed 's/$/=/')
    elif [[ $command == launch && ($before == --trace || $before == --tune) ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
    elif [[ $before == --output || $before == -o || $before == --html ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
    elif [[ $command == tune && ($before == --from || $before == --export || $before == --import) ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
    elif [[ $before == --record ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
    elif [[ $before == --device ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_backplane_devices)" -- "$word")
        [[ $command == explain ]] && mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -X '!*.json' -- "$word")
        return
    elif [[ $before == --norm ]]; then
        offers="backward ortho forward"
    elif [[ $before == --padding ]]; then
        offers="same valid"
    elif [[ $before == --activation ]]; then
        offers="copy negative abs exp log sqrt tanh sigmoid relu gelu gelu_tanh silu hardswish"
    elif [[ $before == --strategy ]]; then
        offers="auto auto-hq optimal dp branch-all branch-2 branch-1 greedy random-greedy random-greedy-128 left-to-right"
    elif [[ $before == --minimize ]]; then
        offers="flops size write combo limit"
    elif [[ $word == -* ]]; then
        offers="$(_backplane_options "$command") --help"
    else
        case $command:$COMP_CWORD in
            get:* | set:2 | set:3) offers=$(_backplane_settings) ;;
            bench:*) offers=$_backplane_bench_operations ;;
            explain:2 | eval:2 | compare:2 | tune:2) offers=$_backplane_operations ;;
            explain:3 | tune:3) offers="f16 bf16 f32 f64 c64 c128 i8 u8 u8,i8" ;;
            help:2) offers="list doctor settings get set explain eval compare bench tune einsum-path launch inspect report version help" ;;
            launch:* | inspect:*)
                mapfile -t COMPREPLY < <(compgen -A command -A file -- "$word")
                return
                ;;
            eval:* | compare:*)
                mapfile -t COMPREPLY < <(compgen -f -X '!*.npy' -- "$word")
                compopt -o plusdirs 2>/dev/null
                return
                ;;
        esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "$offers" -- "$word")
}

complete -F _backplane backplane
