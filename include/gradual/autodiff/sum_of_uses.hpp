#pragma once
#include <algorithm>
#include <vector>

#include <gradual/autodiff/ops/add.hpp>
#include <gradual/autodiff/ops/constant.hpp>
#include <gradual/autodiff/ops/matmul.hpp>
#include <gradual/autodiff/ops/sum.hpp>
#include <gradual/autodiff/ops/uses.hpp>

namespace gradual {

/// Uses are joined where the rows of this many samples take no more memory than a sum: each joined use saves a sum, but keeps
/// its rows until the first use has been passed.
inline constexpr std::int64_t samples_worth_a_sum = 16;

/// The adjoints that uses give to values without samples, collected during backward. Sums over the batch by the same op of
/// operands of the same shapes become one contraction over (sample, use, position), which has one shadow.
class SumsOfUses {
 public:
  /// Begins a backward pass from node `y`.
  constexpr void begin(const Tape& tape, int y) {
    uses_.clear();
    first_.assign(static_cast<std::size_t>(y + 1), -1);
    waiting_.clear();
    contracted_.clear();
    scanned_ = 0;
    find_order(tape, y);
  }

  /// Returns the nodes behind `y` in the order in which they are reached from it, operands first. The order of recording would
  /// not do: compilers may evaluate f(a) + f(b) from the left when they trace, and from the right at run time.
  constexpr const std::vector<int>& order() const { return order_; }

  /// Adds `adjoint`, which node `user` gives to its operand `of`.
  constexpr void add(int of, int user, Var adjoint) {
    int& first = first_[static_cast<std::size_t>(of)];
    uses_.push_back({adjoint, user, first});
    first = static_cast<int>(uses_.size()) - 1;
  }

  /// To be called when all users of node `of` have been passed: writes its adjoint, if it has users, and adjoints that waited.
  /// A parameter's adjoint waits until it is known which of its sums are joined.
  constexpr void passed(Tape& tape, int of, std::vector<Var>& adjoints) {
    if (first_[static_cast<std::size_t>(of)] < 0) return;
    waiting_.push_back(of);
    sum_waiting(tape, adjoints, false);
  }
  /// Writes the adjoints that still wait, once all of backward has been recorded.
  constexpr void finish(Tape& tape, std::vector<Var>& adjoints) { sum_waiting(tape, adjoints, true); }

 private:
  struct Use {
    Var adjoint;
    int user = -1;
    int next = -1;  ///< the use that was added before for the same value
  };

  struct Visit {
    int node = -1, operand = 0;
  };

  constexpr void sum_waiting(Tape& tape, std::vector<Var>& adjoints, bool recorded) {
    std::size_t left = 0;
    for (const int of : waiting_) {
      these_.clear();
      for (int u = first_[static_cast<std::size_t>(of)]; u >= 0; u = uses_[static_cast<std::size_t>(u)].next)
        these_.push_back(uses_[static_cast<std::size_t>(u)]);
      const bool parameter = tape[of].op->arity == 0;
      if (these_.size() > 1 && parameter && !recorded && !all_contracted(tape)) waiting_[left++] = of;
      else adjoints[static_cast<std::size_t>(of)] = sum(tape, tape[of].shape, parameter);
    }
    waiting_.resize(left);
  }

  /// Returns the sum of what the uses `these_` give to a value.
  constexpr Var sum(Tape& tape, Shape shape, bool parameter) {
    if (these_.size() == 1) return these_[0].adjoint;
    std::sort(these_.begin(), these_.end(), [&](const Use& a, const Use& b) {
      return a.user == b.user ? a.next < b.next : place(a.user) > place(b.user);
    });
    Var total;
    for (std::size_t u = 0; u < these_.size(); ++u) {
      if (!these_[u].adjoint.valid()) continue;
      const Var one = join(tape, u, shape, parameter);
      total = total.valid() ? total + one : one;
    }
    return total;
  }

  constexpr int place(int node) const { return place_[static_cast<std::size_t>(node)]; }

  constexpr void find_order(const Tape& tape, int y) {
    place_.assign(first_.size(), -1);
    order_.assign(first_.size(), -1);
    path_.assign(first_.size(), {});
    // Plain pointers: compilers take long to evaluate the functions of std::vector.
    const Node* const nodes = tape.nodes.data();
    int *const placed = place_.data(), *const order = order_.data();
    Visit* const path = path_.data();
    path[0] = {y, 0};
    std::size_t count = 0;
    for (int depth = 0; depth >= 0;) {
      Visit& at = path[depth];
      const Node& node = nodes[at.node];
      if (at.operand == node.op->arity) {
        placed[at.node] = static_cast<int>(count);
        order[count++] = at.node;
        --depth;
      } else if (const int in = node.in[at.operand++]; placed[in] < 0) {
        path[++depth] = {in, 0};
      }
    }
    order_.resize(count);
  }

