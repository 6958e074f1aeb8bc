#!/bin/bash

#PBS -S /bin/bash
#PBS -N block.NUMBER
#PBS -m n
#PBS -l walltime=25:00:00
#PBS -l select=1:ncpus=32:mem=120000mb:ngpus=4
#PBS -o /scratch/melt/scripts/block.NUMBER.stdout
#PBS -e /scratch/melt/scripts/block.NUMBER.stderr
#PBS -V

FORGET
module load lammps

export JOBNAME="block.NUMBER"

