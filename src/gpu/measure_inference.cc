#include <algorithm>
#include <optional>

#include "gpu/kernels.h"
#include "gpu/measure.h"
#include "gpu/product_reference.h"

namespace lockstep::gpu {

namespace {

using cuda_abi::Address;
using cuda_abi::Function;

constexpr unsigned batches = 24;
constexpr unsigned products_in_batch = 6;

class Product {
 public:
  Product(CudaDevice& device, const ProductKernel& kernel, unsigned size)
      : device_(device), kernel_(kernel), size_(size) {}

  Result<void> prepare() {
    LOCKSTEP_CHECK(device_.load("product", product_ptx));
    LOCKSTEP_CHECK(device_.load(kernel_.name, kernel_.text));
    LOCKSTEP_TRY(multiply_, device_.function(kernel_.name, kernel_.name));
    LOCKSTEP_TRY(sums_, device_.function("product", "product_sums"));
    if (kernel_.shared_bytes > 0) {
      LOCKSTEP_CHECK(device_.cuda().call("cuFuncSetAttribute", multiply_,
                                         cuda_abi::function_shared_memory,
                                         static_cast<int>(kernel_.shared_bytes)));
    }
    const size_t elements = static_cast<size_t>(size_) * size_;
    LOCKSTEP_TRY(left_, device_.allocate(elements * 2));
    LOCKSTEP_TRY(right_, device_.allocate(elements * 2));
    LOCKSTEP_TRY(result_, device_.allocate(elements * sizeof(float)));
    LOCKSTEP_CHECK(make_input(left_, elements, left_seed));
    LOCKSTEP_CHECK(make_input(right_, elements, right_seed));
    if (kernel_.tensor_maps) {
      LOCKSTEP_TRY(left_map_, tensor_map(left_, kernel_.rows));
      LOCKSTEP_TRY(right_map_, tensor_map(right_, kernel_.columns));
    }
    return {};
  }

  Result<void> multiply(unsigned long long wrong_at) {
    unsigned size = size_;
    const unsigned tiles = (size_ / kernel_.rows) * (size_ / kernel_.columns);
    Address left = kernel_.tensor_maps ? left_map_ : left_;
    Address right = kernel_.tensor_maps ? right_map_ : right_;
    void* arguments[] = {&left, &right, &result_, &size, &size, &size, &wrong_at};
    const unsigned blocks =
        kernel_.tensor_maps ? std::min(tiles, static_cast<unsigned>(device_.processors())) : tiles;
    return device_.cuda().launch(multiply_, kernel_.name, blocks, kernel_.threads,
                                 kernel_.shared_bytes, arguments);
  }

  // A result that was not written is NaN.
  Result<void> forget_result() {
    const size_t words = static_cast<size_t>(size_) * size_;
    return device_.cuda().call("cuMemsetD32_v2", result_, 0xffffffffU, words);
  }

  Result<std::vector<double>> sums() {
    const std::vector<float> vectors = judging_vectors(size_);
    LOCKSTEP_TRY(Address judges, device_.allocate(vectors.size() * sizeof(float)));
    LOCKSTEP_CHECK(device_.upload(judges, vectors.data(), vectors.size() * sizeof(float)));
    std::vector<double> values(2 * static_cast<size_t>(size_));
    LOCKSTEP_TRY(Address to, device_.allocate(values.size() * sizeof(double)));
    unsigned columns = size_;
    void* arguments[] = {&result_, &columns, &judges, &to};
    LOCKSTEP_CHECK(device_.cuda().launch(sums_, "product_sums", size_, 256, 0, arguments));
    LOCKSTEP_CHECK(device_.download(values.data(), to, values.size() * sizeof(double)));
    return values;
  }

 private:
  Result<void> make_input(Address to, unsigned long long count, unsigned seed) {
    LOCKSTEP_TRY(Function function, device_.function("product", "product_input"));
    void* arguments[] = {&to, &count, &seed};
    return device_.cuda().launch(function, "product_input",
                                 static_cast<unsigned>(device_.processors()) * 8, 256, 0,
                                 arguments);
  }

