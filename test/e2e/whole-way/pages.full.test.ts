// The how-to pages and the chapters of three in the morning, typed on a local fleet as they are printed.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PATIENCE_MS, TestFleet } from './fleet.ts'
import { PAGES, typeChapter, typePage, typeSituation } from './pages.ts'
import { observe, type Observer } from './watching.ts'

const NODES = 3
/** Commands that only read are typed again until they show what the page prints. */
const PAGE_WITHIN_MS = 240_000

let fleet: TestFleet
const observers: Observer[] = []

beforeAll(async () => {
  fleet = new TestFleet()
  fleet.start('--nodes', String(NODES))
  await fleet.settled()
  observers.push(...['test', 'prod'].map((cluster) => observe(fleet.kubeconfig(cluster))))
}, PATIENCE_MS)
afterAll(async () => {
  for (const o of observers) await o.stop()
  await (fleet as TestFleet | undefined)?.dispose()
}, PATIENCE_MS)

// Ten readers in a row, minutes after a bad evening: the rate of the shipped policy is for fewer changes.
beforeAll(async () => {
  const file = join(fleet.repository, 'rules/defender/careful.ts')
  const shipped = "{ window: '10m', max: 20 }"
  const text = readFileSync(file, 'utf8')
  expect(text).toContain(shipped)
  writeFileSync(file, text.replace(shipped, "{ window: '10m', max: 500 }"))
  fleet.commit('more disruptions in ten minutes')
  await fleet.settled()
}, PATIENCE_MS)

test.each(PAGES)('%s runs as printed', { timeout: 2 * PATIENCE_MS }, async (name) => {
  await typePage(fleet, name, PAGE_WITHIN_MS)
  if (name !== 'own-monitor') return
  // The lamp is dark, and no rule names it.
  const machine = await fleet.run(
    `bin/kubenode get machines -o 'jsonpath={.items[0].metadata.name}' --kubeconfig ${fleet.kubeconfig('test')}`,
  )
  await typeSituation(fleet, 'A node does not heal', PAGE_WITHIN_MS, { 'n-1': machine.out.trim() })
})

test('signing-keys.md: the shipped keys are replaced as printed', { timeout: 2 * PATIENCE_MS }, async () => {
  const trust = () => readFileSync(join(fleet.repository, 'fleet/components/trust/trust.json'), 'utf8')
  const before = trust()
  await typeChapter(fleet, 'docs/signing-keys.md', 'Replace the shipped keys', PATIENCE_MS)
  expect(trust()).not.toBe(before)
  const refused = observers.flatMap((o) =>
    o.machines().filter((m) => m.status?.conditions?.some((c) => c.type === 'TrustRefused' && c.status === 'True')),
  )
  expect(refused).toEqual([])
})

test('three in the morning: everything is frozen', { timeout: PATIENCE_MS }, async () => {
  const hold = (words: string) => fleet.run(`bin/kubenode ${words} --kubeconfig ${fleet.kubeconfig('test')}`)
  expect((await hold(`freeze --reason 'power work'`)).code).toBe(0)
  await typeSituation(fleet, 'Everything is frozen', PAGE_WITHIN_MS)
  expect((await hold('thaw')).code).toBe(0)
})

test('three in the morning: the hub does not exist any more', { timeout: PATIENCE_MS }, async () => {
  await fleet.end('SIGINT')
  expect(fleet.processes()).toEqual([])
  // Of the whole fleet one API server is left: that of a member.
  const [, port] = /server: https:\/\/[^\s:]+:(\d+)/.exec(readFileSync(fleet.kubeconfig('test'), 'utf8')) ?? []
  expect(port).toBeDefined()
  const data = join(fleet.data, 'test/apiserver')
  const member = fleet.run(`exec bin/kubenode apiserver --data ${data} --port ${port}`)
  try {
    await typeSituation(fleet, 'The hub does not exist any more', PAGE_WITHIN_MS)
  } finally {
    for (const { pid } of fleet.processes(`apiserver --data ${data}`)) process.kill(pid, 'SIGTERM')
    await member
  }
})
