#include "cli/cmd.hpp"

namespace trunkline::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> list = {predict_command(), validate_command(), topo_command(),      fabric_command(),
                                            measure_command(), compare_command(),  calibrate_command(), catalog_command(),
                                            schema_command(),  doctor_command(),   help_command()};
  return list;
}

}  // namespace trunkline::cli
