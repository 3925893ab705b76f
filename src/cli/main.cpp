#include <ordo/cli.hpp>

int main(int argc, char** argv) { return ordo::main(argc, argv); }
