<?php // A page that starts a program for its work, as pages that convert pictures or documents do.
echo shell_exec("php " . escapeshellarg(__DIR__ . "/convert.php"));
