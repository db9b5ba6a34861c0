"""The commands of ``faithshift``, a file a group; `faithshift_bench.cli` lists them."""
