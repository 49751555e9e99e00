// A version that reboots its machines is refused where a provider would only imitate the reboot.
import { machineComponent } from '#api/kinds/machine-component.ts'
import { componentObjectName } from '#lib/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { expect, test } from 'vitest'
import { rebootProblems } from './reboots.ts'

const version = (of: string, disruption: string) => ({
  ...machineComponent.example,
  metadata: { name: componentObjectName('beacon', of) },
  spec: { ...machineComponent.example.spec, component: 'beacon', version: of, disruption },
})
const pool = (provider: string, labels: Readonly<Record<string, string>> = { pool: 'a' }) => ({
  kind: 'MachineSet',
  metadata: { name: 'workers' },
  spec: { template: { metadata: { labels }, spec: { provider: { name: provider } } } },
})
const single = {
  kind: 'Machine',
  metadata: { name: 'm-1', labels: { pool: 'a' } },
  spec: { provider: { name: 'process' } },
}
const set = (of: string, kind = 'MachineComponentSet') => ({
  kind,
  metadata: { name: 'base' },
  spec: { selector: { matchLabels: { pool: 'a' } }, components: [{ name: 'beacon', version: of }] },
})
const said = (...objects: readonly object[]) =>
  rebootProblems(objects as KubeObject[]).map(({ code, pointer, isCertain, message }) => [
    code,
    pointer,
    isCertain,
    message.split(':')[0],
  ])
const both = [version('1.0.0', 'Restart'), version('1.1.0', 'Reboot')]

test.each([
  ['a set over a pool', [pool('process'), set('1.1.0')], 'beacon 1.1.0 has disruption'],
  ['a canary', [pool('process'), set('1.1.0', 'ComponentCanary')], 'beacon 1.1.0 has disruption'],
  ['a set over a single Machine', [single, set('1.1.0')], 'beacon 1.1.0 has disruption'],
])('refused: %s', (_, objects, message) => {
  expect(said(...both, ...objects)).toEqual([['KN3078', '/spec/components/0/version', true, message]])
})

test.each([
  ['a version without a reboot', [pool('process'), set('1.0.0')]],
  ['machines that really reboot', [pool('nspawn'), set('1.1.0')]],
  ['hollow machines, which are for scale tests', [pool('hollow'), set('1.1.0')]],
  ['a pool that the set does not select', [pool('process', { pool: 'b' }), set('1.1.0')]],
  ['a version that is not declared here', [pool('process'), set('1.2.0')]],
])('accepted: %s', (_, objects) => {
  expect(said(...both, ...objects)).toEqual([])
})

test('the message names the machines and the provider', () => {
  const [problem] = rebootProblems([...both, pool('process'), set('1.1.0')] as unknown as KubeObject[])
  expect(problem?.message).toContain('machineset/workers has provider process')
})
