// A user's first week: own keys, own component, mistakes and repairs, a rename, reverts in a hurry, manual edits. What each step must never do is
// judged over everything that was seen, not at its end.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { componentCanary } from '#api/kinds/component-canary.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machine } from '#api/kinds/machine.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { chapters } from '#test/support/tools/chapters.ts'
import { until } from '#test/support/tools/processes.ts'
import { PATIENCE_MS, TestFleet } from '../whole-way/fleet.ts'
import { observe, type Observer } from '../whole-way/watching.ts'
import { addLamp, edit, keyOf, replaced, setVersion } from './lamp.ts'
import { addRule, report } from './own-rule.ts'

const NODES = 3
/** Rollouts in each direction with a kill in a settle window. A rollout of a whole fleet takes 20 s; settle-window.full.test.ts has twenty of a small one. */
const KILLS = 3

let fleet: TestFleet
let seen: Observer
const kubenode = (args: string) => fleet.run(`${fleet.checkout}/bin/kubenode ${args}`, fleet.repository)
const onTest = (args: string) => kubenode(`${args} --kubeconfig ${fleet.kubeconfig('test')}`)
const git = (...args: readonly string[]): string =>
  execFileSync('git', ['-C', fleet.repository, ...args], { encoding: 'utf8' }).trim()

function commit(message: string): void {
  git('add', '-A')
  git('commit', '-qm', message)
}

const versionsOf = (component: string, of: Observer = seen): readonly (string | undefined)[] =>
  of.machines().map((m) => m.status?.components?.find((c) => c.name === component)?.version)
const attemptsOf = (component: string) =>
  seen.machines().map((m) => m.status?.components?.find((c) => c.name === component)?.attempt)
const all = (version: string) => Array.from({ length: NODES }, () => version)
const uids = (): readonly string[] =>
  seen
    .machines()
    .map((m) => m.metadata.uid ?? '')
    .toSorted()
const firstNode = (): { readonly name: string; readonly node: string } => {
  const [one] = seen.machines().map((m) => ({ name: m.metadata.name ?? '', node: m.status?.nodeRef?.name ?? '' }))
  if (one === undefined) throw new Error('no machine is observed')
  return one
}
const jobsOf = async (rule: string) =>
  (await seen.client.list(remedyOperationJob)).items.filter((j) => j.spec.remedierRef.name === rule)
const setNow = () => seen.client.get(machineComponentSet, { name: 'base' })
const limitRate = (max: number): void =>
  edit(join(fleet.repository, 'rules/defender/careful.ts'), (text) =>
    replaced(text, /rates: \[[^\]]*\]/s, () => `rates: [{ window: '1h', max: ${max} }]`),
  )
const everywhere = (component: string, version: string) =>
  until(
    `${component} ${version} runs on every node of test`,
    () => versionsOf(component).every((v) => v === version) || undefined,
    PATIENCE_MS,
  )

beforeAll(async () => {
  fleet = new TestFleet()
  fleet.start('--nodes', String(NODES))
  await fleet.settled()
  seen = observe(fleet.kubeconfig('test'))
  await until('test is observed', () => seen.machines().length === NODES || undefined, 30_000)
}, PATIENCE_MS)

afterAll(async () => {
  await seen?.stop()
  await fleet.dispose()
})

