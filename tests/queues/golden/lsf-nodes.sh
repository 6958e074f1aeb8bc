#!/bin/sh
#BSUB -J produce-3
#BSUB -n 8
#BSUB -R "span[ptile=4]"
#BSUB -R "rusage[mem=32000MB/job]"
#BSUB -M 32000MB
#BSUB -W 25:00
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
