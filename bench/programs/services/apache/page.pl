#!/usr/bin/perl
# The work of a page: a table of 30,000 strings.
my %table = map { $_ => "x" x (100 + $_ % 900) } 1 .. 30000;
my $sum = 0;
$sum += length $table{$_} for keys %table;
print "Content-Type: text/plain\n\n$sum\n";
