common <- 1
