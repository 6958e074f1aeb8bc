"""A campaign from spec to verdict: spec, plan, approval, amendment, criteria, pitfalls, state. No model, no physics."""
