select queue, ahead from penstock_turns
