-- A base as it is stored, with a payload of `null` in the place of its own; `b` is what was read of it.
local function without_payload(base, b)
  local at = b.rest
  if has(b.flags, OPTIONS) then at = at + 4 + struct.unpack('<I4', base, at) end
  if has(b.flags, HEIR) then at = at + 16 end
  return sub(base, 1, at - 1) .. 'null'
end
