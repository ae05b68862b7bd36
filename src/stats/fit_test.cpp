#include "stats/fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/rng.hpp"

namespace trunkline::stats {
namespace {

using Numbers = std::vector<double>;

TEST(LeastSquares, MeetsPointsOnALine) {
  const auto line = fit_line(Numbers{0, 1, 2, 5}, Numbers{3, 5, 7, 13}).value();
  EXPECT_NEAR(line.offset, 3, 1e-12);
  EXPECT_NEAR(line.slope, 2, 1e-12);
  EXPECT_NEAR(line.rms, 0, 1e-12);
  EXPECT_NEAR(line.determination, 1, 1e-12);
}

// Normal equations by hand for (0,0) (1,1) (2,1): slope ½, offset 1/6, residuals −1/6, 1/3, −1/6.
TEST(LeastSquares, ClosedFormWithResiduals) {
  const auto fit = least_squares(Numbers{1, 0, 1, 1, 1, 2}, 2, Numbers{0, 1, 1}).value();
  EXPECT_NEAR(fit.coefficients[0], 1.0 / 6, 1e-12);
  EXPECT_NEAR(fit.coefficients[1], 0.5, 1e-12);
  EXPECT_NEAR(fit.residuals[1], 1.0 / 3, 1e-12);
  EXPECT_NEAR(fit.rms, std::sqrt((1.0 / 36 + 1.0 / 9 + 1.0 / 36) / 3), 1e-12);
  EXPECT_NEAR(fit.determination, 0.75, 1e-12);
}

// Latency and inverse bandwidth over sizes up to gigabytes: columns of very different length must not cost digits.
TEST(LeastSquares, ColumnsOfDifferentScale) {
  Numbers size, time;
  for (double s = 8; s < 1e10; s *= 4) {
    size.push_back(s);
    time.push_back(5e-6 + s / 45e9);
  }
  const auto line = fit_line(size, time).value();
  EXPECT_NEAR(line.offset, 5e-6, 1e-13);
  EXPECT_NEAR(1 / line.slope, 45e9, 1);
}

TEST(LeastSquares, AWeightOfTwoIsARowTwice) {
  const auto weighted = fit_line(Numbers{0, 1, 2}, Numbers{0, 1, 5}, {.weights = {1, 2, 1}}).value();
  const auto repeated = fit_line(Numbers{0, 1, 1, 2}, Numbers{0, 1, 1, 5}).value();
  EXPECT_NEAR(weighted.slope, repeated.slope, 1e-12);
  EXPECT_NEAR(weighted.offset, repeated.offset, 1e-12);
}

// One column of ones: c = (Σy + λ·toward)/(n + λ).
TEST(Ridge, ClosedForm) {
  const auto fit = least_squares(Numbers{1, 1, 1}, 1, Numbers{2, 4, 6}, {.ridge = 2, .toward = {10}}).value();
  EXPECT_NEAR(fit.coefficients[0], (12 + 20) / 5.0, 1e-12);
  const auto strong = least_squares(Numbers{1, 1, 1}, 1, Numbers{2, 4, 6}, {.ridge = 1e12, .toward = {10}}).value();
  EXPECT_NEAR(strong.coefficients[0], 10, 1e-9);
}

TEST(Ridge, SettlesWhatTheRowsLeaveOpen) {
  const Numbers same{1, 1, 2, 2, 3, 3};  // two equal columns
  EXPECT_FALSE(least_squares(same, 2, Numbers{2, 4, 6}));
  const auto fit = least_squares(same, 2, Numbers{2, 4, 6}, {.ridge = 1e-6}).value();
  EXPECT_NEAR(fit.coefficients[0], 1, 1e-4);
  EXPECT_NEAR(fit.coefficients[1], 1, 1e-4);
  EXPECT_TRUE(least_squares(Numbers{1, 2}, 2, Numbers{3}, {.ridge = 1}));
}

// Property: at the minimum the residuals are orthogonal to every column.
TEST(LeastSquares, ResidualsAreOrthogonalToTheColumns) {
  Rng rng(29);
  Numbers rows, y;
  for (int i = 0; i < 40; ++i) {
    for (int j = 0; j < 4; ++j) rows.push_back(rng.uniform() - 0.5);
    y.push_back(rng.uniform());
  }
  const auto fit = least_squares(rows, 4, y).value();
  for (std::size_t j = 0; j < 4; ++j) {
    double product = 0;
    for (std::size_t i = 0; i < 40; ++i) product += rows[i * 4 + j] * fit.residuals[i];
    EXPECT_NEAR(product, 0, 1e-12);
  }
}

TEST(LeastSquares, RefusesWhatHasNoAnswer) {
  const auto few = least_squares(Numbers{1, 2}, 2, Numbers{1});
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().message, "1 values cannot fix 2 constants");
  const auto dependent = least_squares(Numbers{1, 2, 1, 2, 1, 2}, 2, Numbers{1, 2, 3});
  ASSERT_FALSE(dependent);
  EXPECT_NE(dependent.error().message.find("column 2"), std::string::npos);
  EXPECT_FALSE(least_squares(Numbers{1, 2, 3}, 2, Numbers{1, 2}));
  EXPECT_FALSE(least_squares(Numbers{1, std::numeric_limits<double>::quiet_NaN()}, 1, Numbers{1, 2}));
  EXPECT_FALSE(least_squares(Numbers{1, 1}, 1, Numbers{1, 2}, {.weights = {1, -1}}));
  EXPECT_FALSE(least_squares(Numbers{0, 0}, 1, Numbers{1, 2}));
  EXPECT_FALSE(least_squares(Numbers{}, 0, Numbers{}));
}

}  // namespace
}  // namespace trunkline::stats
