// The how-to pages and the chapters of three in the morning, typed on a local fleet as they are printed.
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { machine } from '#api/kinds/machine.ts'
import { PATIENCE_MS, TestFleet } from './fleet.ts'
import { PAGES, typeChapter, typePage, typeSituation } from './pages.ts'
import { observe, type Observer } from './watching.ts'
import { until } from '#test/support/tools/processes.ts'

const NODES = 3
/** Commands that only read are typed again until they show what the page prints. */
const PAGE_WITHIN_MS = 240_000

const LAMP_MS = 5_000

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
  const before = (await fleet.run('git rev-parse HEAD', fleet.repository)).out.trim()
  try {
    await typePage(fleet, name, PAGE_WITHIN_MS)
  } catch (error) {
    await takeBack(before)
    throw error
  }
})

/** A page that failed half-way leaves its change, such as a closed window or a freeze, in which every page after it would wait. */
async function takeBack(before: string): Promise<void> {
  const back = `git rm -rq . && git checkout -q ${before} -- . && git commit -q --allow-empty -m 'as before the page'`
  expect(await fleet.run(back, fleet.repository)).toMatchObject({ code: 0 })
  const thaw = `bin/kubenode thaw --all --kubeconfig ${fleet.kubeconfig('test')}`
  expect(await fleet.run(thaw)).toMatchObject({ code: 0 })
}

test('three in the morning: everything is frozen', { timeout: PATIENCE_MS }, async () => {
  const hold = (words: string) => fleet.run(`bin/kubenode ${words} --kubeconfig ${fleet.kubeconfig('test')}`)
  expect((await hold(`freeze --reason 'power work'`)).code).toBe(0)
  await typeSituation(fleet, 'Everything is frozen', PAGE_WITHIN_MS)
  expect((await hold('thaw')).code).toBe(0)
})

test('three in the morning: a node does not heal', { timeout: 4 * PATIENCE_MS }, async () => {
  const ask = (words: string) => fleet.run(`bin/kubenode ${words} --kubeconfig ${fleet.kubeconfig('test')}`)
  const isDark = async (node: string) => (await ask(`why node/${node}`)).out.includes('LampDark is True')
  // The monitor and the rule of their pages, which repairs once its mode is removed, and a lamp that no restart of scribe lights.
  const file = join(fleet.repository, 'fleet/machines/rules.ts')
  const dry = "{ ...dark, mode: 'DryRun' }"
  const text = readFileSync(file, 'utf8')
  expect(text).toContain(dry)
  writeFileSync(file, text.replace(dry, 'dark'))
  const { out } = await ask(`get machines -o name`)
  const node = out.split('\n')[0]?.replace('machine.kubenode.io/', '') ?? ''
  // The page of the rule let the lamp of this node fail: its end would count as the success of a repair, which is followed by a cooldown.
  await until('the fault of the page is over', async () => !(await isDark(node)), PATIENCE_MS)
  fleet.commit('rules: a dark lamp is repaired')
  await fleet.settled()
  const lamp = setInterval(
    () => appendFileSync(join(fleet.data, 'test/nodes', node, 'root/var/log/messages'), 'lamp: dark\n'),
    LAMP_MS,
  )
  try {
    await typeSituation(fleet, 'A node does not heal', PAGE_WITHIN_MS, { names: { 'n-1': node } })
    expect((await ask(`why node/${node}`)).out).toMatch(`what to do first: kubenode why-not node/${node} `)
    expect((await fleet.run('bin/kubenode local status || true')).out).toContain(
      `node/${node} not repaired by rule dark (ladder exhausted)`,
    )
  } finally {
    clearInterval(lamp)
  }
  // The lamp is mended: the repair that the page names starts again, and succeeds.
  expect((await ask(`repair node/${node} --reason 'lamp replaced'`)).code).toBe(0)
  await until('the fault is gone', async () => !(await isDark(node)), PATIENCE_MS)
  // The last way that it names: another machine in place of this one.
  const gone = await fleet.run(`kubectl delete machines.kubenode.io ${node} --kubeconfig ${fleet.kubeconfig('test')}`)
  expect(gone).toMatchObject({ code: 0 })
  await fleet.settled()
  const left = await ask('get machines -o name')
  expect(left.out).not.toContain(node)
  expect(left.out.trim().split('\n').length).toBeGreaterThanOrEqual(NODES)
})

