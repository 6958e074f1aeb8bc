#!/bin/bash

#BSUB -W 1500
#BSUB -J block.NUMBER
#BSUB -o /scratch/melt/scripts/block.NUMBER.submit.stdout
#BSUB -e /scratch/melt/scripts/block.NUMBER.submit.stderr
#BSUB -M 120000MB
#BSUB -R "rusage[mem=120000MB/job]"
#BSUB -gpu "num=4/host"
#BSUB -P melts
#BSUB -q gpu
#BSUB -n 32
#BSUB -R "span[ptile=32]"


FORGET
module load lammps

export JOBNAME="block.NUMBER"

