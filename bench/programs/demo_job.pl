#!/usr/bin/perl
# The program of `make demo`: who visits a web site? It makes the lines of a server's log, reads them with a regular
# expression, gathers the requests of each visitor, divides them into visits, and reports on pages, visitors and paths.
#
# It uses perl alone, as every Debian has it (perl-base), has no input, and prints the same on every run. Perl has no malloc of
# its own on Linux: each hash, key, string and array is a block of malloc, that of the C library unless another is preloaded.
#
# usage: demo_job.pl [LINES]
use strict;
use warnings;

my $lines = $ARGV[0] // 24_000;
my ( $users, $pages, $patience ) = ( 4_000, 1_500, 900 );

# The generator of ANSI C's example of rand(): the same numbers on every machine.
my $state = 1;

sub draw {
    my ($below) = @_;
    $state = ( $state * 1_103_515_245 + 12_345 ) & 0x7fff_ffff;
    return ( $state >> 8 ) % $below;
}

my @agents   = map { "Mozilla/5.0 (X11; Linux x86_64; rv:$_.0) Gecko/20100101 Firefox/$_.0" } 90 .. 130;
my @statuses = ( (200) x 8, 304, 404 );

# A few visitors ask often, most seldom.
sub line_at {
    my ($second) = @_;
    my $user = int( draw($users) * draw(1_000) / 1_000 );
    my $host = join '.', 10, $user >> 8, $user & 255, 1 + $user % 200;
    my $page = int( draw($pages) * draw(1_000) / 1_000 );
    return sprintf '%s - - [%d] "GET /item/%d?from=%s HTTP/1.1" %d %d "%s"',
      $host, $second, $page, 'p' . draw(400), $statuses[ draw(10) ], draw(60_000), $agents[ $user % @agents ];
}

my $format = qr{^(\S+) \S+ \S+ \[(\d+)\] "(\w+) ([^?"]+)(?:\?from=(\S*))? [^"]*" (\d+) (\d+) "([^"]*)"$};

sub parsed {
    my ($line) = @_;
    my @fields = $line =~ $format or die "no line of a log: $line\n";
    my %request;
    @request{qw(host time verb page from status bytes agent)} = @fields;
    return \%request;
}

my ( %requests_of, %visitors, %pages_seen, %paths );

# What a visit says of the visitor, and of the paths of two steps through the site.
sub end_visit {
    my ( $visitor, $visit ) = @_;
    $visitor->{visits}++;
    for my $number ( 0 .. $#$visit ) {
        my $request = $visit->[$number];
        $visitor->{bytes} += $request->{bytes};
        $visitor->{pages}{ $request->{page} }++;
        $paths{"$visit->[$number - 1]{page} $request->{page}"}++ if $number > 0;
    }
    return;
}

# A visit ends where the visitor asks for nothing for a while.
sub end_visits {
    my ( $host, $requests ) = @_;
    my $visitor = $visitors{$host} = { visits => 0, bytes => 0, pages => {} };
    my $visit   = [];
    for my $request (@$requests) {
        if ( @$visit && $request->{time} - $visit->[-1]{time} > $patience ) {
            end_visit( $visitor, $visit );
            $visit = [];
        }
        push @$visit, $request;
    }
    end_visit( $visitor, $visit );
    return;
}

for my $second ( 1 .. $lines ) {
    my $request = parsed( line_at($second) );
    push @{ $requests_of{ $request->{host} } }, $request;
    my $page = $pages_seen{ $request->{page} } //= { hits => 0, bytes => 0, from => {} };
    $page->{hits}++;
    $page->{bytes} += $request->{bytes};
    $page->{from}{ $request->{from} }++;
}
end_visits( $_, delete $requests_of{$_} ) for sort keys %requests_of;

sub most {
    my ( $table, $value, $count ) = @_;
    my @keys = sort { $value->( $table->{$b} ) <=> $value->( $table->{$a} ) || $a cmp $b } keys %$table;
    return @keys[ 0 .. ( $count < @keys ? $count : scalar @keys ) - 1 ];
}

printf "%d requests, %d visitors, %d pages, %d paths\n", $lines, scalar keys %visitors, scalar keys %pages_seen, scalar keys %paths;
for my $page ( most( \%pages_seen, sub { $_[0]{hits} }, 10 ) ) {
    my $seen = $pages_seen{$page};
    printf "page %-12s %6d hits %10d bytes, from %d places\n", $page, $seen->{hits}, $seen->{bytes}, scalar keys %{ $seen->{from} };
}
for my $host ( most( \%visitors, sub { $_[0]{bytes} }, 10 ) ) {
    my $visitor = $visitors{$host};
    printf "visitor %-14s %4d visits %10d bytes, %d pages\n", $host, $visitor->{visits}, $visitor->{bytes}, scalar keys %{ $visitor->{pages} };
}
printf "path %-26s %4d times\n", $_, $paths{$_} for most( \%paths, sub { $_[0] }, 10 );
