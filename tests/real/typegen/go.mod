module lockstep/tests/real/typegen

go 1.24
