# A cluster of two workers; with `scrub` its primary takes the variable away.
node cluster.js job.sock "$1"
