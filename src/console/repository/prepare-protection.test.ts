// A commit that protects machines: nothing else may change, the built-in policy must not lose its place, and the commit says what it means for each machine.
import { expect, test } from 'vitest'
import { preparedProtection } from './prepare-protection.ts'
import { PROTECTING_POLICY } from './protect-edits.ts'

const machine = (name: string, more: object = {}) => ({
  metadata: { name },
  spec: { components: [{ name: 'beacon', version: '1.1.0', setRef: 'base' }], ...more },
  status: { components: [{ name: 'beacon', version: '1.1.0', state: 'Healthy' }] },
})
const MACHINES: Readonly<Record<string, object>> = {
  'n-1': machine('n-1'),
  'n-2': machine('n-2', { jobs: ['repair-1'] }),
  'n-3': { metadata: { name: 'n-3' }, spec: {}, status: {} },
}

const listOf = (items: readonly object[]) => ({ items, metadata: {} })
const client = {
  get: (_type: object, { name }: { readonly name: string }) => Promise.resolve(MACHINES[name]),
  list: ({ kind }: { readonly kind: string }) =>
    Promise.resolve(
      kind === 'Inventory'
        ? listOf([{ spec: { cluster: 'prod' } }])
        : listOf([{ metadata: { name: 'base' }, spec: { components: [{ name: 'beacon', version: '1.2.0' }] } }]),
    ),
}

const policy = (name: string, spec: object) => ({ ref: { kind: 'DefenderPolicy', name }, object: { spec } })
const CAREFUL = policy('careful', { budgets: [] })
const OWN = { change: 'added', ref: { kind: 'DefenderPolicy', name: PROTECTING_POLICY }, fields: [] }

interface Made {
  readonly policies?: readonly object[]
  readonly changes?: readonly object[]
}

function prepared(
  kind: 'Protect' | 'Unprotect',
  names: readonly string[],
  { policies = [CAREFUL], changes = [OWN] }: Made = {},
) {
  const made = { shown: [{ cluster: 'prod', changes }], after: { targets: new Map([['prod', { objects: policies }]]) } }
  return preparedProtection({ kind, cluster: 'prod', machines: names }, {
    base: 'b',
    reason: 'the rack is moved',
    files: new Map([
      ['fleet/main.ts', 'app.synth()\n'],
      ...(kind === 'Protect' ? [] : [['fleet/protected/prod.json', '[{"name":"n-1","reason":"x"}]\n'] as const]),
    ]),
    planOf: () => Promise.resolve(made),
    client,
  } as never)
}

test('each machine is told what waits and what finishes', async () => {
  const { machines, subject, branch } = await prepared('Protect', ['n-1', 'n-2', 'n-3'])
  expect(machines).toEqual([
    { machine: 'n-1', text: 'beacon stays at 1.1.0, set base declares 1.2.0' },
    {
      machine: 'n-2',
      text: '1 repair in progress: what was permitted finishes; beacon stays at 1.1.0, set base declares 1.2.0',
    },
    { machine: 'n-3', text: 'nothing is due on it now' },
  ])
  expect([subject, branch]).toEqual(['prod: protect 3 machines', 'kubenode/protect-prod'])
  const freed = await prepared('Unprotect', ['n-1'])
  expect([freed.subject, freed.machines]).toEqual([
    'prod: no longer protect n-1',
    [{ machine: 'n-1', text: 'beacon may switch from 1.1.0 to 1.2.0 of set base' }],
  ])
})

test('a machine that does not exist is not protected', async () => {
  await expect(prepared('Protect', ['n-1', 'n-9'])).rejects.toThrow('KN1723')
})

test.each<[string, Made]>([
  ['built-in policy', { policies: [policy(PROTECTING_POLICY, {})] }],
  ['built-in policy', { policies: [policy('careful', { mode: 'Audit' })] }],
  ['built-in policy', { policies: [policy('careful', { selector: {} }), policy('b', { operations: ['Drain'] })] }],
  ['other changes', { changes: [OWN, { ...OWN, ref: { kind: 'Machine', name: 'n-1' } }] }],
  ['other changes', { changes: [{ ...OWN, fields: [{ path: 'spec.budgets' }] }] }],
])('refused because of the %s', async (why, made) => {
  await expect(prepared('Protect', ['n-1'], made)).rejects.toThrow(why)
})
