// SPDX-License-Identifier: Apache-2.0
// What a batch is, as kernels are given it: where parameters come from and results go. Included inside a
// namespace by its users, behind rule-inl.h and adaption-inl.h, with power(a, b) defined.

constexpr int most_parameters = 8;

enum Spread { given, even, geometric };

// One parameter of all integrals: a column of an array, or a range that they are spread over.
struct Column {
  const double* data;
  long long stride;
  double from, to;
  int spread;
  long long first, of;  // a range runs over so many integrals, of which these begin there; 0: over these
};

BATCH_FN double parameter_of(const Column& column, long long index, long long count) {
  if (column.spread == given) return column.data[index * column.stride];
  if (column.of > 0) index += column.first, count = column.of;
  const double share = count > 1 ? static_cast<double>(index) / static_cast<double>(count - 1) : 0;
  if (column.spread == even) return column.from + (column.to - column.from) * share;
  return column.from * power(column.to / column.from, share);
}

struct Work {
  Column columns[most_parameters];
  long long count;
  const double* relative;  // of each integral; null: the same for all
  double* values;
  double* errors;
  int* spent;
  int* whys;
  int parameters, breaks;
  Demand demand;
  Nodes nodes;
};

BATCH_FN Demand demand_of(const Work& work, long long index) {
  return {work.relative != nullptr ? work.relative[index] : work.demand.relative, work.demand.absolute,
          work.demand.most, work.demand.caution};
}

BATCH_FN void store(const Work& work, long long index, const Ended& ended) {
  work.values[index] = ended.value;
  work.errors[index] = ended.error;
  work.spent[index] = ended.spent;
  work.whys[index] = ended.why;
}
