// The list of revoked agents follows the Machines, and does nothing if the installer created none.
import 'reflect-metadata'
import { afterEach, expect, test } from 'vitest'
import { machine as machineType } from '#api/kinds/machine.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { keyRecord, revocation, shortKey } from '#identity/agent-key.ts'
import type { RevokedAgents } from '#identity/revoked-agents.ts'
import { type TestWorld, endWorlds, machineWorld, setOf } from '#test/support/worlds/machine-world.ts'
import { REVOKED_LIST, revokedListType } from './revoked-list.ts'

afterEach(endWorlds)

const OLD = '1'.repeat(64)
const NEW = '2'.repeat(64)

async function worldOf(
  withList: boolean,
): Promise<{ readonly w: TestWorld; readonly name: string; readonly uid: string }> {
  const w = await machineWorld()
  if (withList) w.fake.plant(revokedListType, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...REVOKED_LIST } })
  w.fake.plant(machineSet, setOf(1))
  await w.clock.advance(1_000)
  const { name = '', uid = '' } = w.fake.all(machineType)[0]?.metadata ?? {}
  return { w, name, uid }
}
const listOf = (w: TestWorld) =>
  (w.fake.peek(revokedListType, REVOKED_LIST) as { readonly data?: RevokedAgents } | undefined)?.data
async function annotate(w: TestWorld, name: string, annotations: Record<string, string>): Promise<void> {
  await w.fake
    .client({ actor: 'person' })
    .patch(machineType, { name }, { type: 'merge', value: { metadata: { annotations } } })
  await w.clock.advance(1_000)
}

test('S26 a revoked machine is listed, and with the key that joined after it', async () => {
  const { w, name, uid } = await worldOf(true)
  const found = w.machine(name)
  if (found === undefined) throw new Error('no machine')
  await annotate(w, name, { [ANNOTATIONS.agentKey]: keyRecord(found, OLD) })
  expect(listOf(w) ?? {}).toEqual({})
  const marked = w.machine(name) ?? found
  await annotate(w, name, { [ANNOTATIONS.revoked]: revocation(marked, w.clock.now(), 'stolen') })
  expect(Object.keys(listOf(w) ?? {})).toEqual([uid])
  expect(listOf(w)?.[uid]).not.toContain(shortKey(OLD))
  await annotate(w, name, { [ANNOTATIONS.agentKey]: keyRecord(found, NEW) })
  expect(listOf(w)?.[uid]).toContain(` ${shortKey(NEW)}`)
})

test('S26 without the list of the installer, revocations work as before and nothing is made', async () => {
  const { w, name } = await worldOf(false)
  const found = w.machine(name)
  if (found === undefined) throw new Error('no machine')
  await annotate(w, name, { [ANNOTATIONS.revoked]: revocation(found, w.clock.now(), 'stolen') })
  expect(w.fake.peek(revokedListType, REVOKED_LIST)).toBeUndefined()
})

test('S26 a list that was deleted and made again has all entries within seconds, also of Machines that are gone', async () => {
  const { w, name, uid } = await worldOf(true)
  const found = w.machine(name)
  if (found === undefined) throw new Error('no machine')
  await annotate(w, name, { [ANNOTATIONS.revoked]: revocation(found, w.clock.now(), 'stolen') })
  w.fake.uproot(machineSet, { name: setOf(1).metadata.name ?? '' })
  w.fake.uproot(machineType, { name })
  await w.clock.advance(1_000)
  const before = listOf(w)
  expect(Object.keys(before ?? {})).toEqual([uid])
  w.fake.uproot(revokedListType, REVOKED_LIST)
  await w.clock.advance(20_000)
  expect(listOf(w)).toBeUndefined()
  w.fake.plant(revokedListType, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...REVOKED_LIST } })
  await w.clock.advance(6_000)
  expect(listOf(w)).toEqual(before)
})
