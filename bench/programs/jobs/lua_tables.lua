-- Small tables, strings and closures, a thousand of which live at a time: little but allocation.
local live, sum = {}, 0
for i = 1, tonumber(arg[1] or "250000") do
  local node = {key = i, name = "n" .. i, next = live[i % 1009]}
  if i % 7 == 0 then node.next = nil end
  node.call = function() return node.key end
  live[i % 1009] = node
  sum = sum + node.call()
  if i % 1000 == 0 then live = {} end
end
print(sum)
