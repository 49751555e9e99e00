// Drafts a rule from what people repaired by hand: as an object to try, and as TypeScript to commit. Pure. A draft is never applied by anything.
import type { NodeRemedierInput } from '#api/kinds/node-remedier.ts'
import { formatDuration } from '#lib/duration.ts'
import type { Handmade } from './handwork.ts'

type Spec = NodeRemedierInput['spec']

const FOR_MS = [5, 10, 15, 30, 60].map((minutes) => minutes * 60_000)
/** Types come from agents, and a draft is code. */
const PLAIN_TYPE = /^[A-Za-z][A-Za-z0-9-]{0,100}$/

/** Undefined if a rule in force reads the condition already, or its name is no plain word. */
export function draftOf(made: Handmade): { readonly name: string; readonly spec: Spec } | undefined {
  const { type, episodes, longestMs, rules } = made
  if (rules.length > 0 || !PLAIN_TYPE.test(type)) return undefined
  const isRebooted = episodes.filter((e) => e.isRebooted).length * 2 > episodes.length
  // Longer than the condition ever lasted by itself.
  const hold = FOR_MS.find((ms) => ms > longestMs) ?? FOR_MS.at(-1) ?? 0
  const spec: Spec = {
    mode: 'DryRun',
    when: { all: [{ fact: 'conditions', path: `/${type}/status`, operator: 'equal', value: 'True' }] },
    for: formatDuration(hold),
    ladder: [
      {
        operations: [
          { collectEvidence: { kinds: ['KernelLog', 'Journal'] } },
          { cordon: {} },
          { drain: {} },
          ...(isRebooted ? [{ reboot: {} }] : []),
        ],
        timeout: '30m',
        verify: { conditionCleared: type, stableFor: '5m' },
      },
    ],
  }
  return { name: kebab(type), spec: type === 'Ready' ? { ...spec, when: NOT_READY } : spec }
}

const NOT_READY: Spec['when'] = {
  all: [{ fact: 'conditions', path: '/Ready/status', operator: 'equal', value: 'False' }],
}

const kebab = (type: string): string => type.replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase()
const camel = (name: string): string =>
  name.replaceAll(/-([a-z0-9])/g, (_, c: string) => c.toUpperCase()).replaceAll('-', '')

export function draftCode({ name, spec }: { readonly name: string; readonly spec: Spec }): string {
  const literal = JSON.stringify(spec, null, 2)
    .replaceAll(/"([A-Za-z]+)":/g, '$1:')
    .replaceAll('"', "'")
  return `import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'

export const ${camel(name)}: NodeRemedierInput['spec'] = ${literal}
`
}
