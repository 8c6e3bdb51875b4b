-- Ids that stand behind a word in one sorted set, newest first, and whether there may be more of them.
local function by_word(key, word, after)
  local top = '(' .. word .. (after == '' and '\1' or '\0' .. after)
  local ids = call('ZREVRANGEBYLEX', key, top, '[' .. word .. '\0', 'LIMIT', 0, 500)
  for i, member in ipairs(ids) do ids[i] = sub(member, -16) end
  return ids, #ids == 500
end
