-- What scripts use of the parts by which runs end in other ways than the common one.
local exits = { end_run = end_run, read_end = read_end, read_sections = read_sections, unlist = unlist, begin = begin }
