-- End a job that has not begun.
local function cancel_now(id, base, run, state, note, now)
  leave_line(id, base, run, state)
  run.texts.n = note
  finish(id, run, 'x', now, true)
  write_all()
end
