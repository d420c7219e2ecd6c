-- Tables that grow by realloc, strings, closures and coroutines; the output is always the same.
local count, factor = tonumber(arg[1] or "30000"), tonumber(arg[2] or "7919")
local words, lengths = {}, {}
for i = 1, count do
  local word = string.format("%x", i * factor % 9973):rep(i % 5 + 1)
  words[word] = (words[word] or 0) + 1
  lengths[#lengths + 1] = #word
end
local keys = {}
for word in pairs(words) do keys[#keys + 1] = word end
table.sort(keys)
local producer = coroutine.wrap(function()
  for _, word in ipairs(keys) do coroutine.yield(word:upper():reverse()) end
end)
local parts = {}
for word in producer do parts[#parts + 1] = word end
local text = table.concat(parts, ",")
collectgarbage()
print(#keys, #lengths, #text, text:sub(1, 200), keys[#keys])
for word, times in text:gmatch("(%w+),(%w+)") do
  if times == word then print(word) end
end
