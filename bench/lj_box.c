/* Lennard-Jones beads in a periodic cube by velocity Verlet: what bench/liquid_size.py runs.
 *
 * Reduced units, mass 1. Pairs are found in blocks of eight beads that are neighbours in memory (sorted in space at
 * every new list), so that eight pairs are worked on at a time with no gathered loads. A pair's force is computed
 * in single precision (within 1e-5 of LAMMPS's); all that lasts is kept and added up in double. Build:
 *   cc -O3 -march=native -fPIC -shared -o lj_box.so lj_box.c -lm
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LANES 8
typedef float vec __attribute__((vector_size(32)));
typedef int32_t ivec __attribute__((vector_size(32)));

typedef struct {
    int n, blocks;          /* beads; blocks of eight, the last one padded */
    double side, cutoff, skin, shift;
    double *at[3], *vel[3], *force[3], *listed[3];  /* listed: where the list was made */
    float *near[3], *push[3];  /* places and forces of the pairs, blocks * 8 each */
    int32_t *real;          /* all bits set for a bead, 0 for padding */
    int *first, *block;     /* list of blocks of each bead, blocks above its own */
    size_t room;
    uint64_t random;
    long builds;
} box;

typedef struct { double energy, virial[6]; } sums;  /* potential energy; sum over pairs of x_a f_b, xx yy zz xy xz yz */

static inline vec spread(float value) { return (vec){value, value, value, value, value, value, value, value}; }
static inline double total(vec v) { float sum = 0; for (int k = 0; k < LANES; k++) sum += v[k]; return sum; }
static inline vec whole(vec v) { const vec magic = spread(12582912.0f); return (v + magic) - magic; }
static inline vec keep(vec v, ivec mask) { return (vec)((ivec)v & mask); }

static double uniform(box *b) {  /* xorshift64*, in (0, 1) */
    b->random ^= b->random >> 12; b->random ^= b->random << 25; b->random ^= b->random >> 27;
    return ((b->random * 2685821657736338717ULL >> 11) + 0.5) / 9007199254740992.0;
}

typedef struct { double key; int bead; } place;

static int by_key(const void *one, const void *two) {
    double a = ((const place *)one)->key, b = ((const place *)two)->key;
    return (a > b) - (a < b);
}

static void sort_in_space(box *b) {  /* columns two beads wide, in turns up and down, and along each by z */
    int columns = (int)(b->side / 2.1);
    place *order = malloc(b->n * sizeof *order);
    double *copy = malloc(b->n * sizeof *copy);
    for (int i = 0; i < b->n; i++) {
        int k = (int)(b->at[0][i] / b->side * columns), l = (int)(b->at[1][i] / b->side * columns);
        int column = k * columns + (k % 2 ? columns - 1 - l : l);
        double z = b->at[2][i] / b->side * 0.999;
        order[i] = (place){column + (column % 2 ? 0.999 - z : z), i};
    }
    qsort(order, b->n, sizeof *order, by_key);
    for (int a = 0; a < 9; a++) {
        double *array = a < 3 ? b->at[a] : a < 6 ? b->vel[a - 3] : b->force[a - 6];
        memcpy(copy, array, b->n * sizeof *copy);
        for (int i = 0; i < b->n; i++) array[i] = copy[order[i].bead];
    }
    free(order); free(copy);
}

static void round_places(box *b) {
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < b->n; i++) b->near[a][i] = (float)b->at[a][i];
}

static void make_list(box *b) {
    double reach = (b->cutoff + b->skin) * (b->cutoff + b->skin), inverse = 1 / b->side;
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < b->n; i++) b->at[a][i] -= b->side * floor(b->at[a][i] * inverse);
    sort_in_space(b);
    round_places(b);
    size_t used = 0;
    for (int i = 0; i < b->n; i++) {
        b->first[i] = (int)used;
        if (used + b->blocks > b->room) b->block = realloc(b->block, (b->room = 2 * (used + b->blocks)) * sizeof *b->block);
        for (int j = i / LANES + 1; j < b->blocks; j++) {
            vec square = spread(0);
            for (int a = 0; a < 3; a++) {
                vec d = spread(b->near[a][i]) - ((vec *)b->near[a])[j];
                d -= spread(b->side) * whole(d * spread(inverse));
                square += d * d;
            }
            ivec near = (square < spread(reach)) & ((ivec *)b->real)[j];
            int any = 0;
            for (int k = 0; k < LANES; k++) any |= near[k] != 0;
            b->block[used] = j;
            used += any;
        }
    }
    b->first[b->n] = (int)used;
    for (int a = 0; a < 3; a++) memcpy(b->listed[a], b->at[a], b->n * sizeof(double));
    b->builds++;
}

