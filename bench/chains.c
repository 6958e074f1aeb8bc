/* Sixteen chains of beads at a time, one in each lane of a vector: what bench/sequence_table.py runs.
 *
 * The model of campaign copolymer-sequences: FENE bonds with their own Lennard-Jones repulsion, cut and shifted
 * Lennard-Jones between all other pairs, velocity Verlet, and a Langevin thermostat with uniform noise of net force
 * zero, as LAMMPS has it. Lennard-Jones units, mass 1, single precision, which a thermostat forgives. A chain of twenty beads has 190 pairs and is
 * about as wide as the cut-off, so all are computed and there is no list. Build:
 *   cc -O3 -march=native -fPIC -shared -o chains.so chains.c -lm
 */
#include <math.h>
#include <stdint.h>

#define LANES 16
#define MOST 32  /* beads */
typedef float vec __attribute__((vector_size(64)));
typedef int32_t ivec __attribute__((vector_size(64)));
typedef uint32_t uvec __attribute__((vector_size(64)));

typedef struct {
    int beads;
    double cutoff, bond_k, bond_r0, temperature, damping, timestep;
} model;

typedef struct {
    model about;
    vec at[3][MOST], speed[3][MOST], force[3][MOST];
    vec epsilon[MOST * MOST];  /* of the pair i < j at i * beads + j */
    uvec random[4];
} chains;

static inline vec spread(float value) { return (vec){0} + value; }
static inline vec keep(vec v, ivec mask) { return (vec)((ivec)v & mask); }
static inline vec total(chains *c, vec array[MOST]) {
    vec sum = spread(0);
    for (int i = 0; i < c->about.beads; i++) sum += array[i];
    return sum;
}

static inline uvec rotate(uvec v, int k) { return (v << k) | (v >> (32 - k)); }

static inline vec uniform(uvec *s) {  /* xoshiro128+, one stream a lane, in [-0.5, 0.5) */
    uvec result = s[0] + s[3], t = s[1] << 9;
    s[2] ^= s[0]; s[3] ^= s[1]; s[1] ^= s[2]; s[0] ^= s[3]; s[2] ^= t; s[3] = rotate(s[3], 11);
    return (vec)((result >> 9) | 0x3f800000u) - spread(1.5);
}

static void seed_lanes(chains *c, const uint64_t *seeds) {  /* splitmix64 */
    for (int k = 0; k < LANES; k++) {
        uint64_t x = seeds[k];
        for (int n = 0; n < 4; n++) {
            uint64_t z = x += 0x9e3779b97f4a7c15ULL;
            z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
            z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
            c->random[n][k] = (uint32_t)((z ^ z >> 31) >> 32);
        }
    }
}

static inline vec lennard_jones(vec square, vec epsilon, double reach) {  /* force over distance */
    vec over = spread(1) / square, sixth = over * over * over;
    return keep(spread(48) * epsilon * over * sixth * (sixth - spread(0.5)), square < spread(reach * reach));
}

static void forces(chains *c) {
    const int beads = c->about.beads;
    const double repulsion = pow(2, 1.0 / 6), r0 = c->about.bond_r0, k = c->about.bond_k, cutoff = c->about.cutoff;
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < beads; i++) c->force[a][i] = spread(0);
    for (int i = 0; i < beads; i++) {
        vec x = c->at[0][i], y = c->at[1][i], z = c->at[2][i], own_x = spread(0), own_y = own_x, own_z = own_x;
        for (int j = i + 1; j < beads; j++) {
            vec dx = x - c->at[0][j], dy = y - c->at[1][j], dz = z - c->at[2][j];
            vec square = dx * dx + dy * dy + dz * dz, f;
            if (j == i + 1)
                f = lennard_jones(square, spread(1), repulsion) - spread(k) / (spread(1) - square / spread(r0 * r0));
            else
                f = lennard_jones(square, c->epsilon[i * beads + j], cutoff);
            own_x += f * dx; own_y += f * dy; own_z += f * dz;
            c->force[0][j] -= f * dx; c->force[1][j] -= f * dy; c->force[2][j] -= f * dz;
        }
        c->force[0][i] += own_x; c->force[1][i] += own_y; c->force[2][i] += own_z;
    }
}

static void langevin(chains *c) {  /* the net random force is zero, so the centre of mass stays at rest */
    const model *m = &c->about;
    const vec size = spread(sqrt(24 * m->temperature / (m->damping * m->timestep))), drag = spread(1 / m->damping);
    vec noise[MOST];
    for (int a = 0; a < 3; a++) {
        for (int i = 0; i < m->beads; i++) noise[i] = size * uniform(c->random);
        vec mean = total(c, noise) / spread(m->beads);
        for (int i = 0; i < m->beads; i++) c->force[a][i] += noise[i] - mean - drag * c->speed[a][i];
    }
}

static void write_row(chains *c, double *row) {  /* squared radius of gyration of each lane, then temperatures */
    const int beads = c->about.beads;
    vec square = spread(0), kinetic = spread(0);
    for (int a = 0; a < 3; a++) {
        vec mean = total(c, c->at[a]) / spread(beads);
        for (int i = 0; i < beads; i++) {
            square += (c->at[a][i] - mean) * (c->at[a][i] - mean);
            kinetic += c->speed[a][i] * c->speed[a][i];
        }
    }
    for (int k = 0; k < LANES; k++) {
        row[k] = square[k] / beads;
        row[LANES + k] = kinetic[k] / (3 * beads - 3);
    }
}

/* Move sixteen chains on. places and speeds: (3, beads, 16), changed; epsilon: (beads, beads, 16); rows: (steps / every,
 * 32); pushes: (3, beads, 16), the last forces without the thermostat. */
void chains_run(const model *about, double *places, double *speeds, const double *epsilon, const uint64_t *seeds,
                long steps, long every, double *rows, double *pushes) {
    static chains c;
    const int beads = about->beads;
    const vec step = spread(about->timestep), half = spread(about->timestep / 2);
    c.about = *about;
    seed_lanes(&c, seeds);
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < beads; i++)
            for (int k = 0; k < LANES; k++) {
                c.at[a][i][k] = places[(a * beads + i) * LANES + k];
                c.speed[a][i][k] = speeds[(a * beads + i) * LANES + k];
            }
    for (int i = 0; i < beads * beads; i++)
        for (int k = 0; k < LANES; k++) c.epsilon[i][k] = epsilon[i * LANES + k];
    forces(&c);
    for (long n = 1; n <= steps; n++) {
        if (n == 1) langevin(&c);
        for (int a = 0; a < 3; a++)
            for (int i = 0; i < beads; i++) {
                c.speed[a][i] += half * c.force[a][i];
                c.at[a][i] += step * c.speed[a][i];
            }
        forces(&c);
        langevin(&c);
        for (int a = 0; a < 3; a++)
            for (int i = 0; i < beads; i++) c.speed[a][i] += half * c.force[a][i];
        if (n % every == 0) write_row(&c, rows + (n / every - 1) * 2 * LANES);
    }
    if (steps) forces(&c);
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < beads; i++)
            for (int k = 0; k < LANES; k++) {
                places[(a * beads + i) * LANES + k] = c.at[a][i][k];
                speeds[(a * beads + i) * LANES + k] = c.speed[a][i][k];
                pushes[(a * beads + i) * LANES + k] = c.force[a][i][k];
            }
}
