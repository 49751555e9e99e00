import { expect, test } from 'vitest'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Release } from '#api/kinds/release.ts'
import { notAwaited } from './approval-requests.ts'

const permit = (phase: string | undefined) =>
  ({ kind: 'OperationPermit', status: phase === undefined ? undefined : { phase } }) as unknown as OperationPermit
const release = { kind: 'Release' } as unknown as Release

test.each([
  ['a new permit', permit(undefined), [], undefined],
  ['a permit that waits', permit('Requested'), [], undefined],
  [
    'a permit that has ended',
    permit('Released'),
    [],
    'x has ended (Released); this counts only for a new permit with the same operations, targets and commit',
  ],
  ['a release that no gate waits for', release, [], 'nothing asks for an approval of x now'],
  ['a release that a gate waits for', release, [{}], undefined],
  ['a release whose gates cannot be read', release, undefined, undefined],
])('an approval of %s says when nothing waits for it', (_, object, askers, note) =>
  expect(notAwaited(object, askers, 'x')).toBe(note),
)