static int moved_too_far(const box *b) {
    double most = 0, limit = b->skin * b->skin / 4;
    for (int i = 0; i < b->n; i++) {
        double square = 0;
        for (int a = 0; a < 3; a++) { double d = b->at[a][i] - b->listed[a][i]; square += d * d; }
        most = square > most ? square : most;
    }
    return most > limit;
}

static inline __attribute__((always_inline)) void forces(box *b, int with_sums, sums *out) {
    const vec side = spread(b->side), inverse = spread(1 / b->side), reach = spread(b->cutoff * b->cutoff);
    const ivec lane = {0, 1, 2, 3, 4, 5, 6, 7};
    if (with_sums) memset(out, 0, sizeof *out);
    round_places(b);
    for (int a = 0; a < 3; a++) memset(b->push[a], 0, b->blocks * LANES * sizeof(float));
    for (int i = 0; i < b->n; i++) {
        vec x = spread(b->near[0][i]), y = spread(b->near[1][i]), z = spread(b->near[2][i]);
        vec own_x = spread(0), own_y = spread(0), own_z = spread(0), energy = spread(0), virial[6];
        for (int k = 0; k < 6; k++) virial[k] = spread(0);
        for (int at = b->first[i] - 1; at < b->first[i + 1]; at++) {
            int j = at < b->first[i] ? i / LANES : b->block[at];
            ivec mask = ((ivec *)b->real)[j];
            if (at < b->first[i]) mask &= lane > (ivec){0} + (i % LANES);
            vec dx = x - ((vec *)b->near[0])[j], dy = y - ((vec *)b->near[1])[j], dz = z - ((vec *)b->near[2])[j];
            dx -= side * whole(dx * inverse); dy -= side * whole(dy * inverse); dz -= side * whole(dz * inverse);
            vec square = dx * dx + dy * dy + dz * dz;
            mask &= square < reach;
            vec over = keep(spread(1) / square, mask), sixth = over * over * over;
            vec f = spread(48) * over * sixth * (sixth - spread(0.5));
            vec fx = f * dx, fy = f * dy, fz = f * dz;
            own_x += fx; own_y += fy; own_z += fz;
            ((vec *)b->push[0])[j] -= fx; ((vec *)b->push[1])[j] -= fy; ((vec *)b->push[2])[j] -= fz;
            if (with_sums) {
                energy += spread(4) * sixth * (sixth - spread(1)) - keep(spread(b->shift), mask);
                virial[0] += dx * fx; virial[1] += dy * fy; virial[2] += dz * fz;
                virial[3] += dx * fy; virial[4] += dx * fz; virial[5] += dy * fz;
            }
        }
        b->push[0][i] += total(own_x); b->push[1][i] += total(own_y); b->push[2][i] += total(own_z);
        if (with_sums) {
            out->energy += total(energy);
            for (int k = 0; k < 6; k++) out->virial[k] += total(virial[k]);
        }
    }
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < b->n; i++) b->force[a][i] = b->push[a][i];
}

static void langevin(box *b, double temperature, double damping, double step) {  /* net force zero, as in LAMMPS */
    double size = sqrt(24 * temperature / (damping * step));
    for (int a = 0; a < 3; a++) {
        double mean = 0;
        for (int i = 0; i < b->n; i++) {
            double push = size * (uniform(b) - 0.5) - b->vel[a][i] / damping;
            b->force[a][i] += push;
            mean += push / b->n;
        }
        for (int i = 0; i < b->n; i++) b->force[a][i] -= mean;
    }
}

