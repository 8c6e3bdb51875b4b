select {schema}.identity()
