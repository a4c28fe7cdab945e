// The source file of gradual::kernels for the bodies of functions that do not depend on a net's type.
#ifndef GRADUAL_SHARED_KERNELS
#define GRADUAL_SHARED_KERNELS
#endif

#include <gradual/autodiff/graphviz.ipp>
#include <gradual/autodiff/joined_slices.ipp>
#include <gradual/autodiff/names_of_parameters.ipp>
#include <gradual/autodiff/needed_kernels.ipp>
#include <gradual/autodiff/ops/joined_in_pairs.ipp>
#include <gradual/autodiff/print.ipp>
#include <gradual/autodiff/strided_view.ipp>
#include <gradual/check/test_rule.ipp>
#include <gradual/check/test_splits.ipp>
#include <gradual/core/cpu/thread_pool.ipp>
#include <gradual/core/free_memory.ipp>
#include <gradual/core/heap_block.ipp>
#include <gradual/core/memory_parts.ipp>
#include <gradual/core/process_usage.ipp>
#include <gradual/core/stopwatch.ipp>
#include <gradual/core/weighted_draw.ipp>
#include <gradual/data/average_precision.ipp>
#include <gradual/data/categories.ipp>
#include <gradual/data/categories_by_column.ipp>
#include <gradual/data/concordance.ipp>
#include <gradual/data/confusion_matrix.ipp>
#include <gradual/data/count_in.ipp>
#include <gradual/data/csv.ipp>
#include <gradual/data/csv_fields.ipp>
#include <gradual/data/folds.ipp>
#include <gradual/data/roc_auc.ipp>
#include <gradual/data/scored_samples.ipp>
#include <gradual/data/shuffled_rows.ipp>
#include <gradual/data/table_column.ipp>
#include <gradual/data/text_column.ipp>
#include <gradual/eager/bindings.ipp>
#include <gradual/eager/by_sample.ipp>
#include <gradual/eager/cpu/values.ipp>
#include <gradual/eager/device.ipp>
#include <gradual/eager/executor.ipp>
#include <gradual/eager/joins.ipp>
#include <gradual/eager/parameters.ipp>
#include <gradual/eager/pool.ipp>
#include <gradual/eager/print_tensor.ipp>
#include <gradual/eager/readers.ipp>
#include <gradual/eager/replay.ipp>
#include <gradual/eager/same_sums.ipp>
#include <gradual/eager/shadow.ipp>
#include <gradual/eager/sweep.ipp>
#include <gradual/eager/tape.ipp>
#include <gradual/eager/tapped.ipp>
#include <gradual/eager/tensor.ipp>
#include <gradual/eager/window_sums.ipp>
#include <gradual/eager/window_values.ipp>
#include <gradual/files/atomic_file.ipp>
#include <gradual/files/checkpoint.ipp>
#include <gradual/files/read_file.ipp>
#include <gradual/optim/check_rates.ipp>
#include <gradual/optim/scalars_of.ipp>
#include <gradual/optim/trace_update.ipp>
#include <gradual/train/averages.ipp>
#include <gradual/train/dataset_checks.ipp>
#include <gradual/train/eager_losses.ipp>
#include <gradual/train/eager_state.ipp>
#include <gradual/train/fastest_micro_batch.ipp>
#include <gradual/train/fingerprint.ipp>
#include <gradual/train/fit_loop.ipp>
#include <gradual/train/fit_options.ipp>
#include <gradual/train/frozen.ipp>
#include <gradual/train/inference_core.ipp>
#include <gradual/train/inference_runner.ipp>
#include <gradual/train/loss_scaler.ipp>
#include <gradual/train/memory_error.ipp>
#include <gradual/train/notes.ipp>
#include <gradual/train/one_net.ipp>
#include <gradual/train/parameters_file.ipp>
#include <gradual/train/print_memory.ipp>
#include <gradual/train/print_plan.ipp>
#include <gradual/train/progress.ipp>
#include <gradual/train/scalars_of_rule.ipp>
#include <gradual/train/session_core.ipp>
#include <gradual/train/session_options.ipp>
#include <gradual/train/session_plan.ipp>
#include <gradual/train/state_file.ipp>
#include <gradual/train/svg.ipp>
#include <gradual/train/timeline_svg.ipp>
#include <gradual/train/trace_file.ipp>
#include <gradual/train/update_by_ops.ipp>
#include <gradual/train/update_parts.ipp>
#include <gradual/train/validate.ipp>
#include <gradual/train/window_ends.ipp>
#include <gradual/train/window_progress.ipp>

#define GRADUAL_SHARED_RECORDER template
#include <gradual/shared_recording.hpp>

#define GRADUAL_SHARED_RULE_CODE template
#include <gradual/shared_rules.hpp>

namespace gradual {
template TableIn<float> parse_csv(std::string_view, const CsvOptions&, const std::string&);
template TableIn<double> parse_csv(std::string_view, const CsvOptions&, const std::string&);
template class UpdateByOps<float>;
template class UpdateByOps<double>;

namespace eager {
template void WindowSums::finish(std::span<float>, double);
template void WindowSums::finish(std::span<double>, double);
template void WindowSums::finish_copy(std::span<float>, double);
template void WindowSums::finish_copy(std::span<double>, double);
}  // namespace eager
namespace detail {
template <class... Rules>
constexpr bool are_known = ((find_element_program<Rules, float>() == element_program<Rules, float>) && ...);
static_assert(are_known<Adam, AdamW, Sgd>, "what shared_rules.hpp says of a rule's program is not so");

template class InferenceCore<Cpu, float>;
template class InferenceRunner<Cpu, float>;
template class SessionArena<Cpu, float, float>;
template class SessionWindow<SessionArena<Cpu, float, float>>;
template class SessionStep<SessionArena<Cpu, float, float>, NoOpaque>;
template class SessionCore<SessionArena<Cpu, float, float>, NoOpaque>;
template class FitLoop<float>;
template class FitLoop<double>;
template EagerLosses<float> losses_of(EagerTape&);
template EagerLosses<double> losses_of(EagerTape&);
template Averages with_losses(const Averages&, const EagerLosses<float>&, bool);
template Averages with_losses(const Averages&, const EagerLosses<double>&, bool);
template void add_parameters(Checkpoint&, std::span<const ParameterInfo>, std::span<const float>, DType);
template void add_parameters(Checkpoint&, std::span<const ParameterInfo>, std::span<const double>, DType);
template void read_parameters(const Checkpoint&, std::span<const ParameterInfo>, std::span<float>, std::string_view);
template void read_parameters(const Checkpoint&, std::span<const ParameterInfo>, std::span<double>, std::string_view);
}  // namespace detail
}  // namespace gradual
