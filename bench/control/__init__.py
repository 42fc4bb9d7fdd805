"""The parts of script/bench controller: each measures rounds, and holds them against its bars."""
