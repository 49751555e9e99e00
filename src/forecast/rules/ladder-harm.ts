// What a rule's ladder must not do although it compiles: harm the node's pods, or nothing at all. Pure.
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import { operationFacts, operationName } from '#api/protocol/operations.ts'
import { conditionsIn } from '#declared/rules.ts'
import { NAMING_CONDITIONS } from '#nodes/named-devices.ts'
import type { Term } from '#policy/rule.ts'

/** Rules that compile but do harm or nothing. */
export function harmIn(root: Term, { ladder }: NodeRemedier['spec']): readonly string[] {
  const hasDevices = conditionsIn(root).some(({ type }) => NAMING_CONDITIONS.includes(type))
  return ladder.flatMap(({ operations, verify }, rung) => {
    const at = (name: string) => operations.findIndex((o) => Object.hasOwn(o, name))
    const form = testOf(verify)
    return [
      ...(verify.stableFor === '0s' ? [`rung ${rung} accepts a repair without observing it: stableFor is 0s`] : []),
      ...(at('drain') >= 0 && (at('cordon') < 0 || at('cordon') > at('drain'))
        ? [`rung ${rung} drains a node that is not cordoned: pods come back`]
        : []),
      ...operations.flatMap((o, i) =>
        operationFacts(o)?.takesNode === true && i < operations.length - 1
          ? [`rung ${rung} continues after a ${operationName(o)}: the node no longer exists`]
          : [],
      ),
      ...deviceHarm(operations, rung, hasDevices),
      ...(form === undefined ? [] : testHarm(ladder, rung, form)),
      ...(at('uncordon') >= 0 && at('cordon') < 0 ? [`rung ${rung} uncordons what it did not cordon`] : []),
    ]
  })
}

/** A drain limited to a device, where it can never be, or where what follows hits the other pods. */
function deviceHarm(operations: Operations, rung: number, hasDevices: boolean): readonly string[] {
  const at = operations.findIndex((o) => o.drain?.usersOf !== undefined)
  if (at < 0) return []
  const cordon = operations.findIndex((o) => o.cordon !== undefined)
  const knows = operations.findIndex(
    (o, i) => i > cordon && i < at && o.collectEvidence?.kinds.includes('Devices') === true,
  )
  const next = operations.findIndex((o, i) => i > at && (operationFacts(o)?.evidence === 'Destroys' || isWholeDrain(o)))
  const harm = operations[next]
  return [
    ...(hasDevices
      ? []
      : [
          `rung ${rung} drains the users of a device, but the rule reads none of ${NAMING_CONDITIONS.join(', ')}: it drains all pods`,
        ]),
    ...(cordon >= 0 && cordon < at && knows < 0
      ? [
          `rung ${rung} drains the users of a device without evidence of the kind Devices after the cordon: it drains all pods`,
        ]
      : []),
    ...(harm !== undefined && !isWholeDrain(harm)
      ? [
          `rung ${rung} drains the users of a device, and then its ${operationName(harm)} ends the other pods: drain without usersOf before it`,
        ]
      : []),
  ]
}

const isWholeDrain = ({ drain }: Operations[number]): boolean => drain !== undefined && drain.usersOf === undefined

export type Ladder = NodeRemedier['spec']['ladder']
type Operations = Ladder[number]['operations']

/** How a rung accepts the node, if it does. */
export const testOf = ({ script, pod }: Ladder[number]['verify']): 'script' | 'pod' | undefined =>
  script !== undefined ? 'script' : pod !== undefined ? 'pod' : undefined

/** A test that cannot run, or that keeps no node from serving. */
function testHarm(ladder: Ladder, rung: number, form: 'script' | 'pod'): readonly string[] {
  const has = (n: number, name: keyof Ladder[number]['operations'][number]) =>
    ladder[n]?.operations.some((o) => o[name] !== undefined) === true
  const before = [...ladder.keys()].slice(0, rung).findLast((n) => has(n, 'cordon') || has(n, 'uncordon'))
  const isCordoned = has(rung, 'cordon') || (before !== undefined && !has(before, 'uncordon'))
  const test = `rung ${rung} has a verify.${form}`
  return [
    ...(has(rung, 'replace') ? [`${test} after replace: the new machine is another one`] : []),
    ...(isCordoned ? [] : [`${test} but no cordon, of its own or of an earlier rung: the node serves meanwhile`]),
  ]
}
