select name from {migrations}
