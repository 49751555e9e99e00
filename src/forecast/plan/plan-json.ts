// A plan as `kubenode plan -o json` prints it. Pure.
import { defined } from '#lib/defined.ts'
import { shownJson } from '#lib/printable.ts'
import type { Outlook } from './outlook.ts'
import { summaryText } from './spans.ts'
import type { PlanSeen } from './plan-seen.ts'

export const jsonOf = ({ made, ...seen }: PlanSeen): string => {
  const { shown, digest, outlook, loosened, oneWay, easyReturns, prunes, after } = made
  const { commit, base, isDirty, signature, apart, problems } = seen
  return shownJson({
    commit,
    ...(isDirty && { dirty: true }),
    base: base ?? null,
    ...defined({ signature, warning: apart }),
    cage: after.cage,
    clusters: shown,
    problems,
    digest,
    summary: summaryText(shown, outlook, loosened),
    ...(loosened.length > 0 && { loosened }),
    oneWay,
    ...(easyReturns.length > 0 && { easyReturns }),
    ...defined({ prunes }),
    ...(outlook !== undefined && { predicted: outlookJson(outlook) }),
  })
}

/** Maps serialize to nothing in JSON. */
const outlookJson = (outlook: Outlook) => ({
  ...outlook,
  clusters: outlook.clusters.map(({ stage, prediction }) => ({
    stage,
    ...prediction,
    classes: Object.fromEntries(prediction.classes),
  })),
})
