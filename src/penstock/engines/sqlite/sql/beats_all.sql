select worker, until, memory from beats
