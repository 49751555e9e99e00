import { expect, test } from 'vitest'
import type { ClusterAccess } from '../../protocol.ts'
import { isWithoutHub } from './elsewhere.ts'

const of = (isHub: boolean, state: ClusterAccess['state'] = 'Connected') => ({ isHub, state }) as ClusterAccess

test.each<readonly [string, readonly ClusterAccess[], boolean]>([
  ['only members', [of(false), of(false)], true],
  ['the hub among them', [of(false), of(true)], false],
  ['one that is not read yet, which may be the hub', [of(false), of(false, 'Loading')], false],
  ['one that does not answer', [of(false, 'Unreachable')], false],
  ['none', [], false],
])('a console with %s', (_, clusters, want) => expect(isWithoutHub({ clusters })).toBe(want))
