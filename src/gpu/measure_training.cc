#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "gpu/kernels.h"
#include "gpu/measure.h"

namespace lockstep::gpu {

namespace {

struct Run {
  std::vector<float> trained;
  std::vector<float> losses;
  std::vector<uint32_t> processors;
  double seconds = 0;
};

class Trainer {
 public:
  Trainer(CudaDevice& device, const Training& reference)
      : device_(device),
        reference_(reference),
        blocks_(static_cast<unsigned>(device.processors())) {}

  Result<void> prepare() {
    LOCKSTEP_CHECK(device_.load("training", training_ptx));
    LOCKSTEP_TRY(function_, device_.function("training", "train_network"));
    const TrainingData& data = reference_.data;
    LOCKSTEP_TRY(inputs_, uploaded(data.inputs));
    LOCKSTEP_TRY(targets_, uploaded(data.targets));
    LOCKSTEP_TRY(initial_, uploaded(data.initial));
    LOCKSTEP_TRY(trained_, device_.allocate(blocks_ * NetworkShape::parameters * sizeof(float)));
    LOCKSTEP_TRY(losses_, device_.allocate(blocks_ * training_steps * sizeof(float)));
    LOCKSTEP_TRY(processors_, device_.allocate(blocks_ * sizeof(uint32_t)));
    return {};
  }

  Result<Run> train(uint32_t wrong_block) {
    auto steps = static_cast<uint32_t>(training_steps);
    float rate = learning_rate;
    void* arguments[] = {&inputs_,     &targets_, &initial_, &trained_,   &losses_,
                         &processors_, &steps,    &rate,     &wrong_block};
    Run run;
    LOCKSTEP_TRY(run.seconds, device_.timed([&] {
      return device_.cuda().launch(function_, "train_network", blocks_, 256, 0, arguments);
    }));
    LOCKSTEP_CHECK(download(run.trained, trained_, blocks_ * NetworkShape::parameters));
    LOCKSTEP_CHECK(download(run.losses, losses_, blocks_ * training_steps));
    LOCKSTEP_CHECK(download(run.processors, processors_, blocks_));
    return run;
  }

  unsigned blocks() const { return blocks_; }

 private:
  Result<cuda_abi::Address> uploaded(const std::vector<float>& values) {
    LOCKSTEP_TRY(cuda_abi::Address address, device_.allocate(values.size() * sizeof(float)));
    LOCKSTEP_CHECK(device_.upload(address, values.data(), values.size() * sizeof(float)));
    return address;
  }
  template <typename Value>
  Result<void> download(std::vector<Value>& to, cuda_abi::Address from, size_t count) {
    to.resize(count);
    return device_.download(to.data(), from, count * sizeof(Value));
  }

  CudaDevice& device_;
  const Training& reference_;
  unsigned blocks_;
  cuda_abi::Function function_ = nullptr;
  cuda_abi::Address inputs_ = 0;
  cuda_abi::Address targets_ = 0;
  cuda_abi::Address initial_ = 0;
  cuda_abi::Address trained_ = 0;
  cuda_abi::Address losses_ = 0;
  cuda_abi::Address processors_ = 0;
};

// Bits, not values: a NaN is equal to itself here, and -0 differs from 0.
bool same_bits(const float* a, const float* b, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i])) return false;
  }
  return true;
}
bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && same_bits(a.data(), b.data(), a.size());
}

// How many blocks came to other bits than the first.
unsigned blocks_that_differ(const Run& run, unsigned blocks) {
  unsigned differ = 0;
  for (unsigned block = 1; block < blocks; ++block) {
    const float* trained = &run.trained[block * NetworkShape::parameters];
    const float* losses = &run.losses[block * training_steps];
    if (!same_bits(trained, run.trained.data(), NetworkShape::parameters) ||
        !same_bits(losses, run.losses.data(), training_steps)) {
      ++differ;
    }
  }
  return differ;
}

}  // namespace

Result<JsonObject> measure_training(CudaDevice& device, const Training& reference,
                                    const MeasureOptions& options) {
  Trainer trainer(device, reference);
  LOCKSTEP_CHECK(trainer.prepare());
  const bool wrong = options.wrong == "training";
  const uint32_t nobody = 0xffffffffU;
  LOCKSTEP_TRY(Run first, trainer.train(nobody));
  LOCKSTEP_TRY(Run second, trainer.train(wrong ? trainer.blocks() - 1 : nobody));
  device.release();

  double deviation = 0;
  bool finite = true;
  for (size_t step = 0; step < training_steps; ++step) {
    const double is = first.losses[step];
    const double should = reference.losses[step];
    finite = finite && std::isfinite(is);
    deviation = std::max(deviation, std::abs(is - should) / reference.losses[0]);
  }
  for (float value : first.trained) finite = finite && std::isfinite(value);
  const std::set<uint32_t> processors(first.processors.begin(), first.processors.end());
  JsonObject facts{{"steps", training_steps},
                   {"finite", finite},
                   {"same_in_both_runs", same_bits(first.trained, second.trained) &&
                                             same_bits(first.losses, second.losses)},
                   {"networks", trainer.blocks()},
                   {"networks_that_differ", blocks_that_differ(first, trainer.blocks()) +
                                                blocks_that_differ(second, trainer.blocks())},
                   {"processors", processors.size()},
                   {"run_seconds", second.seconds}};
  // JSON has no NaN.
  if (finite) {
    facts["first_loss"] = first.losses.front();
    facts["last_loss"] = first.losses[training_steps - 1];
    facts["largest_deviation"] = deviation;
  }
  facts["reference_first_loss"] = reference.losses.front();
  facts["reference_last_loss"] = reference.losses.back();
  return facts;
}

}  // namespace lockstep::gpu
