# Completion of the command `backplane` for bash. `make docs` writes a part of it.

_backplane_settings() {
    COLUMNS= backplane settings 2>/dev/null | awk 'NR > 1 { print $1 }'
}

_backplane_devices() {
    COLUMNS= backplane list --devices 2>/dev/null | awk 'NR > 1 && $2 == "ready" { print $1 }'
}

# ---- From `backplane help --json`, by `make docs` ----
_backplane_commands="list doctor settings get set explain eval run compare bench tune einsum-path launch inspect report version help"
_backplane_operations="matmul gemm fft fft2 fftn ifft ifft2 ifftn rfft rfft2 rfftn irfft irfft2 irfftn hfft hfft2 hfftn ihfft ihfft2 ihfftn fftshift ifftshift
    inv solve solve_triangular cholesky cholesky_solve cholesky_inverse lu_factor lu lu_solve ldl_factor ldl_solve qr eigh eigvalsh eig
    eigvals svd svdvals lstsq det slogdet pinv matrix_rank cond matrix_norm conv1d conv2d conv3d conv_transpose1d conv_transpose2d
    conv_transpose3d linear conv1d_input conv2d_input conv3d_input conv1d_weight conv2d_weight conv3d_weight conv_transpose1d_input
    conv_transpose2d_input conv_transpose3d_input conv_transpose1d_weight conv_transpose2d_weight conv_transpose3d_weight linear_input
    linear_weight einsum max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
    adaptive_max_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d max_pool1d_input max_pool2d_input max_pool3d_input
    avg_pool1d_input avg_pool2d_input avg_pool3d_input adaptive_max_pool1d_input adaptive_max_pool2d_input adaptive_max_pool3d_input
    adaptive_avg_pool1d_input adaptive_avg_pool2d_input adaptive_avg_pool3d_input batch_norm batch_norm_training batch_norm_gradients
    layer_norm rms_norm group_norm layer_norm_gradients rms_norm_gradients group_norm_gradients sdpa sdpa_gradients rnn lstm gru
    lstm_training gru_training rnn_gradients lstm_gradients gru_gradients unary binary where take gather concat reduce var std softmax
    log_softmax softmax_input log_softmax_input random_uniform random_normal random_bits cumsum pad roll flip vector_norm vecdot multi_dot
    matrix_power"