describe('the first week', { timeout: PATIENCE_MS }, () => {
  chapters()
  test('the keys become one’s own while the fleet runs, and nothing restarts', async () => {
    const before = fleet.processes('.mjs').length
    const rotated = await kubenode(`artifact keys rotate --new-key ${keyOf(fleet)} --local-fleet ${fleet.data}`)
    expect(`${rotated.code} ${rotated.out}`).toMatch(/^0 .*sequence [0-9]+/s)
    commit('trust: rotate the signing keys')
    await fleet.settled()
    expect(fleet.processes('.mjs').length).toBe(before)
  })

  test('a first version that crashes stops at one machine, says how it ended, and the next version mends it', async () => {
    await addLamp(fleet, '0.1.0', 'broken')
    commit('lamp 0.1.0')
    const why = await until(
      'the set is blocked',
      async () => {
        const { out } = await onTest('why machinecomponentset/base')
        return /base is Blocked/.test(out) ? out : undefined
      },
      PATIENCE_MS,
    )
    expect(why).toMatch(/exit code 3|exited with code 3/)
    expect(seen.versionsSeen('lamp').size).toBeLessThanOrEqual(1)
    await addLamp(fleet, '0.2.0', 'good')
    commit('lamp 0.2.0')
    await fleet.settled()
    expect(versionsOf('lamp')).toEqual(all('0.2.0'))
  })

  test('git revert goes back at once although the rate is spent, the way forward waits and says until when', async () => {
    limitRate(NODES)
    commit('defender: as many switches in an hour as there are nodes')
    await fleet.settled()
    await addLamp(fleet, '0.3.0', 'good')
    commit('lamp 0.3.0')
    await fleet.settled()
    expect(versionsOf('lamp')).toEqual(all('0.3.0'))
    git('revert', '--no-edit', 'HEAD')
    await fleet.settled()
    expect(versionsOf('lamp')).toEqual(all('0.2.0'))
    // Forward again is an ordinary rollout.
    git('revert', '--no-edit', 'HEAD')
    const waiting = await until(
      'the rate binds',
      async () => {
        const { out } = await onTest('why machinecomponentset/base')
        return /next grant at \d\d:\d\d:\d\d/.test(out) ? out : undefined
      },
      PATIENCE_MS,
    )
    expect(waiting).toMatch(/rate/i)
    expect(versionsOf('lamp')).toEqual(all('0.2.0'))
    git('revert', '--no-edit', 'HEAD')
    await fleet.settled()
    limitRate(1_000)
    commit('defender: a thousand an hour')
    await fleet.settled()
  })

  test(
    'F42 a component killed in its settle window, forward and back, blocks no version',
    { timeout: 2 * PATIENCE_MS },
    async () => {
      await addLamp(fleet, '0.3.0', 'good')
      setVersion(fleet.repository, 'lamp', '0.2.0')
      commit('lamp 0.3.0, not yet wanted')
      await fleet.settled()
      for (let i = 0; i < 2 * KILLS; i++) {
        const version = i % 2 === 0 ? '0.3.0' : '0.2.0'
        setVersion(fleet.repository, 'lamp', version)
        commit(`lamp ${version}, try ${i}`)
        const { pid } = await until(
          `lamp is watched after its switch to ${version}`,
          () => {
            const switching = seen
              .machines()
              .find((m) =>
                m.status?.components?.some((c) => c.name === 'lamp' && c.state === 'Probing' && c.desired === version),
              )
            return switching && fleet.processes(`/test/nodes/${switching.metadata.name}/`, 'lamp.mjs')[0]
          },
          PATIENCE_MS,
        )
        process.kill(pid, i % 3 === 0 ? 'SIGTERM' : 'SIGKILL')
        await everywhere('lamp', version)
        expect((await setNow())?.status?.revisions?.blocked ?? []).toEqual([])
      }
      await fleet.settled()
    },
  )

  test('a canary that fails names machine and probe, and a release of something else goes through all the same', async () => {
    await addLamp(fleet, '0.4.0', 'deaf')
    setVersion(fleet.repository, 'lamp', '0.2.0')
    commit('lamp 0.4.0, for a canary')
    await fleet.settled()
    const canary = {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'ComponentCanary',
      metadata: { name: 'lamp-040' },
      spec: {
        selector: { matchLabels: { 'kubenode.io/pool': 'workers' } },
        pick: { count: 1 },
        components: [{ name: 'lamp', version: '0.4.0' }],
        duration: '1h',
      },
    }
    const file = join(fleet.data, 'canary.json')
    writeFileSync(file, JSON.stringify(canary))
    await fleet.run(`kubectl --kubeconfig ${fleet.kubeconfig('test')} apply -f ${file}`)
    await until(
      'the canary failed',
      async () =>
        (await seen.client.get(componentCanary, { name: 'lamp-040' }))?.status?.phase === 'Failed' || undefined,
      PATIENCE_MS,
    )
    const { out } = await onTest('why componentcanary/lamp-040')
    expect(out).toMatch(/workers-\w+.*lit.*503/s)
    fleet.setVersion('beacon', '1.1.0')
    await fleet.settled()
    expect(versionsOf('beacon')).toEqual(all('1.1.0'))
  })

  test('a rule of one’s own, with its cases, repairs a node whose detector reports the condition', async () => {
    addRule(fleet.repository, { name: 'dark', condition: 'LampDark', component: 'lamp' })
    const cases = await kubenode(`rules test --dir ${fleet.repository}/rules/own`)
    expect(`${cases.code} ${cases.out}`).toMatch(/^0 .*2 of 2 cases/s)
    commit('rules: restart a dark lamp')
    await fleet.settled()
    const { name, node } = firstNode()
    const lamp = () => fleet.processes(`/test/nodes/${name}/`, 'lamp.mjs')[0]?.pid
    const before = lamp()
    expect(before).toBeGreaterThan(0)
    await report(seen.client, node, 'LampDark', 'True')
    await until(
      'the repair restarted the lamp',
      () => (lamp() !== undefined && lamp() !== before) || undefined,
      PATIENCE_MS,
    )
    await report(seen.client, node, 'LampDark', 'False')
    const job = await until(
      'the repair is done',
      async () => (await jobsOf('dark')).find((j) => j.status?.phase === 'Done'),
      PATIENCE_MS,
    )
    expect([job.spec.node.name, job.status?.outcome]).toEqual([node, 'Succeeded'])
    expect((await jobsOf('dark')).length).toBe(1)
    await fleet.settled()
  })

  test('F46 a node whose ladder is exhausted stops no release of something else', async () => {
    addRule(fleet.repository, { name: 'cracked', condition: 'LampCracked', component: 'beacon' })
    commit('rules: restart the beacon of a cracked lamp')
    await fleet.settled()
    const { node } = firstNode()
    await report(seen.client, node, 'LampCracked', 'True')
    await until(
      'the ladder is exhausted',
      async () => {
        const rule = await seen.client.get(nodeRemedier, { name: 'cracked' })
        return rule?.status?.matching?.some((m) => m.reason === 'LadderExhausted') || undefined
      },
      PATIENCE_MS,
    )
    await addLamp(fleet, '0.5.0', 'good')
    commit('lamp 0.5.0, with an exhausted node')
    await fleet.settled()
    expect(versionsOf('lamp')).toEqual(all('0.5.0'))
    const { out } = await onTest('why noderemedier/cracked')
    expect(out).toMatch(/LadderExhausted/)
    setVersion(fleet.repository, 'lamp', '0.2.0')
    commit('lamp 0.2.0, with an exhausted node')
    await fleet.settled()
    expect(versionsOf('lamp')).toEqual(all('0.2.0'))
    await report(seen.client, node, 'LampCracked', 'False')
  })

  test('a commit that renames the MachineSet touches no machine', async () => {
    const before = uids()
    const processes = fleet
      .processes('/test/nodes/', '.mjs')
      .map((p) => p.pid)
      .toSorted((a, b) => a - b)
    edit(join(fleet.repository, 'fleet/machines/workers.ts'), (text) =>
      replaced(text, /MachineSet\(chart, 'workers'/, () => `MachineSet(chart, 'nodes'`),
    )
    commit('machines: the set is called nodes')
    await fleet.settled()
    expect(uids()).toEqual(before)
    expect(
      fleet
        .processes('/test/nodes/', '.mjs')
        .map((p) => p.pid)
        .toSorted((a, b) => a - b),
    ).toEqual(processes)
    const sets = await fleet.run(`kubectl --kubeconfig ${fleet.kubeconfig('test')} get machinesets.kubenode.io -o name`)
    expect(sets.out.trim()).toBe('machineset.kubenode.io/nodes')
  })

  test('F45 an edit of the set by hand waits, changes no machine, and is put back', async () => {
    const before = versionsOf('beacon')
    const attempts = attemptsOf('beacon')
    const patch = JSON.stringify([{ op: 'replace', path: '/spec/components/0/version', value: '1.0.0' }])
    const current = await setNow()
    expect(current?.spec.components[0]?.name).toBe('beacon')
    const edited = await fleet.run(
      `kubectl --kubeconfig ${fleet.kubeconfig('test')} patch kmcs base --type json -p '${patch}'`,
    )
    expect(edited.code).toBe(0)
    await until(
      'sync put the set back',
      async () => (await setNow())?.spec.components[0]?.version === '1.1.0' || undefined,
      PATIENCE_MS,
    )
    await fleet.settled()
    expect(versionsOf('beacon')).toEqual(before)
    expect(attemptsOf('beacon')).toEqual(attempts)
  })

  test('names that do not exist are refused with a suggestion', async () => {
    for (const command of ['freeze machine/nope --reason test --for 1m', 'pause set/nope --reason test --for 1m']) {
      const { code, out } = await onTest(command)
      expect(`${command}: ${code} ${out}`).toMatch(/: [1-9]\d* .*nope/s)
    }
  })

  test('a webhook configuration that is deleted comes back, and so does a Node', async () => {
    const kubectl = `kubectl --kubeconfig ${fleet.kubeconfig('test')}`
    await fleet.run(`${kubectl} delete validatingwebhookconfiguration kubenode.io`)
    await until(
      'the webhook configuration is back',
      async () =>
        (await fleet.run(`${kubectl} get validatingwebhookconfiguration kubenode.io`)).code === 0 || undefined,
      60_000,
    )
    const [node] = seen.machines().map((m) => m.status?.nodeRef?.name ?? '')
    await fleet.run(`${kubectl} delete node ${node}`)
    await until(
      'the Node is back',
      async () => (await fleet.run(`${kubectl} get node ${node}`)).code === 0 || undefined,
      120_000,
    )
    await fleet.settled()
  })

  test('every repair that was begun has ended, and every machine is Ready', async () => {
    await fleet.settled()
    const { items } = await seen.client.list(machine)
    expect(items.map((m) => m.status?.phase)).toEqual(Array.from({ length: NODES }, () => 'Ready'))
    const jobs = await seen.client.list(remedyOperationJob)
    expect(jobs.items.filter((j) => j.status?.phase === 'Running')).toEqual([])
  })
})
