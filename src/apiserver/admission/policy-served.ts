// Admission registration as it is served: expressions that do not compile are refused when they are written.
import type { FieldError } from '#schema/field-error.ts'
import type { KubeObject } from '#schema/object.ts'
import type { Served } from '../registry/served.ts'
import { compileMutations } from './compiled-mutations.ts'
import { compilePolicy } from './compiled-policy.ts'
import { ADMISSION_GROUP } from './match-resources.ts'
import { conditionProblems } from './webhook-config.ts'

const PROBLEMS: Readonly<Record<string, ((o: KubeObject) => readonly FieldError[]) | undefined>> = {
  [`${ADMISSION_GROUP}/validatingadmissionpolicies`]: (o) => compilePolicy(o).problems,
  [`${ADMISSION_GROUP}/mutatingadmissionpolicies`]: (o) => compileMutations(o).problems,
  [`${ADMISSION_GROUP}/validatingwebhookconfigurations`]: conditionProblems,
  [`${ADMISSION_GROUP}/mutatingwebhookconfigurations`]: conditionProblems,
}

export function withCompiledExpressions(served: Served): Served {
  const problems = PROBLEMS[served.resource]
  if (problems === undefined) return served
  const { behaviour } = served
  return {
    ...served,
    behaviour: {
      ...behaviour,
      validate: (o, old, ctx) => [...behaviour.validate(o, old, ctx), ...problems(o)],
    },
  }
}
