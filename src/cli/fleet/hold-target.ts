// The target of a hold as users type it: `set/base`. A noun means the same kind in every command.
import type { ErrorMessage } from '#lib/error-table.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { kindOf } from './name-word.ts'
import type { HoldTarget } from '#permits/holds/new-hold.ts'

const KINDS = {
  cluster: 'Cluster',
  set: 'MachineComponentSet',
  canary: 'ComponentCanary',
  machine: 'Machine',
  machineset: 'MachineSet',
  node: 'Node',
  remedier: 'NodeRemedier',
  job: 'RemedyOperationJob',
  source: 'FleetSource',
  policy: 'DefenderPolicy',
  release: 'Release',
} as const satisfies Readonly<Record<string, HoldTarget['kind']>>

type HoldNoun = keyof typeof KINDS

export interface HoldTargets {
  /** The nouns a command accepts, in the order of its message. */
  readonly nouns: readonly HoldNoun[]
  readonly refuse: (facts: { readonly what: string; readonly Object: string }) => ErrorMessage
}

export function namedTarget(what: string, { nouns, refuse }: HoldTargets) {
  const [noun = '', name = '', ...rest] = what.split('/')
  const kind = kindOf(noun)
  const found = nouns.find((n) => KINDS[n] === kind)
  if (found === undefined || name === '' || rest.length > 0) {
    const forms = nouns.map((n) => `${n}/NAME`).join(', ')
    throw new KubeNodeError(refuse({ what: JSON.stringify(what), Object: forms }))
  }
  return { kind: KINDS[found], name }
}
