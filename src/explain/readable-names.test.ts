import { expect, test } from 'vitest'
import { withReadableNames } from './readable-names.ts'

test.each([
  ['node/n-3: ladder of rule kernel-deadlock exhausted', 'node n-3: ladder of rule kernel-deadlock exhausted'],
  ['set/base is Blocked; release/fleet-2d5df208 stopped.', 'set base is Blocked; release fleet-2d5df208 stopped.'],
  ['machineset/workers and canary/try', 'machine set workers and canary try'],
  ['job/kernel-deadlock-0 waits', 'job kernel-deadlock-0 waits'],
  ['MachineComponentSet.kubenode.io/base is not applied', 'set base is not applied'],
  [
    'to retry, run kubenode rollout retry set/base; node/n-1 waits',
    'to retry, run kubenode rollout retry set/base; node n-1 waits',
  ],
  ['kubenode why node/n-3', 'kubenode why node/n-3'],
  ['probe answers: HTTP 503 from /healthz/node/n-3', 'probe answers: HTTP 503 from /healthz/node/n-3'],
  ['see fleet/cluster/prod.ts and cluster/prod.ts/x', 'see fleet/cluster/prod.ts and cluster/prod.ts/x'],
])('%s', (text, shown) => expect(withReadableNames(text)).toBe(shown))