  static constexpr int behind_reshapes(const Tape& tape, int id) {
    while (tape[id].op->kind == Kind::reshape) id = tape[id].in[0];
    return id;
  }

  /// Whether a node is a contraction over the batch whose sum is large compared with the rows of a sample.
  static constexpr bool pays(const Tape& tape, const Node& node) {
    if (node.op->kind != Kind::batch_contract) return false;
    const std::int64_t rows = tape[node.in[0]].shape.unit() + tape[node.in[1]].shape.unit();
    return rows > 0 && rows <= node.shape.unit() / samples_worth_a_sum;
  }
  /// Whether such a contraction recorded so far reads a value, which is therefore kept.
  constexpr bool is_contracted(const Tape& tape, int id) {
    for (; scanned_ < tape.size(); ++scanned_) {
      contracted_.push_back(0);
      for (int k = 0; k < 2 && pays(tape, tape[scanned_]); ++k)
        contracted_[static_cast<std::size_t>(behind_reshapes(tape, tape[scanned_].in[k]))] = 1;
    }
    return contracted_[static_cast<std::size_t>(behind_reshapes(tape, id))] != 0;
  }
  /// Whether all plain sums over the batch among `these_` are of values that are contracted.
  constexpr bool all_contracted(const Tape& tape) {
    return std::all_of(these_.begin(), these_.end(), [&](const Use& use) {
      const Node& node = tape[behind_reshapes(tape, use.adjoint.id)];
      return node.op->kind != Kind::batch_reduce || is_contracted(tape, node.in[0]);
    });
  }

  /// Returns the sum over the batch that an adjoint is, perhaps reshaped, or −1 where it is not joined with others: for ops
  /// other than matmul, small products, and plain sums of values that are kept for no other reason, as the gradients of gains.
  constexpr int joinable(const Tape& tape, Var adjoint, bool parameter) {
    const int id = behind_reshapes(tape, adjoint.id);
    const Node& node = tape[id];
    if (node.op->kind != Kind::batch_reduce) return pays(tape, node) ? id : -1;
    return parameter && is_contracted(tape, node.in[0]) ? id : -1;
  }
  static constexpr bool same_sum(const Tape& tape, int a, int b) {
    const Node &x = tape[a], &y = tape[b];
    bool same = same_op(x, y);
    for (int k = 0; k < x.op->arity && same; ++k)
      same = tape[x.in[k]].shape == tape[y.in[k]].shape && tape[x.in[k]].dtype == tape[y.in[k]].dtype;
    return same;
  }

  /// Returns operand k of a sum over the batch as a matrix whose rows are its positions.
  static constexpr Var rows_of(Tape& tape, int sum, int k) {
    const Node node = tape[sum];
    const Shape shape = tape[node.in[k]].shape;
    const int rows = node.op->kind == Kind::batch_reduce ? static_cast<int>(node.attributes.integer[0]) : 1;
    Shape matrix{shape.product(0, rows), shape.product(rows, shape.rank)};
    matrix.batch_axis = 0;
    return reshape({&tape, node.in[k]}, matrix);
  }
  /// Returns a one for each row: a sum of rows equals their product with ones, bit for bit.
  static constexpr Var ones_for(Var rows) {
    Shape shape{rows.shape().extent[0], 1};
    shape.batch_axis = 0;
    return constant_like(rows, shape, 1);
  }

  /// Returns the adjoint of use `u`, joined with those of earlier uses where possible, which are dropped.
  constexpr Var join(Tape& tape, std::size_t u, const Shape& shape, bool parameter) {
    const int sum = joinable(tape, these_[u].adjoint, parameter);
    Var rows[2];
    for (std::size_t e = u + 1; e < these_.size() && sum >= 0; ++e) {
      Var& earlier = these_[e].adjoint;
      const int same = earlier.valid() ? joinable(tape, earlier, parameter) : -1;
      if (same < 0 || !same_sum(tape, sum, same)) continue;
      for (int k = 0; k < tape[sum].op->arity; ++k)
        rows[k] = uses(rows_of(tape, same, k), rows[k].valid() ? rows[k] : rows_of(tape, sum, k));
      earlier = {};
    }
    if (!rows[0].valid()) return these_[u].adjoint;
    const Var a = rows[1].valid() ? rows[0] : ones_for(rows[0]), b = rows[1].valid() ? rows[1] : rows[0];
    return reshape(matmul(a, b, true), shape);
  }

  std::vector<Use> uses_, these_;
  std::vector<int> first_;  ///< by node: the use that was added last for it, or −1
  std::vector<int> order_, place_;  ///< place_: by node, its place in order_
  std::vector<Visit> path_;
  std::vector<int> waiting_;      ///< nodes whose adjoint is not written yet
  std::vector<char> contracted_;  ///< by node, of the first `scanned_`: whether a contraction reads it
  int scanned_ = 0;
};

}  // namespace gradual
