select name, declared, standing from penstock_breakers
