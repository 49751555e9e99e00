import { expect, test } from 'vitest'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { rateWait } from './waits.ts'

const permit = (phase: string, gate: string, verdict = 'Waiting', results: object = {}): OperationPermit =>
  ({
    metadata: { name: 'p' },
    spec: { targets: [{ uid: 'other' }, { uid: 'm' }], results },
    status: {
      phase,
      verdicts: [
        { target: 'other', gate: 'Budget', verdict: 'Waiting', seen: 'full' },
        { target: 'm', gate, verdict, seen: '20 in 10m used, next grant at 02:03:10 UTC' },
      ],
    },
  }) as unknown as OperationPermit

const LIMIT = 'rate limit: 20 in 10m used, next grant at 02:03:10 UTC'

test.each<[string, OperationPermit, string | undefined]>([
  ['waits for a rate', permit('Requested', 'Rate'), LIMIT],
  ['waits for a rate while others of its slice are granted', permit('Granted', 'Rate'), LIMIT],
  ['waits for something else', permit('Requested', 'Budget'), undefined],
  ['is granted', permit('Granted', 'Rate', 'Granted'), undefined],
  ['was given up', permit('Granted', 'Rate', 'Waiting', { m: 'Released' }), undefined],
  ['has a permit that ended', permit('Expired', 'Rate'), undefined],
])('a machine that %s says until when it waits for a rate, and nothing else of its permit', (_, one, seen) => {
  expect(rateWait({ permits: [one] }, 'm')?.seen).toBe(seen)
})
