// Requests of gates and inspections that are refused whatever the target: otherwise a stage or step would only fail after its timeout.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { ReleasePipeline } from '#api/kinds/release-pipeline.ts'
import { stagePart } from '#api/protocol/part.ts'
import { isLocalName, refusedUrl } from '#runtime/outbound/refused-url.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { declaredErrors } from './declared-errors.ts'
import { type DeclaredProblem, doubtful } from './problem.ts'

interface Asked {
  readonly what: string
  readonly pointer: string
  readonly url: string
}

const MOMENTS = ['before', 'gates', 'after'] as const

export const askedProblems = (objects: readonly KubeObject[]): readonly DeclaredProblem[] =>
  objects.flatMap((object) =>
    askedBy(object).flatMap(({ what, pointer, url }) => {
      const why = refusalOf(url)
      if (why === undefined) return []
      const { origin, host } = URL.parse(url) ?? { origin: '', host: url }
      return [doubtful({ object, pointer, words: [url] }, declaredErrors.KN3060({ what, url: host, why, origin }))]
    }),
  )

function askedBy(object: KubeObject): readonly Asked[] {
  if (object.kind === 'ReleasePipeline')
    return (object as ReleasePipeline).spec.stages.flatMap((stage, at) =>
      MOMENTS.flatMap((moment) =>
        (stage[moment] ?? []).flatMap(({ name, http }, nth) => {
          const what = `gate ${name} of ${stagePart(stage.name)}`
          return http === undefined
            ? []
            : [{ what, pointer: `/spec/stages/${at}/${moment}/${nth}/http/url`, url: http.url }]
        }),
      ),
    )
  if (object.kind !== 'MachineComponentSet') return []
  return ((object as MachineComponentSet).spec.rollout.inspections ?? []).flatMap(({ name, http }, nth) =>
    http === undefined
      ? []
      : [{ what: `inspection ${name}`, pointer: `/spec/rollout/inspections/${nth}/http/url`, url: http.url }],
  )
}

const NONE: ReadonlySet<string> = new Set()

/** Does not repeat the URL's credentials. */
function refusalOf(text: string): string | undefined {
  const url = URL.parse(text)
  if (url !== null && isLocalName(url)) return 'it is the host of the program that asks'
  return refusedUrl(text, NONE)?.split(';', 1)[0]
}
