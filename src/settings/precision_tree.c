/* precision_tree.c - resolves precision settings: the value "none" means the value of the parent setting, as in
 * PyTorch's fp32_precision since 2.9.
 *
 *   fp32_precision
 *    |- cudnn.fp32_precision     (all of CUDA)   |- cuda.matmul  |- cudnn.conv  |- cudnn.rnn
 *    `- mkldnn.fp32_precision    (all of the CPU) |- mkldnn.matmul  |- mkldnn.conv  |- mkldnn.rnn
 *                                                                      `- conv (the precision of a convolution)
 *
 * Reading gives the resolved value. A parent that has been set overrides a setting's own default: otherwise
 * asking for ieee at the top would leave convolutions on tf32 (PyTorch issue 179445).
 */
#include "settings/private.h"

enum { NONE = 0 }; /* the first word of every precision setting */

bp_setting_id bp__parent(bp_setting_id id) {
    switch (id) {
    case BP_SET_cuda_matmul_fp32_precision:
    case BP_SET_cudnn_conv_fp32_precision:
    case BP_SET_cudnn_rnn_fp32_precision:
        return BP_SET_cudnn_fp32_precision;
    case BP_SET_mkldnn_matmul_fp32_precision:
    case BP_SET_mkldnn_conv_fp32_precision:
    case BP_SET_mkldnn_rnn_fp32_precision:
        return BP_SET_mkldnn_fp32_precision;
    case BP_SET_conv_fp32_precision:
        return BP_SET_mkldnn_conv_fp32_precision; /* operations run on the CPU */
    case BP_SET_cudnn_fp32_precision:
    case BP_SET_mkldnn_fp32_precision:
        return BP_SET_fp32_precision;
    default:
        return BP_SETTING_COUNT;
    }
}

/* Returns the same word in another setting's list, or none if that list lacks it, because its backend does not support
 * it. */
static bp__value translate(bp_setting_id from, bp__value value, bp_setting_id to) {
    const char *word = bp__table_at(from)->words[value];
    const bp__setting_entry *setting = bp__table_at(to);
    for (int i = 0; i < setting->word_count; i++) {
        if (bp__text_equal(setting->words[i], word)) {
            return (bp__value)i;
        }
    }
    return NONE;
}

bp__stored bp__resolve(bp_setting_id id, bp__lookup look_up, bp_layer *layer, bp_setting_id *node) {
    bp__stored own = look_up(id, layer);
    *node = id;
    if (*layer != BP_LAYER_DEFAULT && own.value != NONE) {
        return own;
    }
    for (bp_setting_id above = bp__parent(id); above != BP_SETTING_COUNT; above = bp__parent(above)) {
        bp_layer source;
        bp__stored found = look_up(above, &source);
        if (source != BP_LAYER_DEFAULT && found.value != NONE) {
            found.value = translate(above, found.value, id);
            *layer = source;
            *node = above;
            return found;
        }
    }
    return own;
}