test('signing-keys.md: the shipped keys are replaced as printed', { timeout: 2 * PATIENCE_MS }, async () => {
  const trust = () => readFileSync(join(fleet.repository, 'fleet/components/trust/trust.json'), 'utf8')
  const before = trust()
  await typeChapter(fleet, 'docs/tasks/signing-keys.md', 'Replace the shipped keys', PATIENCE_MS)
  expect(trust()).not.toBe(before)
  const refused = observers.flatMap((o) =>
    o.machines().filter((m) => m.status?.conditions?.some((c) => c.type === 'TrustRefused' && c.status === 'True')),
  )
  expect(refused).toEqual([])
})

test('three in the morning: the Defender is away', { timeout: 2 * PATIENCE_MS }, async () => {
  // All roles of this fleet but the approver are in one process, which stays alive and does nothing.
  const [programs, ...others] = fleet.processes('run --roles sync,')
  expect([programs === undefined, others]).toEqual([false, []])
  const { pid = 0 } = programs ?? {}
  const check = () => fleet.run(`bin/kubenode check --kubeconfig ${fleet.kubeconfig('test')}`)
  const before = await check()
  expect([before.code, before.out]).toEqual([0, expect.stringMatching(/^✔ leaders: each role has one$/m)])
  process.kill(pid, 'SIGSTOP')
  try {
    await typeSituation(fleet, 'The Defender is away', PAGE_WITHIN_MS, { code: 1 })
    // It judges by leases, and the last of them may have a while left.
    await until(
      'local status has the stopped Defender',
      async () => {
        const { code, out } = await fleet.run('bin/kubenode local status')
        return code === 1 && out.includes('the Defender is away: ')
      },
      PATIENCE_MS,
    )
    expect(existsSync(join(fleet.checkout, '.kubenode/logs/programs.log'))).toBe(true)
  } finally {
    process.kill(pid, 'SIGCONT')
  }
  await fleet.settled()
  expect((await check()).code).toBe(0)
})

test('three in the morning: the hub does not exist any more', { timeout: 4 * PATIENCE_MS }, async () => {
  const hub = join(fleet.data, 'hub')
  const uids = () =>
    Promise.all(
      observers.map(async ({ client }) => (await client.list(machine)).items.map((m) => m.metadata.uid ?? '').sort()),
    )
  const releases = async () =>
    (await fleet.run(`bin/kubenode get releases -o name --kubeconfig ${fleet.kubeconfig('hub')}`)).out
      .trim()
      .split('\n')
  // What the page before committed is everywhere.
  await fleet.settled()
  const [before, known] = [await uids(), await releases()]
  expect(known.length).toBeGreaterThan(1)
  const saved = await fleet.run(`bin/kubenode apiserver backup --data ${hub}/apiserver --out ${fleet.data}/hub.backup`)
  expect(saved.code, saved.out).toBe(0)

  const [, port] = /server: https:\/\/[^\s:]+:(\d+)/.exec(readFileSync(fleet.kubeconfig('test'), 'utf8')) ?? []
  expect(port).toBeDefined()
  await fleet.end('SIGINT')
  expect(fleet.processes()).toEqual([])
  rmSync(hub, { recursive: true })
  // Of the whole fleet one API server is left: that of a member.
  const data = join(fleet.data, 'test/apiserver')
  const member = fleet.run(`exec bin/kubenode apiserver --data ${data} --port ${port}`)
  try {
    await typeSituation(fleet, 'The hub is lost', PAGE_WITHIN_MS)
  } finally {
    for (const { pid } of fleet.processes(`apiserver --data ${data}`)) process.kill(pid, 'SIGTERM')
    await member
  }
  // Restored, it knows its history; members keep their machines.
  fleet.start()
  await fleet.settled()
  expect([await uids(), await releases()]).toEqual([before, known])

  // Without a backup, a new hub finds everything as the old one left it.
  await fleet.end('SIGINT')
  rmSync(hub, { recursive: true })
  fleet.start()
  await fleet.settled()
  expect([await uids(), (await releases()).length]).toEqual([before, 1])
})
