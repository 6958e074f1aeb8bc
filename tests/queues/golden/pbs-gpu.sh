#!/bin/sh
#PBS -N produce-3
#PBS -l select=1:ncpus=2:mpiprocs=1:ompthreads=2:mem=8000mb:ngpus=1
#PBS -l walltime=00:30:00
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
