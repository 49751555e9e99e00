// Admission registration as it is served: expressions that do not compile are refused when they are written.
import type { FieldError } from '../schema/field-error.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Served } from '../registry/served.ts'
import type { CompiledPolicies } from './compiled-policies.ts'
import { ADMISSION_GROUP } from './match-resources.ts'
import { conditionProblems } from './webhook-config.ts'

type Problems = (o: KubeObject) => readonly FieldError[]

const problemsOf = ({ validating }: CompiledPolicies): Readonly<Record<string, Problems | undefined>> => ({
  [`${ADMISSION_GROUP}/validatingadmissionpolicies`]: (o) => validating.of(o).problems,
  [`${ADMISSION_GROUP}/validatingwebhookconfigurations`]: conditionProblems,
  [`${ADMISSION_GROUP}/mutatingwebhookconfigurations`]: conditionProblems,
})

export function withCompiledExpressions(served: Served, compiled: CompiledPolicies): Served {
  const problems = problemsOf(compiled)[served.resource]
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
