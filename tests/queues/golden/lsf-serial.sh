#!/bin/sh
#BSUB -J produce-3
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=1000MB/job]"
#BSUB -M 1000MB
#BSUB -W 01:30
#BSUB -q normal
#BSUB -P melts
#BSUB -o /scratch/melt/job.log
#BSUB -r
#BSUB -env "PATH, LANG"
(
cd /scratch/melt && python -m snakemake --target-jobs produce:replica=3
)
code=$?
echo $code > '/scratch/melt/job.exit'
exit $code
