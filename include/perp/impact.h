/// perp/impact.h - one impact of a run: the record that perp/simulate.h and perp/bodies.h give.

#ifndef PERP_IMPACT_H
#define PERP_IMPACT_H

#ifdef __cplusplus
extern "C" {
#endif

/// One impact of one contact. Simultaneous impacts of several contacts have a record each.
typedef struct perp_impact {
    /// Of a located event: its time. Of a step or substep of fixed length: its end [s]
    double time;
    int pair;        ///< of a model: the index of the pair (perp_model_pair); of bodies -1
    int shape[2];    ///< of bodies: the two shapes; of a model -1
    int body[2];     ///< of bodies: the two bodies, 0 is the world; of a model -1
    double point[3]; ///< of bodies: where they touch [m], world axes; of a model NaN
    /// Of the pair's force, or along the contact's normal, >= 0 [unit of the force, times s]
    double impulse;
    /// Size of the impulse of Coulomb friction of this contact, same unit; 0: it has no friction;
    /// NaN: not known
    double friction;
    /// Kinetic energy lost in the impact, friction included [J]: minus the work of its impulses,
    /// at the mean of the velocities before and after. Negative: gained. NaN: not known
    double energy;
} perp_impact;

#ifdef __cplusplus
}
#endif
#endif