static void write_row(const box *b, const sums *s, double *row) {
    /* kinetic temperature of 3 n - 3 degrees of freedom, potential energy, pressure xx yy zz xy xz yz */
    static const int one[6] = {0, 1, 2, 0, 0, 1}, two[6] = {0, 1, 2, 1, 2, 2};
    double volume = b->side * b->side * b->side, trace = 0;
    for (int k = 0; k < 6; k++) {
        double kinetic = 0;
        for (int i = 0; i < b->n; i++) kinetic += b->vel[one[k]][i] * b->vel[two[k]][i];
        trace += k < 3 ? kinetic : 0;
        row[2 + k] = (kinetic + s->virial[k]) / volume;
    }
    row[0] = trace / (3 * b->n - 3);
    row[1] = s->energy;
}

static void *padded(int blocks, size_t size) {
    void *array = aligned_alloc(64, (size_t)blocks * LANES * size);
    memset(array, 0, (size_t)blocks * LANES * size);
    return array;
}

/* Run `steps` steps; place and velocity, (3, n), are changed. Every `every` steps, the first included, a row of eight
 * goes to `rows`. temperature > 0: Langevin with `damping`. Returns how many lists were made. */
long lj_run(int n, double side, double cutoff, double skin, double *place, double *velocity, double step, long steps,
            long every, double *rows, double temperature, double damping, uint64_t seed, double *last_force) {
    box b = {.n = n, .blocks = (n + LANES - 1) / LANES, .side = side, .cutoff = cutoff, .skin = skin};
    double sixth = pow(cutoff, -6);
    b.shift = 4 * sixth * (sixth - 1);
    b.random = seed * 0x9E3779B97F4A7C15ULL + 0x632BE59BD9B4E019ULL;
    for (int a = 0; a < 3; a++) {
        double **arrays[] = {&b.at[a], &b.vel[a], &b.force[a], &b.listed[a]};
        for (int k = 0; k < 4; k++) *arrays[k] = padded(b.blocks, sizeof(double));
        b.near[a] = padded(b.blocks, sizeof(float)); b.push[a] = padded(b.blocks, sizeof(float));
        memcpy(b.at[a], place + (size_t)a * n, n * sizeof(double));
        memcpy(b.vel[a], velocity + (size_t)a * n, n * sizeof(double));
    }
    b.real = padded(b.blocks, sizeof(int32_t));
    for (int i = 0; i < n; i++) b.real[i] = -1;
    b.first = malloc((n + 1) * sizeof *b.first);
    sums s = {0};
    make_list(&b);
    forces(&b, 1, &s);
    if (temperature > 0) langevin(&b, temperature, damping, step);
    write_row(&b, &s, rows);
    for (long t = 1; t <= steps; t++) {
        for (int a = 0; a < 3; a++)
            for (int i = 0; i < n; i++) {
                b.vel[a][i] += 0.5 * step * b.force[a][i];
                b.at[a][i] += step * b.vel[a][i];
            }
        if (moved_too_far(&b)) make_list(&b);
        if (t % every == 0) forces(&b, 1, &s); else forces(&b, 0, &s);
        if (temperature > 0) langevin(&b, temperature, damping, step);
        for (int a = 0; a < 3; a++)
            for (int i = 0; i < n; i++) b.vel[a][i] += 0.5 * step * b.force[a][i];
        if (t % every == 0) write_row(&b, &s, rows + 8 * (t / every));
    }
    for (int a = 0; a < 3; a++) {
        memcpy(place + (size_t)a * n, b.at[a], n * sizeof(double));
        memcpy(velocity + (size_t)a * n, b.vel[a], n * sizeof(double));
        if (last_force) memcpy(last_force + (size_t)a * n, b.force[a], n * sizeof(double));
        free(b.at[a]); free(b.vel[a]); free(b.force[a]); free(b.listed[a]); free(b.near[a]); free(b.push[a]);
    }
    free(b.real); free(b.first); free(b.block);
    return b.builds;
}
