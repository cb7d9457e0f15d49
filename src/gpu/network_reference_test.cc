#include "gpu/network_reference.h"

#include <gtest/gtest.h>

namespace lockstep::gpu::network_reference_test {
namespace {

TEST(NetworkReference, TheLossFallsByFar) {
  const std::vector<double> losses =
      reference_losses(training_data(), training_steps, learning_rate);
  ASSERT_EQ(losses.size(), training_steps);
  EXPECT_GT(losses.front(), 0.05);
  EXPECT_LT(losses.back(), losses.front() / 10);
}

// The gradient by differences: a step of plain gradient descent lowers the loss by rate *
// |gradient|^2, to first order, and twice the step by twice as much.
TEST(NetworkReference, AStepGoesDownTheGradient) {
  const TrainingData data = training_data();
  const double small = 1e-4;
  const auto one = reference_losses(data, 2, small);
  const auto two = reference_losses(data, 2, 2 * small);
  EXPECT_LT(one[1], one[0]);
  EXPECT_NEAR((two[0] - two[1]) / (one[0] - one[1]), 2, 0.01);
}

TEST(NetworkReference, DataAreTheSameEveryTime) {
  EXPECT_EQ(training_data().inputs, training_data().inputs);
  EXPECT_EQ(training_data().initial.size(), NetworkShape::parameters);
}

}  // namespace
}  // namespace lockstep::gpu::network_reference_test
