select worker, until from beats
