// ValidatingAdmissionPolicies as they are served: expressions that do not compile are refused when they are written.
import type { Served } from '../registry/served.ts'
import { compilePolicy } from './compiled-policy.ts'

export const withCompiledExpressions = (served: Served): Served =>
  served.resource === 'admissionregistration.k8s.io/validatingadmissionpolicies'
    ? {
        ...served,
        behaviour: {
          ...served.behaviour,
          validate: (o, old, ctx) => [...served.behaviour.validate(o, old, ctx), ...compilePolicy(o).problems],
        },
      }
    : served
