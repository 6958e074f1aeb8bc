#!/bin/sh
#BSUB -J produce-3
#BSUB -n 2
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=8000MB/job]"
#BSUB -M 8000MB
#BSUB -W 00:30
#BSUB -gpu "num=1/host"
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
