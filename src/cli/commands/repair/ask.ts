// User requests for one object: retry a node, or lift its protection for a while. They are holds, because git is declarative and users do not edit objects.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { shortWord } from '#api/nouns.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { timestamp } from '#lib/clock.ts'
import { durationMs } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { kindOf } from '../../fleet/name-word.ts'
import { repairErrors } from './repair-errors.ts'

const ASKED = { repair: 'Retry', unprotect: 'Unprotect' } as const
export type Asked = keyof typeof ASKED

const KINDS = ['Node', 'Machine', 'NodeRemedier'] as const
const LONGEST_MS = 7 * 86_400_000

export interface RepairRequest {
  readonly verb: Asked
  readonly what: string
  readonly reason: string
  readonly for: string
  readonly author: string
}

export function askHold({ verb, what, reason, for: length, author }: RepairRequest, now: number): OperationalHold {
  const [noun = '', name = '', ...rest] = what.split('/')
  const kind = KINDS.find((k) => k === kindOf(noun))
  if (kind === undefined || name === '' || rest.length > 0)
    throw new KubeNodeError(repairErrors.KN1325_repair({ verb, what: JSON.stringify(what) }))
  const ms = durationMs(length)
  if (ms === undefined || ms <= 0 || ms > LONGEST_MS)
    throw new KubeNodeError(repairErrors.KN1002_repair({ verb, length: JSON.stringify(length) }))
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'OperationalHold',
    // Each repetition is a new request that counts from its own time.
    metadata: {
      name: `${verb}-${shortWord(kind.toLowerCase())}-${name.slice(0, 180)}-${Math.floor(now / 1_000).toString(36)}`,
    },
    spec: { target: { kind, name }, effect: ASKED[verb], reason, author, until: timestamp(now + ms) },
  }
}
