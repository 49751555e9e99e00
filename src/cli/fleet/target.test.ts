import { expect, test } from 'vitest'
import { KINDS } from '#api/kinds.ts'
import { kindCalled, named } from './target.ts'

test.each([
  ['machines', 'Machine'],
  ['sets', 'MachineComponentSet'],
  ['set', 'MachineComponentSet'],
  ['machinesets', 'MachineSet'],
  ['canaries', 'ComponentCanary'],
  ['canary', 'ComponentCanary'],
  ['rules', 'NodeRemedier'],
  ['jobs', 'RemedyOperationJob'],
  ['permits', 'OperationPermit'],
  ['holds', 'OperationalHold'],
  ['Policies', 'DefenderPolicy'],
  ['components', 'MachineComponent'],
  ['configs', 'ComponentConfig'],
  ['pipelines', 'ReleasePipeline'],
  ['sources', 'FleetSource'],
  ['km', 'Machine'],
  ['machines.kubenode.io', 'Machine'],
  // As kubectl prints it with -o name.
  ['machine.kubenode.io', 'Machine'],
  ['nodes', 'Node'],
])('%s are of kind %s', (word, kind) => expect(kindCalled(word).kind).toBe(kind))

test('no short noun takes a name away from a kind', () => {
  for (const k of KINDS) for (const word of [k.kind, k.plural, k.shortName]) expect(kindCalled(word).kind).toBe(k.kind)
})

test('a noun names one object too', () => {
  expect([named(['set/base']).type.kind, named(['rule', 'disk']).name]).toEqual(['MachineComponentSet', 'disk'])
})

test('what follows a second slash is not ignored', () => {
  expect(() => named(['machine/a/b'])).toThrow(/^KN1325: cannot find "machine\/a\/b"/)
  expect(() => named(['machine/'])).toThrow(/^KN1325: .* which machine .* write machine\/NAME/)
  expect(() => named(['HEAD'])).toThrow(/^KN1310: unknown kind "HEAD"/)
})

test('an unknown name is refused with a suggestion', () => {
  expect(() => kindCalled('permts')).toThrow(/^KN1310: unknown kind "permts"; did you mean permits\?/)
  expect(() => kindCalled('nod')).toThrow(/^KN1310: unknown kind "nod"; did you mean node\?/)
  expect(() => kindCalled('pods')).toThrow(/^KN1310: .*use kubectl for others/)
})
