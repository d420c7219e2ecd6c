# Threads pass strings through queues; then hashes, sorting and garbage collection.
# The output is always the same.
count = Integer(ARGV.fetch(0, "4000"))
factor = Integer(ARGV.fetch(1, "7919"))
work = Queue.new
done = Queue.new
threads = Array.new(3) do
  Thread.new do
    while (text = work.pop)
      done << [text.length, text.scan(/[a-f]+/).map(&:upcase).sort.uniq.join("-"), text.sum]
    end
  end
end
count.times { |i| work << (i * factor).to_s(16) * (i % 17 + 1) }
3.times { work << nil }
threads.each(&:join)
rows = Array.new(count) { done.pop }
GC.start
groups = rows.group_by(&:first).transform_values { |group| group.map { |row| row[2] }.sum }
groups.sort.each { |length, sum| puts "#{length} #{sum}" }
puts rows.map { |row| row[1] }.uniq.sort.first(20)
big = (1..400).reduce(:*).to_s
puts big.length, big[0, 40]
