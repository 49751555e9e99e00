import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { expect, test } from 'vitest'
import { restoreRefusal } from './restore-refusal.ts'

const kubelet = {
  component: 'kubelet',
  version: '1.36.2',
  artifacts: [{ os: 'linux', arch: 'amd64', url: 'k', sha256: 'a'.repeat(64), size: 1 }],
  skew: { maxAheadOfApiServer: 0, maxBehindApiServer: 3 },
} as unknown as MachineComponentSpec
const trusts = { revoked: [], floors: {} }

test.each<[string, Parameters<typeof restoreRefusal>[1], string | undefined, RegExp | undefined]>([
  ['trusted and near its API server', trusts, '1.36.4', undefined],
  ['revoked', { ...trusts, revoked: ['a'.repeat(64)] }, '1.36.4', /^it is revoked$/],
  ['below its floor', { ...trusts, floors: { kubelet: '1.36.3' } }, '1.36.4', /below the floor 1\.36\.3/],
  ['newer than its API server', trusts, '1.35.9', /supports 1\.36\.2; it is 1\.35\.9/],
  ['four minors older than its API server', trusts, '1.40.0', /supports 1\.36\.2; it is 1\.40\.0/],
  ['of which neither trust nor API server is known', undefined, undefined, undefined],
])('F47 an original that is %s', (_, trust, server, says) => {
  const refusal = restoreRefusal(kubelet, trust, server)
  if (says === undefined) expect(refusal).toBeUndefined()
  else expect(refusal).toMatch(says)
})