_backplane_options() {
    case $1 in
        list) echo "--all --backends --devices --device --record --probe --json" ;;
        doctor) echo "--json" ;;
        settings) echo "--changed --json" ;;
        get) echo "--json" ;;
        set) echo "--unset --system --file" ;;
        explain) echo "--set --json --all --device --ranks --latency --bandwidth --rate --dimension --constant --alpha --beta --trans-a
            --trans-b --conj-a --conj-b --lda --ldb --ldc --strategy --minimize --memory-limit --trials --work --seed
            --contraction-path --seconds --n --s --dim --norm --stride --size --padding --padding-end --dilation --groups
            --output-padding --activation --relu --kernel --output-size --ceil --exclude-padding --eps --divisor --causal --gqa
            --scale --softcap --window-left --window-right --lower-right --lengths --dropout --reverse --reset-before
            --projection --kind --first --second --to --row-dims --correction --before --after --value --shifts --exclusive
            --offset --upper --right --adjoint --unitriangular --hermitian --full-matrices --mode --driver --rcond --rtol --atol
            --ord --keepdim --power" ;;
        eval) echo "--output --set --explain --device --bf16 --ranks --mpi --threads --timeout --hosts --launcher-options --alpha --beta
            --trans-a --trans-b --conj-a --conj-b --strategy --minimize --memory-limit --trials --work --seed --contraction-path
            --seconds --n --s --dim --norm --stride --size --padding --padding-end --dilation --groups --output-padding
            --activation --relu --kernel --output-size --ceil --exclude-padding --eps --divisor --causal --gqa --scale --softcap
            --window-left --window-right --lower-right --lengths --dropout --reverse --reset-before --projection --kind --first
            --second --to --row-dims --correction --before --after --value --shifts --exclusive --offset --upper --right
            --adjoint --unitriangular --hermitian --full-matrices --mode --driver --rcond --rtol --atol --ord --keepdim --power" ;;
        run) echo "--output --dimension --constant --seed --set --json --ranks --mpi --threads --timeout --hosts --launcher-options" ;;
        compare) echo "--repeat --set --bf16 --json --alpha --beta --trans-a --trans-b --conj-a --conj-b --strategy --minimize
            --memory-limit --trials --work --seed --contraction-path --seconds --n --s --dim --norm --stride --size --padding
            --padding-end --dilation --groups --output-padding --activation --relu --kernel --output-size --ceil
            --exclude-padding --eps --divisor --causal --gqa --scale --softcap --window-left --window-right --lower-right
            --lengths --dropout --reverse --reset-before --projection --kind --first --second --to --row-dims --correction
            --before --after --value --shifts --exclusive --offset --upper --right --adjoint --unitriangular --hermitian
            --full-matrices --mode --driver --rcond --rtol --atol --ord --keepdim --power" ;;
        bench) echo "--sizes --dtype --threads --libraries --seconds --shapes --html --set --json --dimension --constant --alpha --beta
            --trans-a --trans-b --conj-a --conj-b --strategy --minimize --memory-limit --trials --work --seed --contraction-path
            --n --s --dim --norm --stride --size --padding --padding-end --dilation --groups --output-padding --activation
            --relu --kernel --output-size --ceil --exclude-padding --eps --divisor --causal --gqa --scale --softcap
            --window-left --window-right --lower-right --lengths --dropout --reverse --reset-before --projection --kind --first
            --second --to --row-dims --correction --before --after --value --shifts --exclusive --offset --upper --right
            --adjoint --unitriangular --hermitian --full-matrices --mode --driver --rcond --rtol --atol --ord --keepdim --power" ;;
        tune) echo "--from --machine --seconds --show --clear --export --import --set --json --alpha --beta --trans-a --trans-b --conj-a
            --conj-b --lda --ldb --ldc --n --s --dim --norm --stride --size --padding --padding-end --dilation --groups
            --output-padding --activation --relu --kernel --output-size --ceil --exclude-padding --eps --divisor --causal --gqa
            --scale --softcap --window-left --window-right --lower-right --lengths --dropout --reverse --reset-before
            --projection --kind --first --second --to --row-dims --correction --before --after --value --shifts --exclusive
            --offset --upper --right --adjoint --unitriangular --hermitian --full-matrices --mode --driver --rcond --rtol --atol
            --ord --keepdim --power" ;;
        einsum-path) echo "--sizes --shapes --strategy --minimize --memory-limit --trials --work --seed --contraction-path --seconds --dtype
            --json" ;;
        launch) echo "--set --library --threads --deterministic --only --exclude --observe --profile --explain --output --trace --tune
            --instances --instance-options" ;;
        inspect) echo "--pid --output --quick --json" ;;
        report) echo "--output --html --json" ;;
        version) echo "--json" ;;
        help) echo "--json" ;;
    esac
}
# The values of an option; empty if it has no list of them.
_backplane_values() {
    case $1 in
        --norm) echo "backward ortho forward" ;;
        --padding) echo "same valid" ;;
        --activation) echo "copy negative abs exp log sqrt tanh sigmoid relu gelu gelu_tanh silu hardswish floor ceil round trunc sign reciprocal rsqrt sin cos tan erf expm1 log1p log2 asin acos atan sinh cosh asinh acosh atanh log10 exp2 erfc hardsigmoid mish softsign logsigmoid selu tanhshrink" ;;
        --kind) echo "copy negative abs exp log sqrt tanh sigmoid relu gelu gelu_tanh silu hardswish floor ceil round trunc sign reciprocal rsqrt sin cos tan erf expm1 log1p log2 asin acos atan sinh cosh asinh acosh atanh log10 exp2 erfc hardsigmoid mish softsign logsigmoid selu tanhshrink isnan isinf isfinite logical_not bitwise_invert leaky_relu elu celu clip softplus threshold hardshrink softshrink add subtract multiply divide maximum minimum equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor pow remainder fmod floor_divide atan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift sum prod mean max min argmax argmin any all" ;;
        --to) echo "f16 bf16 f32 f64 i8 u8 i32 i64 bool" ;;
        --dtype) echo "f16 bf16 f32 f64 c64 c128 i32 i64" ;;
        --strategy) echo "auto auto-hq optimal dp branch-all branch-2 branch-1 greedy random-greedy random-greedy-128 left-to-right" ;;
        --minimize) echo "flops size write combo limit" ;;
        --mode) echo "reduced complete r" ;;
        --driver) echo "gelsy gels gelsd gelss" ;;
        --ord) echo "fro nuc 1 -1 2 -2 inf -inf" ;;
    esac
}
# ---- End of that part ----

_backplane() {
    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} before=${COMP_WORDS[COMP_CWORD - 1]} offers=""
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        offers="$_backplane_commands --help --version"
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
    elif [[ -n $(_backplane_values "$before") ]]; then
        offers=$(_backplane_values "$before")
    elif [[ $word == -* ]]; then
        offers="$(_backplane_options "$command") --help"
    else
        case $command:$COMP_CWORD in
            get:* | set:2 | set:3) offers=$(_backplane_settings) ;;
            bench:*) offers=$_backplane_operations ;;
            explain:2 | eval:2 | compare:2 | tune:2) offers=$_backplane_operations ;;
            explain:3 | tune:3) offers="f16 bf16 f32 f64 c64 c128 i8 u8 u8,i8" ;;
            help:2) offers=$_backplane_commands ;;
            launch:* | inspect:*)
                mapfile -t COMPREPLY < <(compgen -A command -A file -- "$word")
                return
                ;;
            run:2)
                mapfile -t COMPREPLY < <(compgen -f -X '!*.onnx' -- "$word")
                compopt -o plusdirs 2>/dev/null
                return
                ;;
            eval:* | run:* | compare:*)
                mapfile -t COMPREPLY < <(compgen -f -X '!*.npy' -- "$word")
                compopt -o plusdirs 2>/dev/null
                return
                ;;
        esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "$offers" -- "$word")
}

complete -F _backplane backplane
