# Associative arrays of strings, split and substitution on a text; the output is always the same.
BEGIN { PROCINFO["sorted_in"] = "@ind_str_asc" }
{
    for (i = 1; i <= NF; i++) { count[$i]++; after[$i][$(i - 1)] = NR }
    gsub(/[aeiou]+/, "<&>")
    split($0, parts, /[<>]/)
    for (part in parts) pieces[parts[part]]++
}
END {
    for (word in count) printf "%s %d %d\n", word, count[word], length(after[word])
    for (piece in pieces) total += length(piece) * pieces[piece]
    print total
}
