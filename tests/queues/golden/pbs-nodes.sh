#!/bin/sh
#PBS -N produce-3
#PBS -l select=2:ncpus=4:mpiprocs=2:ompthreads=2:mem=16000mb
#PBS -l place=scatter
#PBS -l walltime=25:00:00
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
