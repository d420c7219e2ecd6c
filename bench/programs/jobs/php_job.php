<?php
// Arrays, strings, JSON, regular expressions and sorting; with USE_ZEND_ALLOC=0 each of them is a malloc. Same output always.
$count = (int)($argv[1] ?? 4000);
$factor = (int)($argv[2] ?? 7919);
$rows = [];
for ($i = 0; $i < $count; $i++) {
    $rows[] = ['id' => $i, 'name' => 'item-' . ($i * $factor % 977), 'tags' => array_map(fn($j) => "t$j", range(0, $i % 7))];
}
$rows = json_decode(json_encode($rows), true);
$groups = [];
foreach ($rows as $row) {
    $groups[preg_replace('/\d(\d)$/', '<$1>', $row['name'])][] = implode('+', $row['tags']);
}
ksort($groups);
foreach ($groups as $name => $tags) {
    echo $name, ' ', count($tags), ' ', md5(implode(',', $tags)), "\n";
}
