#!/bin/sh
#PBS -N produce-3
#PBS -l select=1:ncpus=1:mpiprocs=1:ompthreads=1:mem=1000mb
#PBS -l walltime=01:30:00
#PBS -q normal
#PBS -A melts
#PBS -j oe
#PBS -o /scratch/melt/job.log
#PBS -r y
#PBS -v PATH,LANG
(
cd /scratch/melt && python -m snakemake --target-jobs produce:replica=3
)
code=$?
echo $code > '/scratch/melt/job.exit'
exit $code
