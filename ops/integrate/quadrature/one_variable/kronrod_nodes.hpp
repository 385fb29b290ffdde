// SPDX-License-Identifier: Apache-2.0
// The pairs of Gauss and Kronrod: nodes, weights, and differences between the rules.
#pragma once
#include <array>
#include <cmath>

namespace tessera::quadrature {

// The Kronrod extensions of Gauss's 7 and 10 points, from the end to the middle. Every second node, from the
// second on, is Gauss's.
template <std::size_t half>
struct KronrodNodes {
  std::array<double, half> x, kronrod;
  std::array<double, half / 2> gauss;  // Gauss's weights of x[1], x[3] …
};

inline constexpr KronrodNodes<8> kronrod15{
    {0.991455371120812639206854697526329, 0.949107912342758524526189684047851,
     0.864864423359769072789712788640926, 0.741531185599394439863864773280788,
     0.586087235467691130294144691693013, 0.405845151377397166906606412076961,
     0.207784955007898467600689403773245, 0},
    {0.022935322010529224963732008058970, 0.063092092629978553290700663189204,
     0.104790010322250183839876322541518, 0.140653259715525918745189590510238,
     0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
     0.204432940075298892414161999234649, 0.209482141084727828012999174891714},
    {0.129484966168869693270611432679082, 0.279705391489276667901467771423780,
     0.381830050505118944950369775488975, 0.417959183673469387755102040816327}};

inline constexpr KronrodNodes<11> kronrod21{
    {0.995657163025808080735527280689003, 0.973906528517171720077964012084452,
     0.930157491355708226001207180059508, 0.865063366688984510732096688423493,
     0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
     0.562757134668604683339000099272694, 0.433395394129247190799265943165784,
     0.294392862701460198131126603103866, 0.148874338981631210884826001129720, 0},
    {0.011694638867371874278064396062192, 0.032558162307964727478818972459390,
     0.054755896574351996031381300244580, 0.075039674810919952767043140916190,
     0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
     0.123491976262065851077958109585166, 0.134709217311473325928054001771707,
     0.142775938577060080797094273138717, 0.147739104901338491374841515972068,
     0.149445554002916905664936468389821},
    {0.066671344308688137593568809893332, 0.149451349150580593145863396957696,
     0.219086362515982043995534934228163, 0.269266719309996355091226921569469,
     0.295524224714752870173815619188769}};

// Null rules: further sums of weighted values that are 0 for polynomials, like the difference of Gauss's and
// Kronrod's sums. One alone may be 0 although the rule is wrong, for some position of a kink or for
// oscillations that the points do not resolve; several are seldom 0 together.
//
// The weights are the last few polynomials, even or odd, that are orthogonal on the nodes with Kronrod's
// weights, so the sums are 0 for polynomials of lower degree. They have the scale of `difference`, the
// weights of that difference. The middle's weights are halved, because it counts as two points; odd functions
// are 0 there. Gauss's difference detects what the even ones detect, too: theirs are one degree lower.
template <std::size_t all, std::size_t count>
std::array<std::array<double, all>, count> null_rules(const double (&x)[all], const double (&kronrod)[all],
                                                      const double (&difference)[all], bool odd = false) {
  using Real = long double;
  std::array<std::array<Real, all>, all> known{};  // by degree / 2, then by node
  const auto product = [&](const std::array<Real, all>& a, const std::array<Real, all>& b) {
    Real sum = 0;
    for (std::size_t i = 0; i < all; ++i) sum += 2 * Real(kronrod[i]) * a[i] * b[i];
    return sum;
  };
  const std::size_t degrees = odd ? all - 1 : all;
  for (std::size_t degree = 0; degree < degrees; ++degree) {
    auto& mine = known[degree];
    for (std::size_t i = 0; i < all; ++i)
      mine[i] = degree > 0 ? known[degree - 1][i] * x[i] * x[i] : odd ? Real(x[i]) : Real(1);
    for (int twice = 0; twice < 2; ++twice)
      for (std::size_t lower = 0; lower < degree; ++lower) {
        const Real share = product(mine, known[lower]);
        for (std::size_t i = 0; i < all; ++i) mine[i] -= share * known[lower][i];
      }
    const Real size = std::sqrt(product(mine, mine));
    for (Real& value : mine) value /= size;
  }
  Real size = 0;
  for (std::size_t i = 0; i < all; ++i)
    size += 2 * Real(difference[i]) * Real(difference[i]) / Real(kronrod[i]);
  std::array<std::array<double, all>, count> out{};
  for (std::size_t k = 0; k < count; ++k)
    for (std::size_t i = 0; i < all; ++i)
      out[k][i] = static_cast<double>(std::sqrt(size) * Real(kronrod[i]) * known[all - 2 - k][i]);
  return out;
}

// The null rules of a pair, the difference of Gauss and Kronrod first. `odd`: those for the right points
// minus the left ones. Two equal jumps at equal distances from the middle are, on the nodes, a constant plus
// an odd function, which even null rules do not detect.
template <std::size_t half>
struct Differences {
  static constexpr std::size_t count = 4, odd_count = 3;
  double weight[count][half], odd[odd_count][half];

  explicit Differences(const KronrodNodes<half>& nodes) {
    double x[half], kronrod[half];
    for (std::size_t i = 0; i < half; ++i) {
      const double counted = i + 1 == half ? 0.5 : 1;
      x[i] = nodes.x[i];
      kronrod[i] = counted * nodes.kronrod[i];
      weight[0][i] = counted * (nodes.kronrod[i] - (i % 2 == 1 ? nodes.gauss[i / 2] : 0));
    }
    const auto others = null_rules<half, count - 1>(x, kronrod, weight[0], false);
    const auto odd_ones = null_rules<half, odd_count>(x, kronrod, weight[0], true);
    for (std::size_t k = 0; k < odd_count; ++k)
      for (std::size_t i = 0; i < half; ++i) odd[k][i] = odd_ones[k][i];
    for (std::size_t k = 1; k < count; ++k)
      for (std::size_t i = 0; i < half; ++i) weight[k][i] = others[k - 1][i];
  }

  static const Differences& of(const KronrodNodes<half>& nodes) {
    static const Differences all(nodes);
    return all;
  }

  // Returns the error estimate from the sums of each difference: the first sum if the sums fall off as those
  // of a smooth function, as far as rounding shows, else the largest.
  static double estimate(const double (&sums)[count], const double (&odd_sums)[odd_count], double noise) {
    double most = 0;
    const bool even_fall = falls(sums, noise, most), odd_fall = falls(odd_sums, noise, most);
    return even_fall && odd_fall ? std::fabs(sums[0]) : most;
  }

 private:
  template <std::size_t n>
  static bool falls(const double (&sums)[n], double noise, double& most) {
    bool out = true;
    for (std::size_t k = 0; k < n; ++k) {
      const double lower = std::fabs(sums[k]);
      most = std::fmax(most, lower);
      if (k == 0) continue;
      const double higher = std::fabs(sums[k - 1]);
      out = out && (higher <= noise || higher < 0.5 * lower);
    }
    return out;
  }
};

}  // namespace tessera::quadrature