  // Where the copy engine finds its boxes: 64 elements of `rows` rows, swizzled by 128 bytes.
  Result<Address> tensor_map(Address matrix, unsigned rows) {
    cuda_abi::TensorMap map{};
    const unsigned long long sizes[] = {size_, size_};
    const unsigned long long strides[] = {static_cast<unsigned long long>(size_) * 2};
    const unsigned box[] = {kernel_.depth, rows};
    const unsigned steps[] = {1, 1};
    LOCKSTEP_CHECK(device_.cuda().call("cuTensorMapEncodeTiled", &map, int{cuda_abi::type_bf16}, 2U,
                                       matrix, &sizes[0], &strides[0], &box[0], &steps[0], 0,
                                       int{cuda_abi::swizzle_128}, int{cuda_abi::promote_256}, 0));
    LOCKSTEP_TRY(Address to, device_.allocate(sizeof map));
    LOCKSTEP_CHECK(device_.upload(to, &map, sizeof map));
    return to;
  }

  CudaDevice& device_;
  ProductKernel kernel_;
  unsigned size_;
  Function multiply_ = nullptr;
  Function sums_ = nullptr;
  Address left_ = 0;
  Address right_ = 0;
  Address result_ = 0;
  Address left_map_ = 0;
  Address right_map_ = 0;
};

Result<void> prepare_best(CudaDevice& device, std::optional<Product>& product,
                          ProductKernel& kernel, unsigned size, bool forced) {
  product.emplace(device, kernel, size);
  auto prepared = product->prepare();
  if (prepared || forced || !kernel.tensor_maps || prepared.error().kind == gpu_failure)
    return prepared;
  // An older driver that does not know the newest instructions: the version before does as well.
  device.release();
  LOCKSTEP_TRY(kernel, product_kernel(device.capability(), "product_sm80"));
  product.emplace(device, kernel, size);
  return product->prepare();
}

}  // namespace

Result<JsonObject> measure_inference(CudaDevice& device, const SumsOf& sums_of,
                                     const MeasureOptions& options) {
  LOCKSTEP_TRY(ProductKernel kernel, product_kernel(device.capability(), options.product));
  const unsigned size = options.product_size > 0 ? options.product_size : kernel.size;
  std::optional<Product> product;
  LOCKSTEP_CHECK(prepare_best(device, product, kernel, size, !options.product.empty()));

  const unsigned long long nowhere = ~0ULL;
  // Where a tile begins, in the middle.
  const unsigned long long wrong_at =
      options.wrong == "inference" ? (static_cast<unsigned long long>(size) / 2) * size + size / 2
                                   : nowhere;
  std::vector<double> rates;
  const double operations = 2.0 * size * size * size;
  for (unsigned batch = 0; batch < batches; ++batch) {
    LOCKSTEP_TRY(double seconds, device.timed([&]() -> Result<void> {
      for (unsigned i = 0; i < products_in_batch; ++i) LOCKSTEP_CHECK(product->multiply(nowhere));
      return {};
    }));
    rates.push_back(operations * products_in_batch / seconds / 1e12);
  }
  LOCKSTEP_CHECK(product->forget_result());
  LOCKSTEP_CHECK(product->multiply(wrong_at));
  LOCKSTEP_TRY(std::vector<double> sums, product->sums());
  device.release();

  const std::vector<double> expected = sums_of(size);
  unsigned wrong_rows = 0;
  for (size_t row = 0; row < size; ++row) {
    // Written so that a NaN is wrong.
    const bool right =
        sums[2 * row] == expected[2 * row] && sums[2 * row + 1] == expected[2 * row + 1];
    if (!right) ++wrong_rows;
  }
  // The clocks need some milliseconds to rise: the second half counts, and of it the middle.
  std::vector<double> late(rates.begin() + batches / 2, rates.end());
  std::nth_element(late.begin(), late.begin() + static_cast<long>(late.size() / 2), late.end());
  LOCKSTEP_TRY(const ProductKernel best, product_kernel(device.capability(), ""));
  return JsonObject{{"kernel", kernel.name},
                    {"size", size},
                    {"usual", kernel.name == std::string_view(best.name) && size == best.size},
                    {"wrong_rows", wrong_rows},
                    {"tflops", late[late.size() / 2]},
                    {"best_tflops", *std::max_element(rates.begin(), rates.end())}};
}

}  // namespace lockstep::gpu
