// Checks the PodTemplates that accept nodes, where the fleet declares such templates. People may write others by hand, so an unknown one is only reported.
import type { Machine } from '#api/kinds/machine.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import { ACCEPTANCE_NAMESPACE } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { declaredErrors } from './declared-errors.ts'
import { type DeclaredProblem, doubtful } from './problem.ts'

interface Reference {
  readonly pointer: string
  readonly template: string | undefined
}

/** `all`: also objects of other kinds than KubeNode's. */
export function acceptancePodProblems(
  ours: readonly KubeObject[],
  all: readonly KubeObject[],
): readonly DeclaredProblem[] {
  const declared = all.filter(isTemplate).map(({ metadata }) => metadata.name ?? '')
  if (declared.length === 0) return []
  return ours.flatMap((object) =>
    referencesOf(object).flatMap(({ pointer, template }) => {
      if (template === undefined || declared.includes(template)) return []
      const near = didYouMean(template, declared)
      const hint = near === undefined ? '' : ` (did you mean ${near}?)`
      const message = declaredErrors.KN3079({ template, namespace: ACCEPTANCE_NAMESPACE, hint })
      return [doubtful({ object, pointer: `${pointer}/template`, words: [template] }, message)]
    }),
  )
}

const isTemplate = ({ apiVersion, kind, metadata }: KubeObject): boolean =>
  apiVersion === 'v1' && kind === 'PodTemplate' && metadata.namespace === ACCEPTANCE_NAMESPACE

function referencesOf(object: KubeObject): readonly Reference[] {
  switch (object.kind) {
    case 'MachineSet': {
      const { spec } = (object as MachineSet).spec.template
      return [{ pointer: '/spec/template/spec/acceptance/pod', template: spec?.acceptance?.pod?.template }]
    }
    case 'Machine': {
      const { acceptance } = (object as Machine).spec
      return [{ pointer: '/spec/acceptance/pod', template: acceptance?.pod?.template }]
    }
    case 'NodeRemedier':
      return (object as NodeRemedier).spec.ladder.flatMap(({ operations, verify }, rung) => [
        ...operations.map(({ runPod }, i) => ({
          pointer: `/spec/ladder/${rung}/operations/${i}/runPod`,
          template: runPod?.template,
        })),
        { pointer: `/spec/ladder/${rung}/verify/pod`, template: verify?.pod?.template },
      ])
    default:
      return []
  }
}
