<?php // The work of a page: 20,000 records as JSON, which is made and read.
$records = [];
for ($n = 0; $n < 20000; $n++) $records[] = ["number" => $n, "name" => str_repeat("x", 100 + $n % 900)];
echo strlen(json_encode(json_decode(json_encode($records), true)));
